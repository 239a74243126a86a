// Lists of words in messages.
#include "support/text/words.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/catch.h"

using namespace fxtrace::internal;

TEST_CASE("names in one text are taken apart at spaces") {
  std::vector<std::string> found;
  for_each_word("conv1d conv2d conv3d", [&](std::string_view word) { found.emplace_back(word); });
  CHECK(found == std::vector<std::string>{"conv1d", "conv2d", "conv3d"});
  CHECK(words_of("a bc a").size() == 2);
  CHECK(words_of("").empty());
}

TEST_CASE("a word of a text is a whole one") {
  CHECK(find_word("conv1d conv2d", "conv1d") == 0);
  CHECK(find_word("conv1d conv2d", "conv2d") == 1);
  CHECK(has_word("conv1d conv2d", "conv2d"));
  CHECK_FALSE(has_word("conv1d conv2d", "conv"));
  CHECK_FALSE(has_word("conv1d conv2d", "conv1d conv2d"));
  CHECK_FALSE(has_word("conv1d conv2d", ""));
  CHECK_FALSE(has_word("", ""));
}

TEST_CASE("what has a text is joined") {
  CHECK(joined(std::vector<std::string>{"a", "b", "c"}) == "a, b, c");
  CHECK(joined(std::vector<std::string>{}) == "");
  CHECK(joined(std::vector<std::string_view>{"a", "b"}, {}, "|") == "a|b");
  CHECK(joined(std::vector<std::int64_t>{1, 2}, [](std::int64_t n) { return std::to_string(n); }) == "1, 2");
}
