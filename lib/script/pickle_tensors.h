// Tensors of a TorchScript pickle: what the functions of torch._utils make of their arguments.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "archive/zip_archive.h"
#include "script/tensor_value.h"

namespace fxtrace::script {

class PickleTensors {
 public:
  // Storages are the records under `folder` ("archive/data/"); `prefix` is the part of it that names of
  // records are told without.
  PickleTensors(const ZipArchive& zip, std::string prefix, std::string folder)
      : zip_(zip), prefix_(std::move(prefix)), folder_(std::move(folder)) {}

  // ("storage", dtype, key, device, elements): an empty tensor over the storage.  All of one key share it: it
  // has one device, and the size of its record.  What the pickle says of its size is believed only of one on
  // the device meta, which has no record.  Throws Error(kInput), as the others do.
  TensorRef storage(const TupleValue& id);

  // _rebuild_tensor_v2: (storage, offset, sizes, strides, requires_grad, hooks[, bits]); _rebuild_qtensor has
  // the quantization before requires_grad.
  static TensorRef rebuild(const TupleValue& arguments, bool is_quantized);
  static TensorRef rebuild_parameter(const TupleValue& arguments);  // (tensor, requires_grad, hooks)
  // (layout, sizes, requires_grad, indices, values) or (layout, sizes, requires_grad, compressed, plain,
  // values)
  static TensorRef rebuild_sparse(const TupleValue& arguments);

 private:
  const ZipArchive& zip_;
  std::string prefix_, folder_;
  std::unordered_map<std::string, std::shared_ptr<const TensorStorage>> storages_;
};

// Of the name of a storage's class: float32 of "FloatStorage".
std::optional<ScalarType> find_storage_type(std::string_view name);

}  // namespace fxtrace::script
