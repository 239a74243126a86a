// Configurations from JSON and from the command line.
#include "trace/options/options.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "support/error.h"
#include "trace/options/option_json.h"

using namespace fxtrace::internal;

namespace {

Config read(const std::string& text) {
  Config config;
  read_config(text, "c.json", config);
  return config;
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.place() + ": " + error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("config: concrete arguments", "[config]") {
  const std::string text =
      R"({"concrete":{"flag":true,"state":{"a":["$PH",null],"n":-3},"f":0.5},"input_names":["x","y"]})";
  const Config config = read(text);
  REQUIRE(config.options.concrete.size() == 3);
  CHECK(config.options.concrete[0].name == "flag");
  CHECK(config.options.concrete[0].value == Argument(true));
  Argument::Dict state;
  state.items.push_back({"a", Argument::List{{kConcretePlaceholder, Argument::None{}}}});
  state.items.push_back({"n", -3});
  CHECK(config.options.concrete[1].value == Argument(state));
  CHECK(config.options.input_names == std::vector<std::string>{"x", "y"});
  CHECK(options_json(config) == text);
  CHECK_THROWS_AS(read(R"({"concrete": [1]})"), Error);
  CHECK(parse_concrete("[1, {}]", "it") == Argument(Argument::List{{1, Argument::Dict{}}}));
  CHECK_THROWS_AS(parse_concrete("[1", "it"), Error);
  CHECK_THROWS_AS(parse_concrete("", "it"), Error);
}

TEST_CASE("config: everything", "[config]") {
  const Config config = read(R"({
    "$schema": "config.schema.json", "method": "encode", "model": "second", "default_leaves": false, "max_depth": 3,
    "no_leaf": "torch.nn.Conv2d", "leaf": ["torch.nn.*", "@head"],
    "rules": [{"type": "torch.nn.Conv2d", "path": "stem.*", "where": {"groups": {">": 1, "<": 9}, "bias": true},
               "leaf": false},
              {"where": {"depth": 2}},
              {"function": "pkg.*", "wrap": false}],
    "wrap": "pkg.f", "no_wrap": ["pkg.g"], "hooks": "skip", "op_library": "libops.so",
    "op_schema": ["my::op(Tensor x) -> Tensor"], "strict": true,
    "max_iterations": 5, "max_nodes": 6, "max_call_depth": 7})");
  const TraceOptions& options = config.options;
  CHECK(options.method == "encode");
  CHECK(options.model == "second");
  CHECK_FALSE(options.default_leaves);
  CHECK(options.max_depth == 3);
  REQUIRE(options.leaf_rules.size() == 5);
  CHECK(options.leaf_rules[0].text ==
        "torch.nn.Conv2d@stem.* where groups > 1 and groups < 9 and bias == true");
  CHECK_FALSE(options.leaf_rules[0].leaf);
  REQUIRE(options.leaf_rules[0].where.size() == 3);
  CHECK(options.leaf_rules[0].where[0].value == Argument(1));
  CHECK(options.leaf_rules[1].text == "where depth == 2");
  CHECK(options.leaf_rules[1].leaf);
  CHECK(options.leaf_rules[2].text == "torch.nn.*");
  CHECK(options.leaf_rules[3].path_glob == "head");
  CHECK(options.leaf_rules[4].type_glob == "torch.nn.Conv2d");
  CHECK_FALSE(options.leaf_rules[4].leaf);
  REQUIRE(options.wrap_rules.size() == 3);
  CHECK_FALSE(options.wrap_rules[0].wrap);
  CHECK(options.wrap_rules[1].glob == "pkg.f");
  CHECK_FALSE(options.wrap_rules[2].wrap);
  CHECK(options.hooks == Hooks::kSkip);
  CHECK(options.op_libraries == std::vector<std::string>{"libops.so"});
  CHECK(options.op_schemas == std::vector<std::string>{"my::op(Tensor x) -> Tensor"});
  CHECK(config.strict);
  CHECK(options.limits.iterations == 5);
  CHECK(options.limits.nodes == 6);
  CHECK(options.limits.call_depth == 7);
}

TEST_CASE("config: there and back", "[config]") {
  CHECK(options_json(Config()) == "{}");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"method": "encode"})", R"({"method":"encode"})"},
      {R"({"max_depth": 1, "model": "b", "method": "encode"})",
       R"({"method":"encode","model":"b","max_depth":1})"},
      {R"({"leaf": "a@b", "no_leaf": "@c"})",
       R"({"rules":[{"type":"a","path":"b","leaf":true},{"path":"c","leaf":false}]})"},
      {R"({"rules": [{"where": {"k": {"==": [3, 3], "!=": null}, "e": {"<": 0.5}}}]})",
       R"({"rules":[{"where":{"k":{"==":[3,3],"!=":null},"e":{"<":0.5}},"leaf":true}]})"},
      {R"({"no_wrap": "x", "wrap": "y", "max_depth": 0})",
       R"({"rules":[{"function":"y","wrap":true},{"function":"x","wrap":false}],"max_depth":0})"},
      {R"({"op_library": "/dev/null", "op_schema": "a::b() -> Tensor"})",
       R"({"op_library":["null"],"op_schema":["a::b() -> Tensor"]})"},
      {R"({"strict": true, "hooks": "skip", "default_leaves": false, "max_nodes": 9})",
       R"({"default_leaves":false,"hooks":"skip","strict":true,"max_nodes":9})"},
      {R"({"hooks": "run", "default_leaves": true, "method": "forward", "strict": false})", "{}"},
  };
  for (const auto& [text, json] : cases) {
    CAPTURE(text);
    const Config config = read(text);
    CHECK(options_json(config) == json);
    const Config again = read(json);
    CHECK(options_json(again) == json);
  }
}

TEST_CASE("config: dummy inputs and dimensions", "[config]") {
  const Config config = read(R"({"param_shapes_constant": true,
      "input": {"x": "float[batch, 3]", "1": "int64[2*batch]@cuda:0", "past.0.k": "half[]", "n": "seq"},
      "dim": {"batch": "1..64", "seq": "8..", "u": "4..4"}})");
  REQUIRE(config.options.inputs.size() == 4);
  CHECK(config.options.inputs[2].name == "past.0.k");
  REQUIRE(config.options.dimensions.size() == 3);
  CHECK(config.options.dimensions[1].low == 8);
  CHECK_FALSE(config.options.dimensions[1].high);
  const std::string json =
      R"({"input":{"x":"float32[batch,3]","1":"int64[batch*2]@cuda:0","past.0.k":"float16[]","n":"seq"},)"
      R"("dim":{"batch":"1..64","seq":"8..","u":"4"},"param_shapes_constant":true})";
  CHECK(options_json(config) == json);
  CHECK(options_json(read(json)) == json);

  // The command line adds options: an input is replaced, a dimension narrowed.
  Config more = config;
  read_config(R"({"input": {"x": "int8[1]"}, "dim": {"batch": "..8", "seq": "..16"}})", "c.json", more);
  const auto options = nlohmann::json::parse(options_json(more));
  CHECK(options["input"]["x"] == "int8[1]");
  CHECK(options["dim"]["batch"] == "1..8");
  CHECK(options["dim"]["seq"] == "8..16");
}

TEST_CASE("config: errors have a place", "[config]") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "c.json:1:1: invalid JSON: unexpected end of input"},
      {"{\n  \"a\" 1}", "c.json:2:7: invalid JSON: expected ':'"},
      {"{\n  \"method\": \"f\",\n}", "c.json:3:1: invalid JSON"},
      {"[1]", "c.json:1:1: expected an object with options"},
      {"{\"max_dept\": 1}", "c.json:1:2: /max_dept: unknown option 'max_dept', did you mean 'max_depth'?"},
      {"{\"max-depth\": 1}", "did you mean 'max_depth'?"},
      {"{\"frobnicate\": 1}", "c.json:1:2: /frobnicate: unknown option 'frobnicate'"},
      {"{\"format\": \"fxtrace.graph_collection\"}", "use the value of its 'options'"},
      {"{\"format\": \"fxtrace.ops\"}", "c.json:1:12: /format: expected \"fxtrace.config\""},
      {"{\"version\": 2}", "c.json:1:13: /version: this version of fxtrace reads version 1"},
      {"{\"rules\": [\n  {\"type\": \"x\",\n    \"leaf\": 1}]}",
       "c.json:3:13: /rules/0/leaf: expected a boolean"},
      {"{\"rules\": [{}]}", "c.json:1:12: /rules/0: a rule needs"},
      {"{\"rules\": [{\"typ\": \"x\"}]}", "unknown key of a rule 'typ', did you mean 'type'?"},
      {"{\"rules\": [{\"type\": \"a[\"}]}", "c.json:1:21: /rules/0/type: invalid glob 'a[' at position 2"},
      {"{\"rules\": [{\"function\": \"a\", \"leaf\": true}]}",
       "'leaf' does not apply to a rule for functions"},
      {"{\"rules\": [{\"type\": \"a\", \"wrap\": true}]}", "'wrap' needs 'function'"},
      {"{\"rules\": [{\"type\": \"a\", \"where\": {}}]}", "/rules/0/where: expected at least one condition"},
      {"{\"rules\": [{\"where\": {\"a/b\": {\"=>\": 1}}}]}",
       "/rules/0/where/a~1b/=>: unknown comparison '=>'"},
      {"{\"rules\": [{\"where\": {\"a\": {\">\": {}}}}]}",
       "expected null, a boolean, a number, a string or an array"},
      {"{\"rules\": [{\"where\": {\"depth\": {\"<\": \"x\"}}}]}",
       "c.json:1:38: /rules/0/where/depth/<: expected a number"},
      {"{\"rules\": [{\"where\": {\"parameters\": {\"in\": [1, true]}}}]}",
       "/rules/0/where/parameters/in/1: expected a number"},
      {"{\"leaf\": [1]}", "c.json:1:11: /leaf/0: expected a string"},
      {"{\"leaf\": \"x@\"}", "c.json:1:10: /leaf: invalid rule 'x@'"},
      {"{\"max_depth\": -1}", "c.json:1:15: /max_depth: expected an integer of at least 0"},
      {"{\"max_depth\": 1.5}", "expected an integer"},
      {"{\"max_nodes\": 0 }", "c.json:1:15: /max_nodes: expected an integer of at least 1"},
      {"{\"hooks\": \"no\"}", "expected \"run\" or \"skip\""},
      {"{\"method\": \"\"}", "expected a non-empty string"},
      {"{\"method\": \"a\", \"method\": \"b\"}", "c.json:1:17: duplicate key 'method'"},
      {"{\"input\": [\"float32[1]\"]}", "c.json:1:11: /input: expected an object: inputs and their specs"},
      {"{\"input\": {\"x\": 1}}", "c.json:1:17: /input/x: expected a string"},
      {"{\"input\": {\"x\": \"float31[1]\"}}", "c.json:1:17: /input/x: --input x: 'float31' is not a dtype"},
      {"{\"input\": {\"\": \"float32[1]\"}}", "'' is not the name of an input"},
      {"{\"concrete\": {\"a=b\": 1}}", "c.json:1:15: /concrete/a=b: a name has no '='"},
      {"{\"dim\": {\"b\": 8}}", "c.json:1:15: /dim/b: expected a string"},
      {"{\"dim\": {\"b\": \"2..1\"}}", "c.json:1:15: /dim/b: --dim b: from 2 to 1 is an empty range"},
      {"{\"dim\": {\"1\": \"2\"}}", "'1' is not a valid name for a dimension"},
      {"{\"pass\": [\"functional\", \"no\"]}", "c.json:1:25: /pass/1: --pass: there is no pass 'no'"},
      {"{\"op_schema\": \"my::op(Tensor x\"}",
       "c.json:1:15: /op_schema: --op-schema: invalid operator schema"},
      {"{\"op_library\": [\"ops/no.so\"]}",
       "c.json:1:17: /op_library/0: --op-library: cannot load ops/no.so"},
      {"{\"m\\\"\": 1}", "c.json:1:2: "},
      {"{\"méthode\": 1, \"strict\": 2}", "c.json:1:2: /méthode: unknown option"},
      {"{\"\": \"é\", \"strict\": 2}", "c.json:1:2: "},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    CHECK_THAT(error_of(text), ContainsSubstring(message));
  }
  CHECK_THAT(error_of(std::string(1'000'000, '[')), ContainsSubstring("c.json:1:33: nested too deeply"));
  // Values may be nested less deeply than a document, so that a result, which nests the options deeper, can
  // be read again.
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  for (const auto& [before, after] :
       {std::pair("{\"rules\": [{\"where\": {\"a\": ", "}}]}"), std::pair("{\"concrete\": {\"x\": ", "}}")}) {
    CHECK_THAT(error_of(before + nested(25) + after), ContainsSubstring("nested too deeply"));
    Config config;
    read_config(before + nested(24) + after, "c.json", config);
    Config again;
    read_config(options_json(config), "options", again);
    CHECK(options_json(again) == options_json(config));
  }
  CHECK_THAT(error_of("{\"method\": \"\xff\"}"), ContainsSubstring("invalid JSON"));
  CHECK_THAT(error_of("{\"max_depth\": 1e999}"), ContainsSubstring("invalid JSON"));
}

TEST_CASE("config: a file may say what it is", "[config]") {
  CHECK(read(R"({"format": "fxtrace.config", "version": 1, "method": "f"})").options.method == "f");
}

TEST_CASE("config: a byte order mark is skipped", "[config]") {
  CHECK(read("\xef\xbb\xbf{\"method\": \"f\"}").options.method == "f");
}

TEST_CASE("config: the schema has the keys of a rule", "[config]") {
  std::ifstream file(FXTRACE_SOURCE_DIR "/schemas/config.schema.json");
  const auto schema = nlohmann::json::parse(file);
  std::set<std::string> keys;
  for (const char* form : {"module_rule", "function_rule"}) {
    for (const auto& [key, value] : schema["$defs"][form]["properties"].items()) keys.insert(key);
  }
  const auto known = rule_keys();
  CHECK(keys == std::set<std::string>(known.begin(), known.end()));
}
