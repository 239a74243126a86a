// Reads the records of tests/golden; tests/python/golden.py describes their format.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// Returns the stdout of the case; nothing if the case wrote none.
inline std::string golden_stdout(const std::filesystem::path& golden) {
  std::ifstream file(golden, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  constexpr std::string_view kMark = "\n;;; stdout\n";
  std::size_t begin = text.find(kMark);
  if (begin == std::string::npos) return "";
  begin += kMark.size();
  const std::size_t end = text.find("\n;;; stderr", begin);
  return text.substr(begin, end == std::string::npos ? end : end + 1 - begin);
}

}  // namespace fxtrace::internal
