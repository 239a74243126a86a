// Functions of an archive's code that are taken out before LibTorch compiles it, and where positions of the
// code that is compiled stood in the archive.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fxtrace {

class CodeEdits {
 public:
  // The bytes from `begin` to `end` of the code file become `text`, which stands for position `at`.  Edits of
  // one file must not overlap.
  void replace(const std::string& file, std::size_t begin, std::size_t end, std::string text, std::size_t at);

  // The file with its edits.
  std::string apply(const std::string& file, std::string text) const;
  // The position in the archive's file of a position in apply()'s.
  std::size_t original(const std::string& file, std::size_t position) const;

 private:
  struct Edit {
    std::size_t end = 0;
    std::string text;
    std::size_t at = 0;
  };
  std::map<std::string, std::map<std::size_t, Edit>> edits_;  // by file, by beginning
};

}  // namespace fxtrace
