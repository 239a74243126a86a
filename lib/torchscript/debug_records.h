// Positions in the model's Python source, from the archive's code/*.debug_pkl records.
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
#include "script/source.h"
#include "script/value.h"
#include "trace/recorded_calls.h"

namespace fxtrace::torchscript {

class DebugRecords {
 public:
  // `read` gives the bytes of a record, or nothing when there is none.
  using ReadRecord = std::function<std::optional<std::string>(const std::string&)>;
  explicit DebugRecords(ReadRecord read) : read_(std::move(read)) {}

  // The Python position that a position in the archive's code was made from.  Records are parsed at the first
  // question about their file; a damaged one is as good as none.
  std::optional<SourceLocation> find(const script::SourceRange& range);
  // Python's stack there, innermost first, where torch.jit.trace kept it; else nothing.
  std::vector<StackFrame> stack(const script::SourceRange& range);

 private:
  struct Source {
    std::vector<std::uint32_t> pieces;  // of its text, in the table's strings
    std::string file;                   // empty: the text is Python's stack
    std::int64_t first_line = 0;
    // From the first question on, of a file.  Stacks are put together anew: there is one for each operation
    // of a traced model.
    std::string text;
    std::vector<std::size_t> line_starts;
  };
  struct Entry {
    std::int64_t offset = 0;  // in the archive's code file
    std::size_t source = 0;   // which of the table
    std::size_t start = 0;    // in its text
  };
  struct Table {
    std::vector<std::string> strings;
    std::vector<Source> sources;
    std::vector<Entry> entries;  // by offset
    std::size_t kept = 0;        // bytes of texts

    // Of the source's text at most `most` bytes; `line`: not beyond its first line.
    std::string beginning(const Source& source, std::size_t most, bool line) const;
    void keep_text(Source& source);
    SourceLocation location(Source& source, std::size_t start);
  };
  static Table parse(const std::string& pickle);
  static Source read_source(const script::Value& value, std::vector<std::string>& strings);
  // The table of a position's file, its source, and where it starts in there; null when none is known.
  struct Found {
    Table* table = nullptr;
    Source* source = nullptr;
    std::size_t start = 0;
  };
  Found find_source(const script::SourceRange& range);

  ReadRecord read_;
  std::unordered_map<std::string, Table> tables_;  // by code file
};

}  // namespace fxtrace::torchscript
