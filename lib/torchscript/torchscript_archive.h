// A TorchScript archive opened without reading weights and without running model code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "archive/zip_archive.h"
#include "graph/graph.h"
#include "script/script_program.h"
#include "torchscript/debug_records.h"
#include "torchscript/names.h"

namespace fxtrace::torchscript {

using CodeFiles = std::vector<std::pair<std::string, std::string>>;  // record, text

// Tensors of the archive have their true shapes, strides and dtypes over records that are not read.  Only
// constants of the code that are small have their elements.
class TorchScriptArchive {
 public:
  // `root` is the folder in which all records stand (FileInfo::root).  Throws Error(kInput).
  TorchScriptArchive(ModelFile file, std::string root);
  // A module that was made in memory, in place of a file.
  TorchScriptArchive(std::shared_ptr<script::Program> program, Ref<ObjectValue> module);
  ~TorchScriptArchive();
  TorchScriptArchive(const TorchScriptArchive&) = delete;
  TorchScriptArchive& operator=(const TorchScriptArchive&) = delete;

  // All code files of the archive, by name.
  CodeFiles code() const;
  // By index: "Tensor", the qualified name of a class, or empty for what is neither.
  const std::vector<std::string>& constant_types() const { return constant_types_; }

  // The archive's code; operators that it needs are to be declared before load().
  script::Program& program() const { return *program_; }

  // A function that calls an operator of which nobody knows what it gives.
  struct NotFollowed {
    std::string operator_name;
    std::string why;
    script::SourceRange call;
  };
  void add_not_followed(const std::string& function, NotFollowed call);
  const NotFollowed* find_not_followed(const Function& function) const;

  // The function's code; null where it has none, or none that can be read.
  const IrGraph* find_graph(const Function& function) const;

  // Reads constants and the module.  Throws Error(kInput).
  void load();

  const Ref<ObjectValue>& module() const { return module_; }
  std::uint64_t format_version() const { return format_version_; }
  // What the code calls CONSTANTS.c0, c1, ...
  const std::vector<Value>& constants() const { return constants_; }
  DebugRecords& debug_records() const { return *debug_records_; }

  // What a literal of the code is.
  Value value_of(const script::Constant& literal) const { return script::value_of(literal, constants_); }

  // The tensor as a constant of a graph: its elements when they are few, the record they are in otherwise.
  Constant constant(const TensorValue& tensor) const;
  // Its elements in row-major order; absent where they are not known, or more than `most`.
  std::optional<std::vector<Argument>> elements(const TensorValue& tensor, std::int64_t most) const;
  // The script object when it is one of the code's constants, such as packed parameters of a frozen model.
  std::optional<Constant> find_object_constant(const ObjectValue* object) const;

  // The device that the archive says the tensor was saved on; absent for the CPU.
  static std::optional<std::string> saved_device(const TensorValue& tensor);

  // What a __setstate__ that was not run would have got; null when it has none.
  static const Value* find_state(const ObjectValue* object);

 private:
  bool has_record(const std::string& name) const;
  std::string read_record(const std::string& name) const;
  std::string read_code(const std::string& name) const;
  void read_constant_types();
  Value read_pickle(const std::string& name);
  const std::string& bytes_of(const std::string& record) const;

  std::unique_ptr<ZipArchive> zip_;
  std::string prefix_;  // the folder that all records are in, with its slash
  std::uint64_t format_version_ = 0;
  bool foreign_byte_order_ = false;
  std::vector<std::string> constant_types_;
  std::shared_ptr<script::Program> program_;
  std::unique_ptr<DebugRecords> debug_records_;
  std::unordered_map<std::string, NotFollowed> not_followed_;  // by the function's qualified name
  std::vector<Value> constants_;
  Ref<ObjectValue> module_;
  mutable std::unordered_map<std::string, std::string> bytes_;  // of records of small constants
};

}  // namespace fxtrace::torchscript
