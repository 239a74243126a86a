// Answers each line of stdin, a call as tests/fuzz/call_text.h has it, with what the shape rules say of it;
// "error: " and why for what is no such call.  test_shape_rules.py compares the answers with torch.
#include <exception>
#include <iostream>
#include <string>

#include "tests/fuzz/call_text.h"

int main() {
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::string answer;
    try {
      answer = fxtrace::shapes_of(line);
    } catch (const std::exception& error) {
      answer = std::string("error: ") + error.what();
    }
    std::cout << answer << '\n';
  }
  return 0;
}
