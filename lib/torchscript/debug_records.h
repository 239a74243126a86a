// Positions in the model's Python source, from the archive's code/*.debug_pkl records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/node.h"
#include "torchscript/code_edits.h"

namespace torch::jit {
struct SourceRange;
}

namespace fxtrace {

class DebugRecords {
 public:
  // `read` gives the bytes of a record, or nothing when there is none.
  using ReadRecord = std::function<std::optional<std::string>(const std::string&)>;
  // `edits` are those of the code that was compiled; they must outlive this.
  DebugRecords(ReadRecord read, const CodeEdits& edits) : read_(std::move(read)), edits_(edits) {}

  // The Python position that a position in the archive's code was made from.  Records are parsed at the first
  // question about their file; a damaged one is as good as none.
  std::optional<SourceLocation> find(const torch::jit::SourceRange& range);

 private:
  struct Entry {
    std::int64_t offset = 0;  // in the archive's code file
    std::string file;
    std::int64_t line = 0;
    std::string text;
    std::string function;
  };
  using Table = std::vector<Entry>;  // by offset
  static Table parse(const std::string& pickle);

  ReadRecord read_;
  const CodeEdits& edits_;
  std::unordered_map<std::string, Table> tables_;  // by code file
};

}  // namespace fxtrace
