// A TorchScript archive opened without reading weights and without running model code.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "archive/zip_archive.h"
#include "graph/graph.h"
#include "torchscript/debug_records.h"
#include "torchscript/operators.h"

namespace torch::jit {
class DeserializationStorageContext;
}

namespace fxtrace {

// Tensors of the archive have their true shapes, strides and dtypes, over storages that are addresses and
// nothing behind them: no byte of a weight is read.  Only constants of the code have their values, in memory
// or mapped.
class TorchScriptArchive {
 public:
  // `root` is the folder in which all records stand (FileInfo::root).  Throws Error(kInput).  Operators that
  // the code needs must be registered already (operators.h).
  TorchScriptArchive(ModelFile file, std::string root);
  // A module that was made in memory, in place of a file.
  explicit TorchScriptArchive(torch::jit::Module module);
  ~TorchScriptArchive();
  TorchScriptArchive(const TorchScriptArchive&) = delete;
  TorchScriptArchive& operator=(const TorchScriptArchive&) = delete;

  // All code files of the archive, by name.
  CodeFiles code() const;
  // The bytes of the archive's two pickles.
  std::vector<std::string> pickles() const;
  // By index: "Tensor", the qualified name of a class, or empty for what is neither.
  std::vector<std::string> constant_types() const;
  // What of the code is left out when it is compiled; to be set before load().
  CodeEdits& edits() { return edits_; }

  // Loads the module.  Throws Error(kInput).
  void load();

  const torch::jit::Module& module() const { return *module_; }
  std::uint64_t format_version() const { return format_version_; }
  // What the code calls CONSTANTS.c0, c1, ...
  const std::vector<at::IValue>& constants() const { return constants_; }
  DebugRecords& debug_records() { return *debug_records_; }

  // The tensor as a constant of a graph: its elements when they are few, the record they are in otherwise.
  Constant constant(const at::Tensor& tensor) const;
  // The script object when it is one of the code's constants, such as packed parameters of a frozen model.
  std::optional<Constant> find_object_constant(const c10::ivalue::Object* object) const;

  // The device that the archive says the tensor was saved on; absent for the CPU.  Tensors are loaded as if
  // they had been saved on the CPU, those without bytes (`meta`) aside.
  std::optional<std::string> saved_device(const at::Tensor& tensor) const;

  // What a __setstate__ that was not run would have got, by object.
  const at::IValue* find_state(const c10::ivalue::Object* object) const;

 private:
  class Mapping;
  bool has_record(const std::string& name) const;
  std::string read_record(const std::string& name) const;
  // A code file, refused when LibTorch's parser could not cope with it.
  std::string read_code(const std::string& name) const;
  std::shared_ptr<torch::jit::DeserializationStorageContext> storages_of(const std::string& name,
                                                                         std::string_view pickle);
  std::span<char> values(const std::string& record) const;
  at::IValue read_pickle(const std::string& name);

  std::optional<ModelFile> file_;  // none of a module that was made in memory
  std::unique_ptr<ZipArchive> zip_;
  std::string prefix_;  // the folder that all records are in, with its slash
  std::uint64_t format_version_ = 0;
  std::list<Mapping> mappings_;                                      // what storages stand in
  mutable std::unique_ptr<Mapping> mapped_file_;                     // of large constants
  mutable std::list<std::string> read_values_;                       // of small ones
  mutable std::unordered_map<std::string, std::span<char>> values_;  // by record, in one of the two
  std::shared_ptr<torch::jit::CompilationUnit> compilation_unit_;
  std::vector<at::IValue> constants_;
  CodeEdits edits_;
  std::unique_ptr<DebugRecords> debug_records_;
  std::unique_ptr<torch::jit::Module> module_;
  struct StorageOrigin {
    std::string record;
    std::optional<std::string> device;  // absent for the CPU
  };
  std::unordered_map<const void*, StorageOrigin> storages_;  // by address of the first byte
  std::unordered_map<const c10::ivalue::Object*, at::IValue> states_;
  bool foreign_byte_order_ = false;
};

}  // namespace fxtrace
