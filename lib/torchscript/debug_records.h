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
    std::string text;
    std::string file;  // empty: the text is Python's stack
    std::int64_t first_line = 0;
    std::vector<std::size_t> line_starts;  // filled at the first question
  };
  struct Entry {
    std::int64_t offset = 0;  // in the archive's code file
    std::size_t source = 0;   // which of the table
    std::size_t start = 0;    // in its text
  };
  struct Table {
    std::vector<Source> sources;
    std::vector<Entry> entries;  // by offset
  };
  static Table parse(const std::string& pickle);
  static Source read_source(const script::Value& value, const std::vector<std::string>& strings,
                            std::size_t max_text);
  // The source of a position, and where it starts in there; null when none is known.
  std::pair<Source*, std::size_t> find_source(const script::SourceRange& range);
  static SourceLocation location(Source& source, std::size_t start);

  ReadRecord read_;
  std::unordered_map<std::string, Table> tables_;  // by code file
};

}  // namespace fxtrace::torchscript
