// Rules of check: how they are read, what breaks them, and how reports are written.
#include "rules/check.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "rules/check_reports.h"
#include "rules/rule.h"
#include "sample_collection.h"
#include "support/error.h"
#include "support/text/numbers.h"
#include "writers/check/check_writers.h"

using namespace fxtrace::internal;

namespace {

using Lines = std::vector<std::string>;

ModuleRecord module(const std::string& path, const std::string& type,
                    ModuleStatus status = ModuleStatus::kTraced) {
  return {path, type, status, {}, {}, 1, {}};
}

// Blocks of a leaf, whose value goes through dequantize in the first and through relu in the second.
GraphCollection blocks() {
  GraphCollection collection;
  collection.model = {"net.pt2", "exported_program", "pkg.Net", "forward", ""};
  collection.modules = {
      module("", "pkg.Net"),      module("h", "torch.nn.modules.container.ModuleList"),
      module("h.0", "pkg.Block"), module("h.0.l", "torch.nn.modules.linear.Linear", ModuleStatus::kLeaf),
      module("h.1", "pkg.Block"), module("h.1.l", "torch.nn.modules.linear.Linear", ModuleStatus::kLeaf)};
  collection.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %h_0_l = call_module[h.0.l](%x)  # h.0.l: torch.nn.modules.linear.Linear
      %dequantize = call_function[aten.dequantize.self](%h_0_l)  # h.0: pkg.Block
      %h_1_l = call_module[h.1.l](%dequantize)  # h.1.l: torch.nn.modules.linear.Linear
      %relu = call_function[aten.relu.default](%h_1_l)  # h.1: pkg.Block
      %item = call_function[aten.item.default](%relu)
      %output = output[output](%relu))")};
  return collection;
}

std::string place_text(const OffencePlace& place) {
  return (place.module.value_or("").empty() ? "(root)" : *place.module) +
         (place.node ? "%" + *place.node : "") + (place.module ? "" : "<" + place.record + ">");
}

// Returns offences as "message @ places", with a "?" in front of undecided ones.
Lines told(const CheckReport& report) {
  Lines lines;
  for (const Offence& offence : report.offences) {
    std::string line = (offence.is_undecided ? "? " : "") + offence.message;
    for (const OffencePlace& place : offence.places) line += " @ " + place_text(place);
    lines.push_back(line);
  }
  return lines;
}

CheckReport report_of(const GraphCollection& collection, std::vector<Rule> rules) {
  CheckedModel model;
  model.model = collection.model;
  model.collection = &collection;
  add_guards(collection, model.dimensions);
  return check(std::move(rules), model);
}
Lines told(const GraphCollection& collection, Rule rule) {
  return told(report_of(collection, {std::move(rule)}));
}

// Returns the offences of a rule in blocks(), whose leaves do not matter here.
Lines required(const std::string& text) {
  Lines lines = told(blocks(), require_rule(text));
  std::erase_if(lines,
                [](const std::string& line) { return line.starts_with("? cannot tell which operators"); });
  return lines;
}

std::string message_of(const std::string& requirement) {
  try {
    static_cast<void>(parse_requirement(requirement));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

Cost cost(const std::string& macs) {
  Cost cost;
  cost.macs = SymInt::parse(macs);
  cost.activation_bytes = SymInt::parse(macs);
  return cost;
}

GraphCollection with_cost(const std::string& macs, const Lines& guards) {
  GraphCollection collection;
  collection.modules = {module("", "pkg.Net")};
  auto graph = module_graph("", "pkg.Net",
                            "%x = placeholder[x]()\n%mm = call_function[aten.mm.default](%x, %x)\n"
                            "%output = output[output](%mm)");
  graph.graph.set_cost(NodeId{1}, cost(macs));
  graph.cost = cost(macs);
  graph.cost->peak_bytes = SymInt(7);
  for (const std::string& guard : guards) graph.guards.push_back({Expression::parse(guard), {}});
  collection.graphs = {std::move(graph)};
  return collection;
}

std::string text_of(void (*write)(const CheckReports&, std::ostream&), const CheckReports& reports) {
  std::ostringstream out;
  write(reports, out);
  return out.str();
}

}  // namespace

TEST_CASE("amounts are read as people write them", "[check]") {
  CHECK(parse_amount("0") == 0);
  CHECK(parse_amount("25000000") == 25'000'000);
  CHECK(parse_amount("2G") == 2'000'000'000);
  CHECK(parse_amount("25MiB") == 25 << 20);
  CHECK(parse_amount("25mb") == 25'000'000);
  CHECK(parse_amount("1.5Ki") == 1'536);
  CHECK(parse_amount("1e9") == 1'000'000'000);
  CHECK(parse_amount("9223372036854775807") == INT64_MAX);
  for (const char* text :
       {"", "-1", "M", "1X", "1.5", "1e30", "9223372036854775808", "2G2", "inf", "nan", "1 G", "+1"})
    CHECK_THROWS_AS(parse_amount(text), Error);
}

TEST_CASE("check: errors of a rule say where it is wrong", "[check]") {
  CHECK(message_of("no aten.item.*").empty());
  CHECK(message_of("  a.B   followed-by  c.d|output ").empty());
  CHECK(message_of("no a.B within @encoder.**").empty());
  CHECK(message_of("a.B at-most 3").empty());
  CHECK(message_of("") == "'': expected an operator or a type at position 1");
  CHECK(message_of("no") == "'no': expected an operator or a type at position 3");
  CHECK(message_of("a.B") ==
        "'a.B': expected followed-by, preceded-by, within, at-most, at-least or has-constant at position 4");
  CHECK(message_of("a.B folowed-by c") ==
        "'a.B folowed-by c': 'folowed-by' at position 5 is not a relation, did you mean 'followed-by'?");
  CHECK(message_of("a.B followed-by") == "'a.B followed-by': expected an operator or a type at position 16");
  CHECK(message_of("a.B at-most few") ==
        "'a.B at-most few': 'few' at position 13 is not a non-negative integer");
  CHECK(message_of("no a.B at-most 3") ==
        "'no a.B at-most 3': 'at-most' at position 8 cannot be combined with 'no'");
  CHECK(message_of("a.B within c d") ==
        "'a.B within c d': 'd' at position 14 follows a rule that is already complete");
  CHECK(message_of("output followed-by c") ==
        "'output followed-by c': 'output' at position 1 is only allowed after followed-by or preceded-by");
  CHECK(message_of("a||b within c") == "'a||b within c': expected an operator or a type at position 3");
  CHECK(message_of("a.[ within c").find("position 3") != std::string::npos);
}

TEST_CASE("check: a pattern stands for targets with and without overload, and for types", "[check]") {
  CHECK(Pattern("aten.add").matches_target("aten.add.Tensor"));
  CHECK(Pattern("aten::add.Tensor").matches_target("aten.add.Tensor"));
  CHECK(Pattern("*.dequantize*").matches_target("quantized_decomposed.dequantize_per_tensor.default"));
  CHECK_FALSE(Pattern("aten.add").matches_target("aten.addmm.default"));
  CHECK(Pattern("torch.nn.Linear").matches_type("torch.nn.modules.linear.Linear"));
  CHECK(Pattern("a.B|torch.nn.*").matches_type("torch.nn.modules.linear.Linear"));
  CHECK_FALSE(Pattern("torch.nn.Linear").matches_type("pkg.Linear"));
  CHECK(Pattern("aten.item").matches_registered());
  CHECK_FALSE(Pattern("torch.nn.*").matches_registered());
}

TEST_CASE("check: what there may be, and how many", "[check]") {
  CHECK(required("no aten.item") == Lines{"aten.item.default is not allowed @ (root)%item"});
  CHECK(required("no aten.mm").empty());
  CHECK(required("no torch.nn.Linear") == Lines{"torch.nn.Linear is not allowed @ h.0.l @ h.1.l"});
  CHECK(required("pkg.Block at-most 2").empty());
  CHECK(required("pkg.Block at-most 1") == Lines{"there are 2 pkg.Block, expected at most 1 @ h.0 @ h.1"});
  CHECK(required("pkg.Block at-least 2").empty());
  CHECK(required("aten.relu at-least 1").empty());
  CHECK(required("pkg.Block at-least 3") == Lines{"there are 2 pkg.Block, expected at least 3"});
}

TEST_CASE("check: neighbours", "[check]") {
  CHECK(required("torch.nn.Linear followed-by *.dequantize*") ==
        Lines{"torch.nn.Linear is followed by aten.relu.default, not by *.dequantize* @ h.1.l%h_1_l"});
  CHECK(required("torch.nn.Linear followed-by *.dequantize*|aten.relu").empty());
  CHECK(required("no torch.nn.Linear followed-by aten.relu.*") ==
        Lines{"torch.nn.Linear is followed by aten.relu.default @ h.1.l%h_1_l"});
  CHECK(required("aten.item followed-by aten.add") ==
        Lines{"aten.item.default is followed by nothing @ (root)%item"});
  CHECK(required("aten.relu followed-by aten.item|output").empty());
  CHECK(required("torch.nn.Linear preceded-by placeholder|aten.dequantize").empty());
  CHECK(
      required("torch.nn.Linear preceded-by placeholder") ==
      Lines{
          "torch.nn.Linear is preceded by aten.dequantize.self of pkg.Block, not by placeholder @ h.1.l%h_1_l"});
  // A module that is traced into is followed by the outside users of its values; nodes that feed values into
  // it precede it.
  CHECK(required("pkg.Block followed-by pkg.Block|aten.item|output").empty());
  CHECK(required("pkg.Block followed-by pkg.Block|output") ==
        Lines{"pkg.Block is followed by aten.item.default, not by pkg.Block|output @ h.1%relu"});
  CHECK(required("no aten.dequantize followed-by pkg.Block") ==
        Lines{"aten.dequantize.self is followed by torch.nn.Linear of pkg.Block @ h.0%dequantize"});
}

TEST_CASE("check: what is beside a module in a leaf cannot be told", "[check]") {
  GraphCollection collection = blocks();
  collection.modules.push_back(module("h.1.l.inner", "pkg.Inner", ModuleStatus::kUnvisited));
  CHECK(
      told(collection, require_rule("pkg.Inner followed-by torch.nn.*")) ==
      Lines{
          "? cannot tell the neighbours of pkg.Inner: it is inside of a leaf or a failed module @ h.1.l.inner"});
  CHECK(told(collection, require_rule("no pkg.Inner")) == Lines{"pkg.Inner is not allowed @ h.1.l.inner"});
}

TEST_CASE("check: parts of a result are the result, parameters and numbers are no neighbours", "[check]") {
  GraphCollection collection;
  collection.modules = {module("", "pkg.Net")};
  collection.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %w = get_attr[w]()
      %sym_size_int = call_function[aten.sym_size.int](%x, 0)
      %split = call_function[aten.split.Tensor](%x, %sym_size_int)
      %getitem = call_function[operator.getitem](%split, 0)
      %mm = call_function[aten.mm.default](%getitem, %w)
      %output = output[output](%mm))")};
  collection.parameters = {{"w", ParameterKind::kParameter, {2, 2}, "float32", {}, {}}};
  collection.graphs[0].graph.meta(NodeId{2}).type = "int";
  CHECK(told(collection, require_rule("aten.split followed-by aten.mm")).empty());
  CHECK(told(collection, require_rule("aten.mm preceded-by aten.split")).empty());
  CHECK(told(collection, require_rule("aten.split preceded-by placeholder")).empty());
  // Unpacking results is not an operator either.
  CHECK(
      told(collection, ops_rule("aten.split\naten.mm  # products\n\naten.sym_size.*\n", "ops.txt")).empty());
  CHECK(told(collection, ops_rule("aten.split\naten.sym_size", "ops.txt")) ==
        Lines{"aten.mm.default is not among the allowed operators @ (root)%mm"});
}

TEST_CASE("check: arguments that are constants", "[check]") {
  GraphCollection collection = blocks();
  collection.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %scale = get_attr[scale]()
      %twice = call_function[aten.mul.Tensor](%scale, 2)
      %max_1 = call_function[aten.max.default](%x)
      %a = call_function[quantized_decomposed.quantize_per_tensor.default](%x, 0.5, 0, -128, 127, dtype("int8"))
      %b = call_function[quantized_decomposed.quantize_per_tensor.tensor](%x, %twice, %scale, -128, 127, dtype("int8"))
      %c = call_function[quantized_decomposed.quantize_per_tensor.tensor](%x, %max_1, %scale, -128, 127, dtype("int8"))
      %d = call_function[quantized_decomposed.dequantize_per_tensor.default](%a)
      %output = output[output](%d))")};
  const std::string quantize = "quantized_decomposed.quantize_per_tensor";
  CHECK(told(collection, require_rule(quantize + " has-constant scales|scale")) ==
        Lines{quantize + ".tensor computes its scale @ (root)%c"});
  CHECK(told(collection, require_rule("quantized_decomposed.dequantize_* has-constant scale")) ==
        Lines{"quantized_decomposed.dequantize_per_tensor.default has no scale @ (root)%d"});
  CHECK(told(collection, require_rule("no " + quantize + ".default has-constant scale")) ==
        Lines{quantize + ".default has a constant scale @ (root)%a"});
}

TEST_CASE("check: the rules of quantization", "[check]") {
  std::vector<Rule> rules;
  CHECK_FALSE(add_shipped_rules("none", rules));
  REQUIRE(add_shipped_rules("quantization", rules));
  GraphCollection collection = blocks();
  const std::string graph = R"(
      %x = placeholder[x]()
      %w = get_attr[w]()
      %dw = call_function[quantized_decomposed.dequantize_per_tensor.default](%w, 0.5, 0, -128, 127, dtype("int8"))
      %q = call_function[quantized_decomposed.quantize_per_tensor.default](%x, 0.5, 0, -128, 127, dtype("int8"))
      %view = call_function[aten.view.default](%q, [-1])
      %d = call_function[quantized_decomposed.dequantize_per_tensor.default](%view, 0.5, 0, -128, 127, dtype("int8"))
      %linear = call_function[aten.linear.default](%d, %dw)
      %q2 = call_function[quantized_decomposed.quantize_per_tensor.default](%linear, 0.5, 0, -128, 127, dtype("int8"))
      %d2 = call_function[quantized_decomposed.dequantize_per_tensor.default](%q2, 0.5, 0, -128, 127, dtype("int8"))
)";
  const auto ids = [&](const std::string& rest) {
    collection.graphs = {module_graph("", "pkg.Net", graph + rest)};
    CheckedModel model;
    model.model = collection.model;
    model.collection = &collection;
    const CheckReport report = check(rules, model);
    CHECK(report.unknown.empty());
    Lines found;
    for (const Offence& offence : report.offences) found.push_back(report.rules[offence.rule].id);
    return found;
  };
  CHECK(ids("%output = output[output](%d2)").empty());
  CHECK(ids("%add = call_function[quantized.add.default](%q, %q2, 0.5, 0)\n%output = output[output](%add)")
            .front() == "integer-operators");
  CHECK(ids(R"(
      %q3 = call_function[quantized_decomposed.quantize_per_tensor.default](%d2, 0.25, 0, -128, 127, dtype("int8"))
      %add = call_function[aten.add.Tensor](%q3, 1)
      %mm = call_function[aten.mm.default](%x, %add)
      %output = output[output](%mm))") ==
        Lines{"quantized-twice", "quantized-values", "unquantized-compute", "unquantized-compute"});
}

TEST_CASE("check: what is inside of what", "[check]") {
  CHECK(required("torch.nn.Linear within pkg.Block").empty());
  CHECK(required("aten.relu within @h.0") == Lines{"aten.relu.default is not within @h.0 @ h.1%relu"});
  CHECK(required("aten.relu within @h.*").empty());
  CHECK(required("no aten.relu within pkg.Block") ==
        Lines{"aten.relu.default is within pkg.Block @ h.1%relu"});
  CHECK(required("no pkg.Block within pkg.Block").empty());
  CHECK(required("pkg.Block within pkg.Net").empty());
}

TEST_CASE("check: a bare name is the last part of names, and what nothing has is unknown", "[check]") {
  CHECK(told(blocks(), deny_rule("item")) == told(blocks(), deny_rule("aten.item")));
  CHECK(told(blocks(), deny_rule("Block")) == told(blocks(), deny_rule("pkg.Block")));
  CHECK(required("relu within @h.0") == required("aten.relu within @h.0"));
  CHECK(required("aten.relu within @1").empty());
  CHECK(required("no aten.relu within @0").empty());
  // The last part of a name is not an overload.
  const auto unknown = [](Rule rule) {
    std::string text;
    for (const CheckReport::Unknown& one : report_of(blocks(), {std::move(rule)}).unknown) {
      text += (text.empty() ? "" : "; ") + std::string(one.is_path ? "@" : "") + one.name;
      for (const std::string& near : one.nearest) text += " " + near;
    }
    return text;
  };
  CHECK(unknown(deny_rule("self")).starts_with("self"));
  // A known operator that the model does not have.
  for (const char* text : {"aten.mm", "aten::mm", "aten.mm.*", "mm", "scaled_dot_product_attention", "Conv2d",
                           "torch.nn.Conv2d", "torch.nn.modules.conv.*", "operator.getitem", "quantized.**",
                           "getattr", "placeholder", "higher_order.cond", "torch.nn.functional.gelu",
                           "torch.nn.Transformer", "torchvision.nms", "*.dequantize*"})
    CHECK(unknown(deny_rule(text)).empty());
  CHECK(unknown(deny_rule("aten.itme.*")).starts_with("aten.itme.* aten.item.*"));
  CHECK(unknown(deny_rule("aten.item|aten.itme")).starts_with("aten.itme aten.item"));
  CHECK(unknown(deny_rule("Lineer")).starts_with("Lineer Linear"));
  CHECK(unknown(deny_rule("nn.Linear")).starts_with("nn.Linear torch.nn.Linear"));
  CHECK(unknown(deny_rule("pkg.Blok")) == "pkg.Blok pkg.Block");
  CHECK(unknown(deny_rule("mylib.*")) == "mylib.*");
  CHECK(unknown(ops_rule("aten.relu\naten.rellu", "ops.txt")).starts_with("aten.rellu aten.relu"));
  CHECK(unknown(require_rule("aten.relu followed-by Lineer")).starts_with("Lineer"));
  CHECK(unknown(require_rule("no aten.relu within @g.*")) == "@g.*");
  // Thousands of names are told as fast, and only the first ones have suggestions.
  std::string many;
  constexpr int kMany = 3'000;
  for (int i = 0; i < kMany; ++i)
    many += (i == 0 ? "*a*a*a*a*a*a*a*a*a" : "|*a*a*a*a*a*a*a*a*a") + std::to_string(i);
  const CheckReport told_many = report_of(blocks(), {require_rule("no " + many), deny_rule("aten.itme")});
  REQUIRE(told_many.unknown.size() == kMany + 1);
  CHECK(told_many.unknown.back().rule == 1);
  CHECK(told_many.unknown.back().nearest.empty());
  CheckedModel model;
  const GraphCollection collection = blocks();
  model.collection = &collection;
  model.declared = {"mylib.op.default"};
  CHECK(check({deny_rule("mylib.*")}, model).unknown.empty());
}

TEST_CASE("check: a report is read as it was written", "[check]") {
  CheckReport report = report_of(blocks(), {no_failed_rule(), deny_rule("aten.item"), deny_rule("aten.mm"),
                                            require_rule("no aten.relu within @g")});
  report.path = "models/net.pt2";
  report.rules[1].message = "why";
  report.rules[2].severity = Severity::kWarning;
  report.offences[0].source = SourceLocation{"net.py", 0, "forward", "x"};
  REQUIRE(report.unknown.size() == 1);
  std::ostringstream text, again;
  write_check_report(report, text);
  write_check_report(read_check_report(text.str(), "report"), again);
  CHECK(text.str() == again.str());
  CHECK_THROWS_AS(read_check_report("{\"model\": 1}", "report"), Error);
}

TEST_CASE("check: one report for several models", "[check]") {
  CheckReport first = report_of(blocks(), {no_failed_rule()}),
              second = report_of(blocks(), {deny_rule("aten.item")});
  first.path = "a/net.pt2";
  second.path = "./b c/net.pt2";
  second.offences[0].source = SourceLocation{"/home/me/site-packages/pkg/net.py", 7, "forward", "x.item()"};
  const CheckReports reports{{first, second}, {{"c.pt2", "it is cut off"}}};
  const auto json = nlohmann::json::parse(text_of(write_check_json, reports));
  CHECK(json["reports"][1]["path"] == "./b c/net.pt2");
  CHECK(json["unread"][0]["path"] == "c.pt2");
  CHECK(json["holds"] == false);
  const auto run = nlohmann::json::parse(text_of(write_check_sarif, reports))["runs"][0];
  CHECK(run["tool"]["driver"]["rules"].size() == 2);
  CHECK(run["invocations"][0]["executionSuccessful"] == false);
  const auto& result = run["results"][0];
  CHECK(result["ruleIndex"] == 1);
  CHECK(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b%20c/net.pt2");
  CHECK(result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "pkg/net.py");
  CHECK(result["message"]["text"].get<std::string>().ends_with(" at [pkg/net.py:7](1)"));
  const std::string junit = text_of(write_check_junit, reports);
  CHECK(junit.find("tests=\"3\" failures=\"1\" errors=\"1\"") != std::string::npos);
  CHECK(junit.find("<testsuite name=\"a/net.pt2\"") != std::string::npos);
}

TEST_CASE("check: what a leaf or a failed module calls cannot be told", "[check]") {
  const std::string hidden =
      "? cannot tell which operators torch.nn.Linear calls: it is a leaf (--flat traces into it) @ h.0.l%h_0_l @ h.1.l%h_1_l";
  CHECK(told(blocks(), deny_rule("aten.mm")) == Lines{hidden});
  // torch's own modules call no operators of other libraries.
  CHECK(told(blocks(), deny_rule("mylib.*")).empty());
  CHECK(told(blocks(), deny_rule("torch.nn.Conv2d")).empty());
  CHECK(told(blocks(), ops_rule("aten.*.*\ntorch.nn.Linear", "ops.txt")).empty());
  CHECK(told(blocks(), ops_rule("aten.*.*", "ops.txt")) == Lines{hidden});
  const GraphCollection failed = sample_collection();
  CHECK(told(failed, deny_rule("mylib.op")) ==
        Lines{"? cannot tell which operators pkg.Gate calls: it failed to trace @ b%b @ b%c"});
  CHECK(told(failed, require_rule("mylib.op at-least 1")).front().starts_with("? cannot tell"));
  GraphCollection wrapped;
  wrapped.modules = {module("", "pkg.Net")};
  wrapped.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %gelu = call_function[torch.nn.functional.gelu](%x)
      %output = output[output](%gelu))")};
  CHECK(
      told(wrapped, deny_rule("aten.mm")) ==
      Lines{
          "? cannot tell which operators torch.nn.functional.gelu calls: it is one call (--no-wrap '**' traces into it) @ (root)%gelu"});
}

TEST_CASE("check: failed modules", "[check]") {
  CHECK(told(blocks(), no_failed_rule()).empty());
  const CheckReport report = report_of(sample_collection(), {no_failed_rule()});
  CHECK(told(report) == Lines{"an if depends on an input @ b"});
  CHECK(report.offences[0].source->line == 12);
  CHECK_FALSE(report.holds());
}

TEST_CASE("check: limits", "[check]") {
  const auto macs = [](const std::string& text, const Lines& guards, std::int64_t limit) {
    return told(with_cost(text, guards), limit_rule(RuleKind::kMaxMacs, limit));
  };
  CHECK(macs("1000", {}, 1'000).empty());
  CHECK(macs("1001", {}, 1'000) == Lines{"MACs: 1,001, the limit is 1,000"});
  CHECK(macs("4*b", {"2 <= b <= 64"}, 256).empty());
  CHECK(macs("4*b", {"2 <= b <= 64"}, 255) == Lines{"MACs: b·4 (b: 2..64), up to 256, the limit is 255"});
  CHECK(macs("4*b", {"b >= 2"}, 7) ==
        Lines{"MACs: b·4 (b: 2..), which is more for all sizes, the limit is 7"});
  CHECK(
      macs("4*b", {"b >= 2"}, 8) ==
      Lines{
          "? cannot tell: MACs: b·4 (b: 2..) has no largest value (--dim gives a dimension a range), the limit is 8"});
  CHECK(told(with_cost("1", {}), limit_rule(RuleKind::kMaxPeak, 6)) ==
        Lines{"activations at a time: 7 bytes, the limit is 6 bytes"});
  GraphCollection partial = with_cost("5", {});
  Cost some = cost("5");
  some.unknown["pkg.op"] = 2;
  partial.graphs[0].graph.set_cost(NodeId{1}, some);
  CHECK(told(partial, limit_rule(RuleKind::kMaxMacs, 4)) == Lines{"MACs: at least 5, the limit is 4"});
  CHECK(told(partial, limit_rule(RuleKind::kMaxMacs, 5)) ==
        Lines{"? cannot tell: MACs: 5, without 2 calls of unknown cost, of pkg.op, the limit is 5"});
  const GraphCollection sample = sample_collection();
  CHECK(told(sample, limit_rule(RuleKind::kMaxParameters, 24)).empty());
  CHECK(told(sample, limit_rule(RuleKind::kMaxParameters, 23)) == Lines{"parameters: 24, the limit is 23"});
}

TEST_CASE("check: bodies of control flow are looked into", "[check]") {
  const CheckReport report = report_of(exported_collection(), {deny_rule("aten.sin")});
  REQUIRE_FALSE(report.offences.empty());
  CHECK(report.offences[0].places[0].graph == ":true_graph_0:body_graph_0");
  CHECK(report.offences[0].places[0].module == "a.inner");
}

TEST_CASE("check: rules from a file", "[check]") {
  const auto read = [](const std::string& text) {
    std::vector<Rule> rules;
    read_rules(
        text, "folder/check.json", [](const std::string& path) { return "aten.add  # " + path; },
        [](const Rule& rule) {
          if (rule.set == "none") throw usage_error("there is no set 'none'");
        },
        rules);
    return rules;
  };
  const auto rules = read(R"({"rules": [
      {"no_failed": true, "severity": "warning"},
      {"max_params": "25M", "name": "small", "message": "It has to fit."},
      {"deny": ["aten.item.*", "aten.nonzero.*"]},
      {"ops_file": "ops.txt"},
      {"ops": ["aten.add", "aten.mm.*"], "name": "few"},
      {"require": "a.B  followed-by c.d"},
      {"security": true}]})");
  Lines names;
  for (const Rule& rule : rules) names.push_back(rule.name);
  CHECK(names == Lines{"no-failed", "small", "deny aten.item.*", "deny aten.nonzero.*", "ops ops.txt", "few",
                       "a.B followed-by c.d", "security-pickle", "security-code", "security-path",
                       "security-size", "security-unknown", "security-library"});
  CHECK(rules[0].severity == Severity::kWarning);
  CHECK(rules[0].id == "no-failed");
  CHECK(rules[2].id == "deny-operator");
  CHECK(title_of(rules[1]) == "at most so many parameters");
  CHECK(class_of(rules[7]).security_severity == std::string("9.3"));
  CHECK(read(R"({"rules": [{"deny": ["a.b", "a.c"], "id": "no-a"}]})")[1].id == "no-a");
  for (const char* id : {"max-params", "No-A", "-a", "a--b", ""}) {
    CHECK_THROWS_AS(read(R"({"rules": [{"deny": "a.b", "id": ")" + std::string(id) + R"("}]})"), Error);
  }
  CHECK_THROWS_AS(read(R"({"rules": [{"security": true, "id": "safe"}]})"), Error);
  CHECK(rules[1].limit == 25'000'000);
  CHECK(rules[1].message == "It has to fit.");
  CHECK(rules[4].operators.size() == 1);
  const auto wrong = [&](const std::string& text) -> std::string {
    try {
      read(text);
    } catch (const Error& error) {
      return error.place() + ": " + error.what();
    }
    return "";
  };
  CHECK(wrong(R"({"rules": [{"dany": "a"}]})").find("unknown key of a rule 'dany', did you mean 'deny'?") !=
        std::string::npos);
  CHECK(wrong(R"({"rules": [{"deny": "a", "ops": "b"}]})").find("a rule has one kind") != std::string::npos);
  CHECK(wrong(R"({"rules": [{"name": "a"}]})").find("a rule needs one of no_failed") != std::string::npos);
  CHECK(wrong(R"({"rules": [{"max_macs": "many"}]})").starts_with("folder/check.json:1:25"));
  CHECK(wrong(R"({"rules": [{"max_macs": 1}, {"max_macs": 2}]})").find("two rules are called 'max-macs'") !=
        std::string::npos);
  CHECK(wrong(R"({"rules": [{"no_failed": true}, {"deny": "a", "name": "no-failed"}]})") ==
        "folder/check.json:1:33: /rules/1: two rules are called 'no-failed'; the other one is at "
        "folder/check.json: /rules/0");
  CHECK(wrong(R"({"rules": [{"no_failed": true}, {"no_failed": true}]})").find("two rules are called") !=
        std::string::npos);
  CHECK(wrong(R"({"rules": [{"backend": "none"}]})") ==
        "folder/check.json:1:24: /rules/0/backend: there is no set 'none'");
  CHECK(wrong(R"({"rules": [{"require": "a.B"}]})").find("expected followed-by") != std::string::npos);
}

TEST_CASE("check: a node with two users that break a rule is one place", "[check]") {
  GraphCollection collection;
  collection.model = {"net.pt2", "exported_program", "pkg.Net", "forward", ""};
  collection.modules = {module("", "pkg.Net")};
  collection.graphs = {module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %sin = call_function[aten.sin.default](%x)
      %cos = call_function[aten.cos.default](%sin)
      %cos_1 = call_function[aten.cos.default](%sin)
      %output = output[output]((%cos, %cos_1)))")};
  const CheckReport report = report_of(collection, {require_rule("aten.sin followed-by aten.relu")});
  CHECK(told(report) ==
        Lines{"aten.sin.default is followed by aten.cos.default, not by aten.relu @ (root)%sin"});
}

TEST_CASE("check: places of equal blocks are told as one", "[check]") {
  GraphCollection collection;
  collection.model = {"net.pt2", "exported_program", "pkg.Net", "forward", ""};
  collection.modules = {module("", "pkg.Net"), module("h", "pkg.List")};
  std::string text = "%x = placeholder[x]()\n";
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i);
    collection.modules.push_back(module("h." + number, "pkg.Block"));
    text += "%sin" + std::string(i == 0 ? "" : "_" + number) +
            " = call_function[aten.sin.default](%x)  # h." + number + ": pkg.Block\n";
  }
  collection.graphs = {module_graph("", "pkg.Net", text + "%output = output[output](%x)")};
  Rule rule = deny_rule("aten.sin.*");
  rule.message = "No sine here.";
  const CheckReport report = report_of(collection, {no_failed_rule(), rule});
  REQUIRE(report.offences.size() == 1);
  std::ostringstream out;
  write_check({{report}, {}}, out, {});
  CHECK(out.str() ==
        "net.pt2: 1 of 2 rules does not hold\n"
        "\n"
        "error  deny aten.sin.*\n"
        "  No sine here.\n"
        "  aten.sin.default is not allowed\n"
        "    h.0 … h.11 (12 modules)\n"
        "\n"
        "holds  no-failed\n");
}

// Returns a baseline after writing and reading it.
Baseline read_back(const Baseline& baseline) {
  std::ostringstream out;
  write_check_baseline(baseline, out);
  const std::string text = out.str();
  Baseline read = read_baseline(text, "known.json");
  CHECK(read.offences == baseline.offences);
  CHECK(read.rules == baseline.rules);
  return read;
}

Baseline baseline_of(CheckReport report) {
  report.path = "m.pt";
  return read_back(fxtrace::internal::baseline_of({report}, {}, report.rules, "known.json",
                                                  [](const std::string&) { return false; }));
}

// Returns the new offences.
Lines told_beside(const Baseline& baseline, CheckReport report) {
  report.path = "a/../m.pt";
  apply_baseline(baseline, report);
  std::erase_if(report.offences, [](const Offence& offence) { return offence.is_known; });
  return told(report);
}

TEST_CASE("check: what a baseline has is known", "[check]") {
  const auto findings_of = [](const std::string& record, const std::string& subject,
                              const std::string& message) {
    CheckedModel model;
    model.findings = {{SecurityKind::kPickle, record, subject, message}};
    return check(security_rules(), model);
  };
  const std::string bad = "<b>&\"'\x1b[31m\n\u202e\\";
  const CheckReport pickle = findings_of(bad, bad, "its pickle calls " + bad);
  const Baseline known = baseline_of(pickle);
  CHECK(models_of(known) == Lines{"m.pt"});
  CHECK(told_beside(known, pickle).empty());
  CHECK(told_beside(known, findings_of(bad, "os.system", "its pickle calls os.system")).size() == 1);
  CHECK(told_beside(known, findings_of("data.pkl", bad, "its pickle calls " + bad)).size() == 1);

  // An offence without a place is identified by its message without numbers.
  const Baseline nameless = baseline_of(findings_of("data.pkl", "", "it ends at byte 12"));
  CHECK(told_beside(nameless, findings_of("data.pkl", "", "it ends at byte 3456")).empty());
  CHECK(told_beside(nameless, findings_of("data.pkl", "", "it has no end")).size() == 1);
}

TEST_CASE("check: a baseline is about quantities", "[check]") {
  const auto costing = [](const std::string& macs) {
    return report_of(with_cost(macs, {}), {limit_rule(RuleKind::kMaxMacs, 10)});
  };
  const Baseline known = baseline_of(costing("20"));
  CHECK(told_beside(known, costing("19")).empty());
  CHECK(told_beside(known, costing("20")).empty());
  CHECK(told_beside(known, costing("21")).size() == 1);
  CHECK(told_beside(known, costing("20*n")).size() == 1);  // the cost is undecided

  const auto needing = [](const std::string& count) {
    Rule rule = require_rule("aten.relu at-least " + count);
    rule.name = "relus";
    return report_of(blocks(), {rule, deny_rule("aten.item")});
  };
  const Baseline missing = baseline_of(needing("3"));
  CHECK_THROWS_AS(check_is_for(missing, needing("4").rules, "known.json"), Error);
  CHECK_THROWS_AS(check_is_for(missing, {no_failed_rule()}, "known.json"), Error);
  CHECK_NOTHROW(check_is_for(missing, needing("3").rules, "known.json"));
}

TEST_CASE("check: every format quotes what a file says", "[check]") {
  const std::string bad = "<b>&\"'`|]]>\x1b[31m\n\xe2\x80\xae\xff\xef\xbf\xbf{0}[a](b)\\";
  GraphCollection collection = blocks();
  collection.model.file = bad;
  collection.graphs[0].graph.set_source(NodeId{5}, std::optional(SourceLocation{bad, 3, "forward", bad}));
  CheckedModel model;
  model.model = collection.model;
  model.collection = &collection;
  model.findings = {{SecurityKind::kPickle, bad, bad, "its pickle calls " + bad}};
  Rule rule = require_rule("no aten.item");
  rule.name = rule.message.emplace(bad);
  std::vector<Rule> rules = security_rules();
  rules.push_back(std::move(rule));
  const CheckReport report = check(std::move(rules), model);
  REQUIRE(report.offences.size() == 3);

  const auto json = nlohmann::json::parse(text_of(write_check_json, {{report}, {}}));
  CHECK(json["offences"][1]["rule"].get<std::string>().starts_with("<b>&\"'`|]]>\x1b[31m\n"));
  CHECK(json["offences"][0]["places"][0]["module"].is_null());
  const auto sarif = nlohmann::json::parse(text_of(write_check_sarif, {{report}, {}}));
  const auto& result = sarif["runs"][0]["results"][1];
  const auto& location = result["relatedLocations"][0]["physicalLocation"];
  CHECK(location["region"]["startLine"] == 3);
  const std::string encoded = "%3Cb%3E%26%22%27%60%7C%5D%5D%3E%1B%5B31m%0A";
  CHECK(location["artifactLocation"]["uri"].get<std::string>().starts_with(encoded));
  const auto& model_location = result["locations"][0]["physicalLocation"];
  CHECK(model_location["artifactLocation"]["uri"].get<std::string>().starts_with(encoded));
  CHECK(result["message"]["text"].get<std::string>().find("{{0}}\\[a\\](b)\\\\") != std::string::npos);
  const std::string junit = text_of(write_check_junit, {{report}, {}});
  CHECK(junit.find("&lt;b&gt;&amp;&quot;&#39;`|]]&gt;\\x1b[31m") != std::string::npos);
  std::ostringstream text, markdown_text;
  write_check({{report}, {}}, text, {});
  write_check({{report}, {}}, markdown_text, {.is_markdown = true});
  const std::string markdown = markdown_text.str();
  for (const std::string& written : {junit, markdown, text.str()}) {
    CAPTURE(written);
    CHECK(written.find('\x1b') == std::string::npos);
    CHECK(written.find("\xe2\x80\xae") == std::string::npos);
  }
  CHECK(junit.find("\xef\xbf\xbf") == std::string::npos);  // U+FFFF is not a character of XML
  CHECK(markdown.find("<b>") == std::string::npos);
}

TEST_CASE("check: operators and classes of libraries", "[check][security]") {
  CheckedModel model;
  for (const char* name : {"torchvision.nms", "aten.add", "__torch__.torch.classes.mine.Queue",
                           "__torch__.torch.classes.quantized.X"})
    model.findings.push_back({SecurityKind::kLibrary, "a/code/net.py", name, "it needs it"});
  const CheckReport report = check(security_rules(), model);
  CHECK(told(report) ==
        Lines{"torchvision.nms needs a library that has to be loaded first @ (root)<a/code/net.py>",
              "__torch__.torch.classes.mine.Queue needs a library that has to be loaded first @ "
              "(root)<a/code/net.py>"});
  CHECK(report.holds());  // it is only a warning
}
