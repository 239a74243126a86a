// The JSON reader: values, errors, and damaged texts.
#include "support/json_document.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "support/error.h"

using namespace fxtrace::internal;

namespace {

constexpr JsonRules kStrict{ErrorKind::kUsage, 8, true};

// Returns the error of f(root), or of reading the text.
template <class F>
std::string strict_error(const std::string& text, F&& f) {
  try {
    const JsonDocument document(text, "f.json", kStrict);
    f(document.root());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.place() + ": " + error.what();
  }
  return "";
}
std::string strict_error(const std::string& text) {
  return strict_error(text, [](const JsonValue&) {});
}

}  // namespace

TEST_CASE("json document: values and fields", "[json]") {
  const JsonDocument document(
      R"({"a": [1, -2.5, "x\u00e9", true, null, "Infinity"], "b": {"c": {}}, "b": 3})", "it");
  const JsonValue root = document.root();
  std::vector<JsonValue> items;
  for (const JsonValue item : root.at("a").items()) items.push_back(item);
  REQUIRE(items.size() == 6);
  CHECK(items[0].integer() == 1);
  CHECK(items[0].number() == 1.0);
  CHECK(items[1].number() == -2.5);
  CHECK(items[2].string() == "x\xC3\xA9");
  CHECK(items[3].boolean());
  CHECK(items[4].is_null());
  CHECK(items[5].number() == HUGE_VAL);
  CHECK(root.at("b").integer() == 3);  // the last one counts, as in Python
  CHECK_FALSE(root.find("z"));
  CHECK(root.fields().begin().key() == "a");
}

TEST_CASE("json document: errors say where", "[json]") {
  const JsonDocument document(R"({"graph": {"nodes": [{"x": 1}, {"x": [0, "no"]}]}})", "the JSON");
  const auto message = [&](auto&& f) -> std::string {
    try {
      f(document.root());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto second = [](const JsonValue& root) {
    auto nodes = root.at("graph").at("nodes").items().begin();
    ++nodes;
    return *nodes;
  };
  CHECK(message([&](const JsonValue& root) {
          auto item = second(root).at("x").items().begin();
          ++item;
          static_cast<void>((*item).integer());
        }) == "the JSON: graph.nodes[1].x[1]: expected a 64-bit integer");
  CHECK(message([&](const JsonValue& root) { static_cast<void>(second(root).at("y")); }) ==
        "the JSON: graph.nodes[1]: \"y\" is missing");
  CHECK(message([&](const JsonValue& root) { static_cast<void>(root.items()); }) ==
        "the JSON: expected a list");
}

TEST_CASE("json document: what is no JSON", "[json]") {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\" 1}", "nul", "\"\xff\"", "[1] 2", "[1e999]", "[Infinit]"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(JsonDocument(text, "it"), Error);
  }
  CHECK_THROWS_AS(JsonDocument(std::string(100'000, '['), "it"), Error);
  // PyTorch 2.6 wrote Python's own spelling; inside strings it is text.
  const JsonDocument python(R"([-Infinity, NaN, "Infinity \" NaN", 1])", "it");
  auto item = python.root().items().begin();
  CHECK((*item).number() == -HUGE_VAL);
  ++item;
  CHECK(std::isnan((*item).number()));
  ++item;
  CHECK((*item).string() == "Infinity \" NaN");
}

TEST_CASE("json document: strings and numbers are exact", "[json]") {
  const JsonDocument document(
      R"(["\ud83d\ude00\u0000\\\"\/\n", -0.0, 5e-324, 0.1, 9223372036854775807, -9223372036854775808, 9223372036854775808])",
      "it");
  std::vector<JsonValue> items;
  for (const JsonValue item : document.root().items()) items.push_back(item);
  REQUIRE(items.size() == 7);
  CHECK(items[0].string() == std::string("\xF0\x9F\x98\x80\0\\\"/\n", 9));
  CHECK(std::signbit(items[1].number()));
  CHECK(items[2].number() == 5e-324);
  CHECK(items[3].number() == 0.1);
  CHECK(items[4].integer() == INT64_MAX);
  CHECK(items[5].integer() == INT64_MIN);
  CHECK_THROWS_AS(items[6].integer(), Error);
  CHECK(items[6].number() == 9223372036854775808.0);
}

TEST_CASE("json document: a strict one tells lines and columns", "[json]") {
  const std::pair<const char*, const char*> texts[] = {
      {"", "f.json:1:1: invalid JSON: unexpected end of input"},
      {"[1]\n 2", "f.json:2:2: invalid JSON: expected the end"},
      {"[NaN]", "f.json:1:2: invalid JSON: expected a value"},
      {"[1, \"\\ud83d\"]", "f.json:1:5: invalid JSON: this string has an unknown escape"},
      {"[\"a]", "f.json:1:2: invalid JSON: this string does not end"},
      {"{1: 2}", "f.json:1:2: invalid JSON: expected a key"},
      {"{\"a\": 1 \"b\": 2}", "f.json:1:9: invalid JSON: expected ',' or '}'"},
      {"[1e400]", "f.json:1:2: invalid JSON: this is not a number, or it is too large"},
      {"{\"\u00e9\": 1, \"a\": [{}, \"\\\"{\"],\n\t\"a\": 2}", "f.json:2:2: duplicate key 'a'"},
      {"[[[[[[[[[]]]]]]]]]", "f.json:1:9: nested too deeply"},
  };
  for (const auto& [text, message] : texts) {
    CAPTURE(text);
    CHECK_THAT(strict_error(text), ContainsSubstring(message));
  }
  CHECK(strict_error(std::string("[]\0", 3)) == "f.json:1:3: invalid JSON: expected the end");
  CHECK(strict_error("\xEF\xBB\xBF[1,]").starts_with("f.json:1:4: "));

  const std::string text = R"({"s": "\"[{\\", "a/b": [true, {"n~": -1.5e3}],
  "é": "\u00e9", "last": {}})";
  const auto at = [&](auto&& f) { return strict_error(text, f); };
  CHECK(at([](const JsonValue& root) { root.fail("no"); }) == "f.json:1:1: no");
  CHECK(at([](const JsonValue& root) { root.at("s").fail("no"); }) == "f.json:1:7: /s: no");
  CHECK(at([](const JsonValue& root) { root.at("last").fail("no"); }) == "f.json:2:26: /last: no");
  CHECK(at([](const JsonValue& root) { root.at("last").fail_at_key("no"); }) == "f.json:2:18: /last: no");
  CHECK(at([](const JsonValue& root) {
          auto item = root.at("a/b").items().begin();
          ++item;
          static_cast<void>((*item).at("n~").integer());
        }) == "f.json:1:38: /a~1b/1/n~0: expected a 64-bit integer");
}

TEST_CASE("json document: equal keys are found among many", "[json]") {
  const auto object = [](int keys, int again) {
    std::string text = "{";
    for (int i = 0; i < keys; ++i) text += "\"k" + std::to_string(i) + "\": {\"k0\": []}, ";
    return text + "\"k" + std::to_string(again) + "\": 0}";
  };
  for (const int keys : {1, 31, 32, 33, 34, 1000}) {
    CAPTURE(keys);
    CHECK(strict_error(object(keys, keys)).empty());
    CHECK_THAT(strict_error(object(keys, 0)), ContainsSubstring("duplicate key 'k0'"));
    CHECK_THAT(strict_error(object(keys, keys - 1)), ContainsSubstring("duplicate key"));
  }
}

namespace {

// Returns the error for a text that is not JSON; nothing when it is.
template <class Text>
std::optional<std::string> refusal(Text&& text) {
  try {
    const JsonDocument document(std::forward<Text>(text), "it");
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("json document: limits and errors of what is read as Python reads it", "[json]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_FALSE(refusal(nested(4'000)));
  CHECK(refusal(nested(4'001)) == "it cannot be parsed: nested more than 4000 deep");
  const std::pair<std::string, std::string> texts[] = {
      {"", "not JSON at byte 1"},
      {"[1, 2,]", "not JSON at byte 7: expected a value"},
      {"[1e400]", "not JSON at byte 2: this is not a number, or it is too large"},
      {std::string("[\"\0\"]", 5), "not JSON at byte 2"},
      {"[\"\xC0\xAF\"]", "not JSON at byte 2: this string has"},
      {"[Infinity, 01]", "not JSON at byte 12"},
  };
  for (const auto& [text, message] : texts) {
    CAPTURE(text);
    const auto said = refusal(text);
    REQUIRE(said);
    CHECK_THAT(*said, ContainsSubstring(message));
    CHECK(refusal(JsonText{text}) == said);
  }
  const JsonRules few{ErrorKind::kInput, 9, false, 9};
  JsonDocument(JsonText{R"({"a": [1, 2.5, "", {"b": []}]})"}, "it", few);
  CHECK_THROWS_WITH(JsonDocument(JsonText{R"({"a": [1, 2.5, "", {"b": []}, 0]})"}, "it", few),
                    "it cannot be parsed: more than 9 values");
}

TEST_CASE("json document: the scan reads as simdjson", "[json]") {
  const auto same = [](const std::string& text) {
    const std::string parsed = "[0, " + text + "]", scanned = "[NaN, " + text + "]";
    const auto refused = refusal(scanned);
    if (refused || refusal(parsed)) return refused.has_value() == refusal(parsed).has_value();
    const JsonDocument first(parsed, "it"), second(scanned, "it");
    const auto others = [](const JsonDocument& document) {
      std::vector<JsonValue> items;
      for (const JsonValue item : document.root().items()) items.push_back(item);
      items.erase(items.begin());
      return items;
    };
    return std::ranges::equal(others(first), others(second), &JsonValue::equals);
  };
  const std::string numbers =
      R"([18446744073709551615, 18446744073709551616, -9223372036854775809, 1e-400, -0, -0.0, 1E+2, 4.9e-324,
          1.7976931348623157e308, 2.2250738585072011e-308, 123456789012345678901234567890.5e-5, 0.1e1])";
  CHECK(same(numbers));
  // Damaged texts, too.
  const std::string text =
      "\t{\"a\\u00e9\\n\": [1, -2.5e3, true, null, {\"\u00e9\": \"\\ud83d\\ude00\"}, [], {}],\r\n \"b\": 18446744073709551615}";
  const std::string bytes = "{}[],:\"\\ -+.eE0123456789ntfu\x7f\x80\xC3\xA9\xED\xF4\x01\n/IN";
  std::minstd_rand random(1);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random()) % end; };
  for (int i = 0; i < 30'000; ++i) {
    std::string damaged = below(2) == 0 ? text : numbers;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(damaged.size());
      if (below(3) == 0) {
        damaged.erase(at, 1 + below(3));
      } else if (below(2) == 0) {
        damaged[at] = bytes[below(bytes.size())];
      } else {
        damaged.insert(at, 1, bytes[below(bytes.size())]);
      }
    }
    CAPTURE(i, damaged);
    if (!same(damaged)) FAIL("they differ");
  }
}
