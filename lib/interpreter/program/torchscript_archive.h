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

#include "archive/file_kind.h"
#include "archive/zip_archive.h"
#include "graph/graph.h"
#include "interpreter/program/debug_records.h"
#include "interpreter/program/names.h"
#include "torchscript/compiler/script_program.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

using CodeFiles = std::vector<std::pair<std::string, std::string>>;  // record, text

// An open archive.  Its tensors have their true shapes, strides and dtypes, but their storage is not read,
// except for small constants of the code.
class TorchScriptArchive {
 public:
  // `info` is the result of identify_file() for a TorchScript archive.  Throws Error(kInput).
  explicit TorchScriptArchive(const FileInfo& info);
  // Wraps a module that was made in memory instead of read from a file.
  TorchScriptArchive(std::shared_ptr<torchscript::ScriptProgram> program, Ref<ObjectValue> module);
  ~TorchScriptArchive();
  TorchScriptArchive(const TorchScriptArchive&) = delete;
  TorchScriptArchive& operator=(const TorchScriptArchive&) = delete;

  // Returns all code files of the archive, sorted by name.
  CodeFiles code() const;
  // The archive's code.
  torchscript::ScriptProgram& program() const { return *program_; }

  // The reason not to follow a function: it calls an operator whose results are unknown.
  struct NotFollowed {
    std::string operator_name;
    std::string schema;  // the operator's, as far as its calls tell it; empty for a method
    std::string why;
    torchscript::SourcePlace call;
  };
  void add_not_followed(const std::string& function, NotFollowed call);
  const NotFollowed* find_not_followed(const Function& function) const;
  // Returns NotFollowed::schema; empty for an operator that is known.
  std::string schema_of_calls(const std::string& operator_name) const;

  // Returns the function's code; null when it has none, when it cannot be compiled, or when it is not to be
  // followed.
  const IrGraph* find_graph(const Function& function) const;

  // Reads constants and the module.  Throws Error(kInput).
  void load();

  const Ref<ObjectValue>& module() const { return module_; }
  std::uint64_t format_version() const { return format_version_; }
  std::uint64_t file_size() const { return file_size_; }  // in bytes; 0 for a module made in memory
  // The constants that the code calls CONSTANTS.c0, c1, ...
  const std::vector<Value>& constants() const { return constants_; }
  DebugRecords& debug_records() const { return *debug_records_; }

  // Returns the value of a literal of the code.
  Value value_of(const torchscript::ScriptConstant& literal) const {
    return torchscript::value_of(literal, constants_);
  }

  // Returns the place of the tensor's bytes, as a constant without elements.
  Constant stored(const TensorValue& tensor) const;
  RecordBytes record_bytes(const std::string& record) const;
  // Returns the same as stored(), but the place of its integers for a quantized tensor.
  Constant stored_bytes(const TensorValue& tensor) const;
  // Returns the tensor as a constant of a graph: with its elements when they are few, else with their record.
  Constant constant(const TensorValue& tensor) const;
  // Returns the tensor's elements in row-major order; absent when they are unknown, or more than `most`.
  std::optional<std::vector<Argument>> elements(const TensorValue& tensor, std::int64_t most) const;
  // Returns the element of a tensor without dimensions; absent when it is unknown.
  std::optional<Value> find_item(const TensorValue& tensor) const;
  // Returns the script object as a constant of a graph when it is one of the code's constants, such as packed
  // parameters of a frozen model.
  std::optional<Constant> find_object_constant(const ObjectValue* object) const;

  // Returns the device on which the tensor was saved; absent for the CPU.
  static std::optional<std::string> saved_device(const TensorValue& tensor);
  // Returns ZipArchive::content_key(); empty for a tensor without a record.
  std::string content_key(const TensorValue& tensor) const;

  // Returns the argument of the object's __setstate__ that was not run; null when it has none.
  static const Value* find_state(const ObjectValue* object);

 private:
  bool has_record(const std::string& name) const;
  std::string read_record(const std::string& name) const;
  std::string read_code(const std::string& name) const;
  std::optional<std::vector<Value>> find_elements(const TensorValue& tensor, std::int64_t most) const;
  // Gives a small tensor its elements.
  void read_small(torchscript::Value& value) const;
  Value read_pickle(const std::string& name);
  const std::string& bytes_of(const std::string& record) const;

  std::shared_ptr<const ZipArchive> zip_;
  std::string prefix_;  // folder of all records, with a trailing slash
  std::uint64_t file_size_ = 0;
  std::uint64_t format_version_ = 0;
  bool foreign_byte_order_ = false;
  std::shared_ptr<torchscript::ScriptProgram> program_;
  std::unique_ptr<DebugRecords> debug_records_;
  std::unordered_map<std::string, NotFollowed> not_followed_;  // by qualified name of the function
  std::vector<Value> constants_;
  Ref<ObjectValue> module_;
  mutable std::unordered_map<std::string, std::string> bytes_;  // bytes of the records of small constants
};

}  // namespace fxtrace::internal::interpreter
