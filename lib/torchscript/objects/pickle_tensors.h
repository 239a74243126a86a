// Rebuilds tensors of a TorchScript pickle, as the functions of torch._utils do, without their elements.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "archive/zip_archive.h"
#include "torchscript/values/tensor_value.h"

namespace fxtrace::internal::torchscript {

// Throws Error(kInput).
[[noreturn]] void pickle_is_damaged(const std::string& why);

class PickleTensors {
 public:
  // Storages are the records under `folder` ("archive/data/"); `prefix` is the part of it that the names of
  // records leave out.
  PickleTensors(const ZipArchive& zip, std::string prefix, std::string folder)
      : zip_(zip), prefix_(std::move(prefix)), folder_(std::move(folder)) {}

  // Returns an empty tensor over the storage ("storage", dtype, key, device, elements).  Tensors with one key
  // share the storage, which has one device and the size of its record; the size in the pickle is used only
  // for the device meta, which has no record.  Throws Error(kInput), as the functions below do.
  TensorRef storage(const TupleValue& id);

  // Implements _rebuild_tensor_v2, with the arguments (storage, offset, sizes, strides, requires_grad,
  // hooks[, bits]), and _rebuild_qtensor, which has the quantization before requires_grad.
  static TensorRef rebuild(const TupleValue& arguments, bool is_quantized);
  static TensorRef rebuild_parameter(const TupleValue& arguments);  // (tensor, requires_grad, hooks)
  // Arguments: (layout, sizes, requires_grad, indices, values) or (layout, sizes, requires_grad, compressed,
  // plain, values).
  static TensorRef rebuild_sparse(const TupleValue& arguments);

 private:
  const ZipArchive& zip_;
  std::string prefix_, folder_;
  std::unordered_map<std::string, std::shared_ptr<const TensorStorage>> storages_;
};

// Returns the dtype of a storage class by its name: float32 for "FloatStorage".
std::optional<ScalarType> find_storage_type(std::string_view name);

}  // namespace fxtrace::internal::torchscript
