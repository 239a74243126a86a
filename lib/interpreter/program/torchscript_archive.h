// A TorchScript archive, opened without reading weights and without running code, and the places of its
// code in the model's Python source.
#pragma once

#include <cstdint>
#include <functional>
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
#include "graph/node.h"
#include "interpreter/program/names.h"
#include "torchscript/compiler/script_program.h"
#include "torchscript/language/source.h"
#include "torchscript/values/value.h"
#include "trace/modules/recorded_calls.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// Maps positions in the archive's code to the model's Python source, using its code/*.debug_pkl records.

class DebugRecords {
 public:
  struct Record {
    std::string bytes;
    std::uint64_t stored = 0;  // size in the archive in bytes, maybe compressed
  };
  // Returns a record; nothing when the archive does not have it.
  using ReadRecord = std::function<std::optional<Record>(const std::string&)>;
  explicit DebugRecords(ReadRecord read) : read_(std::move(read)) {}

  // Returns the Python position that a place of the archive's code was generated from.  Records are parsed on
  // first use; a damaged record counts as missing.
  std::optional<SourceLocation> find_location(const torchscript::SourcePlace& place);
  // Returns the Python stack at that position, innermost first, if torch.jit.trace kept one; else empty.
  std::vector<StackFrame> stack(const torchscript::SourcePlace& place);

 private:
  struct Text {
    std::string whole;
    std::vector<std::size_t> line_starts;
  };
  struct Source {
    std::vector<std::uint32_t> pieces;  // indices of its text's pieces in the table's strings
    std::string file;                   // empty: the text is Python's stack
    std::int64_t first_line = 0;
    // The text of a file, built on first use.  Stacks and short texts are built at every use, as a traced
    // model has one for each operation.
    std::unique_ptr<Text> text = {};
  };
  struct Entry {
    std::int64_t offset = 0;  // position in the archive's code file
    std::size_t source = 0;   // index in the table's sources
    std::size_t start = 0;    // position in the source's text
  };
  struct Table {
    std::vector<std::string> strings;
    std::vector<Source> sources;
    std::vector<Entry> entries;  // by offset
    std::size_t kept = 0;        // the size of the texts that are kept, in bytes

    // Returns at most `most` bytes of the source's text; with `line`, no more than its first line.
    std::string beginning(const Source& source, std::size_t most, bool line) const;
    // Returns the source's text, which is built in `built` where it is not kept.
    const Text& text_of(Source& source, Text& built);
    SourceLocation location(Source& source, std::size_t start);
  };
  static Table parse(const Record& pickle);
  static Source read_source(const torchscript::Value& value, std::vector<std::string>& strings);
  // A position: the table of its code file, the source, and the offset in it; null pointers when unknown.
  struct SourcePosition {
    Table* table = nullptr;
    Source* source = nullptr;
    std::size_t start = 0;
  };
  SourcePosition find_source(const torchscript::SourcePlace& place);

  ReadRecord read_;
  std::unordered_map<std::string, Table> tables_;  // by code file
};

// A TorchScript archive opened without reading weights and without running model code.

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
