// A TorchScript archive opened without reading weights and without running model code.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "torchscript/debug_records.h"

namespace caffe2::serialize {
class PyTorchStreamReader;
}
namespace torch::jit {
class DeserializationStorageContext;
}

namespace fxtrace {

// Tensors of the archive have their true shapes, strides and dtypes over storages that lie in a private mapping
// of the file (or, for compressed records, in memory that nothing touches): no byte of a weight is read.
class TorchScriptArchive {
 public:
  // Throws Error(kInput).  Operators that the code needs must be registered already (operators.h).
  explicit TorchScriptArchive(const std::string& path);
  ~TorchScriptArchive();
  TorchScriptArchive(const TorchScriptArchive&) = delete;
  TorchScriptArchive& operator=(const TorchScriptArchive&) = delete;

  // Reads all code files of the archive: name of the record and text.  Used to find unknown operators.
  std::vector<std::pair<std::string, std::string>> code() const;

  // Loads the module.  Throws Error(kInput).
  void load();

  const torch::jit::Module& module() const { return *module_; }
  std::uint64_t format_version() const;
  DebugRecords& debug_records() { return *debug_records_; }

  // The tensor as a constant of a graph: its elements when they are few, the record they are in otherwise.
  Constant constant(const at::Tensor& tensor) const;

  // What a __setstate__ that was not run would have got, by object.
  const at::IValue* find_state(const c10::ivalue::Object* object) const;

 private:
  class File;
  void map_storages(const std::string& pickle, torch::jit::DeserializationStorageContext& context);
  at::IValue read_pickle(const std::string& name);

  std::unique_ptr<File> file_;
  std::shared_ptr<caffe2::serialize::PyTorchStreamReader> reader_;
  std::shared_ptr<torch::jit::CompilationUnit> compilation_unit_;
  std::vector<at::IValue> constants_;
  std::unique_ptr<DebugRecords> debug_records_;
  std::unique_ptr<torch::jit::Module> module_;
  struct Record {
    std::string name;
    bool readable;  // mapped as it is
  };
  std::unordered_map<const void*, Record> storages_;  // by address of the first byte
  std::unordered_map<const c10::ivalue::Object*, at::IValue> states_;
  bool foreign_byte_order_ = false;
};

}  // namespace fxtrace
