// Globs over paths and names.
#include "support/text/glob.h"

#include <chrono>
#include <string>

#include "catch.h"
#include "support/error.h"

using fxtrace::internal::Glob;

TEST_CASE("glob: what matches", "[glob]") {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"torch.nn.Linear", "torch.nn.Linear", true},
      {"torch.nn.Linear", "torch.nn.Linear2", false},
      {"torch.nn.Linear", "torch.nn.Linea", false},
      {"torch.nn.*", "torch.nn.Linear", true},
      {"torch.nn.*", "torch.nn.modules.Linear", false},
      {"torch.nn.**", "torch.nn.modules.linear.Linear", true},
      {"torch.nn.**", "torch.nn", false},
      {"**.Linear", "torch.nn.Linear", true},
      {"**.Linear", "Linear", true},
      {"**.Linear", "torch.nn.QLinear", false},
      {"**Linear", "torch.nn.QLinear", true},
      {"a.**.b", "a.b", true},
      {"a.**.b", "a.x.b", true},
      {"a.**.b", "a.x.y.b", true},
      {"a.**.b", "a.xb", false},
      {"a.**.b", "ab", false},
      {"a.**.**.b", "a.b", true},
      {"a.**.**.b", "a.x.b", true},
      {"a.**.**.b", "a.xb", false},
      {"**.a.**.b", "a.b", true},
      {"**.*", "a", true},
      {"**.**", "a.b", true},
      {"a**b", "a.x.b", true},
      {"**", "", true},
      {"**", "a.b.c", true},
      {"*", "a", true},
      {"*", "a.b", false},
      {"*.*", "a.b", true},
      {"layers.?", "layers.3", true},
      {"layers.?", "layers.13", false},
      {"a?b", "a.b", false},
      {"layers.[0-3]", "layers.2", true},
      {"layers.[0-3]", "layers.4", false},
      {"layers.[!0-3]", "layers.4", true},
      {"layers.[!0-3]", "layers.2", false},
      {"a[!x]b", "a.b", false},
      {"a[-x]", "a-", true},
      {"a[x-]", "a-", true},
      {"a[*]", "a*", true},
      {"a[*]", "ab", false},
      {"*.attn.*_proj", "0.attn.q_proj", true},
      {"*a*a*a*", "banana", true},
      {"*a*a*a*a*", "banana", false},
      {"gr?n", "grün", true},
      {"gr[ö-ü]n", "grün", true},
      {"gr??n", "grün", false},
      {"größe.*", "größe.x", true},
      {"größe.*", "grösse.x", false},
      // Literal parts are looked for first; the dot behind an optional part is none of them.
      {"*.part.*end", "x.part.the_end", true},
      {"*.part.*end", "x.party.the_end", false},
      {"*.part.*end", "x.part.the_end_", false},
      {"x*.**.end", "x1.end", true},
      {"x*.**.end", "x1.a.b.end", true},
      {"x*.**.end", "x1end", false},
      {"[ab].**.**.[cd]z", "a.cz", true},
      {"[ab].**.**.[cd]z", "a.x.dz", true},
      {"[ab].**.**.[cd]z", "a.x.dy", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.pattern, c.text);
    CHECK(Glob(c.pattern).matches(c.text) == c.matches);
  }
}

TEST_CASE("glob: patterns longer than a machine word", "[glob]") {
  for (const int length : {58, 59, 60, 61, 62, 63, 64, 65, 66, 127, 128, 129}) {
    CAPTURE(length);
    const std::string stem(static_cast<std::size_t>(length), 'x');
    CHECK(Glob(std::string("?").append(stem, 1)).matches(stem));
    CHECK(Glob(stem + "*").matches(stem + "y"));
    CHECK_FALSE(Glob(stem + "*").matches(stem + ".y"));
    CHECK(Glob(stem + ".**.b").matches(stem + ".b"));
    CHECK(Glob(stem + ".**.b").matches(stem + ".c.b"));
    CHECK_FALSE(Glob(stem + ".**.b").matches(stem + ".cb"));
  }
}

TEST_CASE("glob: no exponential backtracking", "[glob]") {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(Glob(pattern + "b").matches(std::string(20'000, 'a')));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}

TEST_CASE("glob: errors name the position", "[glob]") {
  struct Case {
    const char* pattern;
    const char* message;
  };
  const Case cases[] = {
      {"", "invalid glob '' at position 1: the glob is empty"},
      {"torch.[nn", "invalid glob 'torch.[nn' at position 7: missing ']'"},
      {"ü[", "invalid glob 'ü[' at position 2: missing ']'"},
      {"a[]", "invalid glob 'a[]' at position 2: empty set"},
      {"a[z-a]", "invalid glob 'a[z-a]' at position 3: the range is reversed"},
      {"a.***", "invalid glob 'a.***' at position 5: '***' has no meaning; use '*' or '**'"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.pattern);
    try {
      Glob glob(c.pattern);
      FAIL("no error");
    } catch (const fxtrace::Error& error) {
      CHECK(error.kind() == fxtrace::ErrorKind::kUsage);
      CHECK(std::string(error.what()) == c.message);
    }
  }
}
