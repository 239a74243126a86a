// Summaries: counting, folding, and the writers.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "sample_collection.h"
#include "summaries/model_summary.h"
#include "support/error.h"
#include "support/text/numbers.h"
#include "tests/forms/graph_text.h"
#include "writers/reports/report_writers.h"

using namespace fxtrace::internal;

namespace {

constexpr ModuleStatus kTraced = ModuleStatus::kTraced;

Cost cost(const std::string& macs, std::int64_t bytes = 0) {
  Cost cost;
  cost.macs = SymInt::parse(macs);
  cost.activation_bytes = bytes;
  return cost;
}

std::vector<Meta> output(std::vector<Meta::Dim> shape, ScalarType dtype = ScalarType::kFloat32) {
  return {{"Tensor", std::move(shape), dtype, {}, {}}};
}

ParameterRecord parameter(const std::string& name, std::vector<std::int64_t> shape) {
  return {name, ParameterKind::kParameter, std::move(shape), "float32", {}, {}};
}

// A stem, twelve blocks in a list, of which the middle one differs, and a head tied to the stem.
GraphCollection blocks(const std::map<int, std::string>& macs_of = {}) {
  GraphCollection collection;
  collection.model = {"model.pt2", "exported_program", "pkg.Net", "forward", "8.20"};
  const auto module = [&](const std::string& path, const std::string& type, std::vector<Meta::Dim> shape) {
    ModuleRecord record{path, type, kTraced, {}, {}, 1, {}};
    record.outputs = output(std::move(shape));
    collection.modules.push_back(std::move(record));
  };
  std::string text = "%x = placeholder[x]()\n";
  module("", "pkg.Net", {1, 8});
  module("stem", "torch.nn.modules.linear.Linear", {1, 4});
  collection.parameters.push_back(parameter("stem.weight", {8, 4}));
  text += "%stem = call_module[stem](%x)  # stem: torch.nn.modules.linear.Linear\n";
  collection.modules.push_back(
      {"h", "torch.nn.modules.container.ModuleList", ModuleStatus::kUnvisited, {}, {}, 0, {}});
  std::string last = "stem";
  for (int i = 0; i < 12; ++i) {
    const std::string path = "h." + std::to_string(i);
    const std::string name = "h_" + std::to_string(i);
    module(path, "pkg.Block", {1, 4});
    module(path + ".fc", "torch.nn.modules.linear.Linear", {1, 4});
    collection.parameters.push_back(parameter(path + ".fc.weight", {4, 4}));
    text += "%" + name + "_fc = call_module[" + path + ".fc](%" + last + ")  # " + path +
            ".fc: torch.nn.modules.linear.Linear\n";
    last = name + "_fc";
  }
  module("head", "torch.nn.modules.linear.Linear", {1, 8});
  collection.parameters.push_back(parameter("head.weight", {8, 4}));
  collection.parameters.back().alias_of = "stem.weight";
  text += "%head = call_module[head](%" + last + ")  # head: torch.nn.modules.linear.Linear\n";
  text += "%output = output[output](%head)\n";
  auto graph = module_graph("", "pkg.Net", text);
  Graph& nodes = graph.graph;
  nodes.meta(NodeId{0}) = {"Tensor", std::vector<Expression>{1, 8}, ScalarType::kFloat32, {}, {}};
  nodes.meta(node_named(nodes, "head")) = {
      "Tensor", std::vector<Expression>{1, 8}, ScalarType::kFloat32, {}, {}};
  nodes.set_cost(node_named(nodes, "stem"), cost("32", 16));
  nodes.set_cost(node_named(nodes, "head"), cost("32", 32));
  for (int i = 0; i < 12; ++i) {
    const auto macs = macs_of.find(i);
    nodes.set_cost(node_named(nodes, "h_" + std::to_string(i) + "_fc"),
                   cost(macs == macs_of.end() ? "16" : macs->second, 16));
  }
  graph.cost = cost("256", 240);
  graph.cost->peak_bytes = SymInt(48);
  collection.graphs.push_back(std::move(graph));
  return collection;
}

const SummaryRow& row_of(const ModelSummary& summary, const std::string& path) {
  for (const SummaryRow& row : summary.rows) {
    if (row.path == path) return row;
  }
  FAIL("no row " << path);
  return summary.rows.front();
}

std::vector<std::string> paths(const ModelSummary& summary) {
  std::vector<std::string> result;
  for (const SummaryRow& row : summary.rows)
    result.push_back(row.last ? row.path + " - " + *row.last : row.path);
  return result;
}

// Checks that every number of a row is the sum of its own and those of its children.
void check_sums(const ModelSummary& summary) {
  const auto& rows = summary.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i].path);
    std::int64_t macs = 0;
    std::int64_t elements = 0;
    bool has_children = false;
    for (std::size_t child = i + 1; child < rows.size() && rows[child].depth > rows[i].depth; ++child) {
      REQUIRE(rows[child].depth <= rows[child - 1].depth + 1);
      if (rows[child].depth > rows[i].depth + 1) continue;
      has_children = true;
      if (rows[child].macs) macs += *rows[child].macs->number();
      elements += rows[child].counted_parameters().elements;
    }
    if (!has_children) continue;
    CHECK(rows[i].macs.value_or(0).number() == macs);
    CHECK(rows[i].counted_parameters().elements == elements);
  }
}

std::string text_of(const ModelSummary& summary, std::size_t width = 100, bool colour = false) {
  std::ostringstream out;
  write_summary(summary, out, {width, colour});
  return out.str();
}

std::string csv_of(const ModelSummary& summary) {
  std::ostringstream out;
  write_summary_csv(summary, out);
  return out.str();
}

std::string markdown_of(const ModelSummary& summary) {
  std::ostringstream out;
  write_summary(summary, out, {.is_markdown = true});
  return out.str();
}

nlohmann::json json_of(const ModelSummary& summary) {
  std::ostringstream out;
  write_summary_json(summary, out);
  return nlohmann::json::parse(out.str());
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("columns: numbers for people", "[summary]") {
  CHECK(with_separators(0) == "0");
  CHECK(with_separators(999) == "999");
  CHECK(with_separators(1814073344) == "1,814,073,344");
  CHECK(with_separators(-1000) == "-1,000");
  CHECK(with_separators(-100) == "-100");
  CHECK(with_separators(INT64_MIN) == "-9,223,372,036,854,775,808");
  CHECK(rounded(999) == "999");
  CHECK(rounded(1000) == "1.00 K");
  CHECK(rounded(9994) == "9.99 K");
  CHECK(rounded(9995) == "10.0 K");
  CHECK(rounded(99949) == "99.9 K");
  CHECK(rounded(99950) == "100 K");
  CHECK(rounded(999499) == "999 K");
  CHECK(rounded(999500) == "1.00 M");
  CHECK(rounded(1814073344) == "1.81 G");
  CHECK(rounded(INT64_MAX) == "9.22 E");
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.00 KiB");
  CHECK(bytes_text(1000 * 1024) == "1000 KiB");
  CHECK(bytes_text(46758048) == "44.6 MiB");
  CHECK(width("añ│") == 3);
}

TEST_CASE("summary: what a module costs is what its nodes and those below it cost", "[summary]") {
  const ModelSummary summary = summarize_model(blocks());
  check_sums(summary);
  CHECK(summary.rows.front().macs == SymInt(256));
  CHECK(row_of(summary, "h").macs == SymInt(192));
  CHECK(row_of(summary, "h").activation_bytes == SymInt(192));
  CHECK(row_of(summary, "h.3").macs == SymInt(16));
  CHECK(summary.macs == SymInt(256));
  CHECK(summary.activation_bytes == SymInt(240));
  CHECK(summary.peak_bytes == SymInt(48));
  CHECK(summary.parameters.elements == 32 + 12 * 16);
  CHECK(summary.dtypes == std::map<std::string, std::int64_t>{{"float32", 4 * (32 + 12 * 16)}});
  REQUIRE(summary.inputs.size() == 1);
  CHECK(summary.inputs.front().name == "x");
  REQUIRE(summary.outputs.size() == 1);
  CHECK(summary.outputs.front().name.empty());
}

TEST_CASE("summary: the least time on a device, and whether the model fits", "[summary]") {
  ModelSummary summary = summarize_model(blocks());
  Accelerator device{"box", "A Box", "its data sheet", {}, 1000, 100, {{"", 512}, {"float32", 512}}};
  place_on(summary, device);
  REQUIRE(summary.rows.front().least);
  CHECK(summary.rows.front().least->compute == 1);
  CHECK(summary.rows.front().least->memory == 2.72);  // of x, and of results
  CHECK(std::string(summary.rows.front().least->bound()) == "memory");
  CHECK(summary.fit->needed_bytes() == 4 * 224 + 48);
  CHECK(summary.fit->fits() == true);
  CHECK_THAT(text_of(summary), ContainsSubstring("2.72 s, bound by memory (compute 1.00 s, memory 2.72 s)"));
  CHECK_THAT(text_of(summary), ContainsSubstring("944 B of 1000 B: fits (weights 896 B, activations 48 B)"));
  ModelSummary folded = summary;
  fold_repeats(folded);
  CHECK(row_of(folded, "h.0").modules == 12);
  CHECK(row_of(folded, "h.0").least->compute == row_of(summary, "h").least->compute);
  device.memory_bytes = 900;
  device.peaks = {{"float32", 512}};
  place_on(summary, device);
  CHECK(summary.fit->fits() == false);
  CHECK(summary.fit->unknown_dtypes == std::set<std::string>{""});
}

TEST_CASE("summary: devices have names, and sources", "[summary]") {
  CHECK(Accelerator::named("h100").name == "h100-sxm");
  CHECK(Accelerator::named("a100-40gb").peak("float8_e4m3fn") == std::nullopt);
  CHECK(Accelerator::named("l4").peak("float8_e4m3fn") == 242.5e12);
  CHECK(Accelerator::named("t4").peak("quint8") == 130e12);
  CHECK_THROWS_WITH(Accelerator::named("h10"), ContainsSubstring("there is no device 'h10', did you mean '"));
  for (const char* text : {R"({"devices": []})", R"({"devices": [{"name": "a"}]})",
                           R"({"devices": [{"name": "a", "title": "A", "source": "s", "memory_bytes": 0,
                               "bandwidth": 1, "peaks": {}}]})"})
    CHECK_THROWS_AS(Accelerator::of_json(text, "f.json"), Error);
}

TEST_CASE("summary: a tied parameter counts in its first module", "[summary]") {
  const ModelSummary summary = summarize_model(blocks());
  const SummaryRow& head = row_of(summary, "head");
  CHECK(head.parameters.elements == 32);  // counted as torch counts
  CHECK(head.shared_parameters.elements == 32);
  CHECK(head.counted_parameters().elements == 0);
  CHECK(row_of(summary, "stem").counted_parameters().elements == 32);
  CHECK(summary.rows.front().parameters.elements == 224);
  CHECK(summary.rows.front().shared_parameters.elements == 0);
  CHECK_THAT(text_of(summary), ContainsSubstring("(32)  (128 B)"));
}

TEST_CASE("summary: equal blocks in a row are one row, of which the numbers are the sums", "[summary]") {
  ModelSummary summary = summarize_model(blocks());
  fold_repeats(summary);
  CHECK(paths(summary) == std::vector<std::string>{"", "stem", "h", "h.0 - h.11", "h.0.fc", "head"});
  check_sums(summary);
  const SummaryRow& block = row_of(summary, "h.0");
  CHECK(block.repeats == 12);
  CHECK(block.modules == 12);
  CHECK(block.macs == SymInt(192));
  CHECK(block.parameters == TensorCount{192, 768});
  const SummaryRow& linear = row_of(summary, "h.0.fc");
  CHECK(linear.repeats == 1);
  CHECK(linear.modules == 12);
  CHECK(linear.macs == SymInt(192));
  CHECK(linear.calls == 1);
  CHECK(linear.outputs == output({1, 4}));
}

TEST_CASE("summary: blocks that differ in anything that is shown do not fold", "[summary]") {
  SECTION("costs") {
    ModelSummary summary = summarize_model(blocks({{5, "17"}}));
    fold_repeats(summary);
    CHECK(paths(summary) == std::vector<std::string>{"", "stem", "h", "h.0 - h.4", "h.0.fc", "h.5", "h.5.fc",
                                                     "h.6 - h.11", "h.6.fc", "head"});
    check_sums(summary);
  }
  SECTION("one thing each") {
    const auto change = [](auto&& edit) {
      GraphCollection collection = blocks();
      edit(collection);
      ModelSummary summary = summarize_model(collection);
      fold_repeats(summary);
      return summary.rows.size();
    };
    const std::size_t apart = 10;
    const auto module = [](GraphCollection& collection) -> ModuleRecord& {
      return collection.modules[3 + 2 * 5 + 1];
    };
    CHECK(change([&](auto& c) { module(c).type = "pkg.Other"; }) == apart);
    CHECK(change([&](auto& c) { module(c).calls = 2; }) == apart);
    CHECK(change([&](auto& c) { module(c).status = ModuleStatus::kLeaf; }) == apart);
    CHECK(change([&](auto& c) { module(c).outputs = output({1, 5}); }) == apart);
    CHECK(change([&](auto& c) { module(c).outputs = output({1, 4}, ScalarType::kInt64); }) == apart);
    CHECK(change([&](auto& c) { module(c).outputs.reset(); }) == apart);
    CHECK(change([&](auto& c) { c.parameters[1 + 5].shape = {2, 8}; }) == 6);  // the shape is not shown
    CHECK(change([&](auto& c) { c.parameters[1 + 5].shape = {4, 5}; }) == apart);
    CHECK(change([&](auto& c) { c.parameters[1 + 5].dtype = "bfloat16"; }) == apart);
  }
  SECTION("what is cut off is not shown") {
    ModelSummary summary = summarize_model(blocks({{5, "17"}}));
    for (SummaryRow& row : summary.rows) {
      if (row.path != "h.5") continue;
      row.macs = SymInt(16);
      row.flops = SymInt(32);
    }
    limit_depth(summary, 2);
    fold_repeats(summary);
    CHECK(paths(summary) == std::vector<std::string>{"", "stem", "h", "h.0 - h.11", "head"});
    CHECK(summary.hidden == 12);
  }
}

TEST_CASE("summary: only names that count up are a range", "[summary]") {
  const auto folded = [](const std::vector<std::string>& names) {
    GraphCollection collection;
    collection.modules.push_back({"", "pkg.Net", kTraced, {}, {}, 1, {}});
    for (const auto& name : names) collection.modules.push_back({name, "pkg.A", kTraced, {}, {}, 1, {}});
    ModelSummary summary = summarize_model(collection);
    fold_repeats(summary);
    auto result = paths(summary);
    result.erase(result.begin());
    return result;
  };
  using Names = std::vector<std::string>;
  CHECK(folded({"0", "1", "2"}) == Names{"0 - 2"});
  CHECK(folded({"8", "9", "10", "11"}) == Names{"8 - 11"});
  CHECK(folded({"layer9", "layer10"}) == Names{"layer9 - layer10"});
  CHECK(folded({"block1_a", "block2_a"}) == Names{"block1_a - block2_a"});
  CHECK(folded({"x1y1", "x1y2", "x2y2"}) == Names{"x1y1 - x1y2", "x2y2"});
  CHECK(folded({"q_proj", "k_proj", "v_proj"}) == Names{"q_proj", "k_proj", "v_proj"});
  CHECK(folded({"0", "2"}) == Names{"0", "2"});
  CHECK(folded({"1", "0"}) == Names{"1", "0"});
  CHECK(folded({"0", "0x", "1"}) == Names{"0", "0x", "1"});
  const std::string large(40, '9');
  CHECK(folded({large, "1" + std::string(40, '0')}).size() == 2);
}

TEST_CASE("summary: blocks in blocks fold", "[summary]") {
  GraphCollection collection;
  collection.modules.push_back({"", "pkg.Net", kTraced, {}, {}, 1, {}});
  for (const std::string outer : {"0", "1", "2"}) {
    collection.modules.push_back({outer, "pkg.Stage", kTraced, {}, {}, 1, {}});
    for (const std::string inner : {"0", "1"}) {
      collection.modules.push_back({outer + "." + inner, "pkg.Block", kTraced, {}, {}, 1, {}});
      collection.parameters.push_back(parameter(outer + "." + inner + ".weight", {3}));
    }
  }
  ModelSummary summary = summarize_model(collection);
  fold_repeats(summary);
  CHECK(paths(summary) == std::vector<std::string>{"", "0 - 2", "0.0 - 0.1"});
  CHECK(summary.rows[1].repeats == 3);
  CHECK(summary.rows[1].parameters.elements == 18);
  CHECK(summary.rows[2].repeats == 2);
  CHECK(summary.rows[2].modules == 6);
  CHECK(summary.rows[2].parameters.elements == 18);
  CHECK_THAT(text_of(summary), ContainsSubstring("2 x Block"));
}

TEST_CASE("summary: a shared module is one row, and later names count nothing", "[summary]") {
  GraphCollection collection;
  collection.modules = {{"", "pkg.Net", kTraced, {}, {}, 1, {}},
                        {"a", "pkg.A", kTraced, {}, {}, 2, {}},
                        {"a.fc", "pkg.Linear", kTraced, {}, {}, 2, {}},
                        {"b", "pkg.A", kTraced, "a", {}, 0, {}}};
  collection.parameters = {parameter("a.fc.weight", {5})};
  auto graph = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %a_fc = call_module[a.fc](%x)  # a.fc: pkg.Linear
      %b_fc = call_module[b.fc](%a_fc)  # b.fc: pkg.Linear
      %output = output[output](%b_fc))");
  for (const char* name : {"a_fc", "b_fc"}) graph.graph.set_cost(node_named(graph.graph, name), cost("10"));
  collection.graphs.push_back(std::move(graph));
  const ModelSummary summary = summarize_model(collection);
  check_sums(summary);
  CHECK(row_of(summary, "a.fc").macs == SymInt(20));  // a call by the later name too
  CHECK(row_of(summary, "b").alias_of == "a");
  CHECK(row_of(summary, "b").parameters == TensorCount{});
  CHECK(summary.rows.front().macs == SymInt(20));
  CHECK(summary.modules == 3);
  CHECK_THAT(text_of(summary), ContainsSubstring("A (= a)"));
  CHECK_THAT(text_of(summary), ContainsSubstring("A (2 calls)"));
}

TEST_CASE("summary: of a module that failed its submodules' graphs tell", "[summary]") {
  GraphCollection collection;
  collection.model = {"model.pt", "torchscript", "pkg.Net", "forward", "3"};
  collection.modules = {{"", "pkg.Net", ModuleStatus::kFailed, {}, {}, 1, {}},
                        {"a", "pkg.A", kTraced, {}, {}, 1, {}},
                        {"b", "pkg.A", kTraced, {}, {}, 1, {}}};
  collection.modules.front().failure = Failure{FailureKind::kRaised, "it raises", "", "", {}};
  auto root = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %self = call_module[](%x)
      %output = output[output](%self))");
  Cost unknown;
  unknown.unknown = {{"pkg.Net", 1}};
  root.graph.set_cost(node_named(root.graph, "self"), unknown);
  root.cost = unknown;
  collection.graphs.push_back(std::move(root));
  for (const std::string path : {"a", "b"}) {
    auto graph = module_graph(path, "pkg.A",
                              "%y = placeholder[y]()\n%mm = call_function[aten.mm.default](%y, %y)  # " +
                                  path + ": pkg.A\n%output = output[output](%mm)");
    graph.graph.set_cost(node_named(graph.graph, "mm"), cost("64"));
    collection.graphs.push_back(std::move(graph));
  }
  const ModelSummary summary = summarize_model(collection);
  CHECK(summary.macs == SymInt(128));
  CHECK(row_of(summary, "a").macs == SymInt(64));
  CHECK(summary.unknown.empty());
  CHECK_FALSE(summary.peak_bytes.has_value());
  REQUIRE(summary.failed.size() == 1);
  CHECK(summary.rows.front().failed == 1);
  const std::string text = text_of(summary);
  CHECK_THAT(text, ContainsSubstring("128+"));
  CHECK_THAT(text, ContainsSubstring("1 of 3 modules failed to trace, the root: it raises"));
  CHECK_THAT(text, ContainsSubstring(
                       "Costs and calls of a module that failed are those of its submodules, each run once"));
}

TEST_CASE("summary: what is not known is said, and never zero", "[summary]") {
  GraphCollection collection = blocks();
  Graph& nodes = collection.graphs.front().graph;
  Cost unknown;
  unknown.unknown = {{"mine.op.default", 2}};
  nodes.set_cost(node_named(nodes, "h_4_fc"), unknown);
  Cost unsized;
  unsized.unsized = 1;
  nodes.set_cost(node_named(nodes, "h_7_fc"), unsized);
  ModelSummary summary = summarize_model(collection);
  CHECK_FALSE(row_of(summary, "h.4.fc").macs.has_value());
  CHECK(row_of(summary, "h.4").unknown == 2);
  CHECK(row_of(summary, "h").macs == SymInt(160));
  CHECK(row_of(summary, "h").is_partial());
  CHECK(summary.unknown == std::map<std::string, std::int64_t>{{"mine.op.default", 2}});
  CHECK(summary.unsized == 1);
  const std::string text = text_of(summary);
  CHECK_THAT(text, ContainsSubstring("160+"));
  CHECK_THAT(text, ContainsSubstring("?\n"));
  CHECK_THAT(text,
             ContainsSubstring("+: without operators whose cost is not known: mine.op.default (2 calls)"));
  CHECK_THAT(text, ContainsSubstring("+: without 1 call whose sizes are not known"));
  fold_repeats(summary);
  CHECK(paths(summary).size() == 14);
}

TEST_CASE("summary: costs of which nothing is known are no reason for silence", "[summary]") {
  GraphCollection collection;
  collection.modules = {{"", "pkg.Net", kTraced, {}, {}, 1, {}}};
  auto root = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %op = call_function[mine.op.default](%x)
      %output = output[output](%op))");
  Cost unknown;
  SECTION("an operator that nobody knows") {
    unknown.unknown = {{"mine.op.default", 1}};
    root.graph.set_cost(node_named(root.graph, "op"), unknown);
    collection.graphs.push_back(std::move(root));
    const std::string text = text_of(summarize_model(collection));
    CHECK_THAT(text, ContainsSubstring("mine.op.default (1 call)"));
    CHECK_THAT(text, ContainsSubstring("MACs        not known"));
  }
  SECTION("no sizes: then there is no column") {
    unknown.unsized = 1;
    root.graph.set_cost(node_named(root.graph, "op"), unknown);
    collection.graphs.push_back(std::move(root));
    CHECK(text_of(summarize_model(collection)).find("MACs") == std::string::npos);
  }
}

TEST_CASE("summary: nodes of subgraphs count by the node that runs them", "[summary]") {
  GraphCollection collection;
  collection.modules = {{"", "pkg.Net", kTraced, {}, {}, 1, {}}, {"a", "pkg.A", kTraced, {}, {}, 1, {}}};
  auto root = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %cond = call_function[higher_order.cond](%x, graph("true_graph_0"))
      %output = output[output](%cond))");
  root.graph.set_cost(node_named(root.graph, "cond"), cost("100"));
  auto body = module_graph("", "pkg.Net", R"(
      %y = placeholder[y]()
      %a = call_module[a](%y)  # a: pkg.A
      %output = output[output](%a))");
  body.execution.reset();
  body.graph.set_cost(node_named(body.graph, "a"), cost("100"));
  root.subgraphs.add({"true_graph_0", std::move(body)});
  collection.graphs.push_back(std::move(root));
  const ModelSummary summary = summarize_model(collection);
  CHECK(summary.macs == SymInt(100));
  CHECK_FALSE(row_of(summary, "a").macs.has_value());  // unknown, and not 0
  CHECK_THAT(text_of(summary), ContainsSubstring("Modules that run in a branch or a loop have no MACs"));
}

TEST_CASE("summary: only modules that are called or have something are rows", "[summary]") {
  GraphCollection collection;
  collection.modules = {{"", "pkg.Net", kTraced, {}, {}, 1, {}},
                        {"list", "pkg.List", ModuleStatus::kUnvisited, {}, {}, 0, {}},
                        {"list.0", "pkg.A", kTraced, {}, {}, 1, {}},
                        {"unused", "pkg.A", ModuleStatus::kUnvisited, {}, {}, 0, {}},
                        {"kept", "pkg.A", ModuleStatus::kUnvisited, {}, {}, 0, {}},
                        {"kept.bn", "pkg.B", ModuleStatus::kUnvisited, {}, {}, 0, {}}};
  collection.parameters = {{"kept.bn.mean", ParameterKind::kBuffer, {2}, "float64", {}, {}, "cuda:0"}};
  const ModelSummary summary = summarize_model(collection);
  CHECK(paths(summary) == std::vector<std::string>{"", "list", "list.0", "kept", "kept.bn"});
  CHECK(row_of(summary, "kept").buffers == TensorCount{2, 16});
  CHECK(summary.buffers.devices == std::set<std::string>{"cuda:0"});
  // No graph has costs, so none are shown.
  CHECK_FALSE(summary.rows.front().macs.has_value());
  CHECK(text_of(summary).find("MACs") == std::string::npos);
}

TEST_CASE("summary: expressions add up, sort and are drawn as if each dimension were 128", "[summary]") {
  GraphCollection collection = blocks({{0, "seq*seq"}, {1, "10*seq"}, {2, "20000"}});
  ModelSummary summary = summarize_model(collection);
  CHECK(row_of(summary, "h").macs->text() == SymInt::parse("seq*seq+10*seq+20144")->text());
  sort_rows(summary, SortKey::kMacs);
  auto order = paths(summary);
  CHECK(std::vector<std::string>(order.begin(), order.begin() + 9) ==
        std::vector<std::string>{"", "h", "h.2", "h.2.fc", "h.0", "h.0.fc", "h.1", "h.1.fc", "h.3"});
  CHECK(typical_value(SymInt::parse("seq*seq")) == 128 * 128);
  CHECK_FALSE(typical_value(std::nullopt).has_value());
  CHECK(json_of(summary)["totals"]["macs"] == row_of(summary, "").macs->text());
}

TEST_CASE("summary: sorting keeps the tree, and the order of equals", "[summary]") {
  ModelSummary summary = summarize_model(blocks());
  sort_rows(summary, SortKey::kParameters);
  const auto order = paths(summary);
  CHECK(order[1] == "h");
  CHECK(order[2] == "h.0");
  CHECK(order[4] == "h.1");
  CHECK(order[order.size() - 2] == "stem");
  CHECK(order.back() == "head");
  check_sums(summary);
  // A row whose costs are unknown comes last.
  ModelSummary unknown = summarize_model(blocks());
  unknown.rows[1].macs.reset();
  sort_rows(unknown, SortKey::kMacs);
  CHECK(paths(unknown).back() == "stem");
}

TEST_CASE("summary: a table for people has a limit of rows", "[summary]") {
  ModelSummary summary = summarize_model(blocks({{5, "17"}, {7, "18"}}));
  ModelSummary all = summary;
  limit_rows(all, 100);
  CHECK(all.hidden == 0);
  ModelSummary few = summary;
  limit_rows(few, 10);
  CHECK(few.max_depth == 2);
  fold_repeats(few);
  CHECK(few.rows.size() <= 10);
  limit_rows(summary, 1);
  CHECK(summary.max_depth == 1);  // the first level below the root is always shown
}

TEST_CASE("summary: a table fits the terminal", "[summary]") {
  GraphCollection collection = blocks();
  for (ModuleRecord& module : collection.modules) {
    if (module.path == "head") module.type = "pkg.AVeryLongNameOfATypeThatNobodyWouldWrite";
  }
  ModelSummary summary = summarize_model(collection);
  for (const bool colour : {false, true}) {
    for (const std::size_t columns : {40U, 60U, 80U, 100U, 200U}) {
      CAPTURE(columns, colour);
      const auto lines = lines_of(text_of(summary, columns, colour));
      for (const std::string& line : lines) {
        if (line.find("Activations") != std::string::npos) break;  // totals are not cut
        std::string plain = line;
        for (std::size_t at = plain.find('\033'); at != std::string::npos; at = plain.find('\033'))
          plain.erase(at, plain.find('m', at) - at + 1);
        CAPTURE(plain);
        CHECK(width(plain) <= columns);
        CHECK_FALSE(line.ends_with(' '));
        CHECK((colour || plain == line));
      }
    }
  }
  CHECK_THAT(text_of(summary, 100, true), ContainsSubstring("█"));
  CHECK(text_of(summary, 100, false).find("█") == std::string::npos);
}

TEST_CASE("summary: on a narrow terminal, names outlast expressions", "[summary]") {
  GraphCollection collection = blocks({{0, "batch*sequence*1000003+batch*16411"}});
  const std::string name = "a_head_with_a_name_of_31_letters";
  for (ModuleRecord& module : collection.modules) {
    if (module.path == "head") module.path = name;
  }
  const ModelSummary summary = summarize_model(collection);
  CHECK_THAT(text_of(summary, 200), ContainsSubstring("batch\u00B7"));
  const std::string narrow = text_of(summary, 80);
  CHECK_THAT(narrow, ContainsSubstring(name + "  "));
  CHECK_THAT(narrow, ContainsSubstring("~: at batch="));
  for (const std::string& line : lines_of(narrow)) CHECK((width(line) <= 80 || line.starts_with("Activ")));
}

TEST_CASE("summary: an input that the program fixed shows its value", "[summary]") {
  GraphCollection collection = blocks();
  ModuleGraph& graph = collection.graphs.front();
  GraphSignature::Entry& input = graph.signature.emplace().inputs.emplace_back();
  input.name = "x";
  input.value = Argument("sum");
  input.node = NodeId{0};
  const ModelSummary summary = summarize_model(collection);
  CHECK_THAT(text_of(summary), ContainsSubstring(R"(Inputs   x  "sum" (fixed))"));
  CHECK(json_of(summary)["inputs"][0]["value"] == R"("sum")");
}

TEST_CASE("summary: shapes of TorchScript need those of inputs", "[summary]") {
  GraphCollection collection = blocks();
  collection.model.kind = "torchscript";
  const std::string told = "Shapes and MACs need the shapes of the inputs, which --input gives";
  CHECK(text_of(summarize_model(collection)).find(told) == std::string::npos);
  for (ModuleRecord& module : collection.modules) module.outputs = std::nullopt;
  ModuleGraph& root = collection.graphs.front();
  root.cost = std::nullopt;
  for (const NodeId id : root.graph.order()) root.graph.set_cost(id, {});
  // The trace of a root that failed knows the described inputs and nothing else.
  CHECK(text_of(summarize_model(collection)).find(told) == std::string::npos);
  Meta& input = root.graph.meta(NodeId{0});
  input.shape = std::nullopt;
  CHECK_THAT(text_of(summarize_model(collection)), ContainsSubstring(told));
  input.type = "List[Tensor]";
  CHECK_THAT(text_of(summarize_model(collection)), ContainsSubstring(told));
  const Meta tensor{"Tensor", std::vector<Expression>{1, 8}, ScalarType::kFloat32, {}, {}};
  input.items = {tensor, {"int", {}, {}, {}, {}}};
  CHECK(text_of(summarize_model(collection)).find(told) == std::string::npos);
  input.items->push_back({"Tensor", {}, {}, {}, {}});
  CHECK_THAT(text_of(summarize_model(collection)), ContainsSubstring(told));
}

TEST_CASE("summary: a result shows the name that someone chose", "[summary]") {
  GraphCollection collection = blocks();
  ModuleGraph& root = collection.graphs.front();
  GraphSignature::Entry& output = root.signature.emplace().outputs.emplace_back();
  output.role = SignatureRole::kUserOutput;
  output.name = "logits";
  output.node = node_named(root.graph, "head");
  CHECK(text_of(summarize_model(collection)).find("logits") == std::string::npos);
  output.is_named = true;
  CHECK_THAT(text_of(summarize_model(collection)), ContainsSubstring("Outputs  logits  float32[1, 8]"));
  CHECK(json_of(summarize_model(collection))["outputs"][0]["label"] == "logits");
}

TEST_CASE("summary: a deep tree is still a table", "[summary]") {
  GraphCollection collection;
  std::string path;
  collection.modules.push_back({"", "pkg.Net", kTraced, {}, {}, 1, {}});
  for (int i = 0; i < 3000; ++i) {
    path += (path.empty() ? "m" : ".m") + std::to_string(i);
    collection.modules.push_back({path, "pkg.A", kTraced, {}, {}, 1, {}});
  }
  ModelSummary summary = summarize_model(collection);
  CHECK(summary.rows.size() == 3001);
  ModelSummary few = summary;
  limit_rows(few, 100);
  CHECK(few.max_depth == 99);
  fold_repeats(summary);
  for (const std::string& line : lines_of(text_of(summary, 80))) CHECK(width(line) <= 80);
}

TEST_CASE("summary: names of a file are text and nothing else", "[summary]") {
  GraphCollection collection;
  collection.model = {"\033[2J|x\n.pt2", "exported_program", "pkg.<b>Net</b>", "forward", "8"};
  const std::vector<std::string> names = {
      "=cmd|' /C calc'!A0", "+1",    "-1",     "@user", "a,\"b\"", "`x`|y", "[a](http://b)", "\r\n\t=1",
      "\xff\033[1m",        "<img>", "a;=1+1", "a; -1", "a|@b",    "a =1",  "batch - 1 + 2"};
  collection.modules.push_back({"", "pkg.<b>Net</b>", kTraced, {}, {}, 1, {}});
  for (const auto& name : names) collection.modules.push_back({name, "pkg.*A*", kTraced, {}, {}, 1, {}});
  collection.parameters = {{"=cmd|' /C calc'!A0.w", ParameterKind::kParameter, {1}, "=d|\n", {}, {}}};
  ModelSummary summary = summarize_model(collection);
  summary.producer = "@someone | <i>";

  for (const std::string& text : {text_of(summary), csv_of(summary), markdown_of(summary)}) {
    CAPTURE(text);
    CHECK(text.find('\033') == std::string::npos);
    CHECK(text.find('\t') == std::string::npos);
    CHECK(text.find('\xff') == std::string::npos);
  }
  const std::string csv = csv_of(summary);
  CHECK_THAT(csv, ContainsSubstring("\r\n'=cmd|' /C calc'!A0,"));
  CHECK_THAT(csv, ContainsSubstring("\r\n'+1,"));
  CHECK_THAT(csv, ContainsSubstring("\r\n'-1,"));
  CHECK_THAT(csv, ContainsSubstring("\r\n'@user,"));
  CHECK_THAT(csv, ContainsSubstring("\r\n\"a,\"\"b\"\"\","));
  CHECK_THAT(csv, ContainsSubstring("\r\n\\r\\n\\t=1,"));
  CHECK_THAT(csv, ContainsSubstring("\r\na;'=1+1,"));
  CHECK_THAT(csv, ContainsSubstring("\r\na; '-1,"));
  CHECK_THAT(csv, ContainsSubstring("\r\na|'@b,"));
  CHECK_THAT(csv, ContainsSubstring("\r\na '=1,"));
  CHECK_THAT(csv, ContainsSubstring("\r\nbatch - 1 + 2,"));

  for (const std::string& line : lines_of(markdown_of(summary))) {
    CAPTURE(line);
    if (line.starts_with("|")) CHECK(std::count(line.begin(), line.end(), '|') == 5);
    CHECK(line.find("<b>") == std::string::npos);
    CHECK(line.find("<i>") == std::string::npos);
    CHECK(line.find("<img>") == std::string::npos);
  }
  CHECK_THAT(markdown_of(summary), ContainsSubstring("| `[a](http://b)` |"));
  CHECK_THAT(markdown_of(summary), ContainsSubstring("<code>&#64;user</code>"));

  const auto json = json_of(summary);
  CHECK(json["modules"][1]["path"] == names[0]);
  CHECK(json["modules"][8]["path"] == "\r\n\t=1");
}

TEST_CASE("summary: JSON has exact numbers", "[summary]") {
  ModelSummary summary = summarize_model(blocks({{3, "9007199254740993"}}));
  summary.producer = "PyTorch 2.13.0";
  const auto json = json_of(summary);
  CHECK(json["format"] == "fxtrace.summary");
  CHECK(json["model"]["written_by"] == "PyTorch 2.13.0");
  CHECK(json["modules"][9]["path"] == "h.3");
  CHECK(json["modules"][9]["macs"] == 9007199254740993);
  CHECK(json["modules"][9]["parameters"]["elements"] == 16);
  CHECK(json["modules"][9]["parameters"]["own_elements"] == 0);
  CHECK(json["modules"][9]["outputs"] == nlohmann::json::parse(R"([{"dtype": "float32", "shape": [1, 4]}])"));
  CHECK(json["modules"].back()["parameters"]["shared_elements"] == 32);
  CHECK(json["totals"]["peak_bytes"] == 48);
  CHECK(json["max_depth"].is_null());
}

TEST_CASE("summary: a damaged collection is summed up as far as it goes", "[summary]") {
  GraphCollection nothing;
  CHECK(summarize_model(nothing).rows.empty());
  CHECK_THAT(text_of(summarize_model(nothing)), ContainsSubstring("Parameters  none"));
  GraphCollection circles;
  circles.modules = {{"", "pkg.Net", kTraced, {}, {}, 1, {}},
                     {"a", "pkg.A", kTraced, "b", {}, 1, {}},
                     {"b", "pkg.A", kTraced, "a", {}, 1, {}},
                     {"b", "pkg.A", kTraced, {}, {}, 1, {}},
                     {"x.y.z", "pkg.A", kTraced, {}, {}, 1, {}}};
  circles.parameters = {parameter("a.w", {INT64_MAX}), parameter("q.w", {INT64_MAX, 8})};
  auto graph =
      module_graph("", "pkg.Net", "%x = placeholder[x]()  # a.b: pkg.A\n%output = output[output](%x)");
  graph.graph.set_cost(node_named(graph.graph, "x"), cost("9223372036854775807"));
  circles.graphs = {graph, graph};
  ModelSummary summary = summarize_model(circles);
  CHECK(summary.rows.front().path.empty());
  CHECK_FALSE(summary.macs.has_value());  // it needs more than 64 bits
  CHECK(summary.parameters.elements == INT64_MAX);
  fold_repeats(summary);
  sort_rows(summary, SortKey::kBytes);
  text_of(summary);
  csv_of(summary);
  markdown_of(summary);
  json_of(summary);
}
