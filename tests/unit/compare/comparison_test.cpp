// Comparison of two models: matching of modules and nodes, the differences, and how they are written and
// drawn.
#include "compare/comparison.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "catch.h"
#include "compare/pairing/compared_graph.h"
#include "operators/operators.h"
#include "opinfo/operator_row.h"
#include "sample_collection.h"
#include "writers/pictures/dot_writer.h"
#include "writers/pictures/html_writer.h"
#include "writers/pictures/marks.h"
#include "writers/reports/report_writers.h"

namespace {

using namespace fxtrace::internal;

GraphCollection collection(const std::string& graph, std::vector<ModuleRecord> modules = {}) {
  GraphCollection result;
  result.model = {"net.pt", "torchscript", "pkg.Net", "forward", ""};
  result.modules = {{"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}}};
  for (ModuleRecord& module : modules) result.modules.push_back(std::move(module));
  result.graphs = {module_graph("", "pkg.Net", graph)};
  return result;
}

ModuleRecord module(const std::string& path, const std::string& type,
                    ModuleStatus status = ModuleStatus::kTraced) {
  return {path, type, status, {}, {}, 1, {}};
}

// Returns a difference as a line, "nodes added relu_1", with its field and values if it has any.
std::vector<std::string> told(const ModelComparison& comparison) {
  std::vector<std::string> lines;
  for (const ModuleDifferences& group : comparison.modules) {
    for (const Difference& difference : group.differences) {
      std::string line = std::string(to_string(difference.kind)) + " " + to_string(difference.change) + " " +
                         (difference.subject.empty() ? "-" : difference.subject);
      if (!difference.other.empty()) line += " as " + difference.other;
      if (!difference.field.empty()) line += " " + difference.field;
      if (difference.before || difference.after)
        line += ": " + difference.before.value_or("none") + " to " + difference.after.value_or("none");
      if (difference.within) line += " within " + *difference.within;
      if (difference.follows) line += " follows";
      lines.push_back(line);
    }
  }
  return lines;
}
std::vector<std::string> told(const GraphCollection& a, const GraphCollection& b,
                              DifferenceKinds kinds = DifferenceKinds::usual()) {
  return told(compare(a, b, {kinds}));
}

using Lines = std::vector<std::string>;

// Returns a graph that names a node of a long name again and again.
GraphCollection with_long_name(const std::string& name, const char* operation, int count) {
  std::string text = "%x = placeholder[x]()\n%" + name + " = call_function[aten.relu.default](%x)\n";
  std::string list;
  for (int i = 0; i < 500; ++i) list += (i == 0 ? "%" : ", %") + name;
  for (int i = 0; i < count; ++i)
    text += "%cat_" + std::to_string(i) + " = call_function[" + operation + "]([" + list + "])\n";
  return collection(text + "%output = output[output](%x)\n");
}

std::string chain(const std::vector<std::string>& operators) {
  std::string text = "%x = placeholder[x]()\n";
  std::string last = "x";
  int number = 0;
  for (const std::string& name : operators) {
    const std::string next = name + (number == 0 ? "" : "_" + std::to_string(number));
    text += "%" + next + " = call_function[aten." + name + ".default](%" + last + ")\n";
    last = next;
    ++number;
  }
  return text + "%output = output[output](%" + last + ")\n";
}

}  // namespace

TEST_CASE("comparison: texts of differences have a limit", "[compare]") {
  const std::string name(1'000, 'n');
  const GraphCollection none = collection("%x = placeholder[x]()\n%output = output[output](%x)\n");
  const GraphCollection many = with_long_name(name, "aten.cat.default", 20);
  const ModelComparison whole = compare(none, many);
  CHECK(whole.unlisted == 0);
  CHECK(whole.count(DifferenceKind::kNodes, Change::kAdded) == 21);
  std::size_t longest = 0;
  for (const Difference& difference : whole.modules.front().differences)
    longest = std::max(longest, difference.text.size());
  CHECK(longest > 64'000);
  CHECK(longest < 70'000);
  // What does not fit is counted.
  const ModelComparison part = compare(none, many, {.most_bytes = 200'000});
  CHECK(part.counts == whole.counts);
  CHECK(part.modules.front().differences.size() + static_cast<std::size_t>(part.unlisted) == 21);
  CHECK(part.unlisted > 15);
  std::ostringstream json;
  write_comparison_json(part, json);
  CHECK(json.str().find("\"unlisted\": " + std::to_string(part.unlisted)) != std::string::npos);
  // A name on the other side is told once, however often it is used.
  GraphCollection renamed = with_long_name("a", "aten.cat.default", 1);
  const ModelComparison names =
      compare(with_long_name("b", "aten.cat.default", 1), renamed, {DifferenceKinds::all()});
  CHECK(names.unlisted == 0);
}

TEST_CASE("align finds what two sequences have in one order") {
  using Pairs = std::vector<PlacePair>;
  CHECK(align({1, 2, 3}, {1, 2, 3}) == Pairs{{0, 0}, {1, 1}, {2, 2}});
  CHECK(align({1, 2, 3}, {1, 9, 2, 3}) == Pairs{{0, 0}, {1, 2}, {2, 3}});
  CHECK(align({1, 2, 3}, {}).empty());
  CHECK(align({}, {1}).empty());
  CHECK(align({1, 2, 3, 4}, {3, 4, 1}) == Pairs{{2, 0}, {3, 1}});
  // The sequences share only their ends: they differ in more than can be aligned exactly.
  std::vector<std::uint64_t> a{7};
  std::vector<std::uint64_t> b{7};
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    a.push_back(1000 + 2 * i);
    b.push_back(1001 + 2 * i);
  }
  a.push_back(8);
  b.push_back(8);
  CHECK(align(a, b) == Pairs{{0, 0}, {100'001, 100'001}});
}

TEST_CASE("longest_increasing leaves out as few as can be") {
  CHECK(longest_increasing({}).empty());
  CHECK(longest_increasing({0, 3, 1, 2}) == std::vector{true, false, true, true});
  CHECK(longest_increasing({2, 0, 1}) == std::vector{false, true, true});
}

TEST_CASE("compare tells nothing of what is equal") {
  const GraphCollection sample = sample_collection();
  CHECK(told(sample, sample, DifferenceKinds::all()).empty());
  CHECK(compare(sample, sample).is_equal());
}

TEST_CASE("compare tells a node that was put in or taken out as one") {
  const auto a = collection(chain({"relu", "relu", "neg", "relu", "exp"}));
  const auto b = collection(chain({"relu", "relu", "sin", "neg", "relu", "exp"}));
  CHECK(told(a, b) == Lines{"nodes added sin_2"});
  CHECK(told(b, a) == Lines{"nodes removed sin_2"});
  // One of two equal ones was removed; it does not matter which.
  const auto twice = [](const std::string& sin, const std::string& cos, const std::string& both) {
    return collection("%x = placeholder[x]()\n" + both + "%sin = call_function[aten.sin.default](%" + sin +
                      ")\n%cos = call_function[aten.cos.default](%" + cos +
                      ")\n%output = output[output](%sin, %cos)\n");
  };
  const std::string one = "%neg = call_function[aten.neg.default](%x)\n";
  const auto two = twice("neg", "neg_1", one + "%neg_1 = call_function[aten.neg.default](%x)\n");
  CHECK(told(two, twice("neg", "neg", one)).size() == 1);
  // One more of an item that exists already.
  const auto c = collection(chain({"relu", "relu", "relu", "neg", "relu", "exp"}));
  CHECK(told(a, c).size() == 1);
  CHECK(compare(a, c).count(DifferenceKind::kNodes, Change::kAdded) == 1);
}

TEST_CASE("compare tells another operator in the place of one, and names") {
  const auto a = collection(chain({"relu", "neg", "exp"}));
  const auto b = collection(chain({"relu", "sin", "exp"}));
  CHECK(
      told(a, b) ==
      Lines{
          "nodes changed neg_1 as sin_1 target: call_function[aten.neg.default] to call_function[aten.sin.default]"});
  auto c = collection(R"(
      %x = placeholder[x]()
      %other = call_function[aten.relu.default](%x)
      %output = output[output](%other))");
  CHECK(told(collection(chain({"relu"})), c).empty());
  CHECK(told(collection(chain({"relu"})), c, DifferenceKinds::all()) == Lines{"names changed relu as other"});
}

TEST_CASE("compare tells arguments by their names, however they are given") {
  const auto with = [](const std::string& call) {
    return collection("%x = placeholder[x]()\n%y = placeholder[y]()\n%add = " + call +
                      "\n%output = output[output](%add)\n");
  };
  const auto a = with("call_function[aten.add.Tensor](%x, %y)");
  CHECK(told(a, with("call_function[aten.add.Tensor](%x, other=%y, alpha=1)")).empty());
  CHECK(told(a, with("call_function[aten.add.Tensor](%x, %y, alpha=2)")) ==
        Lines{"arguments changed add alpha: none to 2"});
  CHECK(told(a, with("call_function[aten.add.Tensor](%y, %y)")) ==
        Lines{"arguments changed add self: %x to %y"});
  // The flag whether cuDNN was enabled is no difference between models.
  CHECK(told(with("call_function[aten.layer_norm.default](%x, [4], %y)"),
             with("call_function[aten.layer_norm.default](%x, [4], %y, cudnn_enable=False)"))
            .empty());
  // A dtype in the spelling of TorchScript and in that of exported programs.
  CHECK(told(with("call_function[aten.sum.default](%x, dtype=6)"),
             with("call_function[aten.sum.default](%x, dtype=dtype(\"float32\"))"))
            .empty());
}

TEST_CASE("compare tells where a difference of shapes begins") {
  auto a = collection(chain({"relu", "neg"}));
  auto b = a;
  const auto shape = [](GraphCollection& of, std::uint32_t node, std::vector<Expression> sizes) {
    of.graphs.front().graph.meta(NodeId{node}).shape = std::move(sizes);
  };
  for (std::uint32_t node = 0; node < 3; ++node) {
    shape(a, node, {1, Expression::name("s0")});
    shape(b, node, {1, Expression::name("batch")});
  }
  CHECK(told(a, b).empty());  // the same dimension has another name
  CHECK(told(a, b, DifferenceKinds::all()) == Lines{"names changed s0 as batch dimension"});
  shape(b, 1, {2, Expression::name("batch")});
  shape(b, 2, {2, Expression::name("batch")});
  CHECK(told(a, b) == Lines{"shapes changed relu shape: [1, s0] to [2, batch]",
                            "shapes changed neg_1 shape: [1, s0] to [2, batch] follows"});
  b.graphs.front().graph.meta(NodeId{1}).shape.reset();  // its shape is unknown
  b.graphs.front().graph.meta(NodeId{2}).shape.reset();
  CHECK(told(a, b).empty());
}

TEST_CASE("compare tells modules, and what they have within them") {
  const auto a = collection("%x = placeholder[x]()\n%output = output[output](%x)\n",
                            {module("a", "pkg.A"), module("a.l", "pkg.L")});
  auto b = collection(R"(
      %x = placeholder[x]()
      %c_l = call_module[c.l](%x)  # c.l: pkg.L
      %output = output[output](%c_l))",
                      {module("c", "pkg.C"), module("c.l", "pkg.L")});
  b.parameters = {{"c.l.weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}}};
  CHECK(told(a, b) == Lines{"modules added c", "modules added c.l within c",
                            "parameters added c.l.weight: none to float32[2, 3] within c",
                            "nodes added c_l within c", "modules removed a", "modules removed a.l within a"});
  const ModelComparison comparison = compare(a, b);
  CHECK(comparison.modules.front().path == "c");
  CHECK(comparison.modules.front().modules == 2);
  CHECK(comparison.modules.front().parameters == 6);
  CHECK(comparison.modules.front().nodes == 1);
}

TEST_CASE("compare tells modules that moved, and not what is in them") {
  auto a = collection(R"(
      %x = placeholder[x]()
      %l = call_module[a.l](%x)  # a.l: pkg.L
      %relu = call_function[aten.relu.default](%l)  # a: pkg.A
      %output = output[output](%relu))",
                      {module("a", "pkg.A"), module("a.l", "pkg.L")});
  a.parameters = {{"a.l.weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}}};
  auto b = collection(R"(
      %x = placeholder[x]()
      %l = call_module[b.l](%x)  # b.l: pkg.L
      %relu = call_function[aten.relu.default](%l)  # b: pkg.A
      %output = output[output](%relu))",
                      {module("b", "pkg.A"), module("b.l", "pkg.L")});
  b.parameters = {{"b.l.weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}}};
  CHECK(told(a, b) == Lines{"modules moved a as b"});
  b.parameters.front().shape = {4, 3};  // a parameter that was renamed and changed
  CHECK(told(a, b) == Lines{"modules moved a as b", "parameters changed a.l.weight shape: [2, 3] to [4, 3]",
                            "weights changed a.l.weight bytes: 24 to 48"});
  b.modules[1].type = "pkg.B";
  b.modules[1].status = ModuleStatus::kFailed;
  b.modules[1].path = "a";
  b.modules[2].path = "a.l";
  CHECK(told(compare(a, b, {DifferenceKinds::all()})).front() == "modules changed a type: pkg.A to pkg.B");
}

TEST_CASE("compare tells a module that was wrapped as moved, and what the wrapper does as its own") {
  auto a = collection(R"(
      %x = placeholder[x]()
      %l = call_module[l](%x)  # l: pkg.L
      %relu = call_function[aten.relu.default](%l)
      %output = output[output](%relu))",
                      {module("l", "pkg.L", ModuleStatus::kLeaf)});
  a.parameters = {{"l.weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}}};
  a.modules[0].type = "__main__.Net";
  auto b = collection(R"(
      %x = placeholder[x]()
      %scale = get_attr[scale]()
      %mul = call_function[aten.mul.Tensor](%x, %scale)
      %net_l = call_module[net.l](%mul)  # net.l: pkg.L
      %relu = call_function[aten.relu.default](%net_l)  # net: Net
      %relu_1 = call_function[aten.relu.default](%relu)
      %output = output[output](%relu_1))",
                      {module("net", "Net"), module("net.l", "pkg.L", ModuleStatus::kLeaf)});
  b.modules[0].type = "pkg.Wrapper";
  b.parameters = {{"scale", ParameterKind::kBuffer, {1}, "float32", {}, {}},
                  {"net.l.weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}}};
  CHECK(told(a, b) == Lines{"modules moved - as net wrapper: none to pkg.Wrapper", "modules added - within ",
                            "parameters added scale: none to float32[1]", "nodes added scale",
                            "nodes added mul", "nodes added relu_1"});
  CHECK(told(b, a) == Lines{"modules removed - within ", "parameters removed scale: float32[1] to none",
                            "nodes removed scale", "nodes removed mul", "nodes removed relu_1",
                            "modules moved net wrapper: pkg.Wrapper to none"});
  // In the picture nothing that moved appears twice.
  for (const auto& [first, second] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const ModelComparison comparison = compare(*first, *second, {DifferenceKinds::all()});
    const MergedCollection merged = merge(*first, *second, comparison, DifferenceKinds::usual());
    CHECK(merged.collection.modules.size() == second->modules.size());
    CHECK(merged.nodes.size() == (first == &a ? 3U : 2U));  // parameters that were removed have no boxes
  }
}

TEST_CASE("compare finds a leaf in its wrapper where only one can be meant") {
  const auto make = [](const std::string& type, std::vector<ModuleRecord> inside) {
    std::string target = "fc";
    for (const ModuleRecord& record : inside) target = record.path;
    std::vector<ModuleRecord> modules = {
        module("fc", type, inside.empty() ? ModuleStatus::kLeaf : ModuleStatus::kTraced)};
    for (const ModuleRecord& record : inside) modules.push_back(record);
    auto result = collection("%x = placeholder[x]()\n%fc = call_module[" + target + "](%x)  # " + target +
                                 ": torch.nn.modules.linear.Linear\n%output = output[output](%fc)\n",
                             std::move(modules));
    result.parameters = {{target + ".weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}}};
    return result;
  };
  constexpr const char* kLinear = "torch.nn.modules.linear.Linear";
  const auto leaf = [](const std::string& path, const std::string& type) {
    return module(path, type, ModuleStatus::kLeaf);
  };
  const auto a = make(kLinear, {});
  CHECK(
      told(a, make("peft.Linear", {leaf("fc.base_layer", kLinear)})) ==
      Lines{"modules moved fc as fc.base_layer wrapper: none to peft.Linear", "modules added fc within fc"});
  // Through more than one node, in a module that moved.
  const auto outer = [&](const std::string& prefix, const GraphCollection& inner) {
    GraphCollection result = inner;
    for (ModuleRecord& record : result.modules)
      record.path = prefix + (record.path.empty() ? "" : "." + record.path);
    result.modules.insert(result.modules.begin(), {module("", "pkg.Peft"), module("base", "pkg.Lora")});
    for (ParameterRecord& record : result.parameters) record.name = prefix + "." + record.name;
    result.graphs = {module_graph("", "pkg.Peft", R"(
        %x = placeholder[x]()
        %fc = call_module[base.net.fc.base_layer](%x)  # base.net.fc.base_layer: torch.nn.modules.linear.Linear
        %mul = call_function[aten.mul.Tensor](%fc, 2)  # base.net.fc: peft.Linear
        %output = output[output](%mul))")};
    return result;
  };
  const auto adapted = outer("base.net", make("peft.Linear", {leaf("fc.base_layer", kLinear)}));
  const ModelComparison comparison = compare(a, adapted);
  CHECK(told(comparison) == Lines{"modules moved - as base.net wrapper: none to pkg.Peft",
                                  "modules added - within ", "modules added base within ",
                                  "modules moved fc as base.net.fc.base_layer wrapper: none to peft.Linear",
                                  "modules added base.net.fc within fc", "nodes added mul"});
  CHECK(comparison.modules.back().path == "fc");
  auto two = make("pkg.Head", {leaf("fc.0", kLinear), leaf("fc.1", kLinear)});
  two.parameters.push_back({"fc.0.weight", ParameterKind::kParameter, {2, 3}, "float32", {}, {}});
  CHECK(told(a, two).front() == "modules changed fc type: torch.nn.modules.linear.Linear to pkg.Head");
  // A name that the first model has too is given to the wrapper here.
  auto b = collection("%x = placeholder[x]()\n%output = output[output](%x)\n",
                      {module("l", "pkg.B"), module("net", "pkg.A"), module("net.l", "pkg.L")});
  b.modules[0].type = "pkg.W";
  auto c = collection("%x = placeholder[x]()\n%output = output[output](%x)\n", {module("l", "pkg.L")});
  c.modules[0].type = "pkg.A";
  CHECK(told(c, b) ==
        Lines{"modules moved - as net wrapper: none to pkg.W", "modules added - within ", "modules added l"});
}

TEST_CASE("compare tells plain values that both sides know") {
  using Values = std::vector<std::pair<std::string, Argument>>;
  const auto make = [](const std::string& kind, Values values, const std::string& type = "pkg.L") {
    auto result = collection(chain({"relu"}), {module("l", type)});
    result.model.kind = kind;
    result.modules[1].attributes = std::move(values);
    return result;
  };
  const Argument three = std::int64_t{3};
  const Argument pair = Argument::List{{three, three}};
  const auto scripted =
      make("torchscript", {{"training", false}, {"size", three}, {"bias", Argument::None{}}});
  const auto traced =
      make("torchscript", {{"training", false}, {"_is_full_backward_hook", Argument::None{}}});
  const auto exported = make("exported_program", {{"size", pair}});
  const auto real = [&](double number) { return make("exported_program", {{"size", number}}); };
  CHECK(told(scripted, real(3)).empty());
  CHECK(told(scripted, real(3.5)) == Lines{"arguments changed l size: 3 to 3.5"});
  CHECK(told(scripted, traced).empty());
  CHECK(told(traced, scripted).empty());
  CHECK(told(scripted, exported).empty());
  CHECK(told(exported, scripted).empty());
  CHECK(told(scripted, make("torchscript", {{"training", true}, {"size", pair}, {"new", three}})) ==
        Lines{"arguments changed l training: False to True", "arguments changed l size: 3 to [3, 3]",
              "arguments changed l new: none to 3"});
  CHECK(told(scripted, make("torchscript", {{"new", three}}, "pkg.M")) ==
        Lines{"modules changed l type: pkg.L to pkg.M"});
}

TEST_CASE("compare does not tell calls that an exported program cannot show") {
  const auto make = [](const std::string& kind, const std::string& type, bool is_called) {
    auto result = collection(
        is_called ? R"(
        %x = placeholder[x]()
        %i = call_module[i](%x)  # i: )" +
                        type + R"(
        %relu = call_function[aten.relu.default](%i)
        %output = output[output](%relu))"
                  : chain({"relu"}),
        {module("i", is_called ? type : "", is_called ? ModuleStatus::kLeaf : ModuleStatus::kUnvisited)});
    result.model.kind = kind;
    return result;
  };
  constexpr const char* kIdentity = "torch.nn.modules.linear.Identity";
  const auto script = make("torchscript", kIdentity, true);
  const auto program = make("exported_program", "", false);
  CHECK(told(script, program).empty());
  CHECK(told(program, script).empty());
  const auto text = [](const GraphCollection& a, const GraphCollection& b) {
    ModelComparison comparison = compare(a, b);
    std::ostringstream out;
    write_comparison(comparison, out, {100, false});
    return out.str();
  };
  CHECK(text(make("torchscript", "torch.nn.modules.activation.ReLU", true), program)
            .find("status: leaf → unvisited; 1 node comes or goes with it\n") != std::string::npos);
  CHECK(text(script, make("torchscript", "", false)).find("status: leaf → unvisited") != std::string::npos);
}

TEST_CASE("compare finds one model in what TorchScript and torch.export write in two ways") {
  const auto traced = [](double scale) {
    auto result = collection(R"(
      %x = placeholder[x]() -> float32[2, 8, 32]
      %size = call_function[aten.size.int](%x, 0) -> int
      %number = call_function[prim.NumToTensor.Scalar](%size) -> int64[]
      %int_1 = call_function[builtins.int](%number) -> int
      %half = call_function[prim.NumToTensor.Scalar](32) -> int64[]
      %two = get_attr[two]() -> int64[]
      %width = call_function[aten.floor_divide.default](%half, %two) -> int64[]
      %int_2 = call_function[builtins.int](%width) -> int
      %view = call_function[aten.view.default](%x, [%int_1, -1, %int_2]) -> float32[2, 16, 16]
      %full = call_function[aten.slice.Tensor](%view, 0, 0, 9223372036854775807) -> float32[2, 16, 16]
      %row = call_function[aten.slice.Tensor](%full, -1, 0, 9223372036854775807, 2) -> float32[2, 16, 8]
      %scale = get_attr[scale]() -> float64[]
      %mul = call_function[aten.mul.Tensor](%row, %scale) -> float32[2, 16, 8]
      %contiguous = call_function[aten.contiguous.default](%mul) -> float32[2, 16, 8]
      %l = call_module[l](%contiguous)  # l: pkg.L
      %neg = call_function[aten.neg.default](%l)
      %output = output[output](%neg))",
                             {module("l", "pkg.L", ModuleStatus::kLeaf), module("drop", "pkg.Drop")});
    result.graphs[0].constants = {{"two", {"int64", {}, std::vector<Argument>{std::int64_t{2}}, ""}},
                                  {"scale", {"float64", {}, std::vector<Argument>{scale}, ""}}};
    result.graphs[0].guards = {{Expression::parse("x.dim() == 3"), {}}};
    result.graphs[0].execution->module_forward_order = {"", "l"};
    return result;
  };
  auto exported =
      collection(R"(
      %x = placeholder[x]() -> float32[2, 8, 32]
      %view = call_function[aten.view.default](%x, [2, -1, 16]) -> float32[2, 16, 16]
      %row = call_function[aten.slice.Tensor](%view, 2, None, None, 2) -> float32[2, 16, 8]
      %mul = call_function[aten.mul.Scalar](%row, 0.25) -> float32[2, 16, 8]
      %l = call_module[l](%mul, %mul, flag=False)  # l: pkg.L
      %getitem = call_function[operator.getitem](%l, 0)
      %negative = call_function[aten.negative.default](%getitem)
      %output = output[output](%negative))",
                 {module("l", "pkg.L", ModuleStatus::kLeaf), module("drop", "", ModuleStatus::kUnvisited)});
  exported.model.kind = "exported_program";
  CHECK(told(traced(0.25), exported).empty());
  CHECK(told(exported, traced(0.25)).empty());
  CHECK(told(traced(0.5), exported) == Lines{"arguments changed mul other: 0.5 to 0.25"});
  auto depth = exported;
  depth.modules[2].status = ModuleStatus::kTraced;
  CHECK(told(depth, exported) == Lines{"modules changed drop status: traced to unvisited"});
  // With one kind only, all of its differences are reported.
  auto other = exported;
  other.model.kind = "torchscript";
  CHECK(told(traced(0.25), other).size() > 10);
}

namespace {

// Returns the differences of %call, between TorchScript and torch.export.
Lines told_of_calls(const std::string& script, const std::string& exported) {
  const auto with = [](const char* kind, const std::string& call) {
    auto result = collection(R"(
      %x = placeholder[x]() -> float32[1, 4, 6]
      %y = placeholder[y]() -> float32[4, 4, 1]
      %n = placeholder[n]() -> float32[s0]
      )" + call + R"(
      %output = output[output](%call))",
                             {module("e", "pkg.E"), module("h", "pkg.H", ModuleStatus::kLeaf)});
    result.model.kind = kind;
    result.parameters = {{"e.weight", ParameterKind::kParameter, {4}, "float32", {}, {}},
                         {"h.weight", ParameterKind::kParameter, {4}, "float32", {}, {}}};
    result.parameters[1].alias_of = "e.weight";
    const auto two = [](std::int64_t first) {
      return Constant{"float32", {2}, std::vector<Argument>{static_cast<double>(first), 2.0}, ""};
    };
    result.graphs[0].constants = {{"c", two(1)}, {"c_1", two(1)}, {"d", two(3)}};
    return result;
  };
  const auto a = with("torchscript", script);
  const auto b = with("exported_program", exported);
  const Lines lines = told(a, b);
  CHECK(lines.empty() == told(b, a).empty());
  return lines;
}
Lines told_of_operators(const std::string& script, const std::string& exported) {
  return told_of_calls("%call = call_function[aten." + script, "%call = call_function[aten." + exported);
}

}  // namespace

TEST_CASE("compare takes synonyms, overloads and defaults for one call") {
  const std::pair<const char*, const char*> same[] = {
      {"det.default](%x)", "linalg_det.default](%x)"},
      {"transpose.int](%x, 1, 2)", "swapaxes.default](%x, -2, -1) -> float32[1, 6, 4]"},
      {"mH.default](%x)", "adjoint.default](%x)"},
      {"logit.default](%x, 0.1)", "special_logit.default](%x, 0.1)"},
      {"split.sizes](%x, [2, 4], 2)", "split_with_sizes.default](%x, [2, 4], 2)"},
      {"ge.Scalar](%x, 1)", "greater_equal.Scalar](%x, 1)"},
      {"norm.ScalarOpt_dim](%x, 2, [1], True)", "linalg_vector_norm.default](%x, 2, [1], True)"},
      {"layer_norm.default](%x, [6])", "layer_norm.default](%x, [6], None, None, 1e-05, False)"},
      {"upsample_linear1d.default](%x, [5], False)", "upsample_linear1d.vec](%x, [5], False, None)"},
      {"_convolution.default](%x, %y, None, [1], [3], [1], False, [0], 2, False, False, True, True)",
       "conv1d.default](%x, %y, padding=[3], groups=2)"},
      {"_convolution.default](%x, %y, None, [1, 1], [2, 2], [1, 1], True, [0, 0], 1, False, False, True, True)",
       "conv_transpose2d.input](%x, %y, None, [1, 1], [2, 2])"},
      {"_convolution_mode.default](%x, %y, None, [1], \"same\", [1], 1)",
       "conv1d.padding](%x, %y, None, [1], \"same\")"},
      {"zeros.default]([4])", "zeros.default]([4], device=device(\"cpu\"), pin_memory=False)"},
  };
  for (const auto& [script, exported] : same) {
    INFO(script);
    CHECK(told_of_operators(script, exported).empty());
  }
  CHECK(told_of_operators("transpose.int](%x, 0, 2)", "swapaxes.default](%x, -2, -1) -> float32[1, 6, 4]") ==
        Lines{"arguments changed call dim0: 0 to 1"});
  CHECK(told_of_operators("layer_norm.default](%x, [6])", "layer_norm.default](%x, [6], eps=1e-06)") ==
        Lines{"arguments changed call eps: none to 1e-06"});
  CHECK(told_of_operators("upsample_linear1d.default](%x, [5], False)",
                          "upsample_linear1d.vec](%x, None, False, [2.0])")
            .size() == 2);
  CHECK(told_of_operators("_convolution.default](%x, %y, None, [2], [0], [1], False, [0], 1)",
                          "conv1d.default](%x, %y)") == Lines{"arguments changed call stride: [2] to none"});
  CHECK(told_of_operators("_convolution.default](%x, %y, None, [1], [0], [1], True, [0], 1)",
                          "conv1d.default](%x, %y)")
            .front() ==
        "nodes changed call target: call_function[aten._convolution.default] to "
        "call_function[aten.conv1d.default]");
  CHECK(told_of_operators("zeros.default]([4])", "zeros.default]([4], device=device(\"cuda:0\"))") ==
        Lines{"arguments changed call device: none to device(\"cuda:0\")"});
}

TEST_CASE("compare takes what Python, its traces and TorchScript's code write otherwise for one thing") {
  const auto call = [](const std::string& text) { return "\n%call = call_function[" + text; };
  const std::tuple<std::string, std::string, std::string> pairs[] = {
      // in TorchScript, the same in an exported program, and a different one there
      {call("aten.rsub.Scalar](%x, 1, 1)"), call("aten.sub.Tensor](1, %x)"), call("aten.sub.Tensor](%x, 1)")},
      {"%neg = call_function[aten.neg.default](%x)" + call("aten.add.Scalar](%neg, 2.0)"),
       call("aten.rsub.Scalar](%x, 2.0)"), call("aten.rsub.Scalar](%x, 2.0, 3)")},
      {"%relu_ = call_function[aten.relu_.default](%x)" + call("aten.add.Tensor](%x, %y)"),
       "%relu_ = call_function[aten.relu_.default](%x)" + call("aten.add.Tensor](%relu_, %y)"),
       "%relu_ = call_function[aten.relu_.default](%y)" + call("aten.add.Tensor](%x, %y)")},
      {"%row = call_function[aten.select.int](%x, 0, 0)\n%one = call_function[torch.tensor](1) -> float32[]" +
           call("aten.copy_.default](%row, %one)"),
       "%row = call_function[aten.select.int](%x, 0, 0)" + call("aten.fill_.Tensor](%row, 1.0)"),
       "%row = call_function[aten.select.int](%x, 0, 0)" + call("aten.fill_.Tensor](%row, 2.0)")},
      {"%row = call_function[aten.select.int](%x, 0, 0)" + call("aten.add_.Scalar](%row, 1)"),
       "%row = call_function[aten.select.int](%x, 0, 0)" + call("aten.add_.Scalar](%row, 1)") +
           "\n%again = call_function[aten.select.int](%x, 0, 0)\n%copy_ = call_function[aten.copy_.default](%again, %call)",
       "%row = call_function[aten.select.int](%x, 0, 0)" + call("aten.add_.Scalar](%row, 1)") +
           "\n%again = call_function[aten.select.int](%x, 0, 1)\n%copy_ = call_function[aten.copy_.default](%again, %call)"},
      {"%batch = call_function[aten.unsqueeze.default](%x, 0) -> float32[1, 1, 4, 6]\n%conv = "
       "call_function[aten._convolution.default](%batch, %y, None, [1], [0], [1], False, [0], 1)" +
           call("aten.squeeze.dim](%conv, 0)"),
       call("aten.conv1d.default](%x, %y)"),
       "%row = call_function[aten.unsqueeze.default](%x, 1)" + call("aten.conv1d.default](%row, %y)")},
      {"%items = call_function[torch.tensor]([1, 2]) -> float32[2]\n%c = get_attr[c]()\n%both = call_function[aten.add.Tensor](%items, %c)" +
           call("aten.mul.Tensor](%both, %x)"),
       "%c = get_attr[c]()\n%c_1 = get_attr[c_1]()\n%both = call_function[aten.add.Tensor](%c, %c_1)" +
           call("aten.mul.Tensor](%both, %x)"),
       "%c = get_attr[c]()\n%d = get_attr[d]()\n%both = call_function[aten.add.Tensor](%c, %d)" +
           call("aten.mul.Tensor](%both, %x)")},
      {"%size = call_function[aten.size.int](%n, 0) -> int s0\n%number = call_function[prim.NumToTensor.Scalar](%size) -> int64[]\n"
       "%twice = call_function[aten.mul.Tensor](%number, 2) -> int64[]" +
           call("aten.mul.Tensor](%x, %twice)"),
       "%size = call_function[aten.sym_size.int](%n, 0) -> int s0\n%twice = call_function[operator.mul](%size, 2) -> int 2*s0" +
           call("aten.mul.Tensor](%x, %twice)"),
       "%size = call_function[aten.sym_size.int](%n, 0) -> int s0\n%twice = call_function[operator.mul](%size, 3) -> int 3*s0" +
           call("aten.mul.Tensor](%x, %twice)")},
      {call("prim.abs.default](%x)"), call("aten.abs.default](%x)"), call("aten.neg.default](%x)")},
      {call("aten.mul.Tensor](%x, %y)"),
       "%both = call_function[aten.broadcast_tensors.default]([%x, %y])\n%first = call_function[operator.getitem](%both, 0) -> float32[1, 4, 6]" +
           call("aten.mul.Tensor](%first, %y)"),
       "%both = call_function[aten.broadcast_tensors.default]([%x, %y])\n%first = call_function[operator.getitem](%both, 0) -> float32[4, 4, 6]" +
           call("aten.mul.Tensor](%first, %y)")},
      {"%d = call_module[d](%x)  # d: torch.nn.modules.dropout.Dropout" + call("aten.add.Tensor](%d, %d)"),
       "%d = call_module[d](%x)  # d: torch.nn.modules.dropout.Dropout" + call("aten.add.Tensor](%d, %x)"),
       "%d = call_module[d](%y)  # d: torch.nn.modules.dropout.Dropout" + call("aten.add.Tensor](%d, %x)")},
      {"%h = call_module[h](%x)  # h: pkg.H\n%state = call_function[operator.getitem](%h, 1)" +
           call("aten.neg.default](%state)"),
       "%h = call_module[h](%x)  # h: pkg.H\n%state = call_function[operator.getitem](%h, 1)\n"
       "%first = call_function[operator.getitem](%state, 0)" +
           call("aten.neg.default](%first)"),
       "%h = call_module[h](%x)  # h: pkg.H\n%state = call_function[operator.getitem](%h, 1)\n"
       "%first = call_function[operator.getitem](%state, 1)" +
           call("aten.neg.default](%first)")},
  };
  for (const auto& [script, exported, other] : pairs) {
    INFO(exported);
    CHECK(told_of_calls(script, exported).empty());
    CHECK_FALSE(told_of_calls(script, other).empty());
  }
}

TEST_CASE("compare pairs inputs of other names in their order, and tells more of them") {
  const auto with = [](const char* kind, const std::string& inputs, const std::string& call) {
    auto result = collection(inputs + "%call = call_function[aten.sub.Tensor](" + call +
                             ")\n%output = output[output](%call)\n");
    result.model.kind = kind;
    return result;
  };
  const auto traced = with("torchscript", "%a = placeholder[a]()\n%b = placeholder[b]()\n", "%a, %b");
  const std::string inputs = "%b = placeholder[b]()\n%x_1 = placeholder[x_1]()\n";
  CHECK(told(traced,
             with("exported_program", "%x_0 = placeholder[x_0]()\n%x_1 = placeholder[x_1]()\n", "%x_0, %x_1"))
            .empty());
  CHECK(told(traced,
             with("exported_program", "%x_0 = placeholder[x_0]()\n%x_1 = placeholder[x_1]()\n", "%x_1, %x_0"))
            .size() == 2);
  CHECK_FALSE(told(traced, with("exported_program", inputs, "%b, %x_1")).empty());
  CHECK(
      told(traced, with("torchscript", "%a = placeholder[a]()\n%c = placeholder[c]()\n", "%a, %c")).size() ==
      1);
}

TEST_CASE("compare tells every argument of an operator that it takes for another one") {
  int count = 0;
  for (const Operator& op : registered_operators()) {
    const OperatorFacts& facts = facts_of(op.base_name());
    const bool is_synonym =
        !facts.synonym_of.empty() || !facts.compared_as.empty() || op.name.starts_with("aten::special_");
    const std::vector<SchemaArgument> arguments = op.schema().arguments;
    for (std::size_t k = 0; is_synonym && !op.schema().writes() && k < arguments.size(); ++k) {
      if (arguments[k].name == "cudnn_enabled") continue;
      const auto with = [&](const char* kind, std::size_t changed) {
        std::string call;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
          const std::string keyword = arguments[i].keyword_only ? arguments[i].name + "=" : "";
          call += (i == 0 ? "" : ", ") + keyword + (i == changed ? "%y" : "%x");
        }
        auto result = collection("%x = placeholder[x]()\n%y = placeholder[y]()\n%call = call_function[" +
                                 op.target() + "](" + call + ")\n%output = output[output](%call)\n");
        result.model.kind = kind;
        return result;
      };
      INFO(op.name << " " << arguments[k].name);
      CHECK(told(with("torchscript", k), with("exported_program", SIZE_MAX)).size() == 1);
      ++count;
    }
  }
  CHECK(count > 200);
}

TEST_CASE(
    "compare knows items from the end, devices of tensors, and what torch.jit.trace does with modules") {
  const auto item = [](int index) {
    return "%chunk = call_function[aten.chunk.default](%x, 2, 2)\n%call = call_function[operator.getitem](%chunk, " +
           std::to_string(index) + ")";
  };
  CHECK(told_of_calls(item(-1), item(1)).empty());
  CHECK(told_of_calls(item(-1), item(0)) == Lines{"arguments changed call 1: 1 to 0"});
  CHECK(told_of_calls("%getattr_1 = call_function[builtins.getattr](%x, \"device\")\n"
                      "%call = call_function[aten.arange.default](4, device=%getattr_1)",
                      "%call = call_function[aten.arange.default](4, device=device(\"cpu\"))")
            .empty());
  // The code has torch.tensor(8.0).
  CHECK(told_of_calls("%to = call_function[aten.to.device](8, device(\"cpu\"), dtype(\"float32\"))\n"
                      "%detach = call_function[aten.detach.default](%to)\n"
                      "%call = call_function[aten.mul.Tensor](%x, %detach)",
                      "%detach_ = call_function[aten.detach_.default](8.0)\n"
                      "%call = call_function[aten.mul.Tensor](%x, %detach_)")
            .empty());
  // A tied parameter that was used before, and forward1.
  const char* const tied = "%w = get_attr[e.weight]()\n%call = call_module[h](%w, %x)  # h: pkg.H";
  CHECK(told_of_calls(tied, "%call = call_module[h](%x)  # h: pkg.H").empty());
  CHECK(told_of_calls(tied, "%call = call_module[h](%y)  # h: pkg.H") ==
        Lines{"arguments changed call 0: %x to %y"});
  auto script = collection(
      "%x = placeholder[x]()\n%h = call_module[h](%x)  # h: pkg.H\n"
      "%output = output[output](%x)\n",
      {module("h", "pkg.H", ModuleStatus::kLeaf)});
  auto exported = script;
  exported.model.kind = "exported_program";
  Graph& graph = script.graphs[0].graph;
  graph.set_method(graph.next(graph.first()), "forward1");
  CHECK(told(script, exported).empty());
}

TEST_CASE("compare tells parameters, ties and uses") {
  auto a = collection(chain({"relu"}));
  a.parameters = {{"w", ParameterKind::kParameter, {2}, "float32", {}, {}},
                  {"v", ParameterKind::kBuffer, {2}, "float32", {}, {}}};
  auto b = a;
  b.parameters[0].dtype = "float16";
  b.parameters[1].alias_of = "w";
  b.unused_parameters = {"v"};
  CHECK(told(a, b) == Lines{"parameters changed w dtype: float32 to float16",
                            "weights changed w bytes: 8 to 4", "parameters changed v alias_of: none to w",
                            "parameters changed v use: used to unused"});
}

TEST_CASE("compare tells order, guards and bodies of control flow") {
  auto a = collection(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)
      %neg = call_function[aten.neg.default](%x)
      %cond = call_function[higher_order.cond](%x, graph("body"))
      %output = output[output]((%relu, %neg, %cond)))",
                      {module("a", "pkg.A"), module("b", "pkg.B")});
  a.graphs[0].subgraphs.add({"body", module_graph("", "", chain({"sin"}))});
  a.graphs[0].guards = {{Expression::parse("x.dim() == 2"), {}}};
  a.graphs[0].execution->module_forward_order = {"", "a", "b"};
  auto b = collection(R"(
      %x = placeholder[x]()
      %neg = call_function[aten.neg.default](%x)
      %relu = call_function[aten.relu.default](%x)
      %cond = call_function[higher_order.cond](%x, graph("other"))
      %output = output[output]((%relu, %neg, %cond)))",
                      {module("a", "pkg.A"), module("b", "pkg.B")});
  b.graphs[0].subgraphs.add({"other", module_graph("", "", chain({"sin", "cos"}))});
  b.graphs[0].guards = {{Expression::parse("x.dim() == 3"), {}}};
  b.graphs[0].execution->module_forward_order = {"", "b", "a"};
  Lines lines = told(a, b);
  std::ranges::sort(lines);
  CHECK(lines == Lines{"guards added x.dim() == 3", "guards removed x.dim() == 2", "nodes added cos_1",
                       "order moved a:  to b", "order moved relu: x to neg"});
}

TEST_CASE("fold_equal_modules tells equal changes of equal blocks once") {
  std::vector<ModuleRecord> modules;
  std::string before = "%x = placeholder[x]()\n";
  std::string after = before;
  std::string last = "x";
  std::string last_after = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string path = "h." + std::to_string(i);
    modules.push_back(module(path, "pkg.Block"));
    const std::string scope = "  # " + path + ": pkg.Block\n";
    const std::string end = i == 0 ? "" : "_" + std::to_string(i);
    before += "%relu" + end + " = call_function[aten.relu.default](%" + last + ")" + scope;
    after += "%relu" + end + " = call_function[aten.relu.default](%" + last_after + ")" + scope;
    after += "%neg" + end + " = call_function[aten.neg.default](%relu" + end + ")" + scope;
    last = "relu" + end;
    last_after = "neg" + end;
  }
  ModelComparison comparison =
      compare(collection(before + "%output = output[output](%" + last + ")", modules),
              collection(after + "%output = output[output](%" + last_after + ")", modules));
  CHECK(comparison.modules.size() == 12);
  CHECK(comparison.count(DifferenceKind::kNodes, Change::kAdded) == 12);
  std::ostringstream json;
  write_comparison_json(comparison, json);
  CHECK(json.str().find("\"subject\": \"neg_11\"") != std::string::npos);
  fold_equal_modules(comparison);
  // The user of the last node is the output.
  REQUIRE(comparison.modules.size() == 1);
  CHECK(comparison.modules.front().alike.size() == 12);
  std::ostringstream text;
  write_comparison(comparison, text, {100, false});
  CHECK(text.str().find("h.0 … h.11 (12 modules)  pkg.Block\n"
                        "  + %neg = call_function[aten.neg.default](%relu)  used by %relu_1\n") !=
        std::string::npos);
  std::ostringstream markdown;
  write_comparison(comparison, markdown, {.is_markdown = true});
  CHECK(markdown.str().find("```diff\n+ %neg = ") != std::string::npos);
}

TEST_CASE("merge puts what was removed where it stood, and marks what differs") {
  auto a = collection(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # a: pkg.A
      %sin = call_function[aten.sin.default](%relu)  # a: pkg.A
      %neg = call_function[aten.neg.default](%sin)  # a: pkg.A
      %output = output[output](%neg))",
                      {module("a", "pkg.A")});
  auto b = collection(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # b: pkg.A
      %other = call_function[aten.neg.default](%relu)  # b: pkg.A
      %exp = call_function[aten.exp.default](%other)  # b: pkg.A
      %output = output[output](%exp))",
                      {module("b", "pkg.A")});
  const ModelComparison comparison = compare(a, b, {DifferenceKinds::all()});
  const MergedCollection merged = merge(a, b, comparison, DifferenceKinds::usual());
  const Graph& graph = merged.collection.graphs.front().graph;
  CHECK(print_graph(graph) ==
        "%x = placeholder[x]()\n"
        "%relu = call_function[aten.relu.default](%x)  # b: pkg.A\n"
        "%sin = call_function[aten.sin.default](%relu)  # b: pkg.A\n"
        "%other = call_function[aten.neg.default](%relu)  # b: pkg.A\n"
        "%exp = call_function[aten.exp.default](%other)  # b: pkg.A\n"
        "%output = output[output](%exp)\n");
  Lines marks;
  for (const NodeId id : graph.order()) {
    const auto mark = merged.nodes.find(&graph.node(id));
    if (mark != merged.nodes.end()) marks.push_back(graph.node(id).name + " " + to_string(mark->second));
  }
  CHECK(marks == Lines{"sin removed", "exp added"});
  CHECK(merged.modules.at("b") == Change::kChanged);
  std::ostringstream dot;
  write_dot(merged.collection, dot, {}, mark_differences(merged));
  CHECK(dot.str().find("<B>+ exp</B>") != std::string::npos);
  CHECK(dot.str().find("style=\"rounded,filled,dashed\"") != std::string::npos);
  // The graph, the box of the module, and its content.
  std::ostringstream page;
  write_html(merged.collection, page, {}, mark_differences(merged));
  CHECK(page.str().find("\"mark\":[7,0,3,0,2,0,1,0]") != std::string::npos);
  // Kinds that are not reported are not marked.
  CHECK(merge(a, b, comparison, {}).nodes.empty());
  CHECK(merge(a, b, comparison, {}).collection.graphs.front().graph.size() == 5);
}

TEST_CASE("what differs is drawn apart from its equals, and nothing else is marked") {
  const auto blocks = [](const std::vector<std::string>& names, const std::string& changed = "") {
    std::string nodes = "%x = placeholder[x]()\n";
    std::vector<ModuleRecord> modules;
    std::string last = "x";
    for (const std::string& name : names) {
      const std::string scope = "  # h." + name + ": pkg.Block\n";
      nodes += "%relu_" + name + " = call_function[aten.relu.default](%" + last + ")" + scope;
      nodes += "%neg_" + name + " = call_function[aten." + (name == changed ? "sin" : "neg") +
               ".default](%relu_" + name + ")" + scope;
      last = "neg_" + name;
      modules.push_back(module("h." + name, "pkg.Block"));
    }
    return collection(nodes + "%output = output[output](%" + last + ")", modules);
  };
  const auto drawn = [](const GraphCollection& a, const GraphCollection& b) {
    const ModelComparison comparison = compare(a, b, {DifferenceKinds::all()});
    const MergedCollection merged = merge(a, b, comparison, DifferenceKinds::usual());
    std::ostringstream dot;
    write_dot(merged.collection, dot, {}, mark_differences(merged));
    Lines lines;
    std::istringstream text(dot.str());
    // Titles with their marks, and the lines below them.
    for (std::string line; std::getline(text, line);) {
      const std::size_t begin = line.find("label=<<B>");
      if (begin == std::string::npos || line.starts_with("  label")) continue;
      std::string label;
      bool is_tag = false;
      for (const char c : line.substr(begin + 7, line.rfind(", tooltip") - begin - 7)) {
        if (c == '<') is_tag = true;
        if (!is_tag) label += c;
        if (c == '>') is_tag = false;
      }
      lines.push_back(label.substr(0, label.find(">;")));
    }
    return lines;
  };
  const auto has = [](const Lines& lines, const std::string& text) {
    return std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  const auto three = blocks({"0", "1", "2"});
  for (const std::vector<std::string>& names :
       {Lines{"0", "1", "2", "3"}, Lines{"0", "9", "1", "2"}, Lines{"9", "0", "1", "2"}}) {
    const Lines added = drawn(three, blocks(names));
    CHECK(has(added, "+ h.") == 1);
    CHECK(has(added, "~") == 0);
    CHECK(has(added, "differ") == 0);
    const Lines removed = drawn(blocks(names), three);
    CHECK(has(removed, "\u2212 h.") == 1);
    CHECK(has(removed, "~") == 0);
    CHECK(has(removed, "differ") == 0);
  }
  // Many that are folded are one row.
  const Lines many = drawn(three, blocks({"0", "1", "2", "3", "4", "5", "6"}));
  CHECK(has(many, "+ h.3") == 1);
  CHECK(has(many, "+ h.4 \u2026 h.6") == 1);
  CHECK(has(many, "differ") == 0);
  // If one operation in a box differs, the box and the operation are marked.
  const Lines changed = drawn(three, blocks({"0", "1", "2"}, "1"));
  CHECK(has(changed, "~ sin") == 1);
  CHECK(has(changed, "~ neg") == 0);
  CHECK(has(changed, "~ relu") == 0);
}

TEST_CASE("a row of equals in a box that was removed is marked as the box is") {
  std::string nodes = "%x = placeholder[x]()\n%first = call_function[aten.cos.default](%x)  # h: pkg.Stack\n";
  std::vector<ModuleRecord> modules{module("h", "pkg.Stack")};
  std::string last = "first";
  for (const char* name : {"0", "1", "2", "3"}) {
    const std::string path = std::string("h.") + name, relu = std::string("relu_") + name;
    nodes += "%" + relu + " = call_function[aten.relu.default](%" + last + ")  # " + path + ": pkg.Block\n";
    last = std::string("neg_") + name;
    nodes += "%" + last + " = call_function[aten.neg.default](%" + relu + ")  # " + path + ": pkg.Block\n";
    modules.push_back(module(path, "pkg.Block"));
  }
  const auto a = collection(nodes + "%output = output[output](%" + last + ")", modules);
  const auto b = collection("%x = placeholder[x]()\n%output = output[output](%x)");
  const ModelComparison comparison = compare(a, b, {DifferenceKinds::all()});
  std::ostringstream dot;
  const MergedCollection merged = merge(a, b, comparison, DifferenceKinds::usual());
  write_dot(merged.collection, dot, {}, mark_differences(merged));
  CHECK(dot.str().find("<B>\u2212 h</B>") != std::string::npos);
  CHECK(dot.str().find("<B>\u2212 1 \u2026 3</B>") != std::string::npos);
}

TEST_CASE("a difference never reads as if both sides were the same") {
  const auto a = collection(R"(
      %x = placeholder[x]()
      %y = placeholder[y]()
      %expand = call_function[aten.expand.default](%x, [2, 3])
      %expand_1 = call_function[aten.expand.default](%y, [2, 4])
      %sub = call_function[aten.sub.Tensor](%expand, %expand_1)
      %cat = call_function[aten.cat.default]([%expand, %expand_1])
      %output = output[output]((%sub, %cat)))");
  const auto b = collection(R"(
      %x = placeholder[x]()
      %y = placeholder[y]()
      %expand = call_function[aten.expand.default](%y, [2, 4])
      %expand_1 = call_function[aten.expand.default](%x, [2, 3])
      %sub = call_function[aten.sub.Tensor](%expand, %expand_1)
      %cat = call_function[aten.cat.default]([%expand, %expand_1])
      %output = output[output]((%sub, %cat)))");
  const ModelComparison comparison = compare(a, b);
  CHECK_FALSE(comparison.is_equal());
  std::size_t arguments = 0;
  for (const ModuleDifferences& group : comparison.modules) {
    for (const Difference& difference : group.differences) {
      if (difference.before || difference.after) CHECK(difference.before != difference.after);
      arguments += static_cast<std::size_t>(difference.kind == DifferenceKind::kArguments);
    }
  }
  CHECK(arguments == 3);
  std::ostringstream text;
  write_comparison(comparison, text, {100, false});
  CHECK(text.str().find("%expand (is now %expand_1) → %expand (was %expand_1)") != std::string::npos);
}

TEST_CASE("texts of files are printed safely in comparisons") {
  auto a = collection(chain({"relu"}));
  auto b = a;
  a.model.type = "a\x1b[31m```\n";
  b.parameters = {{"w\n```\x1b\u202e", ParameterKind::kParameter, {2}, "float32", {}, {}}};
  ModelComparison comparison = compare(a, b);
  std::ostringstream text;
  write_comparison(comparison, text, {100, false});
  write_comparison(comparison, text, {.is_markdown = true});
  CHECK(text.str().find('\x1b') == std::string::npos);
  CHECK(text.str().find("\n```\n\n") == std::string::npos);
  CHECK(text.str().find("\u202e") == std::string::npos);
}

// This takes seconds without optimisation, so it has the label volume: 100,000 nodes against as many.
TEST_CASE("large graphs are compared in time that grows with their size", "[.volume]") {
  const auto make = [](std::size_t skipped) {
    std::string text = "%x = placeholder[x]()\n";
    std::string last = "x";
    for (std::size_t i = 0; i < 100'000; ++i) {
      if (i == skipped) continue;
      const std::string name = (i % 3 == 0 ? "relu" : i % 3 == 1 ? "neg" : "sin") + ("_" + std::to_string(i));
      text += "%" + name + " = call_function[aten." + name.substr(0, name.find('_')) + ".default](%" + last +
              ")\n";
      last = name;
    }
    return collection(text + "%output = output[output](%" + last + ")\n");
  };
  const auto a = make(100'000);
  const auto b = make(50'000);
  CHECK(compare(a, b).count(DifferenceKind::kNodes) == 1);
}

TEST_CASE("compare tells weights by the checksums of records", "[comparison]") {
  GraphCollection a, b;
  const auto add = [&](const char* name, const char* before, const char* after,
                       std::vector<std::int64_t> shape = {2}) {
    ParameterRecord record{name, ParameterKind::kParameter, std::move(shape), "float32", {}, {}};
    record.content = before;
    a.parameters.push_back(record);
    record.content = after;
    b.parameters.push_back(std::move(record));
  };
  a.modules = b.modules = {{"", "pkg.Net", ModuleStatus::kTraced, {}, {}, 1, {}}};
  add("same", "1-8", "1-8");
  add("other", "1-8", "2-8");
  add("turned", "1-8/1,2", "2-8/1,2");
  add("same_part", "1-64+2", "1-64+2");
  add("empty", "", "", {0});
  // The record is longer than the tensor, or stores it in another order; or there is no checksum.
  add("part", "1-64", "2-64");
  add("offset", "1-64+2", "1-64+4");
  add("order", "1-8", "2-8/1,2");
  add("unknown", "", "1-8");
  a.parameters.push_back({"tied", ParameterKind::kParameter, {2}, "float32", {}, {"other"}});
  b.parameters.push_back(a.parameters.back());
  const ModelComparison comparison = compare(a, b);
  CHECK(told(a, b) == Lines{"weights changed other bytes: 8 to 8", "weights changed turned bytes: 8 to 8"});
  CHECK(comparison.weights.compared == 5);
  CHECK(comparison.weights.differ == 2);
  CHECK(comparison.weights.not_compared == 4);
  CHECK(comparison.weights.bytes_before == 16);
  ModelComparison left = comparison;
  leave_out(left, DifferenceKind::kWeights);
  CHECK(left.modules.empty());
  CHECK_FALSE(left.is_equal());
}

TEST_CASE("a leaf is marked where something in it differs") {
  const auto net = [](const std::string& type) {
    return collection(
        "%x = placeholder[x]()\n%enc = call_module[enc](%x)  # enc: pkg.Encoder\n%output = output[output](%enc)",
        {module("enc", "pkg.Encoder", ModuleStatus::kLeaf), module("enc.l", type, ModuleStatus::kUnvisited)});
  };
  const auto a = net("pkg.A"), b = net("pkg.B");
  const ModelComparison comparison = compare(a, b, {DifferenceKinds::all()});
  const MergedCollection merged = merge(a, b, comparison, DifferenceKinds::usual());
  CHECK(merged.modules.at("enc") == Change::kChanged);
  std::ostringstream dot;
  write_dot(merged.collection, dot, {}, mark_differences(merged));
  CHECK(dot.str().find("<B>~ enc</B>") != std::string::npos);
}

TEST_CASE("modules with other weights alone have a mark of their own", "[comparison]") {
  const auto model = [](const char* content, const char* function) {
    GraphCollection made = collection(std::string(R"(
      %x = placeholder[x]()
      %a = call_module[a](%x)  # a: pkg.A
      %b = call_function[aten.)") + function +
                                          R"(.default](%a)  # b: pkg.B
      %output = output[output](%b))",
                                      {module("a", "pkg.A"), module("b", "pkg.B")});
    for (const char* name : {"a.weight", "b.weight"}) {
      ParameterRecord record{name, ParameterKind::kParameter, {2}, "float32", {}, {}};
      record.content = content;
      made.parameters.push_back(std::move(record));
    }
    return made;
  };
  const auto merged_with = [&](const char* function) {
    const auto a = model("1-8", "relu"), b = model("2-8", function);
    return merge(a, b, compare(a, b, {DifferenceKinds::all()}), DifferenceKinds::usual());
  };
  const MergedCollection merged = merged_with("relu");
  CHECK(merged.modules.empty());
  CHECK(merged.weights.size() == 2);
  std::ostringstream dot;
  write_dot(merged.collection, dot, {}, mark_differences(merged));
  CHECK(dot.str().find("filled,dotted\"") != std::string::npos);
  CHECK(dot.str().find("<I>other weights</I>") != std::string::npos);
  CHECK(merged_with("neg").weights.contains("a"));
}
