// Maps positions in the archive's code to the model's Python source, using its code/*.debug_pkl records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/node.h"
#include "torchscript/language/source.h"
#include "torchscript/values/value.h"
#include "trace/modules/recorded_calls.h"

namespace fxtrace::internal::interpreter {

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

}  // namespace fxtrace::internal::interpreter
