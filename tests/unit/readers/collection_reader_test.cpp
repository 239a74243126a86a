// Reading collections from JSON, whole and damaged.
#include "readers/collection_reader.h"

#include <chrono>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "catch.h"
#include "golden.h"
#include "sample_collection.h"
#include "support/error.h"
#include "writers/graphs/collection_writers.h"
#include "writers/pictures/dot_writer.h"

using namespace fxtrace::internal;

namespace {

std::string written(const GraphCollection& collection) {
  std::ostringstream out;
  write_json(collection, out);
  return out.str();
}

const std::string& small() {
  static const std::string text = written(read_collection(
      golden_stdout(FXTRACE_SOURCE_DIR "/tests/golden/trace/json/json_nested_scripted.txt"), "x.json"));
  return text;
}

// Returns the small collection with the first `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = small();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    read_collection(text, "x.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInput);
    return error.place() + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("collection reader: what a trace writes is read without loss", "[collection_reader]") {
  int read = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(FXTRACE_SOURCE_DIR "/tests/golden")) {
    const std::string text = golden_stdout(entry.path());
    if (!text.starts_with("{\n  \"format\": \"fxtrace.graph_collection\"")) continue;
    CAPTURE(entry.path().filename().string());
    // Goldens have {VERSION} in place of the version of the program.
    std::string again = written(read_collection(text, "x.json"));
    const std::size_t version = again.find("\"version\": \"") + 12;
    again.replace(version, again.find('"', version) - version, "{VERSION}");
    CHECK((again == text));
    ++read;
  }
  CHECK(read > 50);
}

TEST_CASE("collection reader: numbers and strings are exact", "[collection_reader]") {
  const std::string text = with(
      R"("args": [{"node": "x"}], "kwargs": {})",
      R"("args": [{"node": "x"}], "kwargs": {"a": [-0.0, 5e-324, 0.1, 1e+20, {"float": "nan"}, {"float": "-inf"}, {"complex": [0.0, {"float": "inf"}]}, -9223372036854775808], "\u0001\u007f\n\"": "\u0000/\\ 😀", "c": {"dict": [[1, {"tuple": [{"slice": [null, true, {"node": "x"}]}]}]]}, "d": [{"dtype": "bool"}, {"device": "cpu"}, {"layout": "strided"}, {"memory_format": "contiguous_format"}, {"function": "aten.mm.default"}]})");
  CHECK(written(read_collection(text, "x.json")) == text);
}

TEST_CASE("collection reader: what is wrong is told by its place", "[collection_reader]") {
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"{\n  \"format\"", "[{\n  \"format\"", "x.json:105:1: invalid JSON"},
      {"fxtrace.graph_collection", "other", "x.json:2:13: /format: this is not a graph collection"},
      {"\"format\"", "\"form\"", "x.json:1:1: this is not a graph collection"},
      {"\"version\": 1,", "\"version\": 2,",
       "x.json:3:14: /version: this is version 2 of the format, and this fxtrace reads version 1"},
      {"\"model\": {", "\"model\": {\"file\": 1, ", "duplicate key 'file'"},
      {"\"kind\": \"torchscript\", ", "", "/model: \"kind\" is missing"},
      {"\"kind\": \"torchscript\"", "\"kind\": \"onnx\"",
       "/model/kind: expected one of torchscript, exported_program"},
      {"\"options\": {}", "\"options\": []", "/options: expected an object"},
      {"\"nodes\": 16", "\"nodes\": 17", "/summary/nodes: the collection has 16"},
      {"\"traced\": 5", "\"traced\": 6", "/summary/modules/traced: the collection has 5"},
      {"\"status\": \"leaf\"", "\"status\": \"lead\"",
       "/modules/1/status: expected one of traced, leaf, failed, unvisited"},
      {"\"calls\": 1", "\"calls\": -1", "/modules/0/calls: expected an integer of at least 0"},
      {"\"calls\": 1", "\"calls\": 1, \"cost\": 2", "/modules/0/cost: unknown field"},
      {"\"out_features\": 8", "\"out_features\": {\"node\": \"x\"}", "expected a number"},
      {"\"shape\": [8, 4]", "\"shape\": [8, -4]", "/parameters/1/shape/1: expected an integer of at least 0"},
      {"\"shape\": [8, 4]", "\"shape\": null", "/parameters/1/shape: expected a list"},
      {"\"op\": \"placeholder\"", "\"op\": \"place\"", "/graphs/0/nodes/0/op: expected one of"},
      {"\"name\": \"stem\"", "\"name\": \"x\"", "/graphs/0/nodes/1/name: another node has this name"},
      {"\"name\": \"stem\"", "\"name\": \"len\"", "torch.fx would give this node the name len_1"},
      {"\"name\": \"stem\"", "\"name\": \"\"", "expected a non-empty string"},
      {"[{\"node\": \"x\"}]", "[{\"node\": \"output\"}]",
       "/graphs/0/nodes/1/args/0/node: no node before this one has the name 'output'"},
      {"[{\"node\": \"x\"}]", "[{\"node\": \"stem\"}]", "no node before this one has the name 'stem'"},
      {"[{\"node\": \"x\"}]", "[{\"nod\": \"x\"}]", "/nodes/1/args/0/nod: unknown kind of argument"},
      {"[{\"node\": \"x\"}]", "[{}]", "/nodes/1/args/0: expected one field"},
      {"[{\"node\": \"x\"}]", "[{\"slice\": [1]}]", "expected start, stop and step"},
      {"[{\"node\": \"x\"}]", "[{\"dict\": [[1]]}]", "expected a key and a value"},
      {"[{\"node\": \"x\"}]", "[{\"complex\": [1]}]", "expected the real and the imaginary part"},
      {"[{\"node\": \"x\"}]", "[{\"complex\": [1, \"Infinity\"]}]", "complex/1: expected a number"},
      {"[{\"node\": \"x\"}]", "[{\"float\": \"Infinity\"}]", "expected inf, -inf or nan"},
      {"\"users\": [\"stem\"]", "\"users\": []",
       "/nodes/0/users: these are not the nodes whose arguments use this one"},
      {"\"users\": [\"stem\"]", "\"users\": [\"stem\", \"stem\"]", "these are not the nodes"},
      {"\"module_path\": \"stem\"", "\"module_path\": \"step\"",
       "x.json: the collection contradicts itself: the graph of '': stem refers to an unknown module: 'step'"},
      {"\"call\": 1", "\"call\": 0", "scope/call: expected an integer of at least 1"},
      {"\"shape\": null, \"dtype\": null", "\"shape\": [-1], \"dtype\": null",
       "meta/shape/0: a size is negative"},
      {"\"shape\": null, \"dtype\": null", "\"shape\": [1.5], \"dtype\": null", "expected a 64-bit integer"},
      {"\"kind\": \"torchscript\"", "\"kind\": \"torch\x01\"", "control character"},
      {"\"line\": ", "\"line\": -", "source/line: expected an integer of at least 1"},
      {"\"constants\": {}", "\"constants\": {\"c\": {\"dtype\": \"int8\", \"shape\": [2], \"data\": [1]}}",
       "/graphs/0/constants/c/data: expected 2 items, as the shape says"},
      {"\"constants\": {}",
       "\"constants\": {\"c\": {\"dtype\": \"int8\", \"shape\": [9223372036854775807, 4], \"data\": [[1]]}}",
       "data/0: expected 4 items"},
      {"\"constants\": {}", "\"constants\": {\"c\": {\"dtype\": \"int8\", \"shape\": [], \"data\": [1]}}",
       "expected a number or a boolean"},
      {"\"constants\": {}", "\"constants\": {\"c\": {\"dtype\": \"int8\", \"shape\": [0], \"data\": []}}",
       "the graph of '' has a constant that nothing uses: 'c'"},
      {"\"module_forward_order\": [", "\"module_forward_order\": [\"no\", ",
       "refers to an unknown module: 'no'"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.from, c.to);
    CHECK_THAT(error_of(with(c.from, c.to)), ContainsSubstring(c.message));
  }
}

TEST_CASE("collection reader: fields of later versions are left out", "[collection_reader]") {
  std::set<std::string> unknown;
  for (const char* object : {"{\n  \"format\"", "{\n      \"module\"", "{\"name\": \"stem\""}) {
    const std::string start = std::string(object).substr(1);
    const std::string text = with(object, "{\"later" + std::to_string(unknown.size()) + "\": [{}], " + start);
    CHECK((written(read_collection(text, "x.json", &unknown)) == small()));
  }
  CHECK(unknown == std::set<std::string>{"later0", "later1", "later2"});
}

TEST_CASE("collection reader: the order of fields does not matter", "[collection_reader]") {
  const std::string text = with(R"("args": [{"node": "x"}], "kwargs": {}, )", "");
  std::string moved = text;
  const std::string users = R"("users": ["stage_first_linear", "add"], )";
  REQUIRE(moved.find(users) != std::string::npos);
  moved.insert(moved.find(users) + users.size(), R"("kwargs": {}, "args": [{"node": "x"}], )");
  CHECK((written(read_collection(moved, "x.json")) == small()));
  CHECK_THAT(error_of(text), ContainsSubstring("/graphs/0/nodes/1: \"args\" is missing"));
}

namespace {

// Removes or replaces bytes at one of so many places.
void damage_everywhere(std::size_t step) {
  const std::string text = small();
  const auto check = [](const std::string& damaged) {
    try {
      const std::string once = written(read_collection(damaged, "x.json"));
      return written(read_collection(once, "x.json")) == once;
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kInput && error.place().starts_with("x.json");
    }
  };
  for (std::size_t size = 0; size + 1 < text.size(); size += step) {
    if (error_of(text.substr(0, size)).empty()) FAIL("cut at " + std::to_string(size));
  }
  const std::string bytes("\"\\0-{}[],:1xn\0\xff", 15);
  for (std::size_t at = 0; at < text.size(); at += 3 * step) {
    std::string damaged = text;
    damaged[at] = bytes[at % bytes.size()];
    if (!check(damaged)) FAIL("replaced at " + std::to_string(at));
    damaged.erase(at, 1 + at % 7);
    if (!check(damaged)) FAIL("erased at " + std::to_string(at));
  }
}

}  // namespace

TEST_CASE("collection reader: damage is an error or another collection", "[collection_reader]") {
  damage_everywhere(11);
}
TEST_CASE("collection reader: damage everywhere", "[.volume]") { damage_everywhere(1); }

TEST_CASE("collection reader: nesting has a limit", "[collection_reader]") {
  const auto nested = [](std::size_t depth) {
    return with("[{\"node\": \"x\"}]",
                "[{\"node\": \"x\"}, " + std::string(depth, '[') + std::string(depth, ']') + "]");
  };
  const std::string deep = nested(1'990);
  const GraphCollection collection = read_collection(deep, "x.json");
  CHECK((written(collection) == deep));
  std::ostringstream text;
  write_text(collection, text);
  write_dot(collection, text, {});
  CHECK_THAT(error_of(nested(2'000)), ContainsSubstring("nested too deeply"));
  CHECK_THAT(error_of(nested(1'000'000)), ContainsSubstring("nested too deeply"));
}

TEST_CASE("collection reader: a large collection is read in time", "[collection_reader]") {
  GraphCollection collection = read_collection(small(), "x.json");
  Graph& graph = collection.graphs.front().graph;
  for (int i = 0; i < 20'000; ++i) {
    graph.insert_before(graph.last(),
                        {Opcode::kCallFunction, "aten.add.Tensor", {graph.first(), i}, {}, {}, {}, {}, {}});
  }
  const std::string text = written(collection);
  const auto start = std::chrono::steady_clock::now();
  CHECK((written(read_collection(text, "x.json")) == text));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("collection reader: the sample is read without loss", "[collection_reader]") {
  for (GraphCollection collection : {sample_collection(), exported_collection()}) {
    collection.options_json = "{}";
    const std::string text = written(collection);
    CHECK(written(read_collection(text, "x.json")) == text);
  }
}
