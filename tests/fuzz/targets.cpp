#include "tests/fuzz/targets.h"

namespace fxtrace::fuzz {

std::vector<std::string_view> lines_of(std::string_view input, std::size_t limit) {
  std::vector<std::string_view> lines;
  while (lines.size() + 1 < limit) {
    const std::size_t end = input.find('\n');
    if (end == std::string_view::npos) break;
    lines.push_back(input.substr(0, end));
    input.remove_prefix(end + 1);
  }
  lines.push_back(input);
  return lines;
}

}  // namespace fxtrace::fuzz
