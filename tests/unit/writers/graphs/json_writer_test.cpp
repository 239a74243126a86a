// The writer of collections as JSON.
#include "writers/graphs/collection_writers.h"

#include <cmath>
#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"
#include "sample_collection.h"
#include "support/error.h"
#include "support/json_emitter.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {
namespace {

std::string json_text(const GraphCollection& collection) {
  std::ostringstream out;
  write_json(collection, out);
  return out.str();
}

nlohmann::ordered_json parsed(const GraphCollection& collection) {
  return nlohmann::ordered_json::parse(json_text(collection));
}

// Returns the text between `key": ` and the end of a document that holds one argument.
std::string argument_text(const Argument& argument) {
  GraphCollection collection;
  collection.graphs.emplace_back();
  Graph::NodeSpec spec;
  spec.target = "x";
  const auto id = collection.graphs[0].graph.append(spec);
  spec.op = Opcode::kOutput;
  spec.target = "output";
  spec.args = {argument};
  CHECK(id == NodeId{0});
  collection.graphs[0].graph.append(spec);
  const auto text = json_text(collection);
  const auto start = text.find(R"("target": "output", "args": [)") + 29;
  const auto end = text.find(R"(], "kwargs")", start);
  REQUIRE(nlohmann::json::accept(text));
  return text.substr(start, end - start);
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> found;
  for (const auto& [key, value] : object.items()) found.push_back(key);
  return found;
}
using Strings = std::vector<std::string>;

TEST_CASE("json: what an emitter writes of values", "[json]") {
  const auto write = [](JsonEmitter& json) {
    json.object([&] {
      json.field("text", "a\"\n\x01");
      json.field("numbers", std::vector<std::int64_t>{1, -2});
      json.field("reals", std::vector<double>{1, 0.5, INFINITY});
      json.field("absent", std::optional<bool>());
      json.field("present", std::optional(true));
      json.field("counts", std::map<std::string, std::uint64_t>{{"a", UINT64_MAX}, {"b", 0}});
      json.field("size", *SymInt::parse("2*batch"));
      json.text_or_null("unknown", "");
      json.field("empty", std::vector<std::string>());
    });
  };
  CHECK(
      json_text(JsonLayout::kSpaced, write) ==
      R"({"text": "a\"\n\u0001", "numbers": [1, -2], "reals": [1.0, 0.5, null], "absent": null, "present": true, )"
      R"("counts": {"a": 18446744073709551615, "b": 0}, "size": "batch*2", "unknown": null, "empty": []})");
  CHECK(json_text(JsonLayout::kCompact, write) ==
        R"({"text":"a\"\n\u0001","numbers":[1,-2],"reals":[1.0,0.5,null],"absent":null,"present":true,)"
        R"("counts":{"a":18446744073709551615,"b":0},"size":"batch*2","unknown":null,"empty":[]})");
  CHECK(json_text(JsonLayout::kLines, [](JsonEmitter& json) { json.value(std::vector{1, 2}); }) ==
        "[\n  1,\n  2\n]");
}

}  // namespace

TEST_CASE("meta as JSON: the device where it is not the CPU", "[json_writer]") {
  GraphCollection collection;
  collection.graphs.emplace_back();
  Graph& graph = collection.graphs[0].graph;
  for (const char* name : {"x", "y"}) {
    Graph::NodeSpec spec;
    spec.target = name;
    graph.append(spec);
  }
  graph.meta(NodeId{0}) = {"Tensor",
                           std::vector<Expression>{Expression::parse("batch*2")},
                           ScalarType::kFloat16,
                           Device{"cuda", 0},
                           {}};
  graph.meta(NodeId{1}) = {"Tensor", std::vector<Expression>{3}, ScalarType::kFloat16, {}, {}};
  const auto nodes = parsed(collection)["graphs"][0]["nodes"];
  CHECK(nodes[0]["meta"].dump() ==
        R"({"type":"Tensor","shape":["batch*2"],"dtype":"float16","device":"cuda:0"})");
  CHECK(nodes[1]["meta"].dump() == R"({"type":"Tensor","shape":[3],"dtype":"float16"})");
}

TEST_CASE("arguments as JSON", "[json_writer]") {
  struct Case {
    Argument argument;
    std::string text;
  };
  const double inf = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {{}, "null"},
      {true, "true"},
      {false, "false"},
      {0, "0"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808"},
      {1.0, "1.0"},
      {-0.0, "-0.0"},
      {0.1, "0.1"},
      {1e20, "1e+20"},
      {1e-5, "1e-05"},
      {100000.0, "1e+05"},
      {123456789.0, "123456789.0"},
      {0.30000000000000004, "0.30000000000000004"},
      {5e-324, "5e-324"},
      {inf, R"({"float": "inf"})"},
      {-inf, R"({"float": "-inf"})"},
      {std::nan(""), R"({"float": "nan"})"},
      {std::complex<double>(1, -inf), R"({"complex": [1.0, {"float": "-inf"}]})"},
      {"text", R"("text")"},
      {Argument::List{}, "[]"},
      {Argument::List{{1, Argument::List{{"a"}}}}, R"([1, ["a"]])"},
      {Argument::Tuple{}, R"({"tuple": []})"},
      {Argument::Tuple{{1, 2}}, R"({"tuple": [1, 2]})"},
      {Argument::Dict{{{Argument("a"), Argument(1)}, {Argument(2), Argument()}}},
       R"({"dict": [["a", 1], [2, null]]})"},
      {Argument::Slice{{{}, 1, NodeId{0}}}, R"({"slice": [null, 1, {"node": "x"}]})"},
      {NodeId{0}, R"({"node": "x"})"},
      {Argument::Dtype{"float32"}, R"({"dtype": "float32"})"},
      {Argument::Device{"cuda:0"}, R"({"device": "cuda:0"})"},
      {Argument::Layout{"strided"}, R"({"layout": "strided"})"},
      {Argument::MemoryFormat{"channels_last"}, R"({"memory_format": "channels_last"})"},
      {Argument::GraphRef{"true_graph_0"}, R"({"graph": "true_graph_0"})"},
      {Argument::Function{"aten.sin.default"}, R"({"function": "aten.sin.default"})"},
  };
  for (const auto& [argument, text] : cases) CHECK(argument_text(argument) == text);
}

TEST_CASE("strings as JSON", "[json_writer]") {
  struct Case {
    std::string bytes, text;
  };
  const std::string replacement = "\xEF\xBF\xBD";
  const Case cases[] = {
      {"", ""},
      {"a\"b\\c/d", R"(a\"b\\c/d)"},
      {"\n\r\t", R"(\n\r\t)"},
      {std::string("\0\x01\x1f\x7f", 4), R"(\u0000\u0001\u001f\u007f)"},
      {"gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82",
       "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82"},
      {"\x80", replacement},
      {"a\xFFz", "a" + replacement + "z"},
      {"\xC3", replacement},                                      // cut off
      {"\xE2\x82z", replacement + "z"},                           // the start of one character
      {"\xC0\xAF", replacement + replacement},                    // overlong
      {"\xE0\x80\x80", replacement + replacement + replacement},  // overlong
      {"\xED\xA0\x80", replacement + replacement + replacement},  // a surrogate
      {"\xF4\x90\x80\x80", replacement + replacement + replacement + replacement},  // beyond U+10FFFF
      {"\xF0\x9F\x99", replacement},
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
  };
  for (const auto& [bytes, text] : cases) CHECK(argument_text(bytes) == "\"" + text + "\"");
}

TEST_CASE("a byte of a string is written as if it stood alone", "[json_writer]") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string alone(1, static_cast<char>(byte));
    const std::string text = argument_text(alone);
    const std::string inside = text.substr(1, text.size() - 2);
    for (std::size_t place = 0; place < 18; ++place) {
      const std::string before(place, '!'), after(17 - place, '~');
      CHECK(argument_text(before + alone + after) == "\"" + before + inside + after + "\"");
      CHECK(argument_text(before + alone + alone + after) == "\"" + before + inside + inside + after + "\"");
    }
  }
}

TEST_CASE("numbers read back as they were", "[json_writer]") {
  std::uint64_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double value = std::ldexp(static_cast<double>(state >> 11), static_cast<int>(state % 600) - 300);
    const auto json = nlohmann::json::parse(argument_text(value));
    REQUIRE(json.is_number_float());
    REQUIRE(json.get<double>() == value);
  }
}

TEST_CASE("attributes of modules are written where there are any", "[json_writer]") {
  auto collection = sample_collection();
  CHECK_FALSE(parsed(collection)["modules"][0].contains("attributes"));
  collection.modules[0].attributes = {
      {"training", false},
      {"eps", 1e-5},
      {"mode", "max"},
      {"bias", Argument::None{}},
      {"kernel_size", Argument::List{{3, 3}}},
      {"limit", std::numeric_limits<double>::infinity()},
  };
  CHECK(
      parsed(collection)["modules"][0]["attributes"].dump() ==
      R"({"training":false,"eps":1e-05,"mode":"max","bias":null,"kernel_size":[3,3],"limit":{"float":"inf"}})");
}

TEST_CASE("the document has the contract's keys in their order", "[json_writer]") {
  const auto json = parsed(sample_collection());
  CHECK(keys(json) == Strings{"format", "version", "producer", "model", "options", "summary", "modules",
                              "parameters", "graphs"});
  CHECK(json["format"] == "fxtrace.graph_collection");
  CHECK(json["version"] == 1);
  CHECK(keys(json["producer"]) == Strings{"name", "version"});
  CHECK(json["model"].dump() ==
        R"({"file":"model.pt","kind":"torchscript","type":"pkg.Net","method":"forward"})");
  CHECK(json["options"].dump() == R"({"method":"forward"})");
  CHECK(json["summary"].dump() ==
        R"({"graphs":2,"nodes":17,"modules":{"traced":2,"leaf":1,"failed":2,"unvisited":1},)"
        R"("parameters":4,"unused_parameters":["b.l.weight"]})");
  CHECK(json["modules"][2].dump() ==
        R"({"path":"a.l","type":"torch.nn.modules.linear.Linear","status":"leaf","alias_of":null,)"
        R"("alias":null,"rule":"torch.nn.**","calls":1,"failure":null})");
  CHECK(json["modules"][5]["alias_of"] == "b");
  CHECK(
      json["modules"][3]["failure"].dump() ==
      R"({"kind":"data_dependent_control_flow","message":"an if depends on an input","module":"b","op":"prim::If",)"
      R"("source":{"file":"net.py","line":12,"function":"forward","text":"if x.sum() > 0:"}})");
  CHECK(json["parameters"][2].dump() ==
        R"({"name":"scale","kind":"buffer","shape":[],"dtype":"float64","alias_of":"a.l.bias"})");
}

TEST_CASE("graphs and nodes as JSON", "[json_writer]") {
  const auto json = parsed(sample_collection());
  const auto& graph = json["graphs"][0];
  CHECK(keys(graph) ==
        Strings{"module", "type", "nodes", "constants", "subgraphs", "guards", "assignments", "execution"});
  CHECK(graph["nodes"][0].dump() ==
        R"({"name":"x","op":"placeholder","target":"x","args":[],"kwargs":{},"users":["mul"],)"
        R"("scope":{"module_path":"","module_type":null,"call":1},)"
        R"("meta":{"type":"Tensor","shape":[1,"batch"],"dtype":"float32"},"source":null})");
  CHECK(graph["nodes"][3]["meta"].dump() == R"({"type":"Tensor","shape":null,"dtype":null})");
  CHECK(graph["nodes"][5].dump() ==
        R"({"name":"add_1","op":"call_function","target":"aten.add.Tensor",)"
        R"("args":[{"node":"a_l"},{"node":"tensor_constant0"}],"kwargs":{"alpha":2},"users":["b"],)"
        R"("scope":{"module_path":"a","module_type":"pkg.Sub","call":1},"meta":null,"source":null})");
  CHECK(
      graph["constants"].dump() ==
      R"({"_tensor_constant0":{"dtype":"int64","shape":[2,2],"data":[[1,2],[3,4]]},)"
      R"("_tensor_constant1":{"dtype":"float32","shape":[2000],"data":null,"record":"constants/3","stride":[1],"storage_offset":0}})");
  CHECK(keys(graph["subgraphs"]["true_graph_0"]) ==
        Strings{"module", "type", "nodes", "constants", "subgraphs", "guards", "assignments"});
  CHECK(graph["guards"][1].dump() == R"({"expr":"y","source":null,"reason":"assert"})");
  CHECK(graph["execution"].dump() ==
        R"({"module_forward_order":["","a","a.l"],"param_forward_order":["a.l.weight","a.l.bias"],)"
        R"("module_param_usage":[{"module":"","uses":[{"module":"a","params":["a.l.weight","a.l.bias"]}]},)"
        R"({"module":"a","uses":[{"module":"a.l","params":["a.l.weight","a.l.bias"]}]}]})");
}

TEST_CASE("what exported programs add", "[json_writer]") {
  const auto json = parsed(exported_collection());
  CHECK(json["parameters"][3].dump() == R"({"name":"queue","kind":"custom_object","shape":null,"dtype":null,)"
                                        R"("type":"__torch__.torch.classes.pkg.Queue","alias_of":null})");
  const auto& graph = json["graphs"][0];
  CHECK(keys(graph) == Strings{"module", "type", "nodes", "constants", "subgraphs", "guards", "assignments",
                               "graph_signature", "execution"});
  CHECK(graph["nodes"][1]["meta"].dump() == R"({"type":"int","shape":null,"dtype":null,"value":3})");
  CHECK(graph["nodes"][2]["meta"].dump() == R"({"type":"int","shape":null,"dtype":null,"value":"batch"})");
  CHECK(graph["nodes"][5].dump() ==
        R"({"name":"l","op":"call_module","target":"l","args":[{"node":"x"}],"kwargs":{},"users":["cond"],)"
        R"("scope":{"module_path":"l","module_type":"torch.nn.modules.linear.Linear","call":1},"meta":null,)"
        R"("source":null,"program_nodes":["linear","relu"],"program_inputs":[{"value":"x","path":[0]}],)"
        R"("program_results":[{"value":"relu","path":[]}]})");
  CHECK_FALSE(graph["nodes"][6].contains("program_nodes"));
  CHECK(graph["nodes"][8]["args"][0].dump() == R"({"function":"aten.mm.default"})");
  const auto& body = graph["subgraphs"]["true_graph_0"];
  CHECK(body["subgraphs"]["body_graph_0"]["nodes"].size() == 3);
  CHECK_FALSE(body.contains("graph_signature"));
  CHECK(json["summary"]["nodes"] == 11 + 3 + 3 + 2);
}

TEST_CASE("the signature of an exported program", "[json_writer]") {
  const auto json = parsed(exported_collection());
  const auto& signature = json["graphs"][0]["graph_signature"];
  CHECK(keys(signature) == Strings{"inputs", "outputs"});
  const Strings inputs = {
      R"({"role":"parameter","name":"p_l_weight","target":"l.weight","node":null})",
      R"({"role":"buffer","name":"b_count","target":"count","persistent":false,"node":"count"})",
      R"({"role":"constant_tensor","name":"c_lifted_tensor_0","target":"lifted_tensor_0","node":"lifted_tensor_0"})",
      R"({"role":"custom_obj","name":"obj_queue","target":"queue","node":null})",
      R"({"role":"user_input","name":"x","path":["d",0],"node":"x"})",
      R"({"role":"user_input","name":"n","path":["n"],"value":3,"node":"n"})",
  };
  const Strings outputs = {
      R"({"role":"buffer_mutation","name":"add","target":"count","node":"copy_"})",
      R"({"role":"user_output","name":"out_dtype","path":["y"],"node":"out_dtype"})",
      R"({"role":"user_output","name":"","path":[],"value":null,"node":null})",
  };
  REQUIRE(signature["inputs"].size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) CHECK(signature["inputs"][i].dump() == inputs[i]);
  REQUIRE(signature["outputs"].size() == outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(signature["outputs"][i].dump() == outputs[i]);
  // One entry a line.
  CHECK_THAT(
      json_text(exported_collection()),
      ContainsSubstring("\n      \"graph_signature\": {\n        \"inputs\": [\n          {\"role\": "));
  CHECK_FALSE(parsed(sample_collection())["graphs"][0].contains("graph_signature"));
}

TEST_CASE("the layout is one node, module and parameter a line", "[json_writer]") {
  const auto text = json_text(sample_collection());
  CHECK(text.starts_with(
      "{\n  \"format\": \"fxtrace.graph_collection\",\n  \"version\": 1,\n  \"producer\": {\"name\""));
  CHECK(text.ends_with("\n  ]\n}\n"));
  CHECK_THAT(text,
             ContainsSubstring("\n    {\"path\": \"\", \"type\": \"pkg.Net\", \"status\": \"traced\", "));
  CHECK_THAT(text,
             ContainsSubstring("\n    {\"name\": \"a.l.bias\", \"kind\": \"parameter\", \"shape\": [4], "));
  CHECK_THAT(text, ContainsSubstring("\n        {\"name\": \"x\", \"op\": \"placeholder\", "));
  CHECK_THAT(text, ContainsSubstring("\n      \"subgraphs\": {},\n      \"guards\": [],\n"));
  CHECK(text == json_text(sample_collection()));
}

TEST_CASE("constants are nested by their shape", "[json_writer]") {
  struct Case {
    Constant constant;
    std::string text;
  };
  const auto inf = std::numeric_limits<double>::infinity();
  const Case cases[] = {
      {{"int64", {}, std::vector<Argument>{3}, ""}, R"({"dtype":"int64","shape":[],"data":3})"},
      {{"bool", {1}, std::vector<Argument>{true}, ""}, R"({"dtype":"bool","shape":[1],"data":[true]})"},
      {{"float32", {1, 2, 1}, std::vector<Argument>{1.0, inf}, ""},
       R"({"dtype":"float32","shape":[1,2,1],"data":[[[1.0],[{"float":"inf"}]]]})"},
      {{"int64", {0}, std::vector<Argument>{}, ""}, R"({"dtype":"int64","shape":[0],"data":[]})"},
      {{"int64", {2, 0}, std::vector<Argument>{}, ""}, R"({"dtype":"int64","shape":[2,0],"data":[[],[]]})"},
      {{"int64", {1LL << 60, 0}, std::vector<Argument>{}, ""},
       R"({"dtype":"int64","shape":[1152921504606846976,0],"data":null,"record":null})"},
      {{"quint8", {1}, {}, "constants/0", {1}, 3},
       R"({"dtype":"quint8","shape":[1],"data":null,"record":"constants/0","stride":[1],"storage_offset":3})"},
      {{"", {}, {}, "constants.pkl", {}, 0, "torch.classes.my.Packed", 2},
       R"({"type":"torch.classes.my.Packed","record":"constants.pkl","index":2})"},
  };
  for (const auto& [constant, text] : cases) {
    GraphCollection collection;
    collection.graphs.emplace_back().constants.emplace_back("c", constant);
    CHECK(parsed(collection)["graphs"][0]["constants"]["c"].dump() == text);
  }
  for (const std::size_t count : {3U, 5U}) {
    GraphCollection collection;
    collection.graphs.emplace_back().constants.emplace_back(
        "c", Constant{"int64", {2, 2}, std::vector<Argument>(count, Argument(1)), ""});
    CHECK_THROWS_AS(json_text(collection), Error);
  }
}

TEST_CASE("an empty collection is a document too", "[json_writer]") {
  const auto json = parsed({});
  CHECK(json["graphs"].empty());
  CHECK(json["summary"]["nodes"] == 0);
}

TEST_CASE("a large graph is written in time", "[json_writer]") {
  GraphCollection collection;
  auto& graph = collection.graphs.emplace_back().graph;
  Graph::NodeSpec spec;
  spec.target = "x";
  auto last = graph.append(spec);
  spec.op = Opcode::kCallFunction;
  spec.target = "aten.add.Tensor";
  spec.scope = Scope{"encoder.layers.3", "pkg.Layer", 1};
  spec.source = SourceLocation{"net.py", 3, "forward", "return x + 1"};
  for (int i = 0; i < 100'000; ++i) {
    spec.args = {last, 1};
    last = graph.append(spec);
  }
  const std::clock_t start = std::clock();
  const auto text = json_text(collection);
  const double elapsed = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  CHECK(text.size() > 20'000'000);
  CHECK(elapsed < 10);  // processor time; unoptimised and with sanitizers
}

}  // namespace fxtrace::internal
