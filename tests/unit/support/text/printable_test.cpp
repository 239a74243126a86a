// Unprintable and misleading characters are escaped, others are kept.
#include "support/text/unicode.h"

#include <cstdint>
#include <string>

#include "catch.h"
#include "support/text/numbers.h"

namespace fxtrace::internal {

TEST_CASE("hexadecimal digits", "[printable]") {
  CHECK(hexadecimal(0) == "0");
  CHECK(hexadecimal(15, 2) == "0f");
  CHECK(hexadecimal(0xDEADBEEF, 4) == "deadbeef");
  CHECK(hexadecimal(UINT64_MAX, 16) == std::string(16, 'f'));
}

TEST_CASE("printable: what would do something to the reader is escaped", "[printable]") {
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"", ""},
      {std::string("a\0b", 3), R"(a\x00b)"},
      {"\x1b[31mred\x1b[0m", R"(\x1b[31mred\x1b[0m)"},
      {"a\nb\tc\rd\x7f", R"(a\nb\tc\rd\x7f)"},
      {"\xC2\x9B"
       "31m",
       R"(\x9b31m)"},                                                             // C1: the same as ESC [
      {"\u202egnp.exe", R"(\u202egnp.exe)"},                                      // overrides
      {"\u2066a\u2069\u200e\u200f\u061c", R"(\u2066a\u2069\u200e\u200f\u061c)"},  // isolates and marks
      {"a\u2028b\u2029c", R"(a\u2028b\u2029c)"},
      {"\ufeffx\u200by", R"(\ufeffx\u200by)"},
      {"a\U000e0041", R"(a\U000e0041)"},  // an invisible letter
      {"bad \xff\xfe", "bad \xEF\xBF\xBD\xEF\xBF\xBD"},
      {"over\xC0\xAFlong", "over\xEF\xBF\xBD\xEF\xBF\xBDlong"},
      {"cut \xE2\x82", "cut \xEF\xBF\xBD"},
  }));
  CAPTURE(expected);
  CHECK(printable(text) == expected);
  CHECK(printable(printable(text)) == expected);
}

TEST_CASE("printable: ordinary text of any language is as it was", "[printable]") {
  for (const std::string text : {
           "encoder.layers.0 [1, batch] -> 'x' \"y\" \\ ~", "Schicht für Größen, naïve café",
           "模型 モデル 모델",
           "نموذج",                  // Arabic
           "می\u200cخواهم",          // Persian has a joiner that forbids joining
           "מודל",                   // Hebrew
           "क्\u200dष नमूना",          // Hindi
           "e\u0301 a\u0308",        // combining marks
           "葛\U000e0100",           // a variant of a Japanese character
           "👩\u200d🔬 ❤\ufe0f 🇩🇪",  // emoji
           "price\u00a0€5 — “so”",   // a space that does not break
       }) {
    CHECK(printable(text) == text);
    CHECK(one_line(text) == text);
  }
}

TEST_CASE("printable: one line", "[printable]") {
  CHECK(one_line("a\n\n  b\tc \r\n") == "a   b c");
  CHECK(one_line("\na\x1b") == R"(a\x1b)");
  CHECK(one_line("  x") == "  x");
}

}  // namespace fxtrace::internal
