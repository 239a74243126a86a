// The order of use: the calls that use each parameter, buckets, the plan for FSDP2, folding of equal blocks.
#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.h"
#include "sample_collection.h"
#include "summaries/use_order.h"
#include "writers/formats/document.h"
#include "writers/reports/report_writers.h"

using namespace fxtrace::internal;

namespace {

constexpr ModuleStatus kTraced = ModuleStatus::kTraced;
constexpr const char* kLinear = "torch.nn.modules.linear.Linear";

ParameterRecord parameter(const std::string& name, std::vector<std::int64_t> shape,
                          std::optional<std::string> alias_of = {}) {
  return {name, ParameterKind::kParameter, std::move(shape), "float32", {}, std::move(alias_of)};
}

void add_module(GraphCollection& collection, const std::string& path, const std::string& type,
                ModuleStatus status = kTraced) {
  collection.modules.push_back({path, type, status, {}, {}, 1, {}});
}

// A model of blocks "h.0", ... that each call a Linear, in the given order.  `behind` ends their paths.
GraphCollection blocks(const std::vector<int>& calls, int count = 3, const std::string& behind = "") {
  GraphCollection collection;
  collection.model = {"model.pt2", "exported_program", "pkg.Net", "forward", ""};
  add_module(collection, "", "pkg.Net");
  add_module(collection, "h", "torch.nn.modules.container.ModuleList", ModuleStatus::kUnvisited);
  for (int i = 0; i < count; ++i) {
    const std::string path = "h." + std::to_string(i) + behind;
    add_module(collection, path, "pkg.Block");
    add_module(collection, path + ".fc", kLinear, ModuleStatus::kLeaf);
    collection.parameters.push_back(parameter(path + ".fc.weight", {4, 4}));
  }
  std::string text = "%x = placeholder[x]()\n";
  std::string last = "x";
  Execution execution;
  execution.module_forward_order = {""};
  int number = 0;
  for (const int i : calls) {
    const std::string path = "h." + std::to_string(i) + behind;
    const std::string name = "call" + std::to_string(++number);
    text +=
        "%" + name + " = call_module[" + path + ".fc](%" + last + ")  # " + path + ".fc: " + kLinear + "\n";
    last = name;
    execution.module_forward_order.insert(execution.module_forward_order.end(), {path, path + ".fc"});
    const std::string weight = path + ".fc.weight";
    if (std::ranges::find(execution.param_forward_order, weight) == execution.param_forward_order.end())
      execution.param_forward_order.push_back(weight);
  }
  auto graph = module_graph("", "pkg.Net", text + "%output = output[output](%" + last + ")\n");
  graph.execution = std::move(execution);
  collection.graphs.push_back(std::move(graph));
  return collection;
}

FsdpPlan plan(const GraphCollection& collection) { return plan_fsdp(collection, order_of_use(collection)); }

using Pairs = std::vector<std::pair<std::string, std::string>>;
using Names = std::vector<std::string>;

std::vector<std::int64_t> calls_of(const UseOrder::Parameter& parameter) {
  std::vector<std::int64_t> calls;
  for (const UseOrder::Use& use : parameter.uses) calls.push_back(use.place.call);
  return calls;
}

}  // namespace

TEST_CASE("order: parameters in bodies of control flow", "[order]") {
  // The weight is passed through two bodies, and the inner one uses it.  Passing it on is not a use.
  GraphCollection collection;
  collection.model = {"model.pt2", "exported_program", "pkg.Net", "forward", ""};
  add_module(collection, "", "pkg.Net");
  add_module(collection, "a", "pkg.Gate");
  collection.parameters = {parameter("w", {2}), parameter("v", {2}), parameter("p", {1}),
                           parameter("r", {3})};
  auto graph = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %w = get_attr[w]()
      %v = get_attr[v]()
      %p = get_attr[p]()
      %r = get_attr[r]()
      %cond = call_function[higher_order.cond](%p, graph("yes"), graph("no"), [%x, %w, %v])
      %output = output[output]((%cond, %r)))");
  graph.execution = Execution{{"", "a"}, {"v", "w", "p"}, {}};
  auto inner = module_graph("", "pkg.Net", R"(
      %b = placeholder[b]()
      %c = placeholder[c]()
      %mul = call_function[aten.mul.Tensor](%b, %c)  # a: pkg.Gate
      %output = output[output](%mul))");
  auto yes = module_graph("", "pkg.Net", R"(
      %a = placeholder[a]()
      %b = placeholder[b]()
      %c = placeholder[c]()
      %neg = call_function[aten.neg.default](%c)
      %wrap = call_function[higher_order.wrap_with_set_grad_enabled](False, graph("body"), %a, %b)
      %output = output[output]((%wrap,)))");
  auto no = module_graph("", "pkg.Net", R"(
      %a = placeholder[a]()
      %b = placeholder[b]()
      %c = placeholder[c]()
      %output = output[output]((%a,)))");
  for (auto* body : {&inner, &yes, &no}) body->execution.reset();
  yes.subgraphs.add({"body", std::move(inner)});
  graph.subgraphs.add({"yes", std::move(yes)});
  graph.subgraphs.add({"no", std::move(no)});
  collection.graphs.push_back(std::move(graph));

  const UseOrder order = order_of_use(collection);
  REQUIRE(order.parameters.size() == 3);
  CHECK(order.parameters[0].name == "v");
  CHECK(order.parameters[0].uses[0].node == "neg");
  CHECK(order.parameters[1].name == "w");
  REQUIRE(order.parameters[1].uses.size() == 1);
  CHECK(order.parameters[1].uses[0].node == "mul");
  CHECK(order.parameters[1].uses[0].place.call == 2);
  CHECK(order.parameters[2].uses[0].node == "cond");
  REQUIRE(order.unused.size() == 1);
  CHECK(order.unused[0].name == "r");
}

TEST_CASE("order: operands that are not the inputs of a body are used by the call", "[order]") {
  GraphCollection collection;
  add_module(collection, "", "pkg.Net");
  collection.parameters = {parameter("w", {2})};
  auto graph = module_graph("", "pkg.Net", R"(
      %w = get_attr[w]()
      %run = call_function[higher_order.something](graph("body"), %w)
      %output = output[output](%run))");
  graph.execution = Execution{{""}, {}, {}};
  auto body = module_graph("", "pkg.Net", "%output = output[output](1)");
  body.execution.reset();
  graph.subgraphs.add({"body", std::move(body)});
  collection.graphs.push_back(std::move(graph));
  const UseOrder order = order_of_use(collection);
  REQUIRE(order.parameters.size() == 1);
  CHECK(order.parameters[0].uses[0].node == "run");
}

TEST_CASE("order: calls, tied parameters and modules that nothing calls", "[order]") {
  GraphCollection collection = blocks({2, 0, 2});
  add_module(collection, "spare", "pkg.Spare");
  add_module(collection, "spare.in", "pkg.Spare");
  collection.parameters.push_back(parameter("spare.w", {5}));
  collection.parameters.push_back(parameter("tied", {4, 4}, "h.0.fc.weight"));
  const UseOrder order = order_of_use(collection);
  REQUIRE(order.parameters.size() == 2);
  CHECK(order.parameters[0].name == "h.2.fc.weight");
  // The scopes of all nodes say call 1; the two calls of one module are distinguished by the number.
  CHECK(calls_of(order.parameters[0]) == std::vector<std::int64_t>{3, 3});
  CHECK(order.parameters[1].tied == Names{"tied"});
  CHECK(order.used.bytes == 128);
  CHECK(order.not_used.bytes == 84);
  REQUIRE(order.never_called.size() == 2);  // h.1 too, but not its submodules
  CHECK(order.never_called[0].path == "h.1");
  CHECK(order.never_called[1].path == "spare");
  const auto& calls = order.graphs.at(0).calls;
  REQUIRE(calls.size() == 7);
  CHECK(order.modules[calls[5].module].path == "h.2");
  CHECK(calls[6].depth == 2);
}

TEST_CASE("order: a file can claim more uses than are listed", "[order]") {
  GraphCollection collection;
  add_module(collection, "", "pkg.Net");
  add_module(collection, "a", "pkg.Leaf", ModuleStatus::kLeaf);
  for (int i = 0; i < 2000; ++i) collection.parameters.push_back(parameter("a." + std::to_string(i), {1}));
  auto graph = module_graph("", "pkg.Net", "%x = placeholder[x]()\n%output = output[output](%x)");
  const NodeId end = graph.graph.last();
  for (int i = 0; i < 1000; ++i) {
    Graph::NodeSpec call;
    call.op = Opcode::kCallModule;
    call.target = "a";
    call.args = {NodeId{0}};
    graph.graph.insert_before(end, std::move(call));
  }
  collection.graphs.push_back(std::move(graph));
  const UseOrder order = order_of_use(collection);
  REQUIRE(order.parameters.size() == 2000);
  CHECK(order.parameters.back().use_count == 1000);
  CHECK_FALSE(order.parameters.back().uses.empty());
  CHECK(order.parameters.back().uses.size() < 1000);
}

TEST_CASE("order: buckets", "[order]") {
  GraphCollection collection = blocks({0, 1, 2, 3, 4}, 5);
  collection.parameters[1].shape = {2};
  collection.parameters[3].shape = {100};
  UseOrder order = order_of_use(collection);
  const auto sizes = [&](std::int64_t most) {
    make_buckets(order, most);
    std::vector<std::int64_t> bytes;
    for (const auto& bucket : order.buckets->list) bytes.push_back(bucket.bytes);
    return bytes;
  };
  using Sizes = std::vector<std::int64_t>;
  CHECK(sizes(72) == Sizes{72, 64, 400, 64});
  CHECK(sizes(71) == Sizes{64, 72 - 64, 64, 400, 64});
  CHECK(sizes(1) == Sizes{64, 8, 64, 400, 64});
  CHECK(sizes(INT64_MAX) == Sizes{600});
}

TEST_CASE("order: FSDP2 takes repeated blocks in the order of their calls", "[order]") {
  CHECK(plan(blocks({0, 1, 2})).units == Names{"h.0", "h.1", "h.2"});
  const FsdpPlan backwards = plan(blocks({2, 1, 0}));
  CHECK(backwards.forward == Pairs{{"", "h.2"}, {"h.2", "h.1"}, {"h.1", "h.0"}});
  CHECK(backwards.backward == Pairs{{"", "h.0"}, {"h.0", "h.1"}, {"h.1", "h.2"}});
  // A block that is called again prefetches nothing, but is prefetched.
  const FsdpPlan again = plan(blocks({0, 1, 0, 2}));
  CHECK(again.units == Names{"h.0", "h.1", "h.2"});
  CHECK(again.forward == Pairs{{"", "h.0"}, {"h.1", "h.0"}});
  CHECK(again.backward == Pairs{{"", "h.2"}, {"h.2", "h.0"}, {"h.1", "h.0"}});
  // A block that is never called does not count; the two that are left are still alike.
  CHECK(plan(blocks({0, 2})).units == Names{"h.0", "h.2"});
  // A single block is not a repetition.
  const FsdpPlan alone = plan(blocks({0}, 1));
  CHECK(alone.units.empty());
  CHECK(alone.forward.empty());
}

TEST_CASE("order: FSDP2 leaves blocks with the root that share parameters", "[order]") {
  GraphCollection collection = blocks({0, 1, 2, 3}, 4);
  collection.parameters.push_back(parameter("head", {4, 4}, "h.1.fc.weight"));
  const FsdpPlan tied = plan(collection);
  CHECK(tied.units == Names{"h.0", "h.2", "h.3"});
  REQUIRE(tied.left_out.size() == 1);
  CHECK(tied.left_out[0].path == "h.1");
  CHECK(tied.forward == Pairs{{"", "h.0"}, {"h.0", "h.2"}, {"h.2", "h.3"}});

  collection.graphs[0].execution->module_param_usage = {
      {"", {{"h.0", {"h.0.fc.weight"}}, {"h.2.fc", {"h.2.fc.weight"}}, {"", {"h.3.fc.weight"}}}},
      {"h.0", {{"h.0.fc", {"h.0.fc.weight"}}}}};
  const FsdpPlan used = plan(collection);
  CHECK(used.units == Names{"h.0"});
  REQUIRE(used.left_out.size() == 3);
  CHECK(used.left_out[1].reason == "the root calls h.2.fc");
  CHECK(used.left_out[2].reason == "the root uses h.3.fc.weight");
}

TEST_CASE("order: FSDP2 takes modules of one class where no blocks are equal", "[order]") {
  GraphCollection collection = blocks({0, 1, 2});
  for (std::size_t i = 0; i < 3; ++i) collection.parameters[i].shape = {4, static_cast<std::int64_t>(i) + 1};
  CHECK(plan(collection).units == Names{"h.0", "h.1", "h.2"});
  // Two are equal; the third is included because of its class.
  collection.parameters[1].shape = collection.parameters[0].shape;
  CHECK(plan(collection).units == Names{"h.0", "h.1", "h.2"});
  for (ModuleRecord& module : collection.modules) {
    if (module.type == "pkg.Block") module.type = "torch.nn.modules.container.Sequential";
  }
  CHECK(plan(collection).units == Names{"h.0", "h.1"});
}

TEST_CASE("order: FSDP2 takes a compiled block by its own name", "[order]") {
  // torch.compile(block) is a module around the block; the graph shows calls of neither.
  GraphCollection collection = blocks({0, 1, 2}, 3, "._orig_mod");
  for (int i = 0; i < 3; ++i) add_module(collection, "h." + std::to_string(i), "pkg.Compiled");
  std::ranges::sort(collection.modules, {}, &ModuleRecord::path);
  std::erase_if(collection.graphs[0].execution->module_forward_order,
                [](const std::string& path) { return path.ends_with("_orig_mod"); });
  const FsdpPlan compiled = plan(collection);
  CHECK(compiled.units == Names{"h.0", "h.1", "h.2"});
  CHECK(compiled.forward == Pairs{{"", "h.0"}, {"h.0", "h.1"}, {"h.1", "h.2"}});
}

TEST_CASE("order: names that differ in a number are folded", "[order]") {
  const auto fold = [](const std::vector<std::string_view>& names) {
    Names shown;
    for (const NumberedRow& row : fold_numbered(names, [](std::size_t, std::size_t) { return true; }))
      shown.push_back(row.name + (row.repeats > 1 ? " x" + std::to_string(row.repeats) : ""));
    return shown;
  };
  CHECK(fold({"h.0.a", "h.0.b", "h.1.a", "h.1.b", "z"}) == Names{"h.0 - 1.a x2", "h.0 - 1.b x2", "z"});
  CHECK(fold({"h.0", "h.0.a", "h.1", "h.1.b"}) == Names{"h.0", "h.0.a", "h.1", "h.1.b"});
  CHECK(fold({"layer9", "layer10", "layer11"}) == Names{"layer9 - 11 x3"});
  CHECK(fold({"h.0", "h.2", "h.3"}) == Names{"h.0", "h.2 - 3 x2"});
  CHECK(fold({"h.1", "h.0"}) == Names{"h.1", "h.0"});
  // Nested blocks: the outer ones if they are alike, else the inner ones.
  CHECK(fold({"a.0.b.0", "a.0.b.1", "a.1.b.0", "a.1.b.1"}) == Names{"a.0 - 1.b.0 x2", "a.0 - 1.b.1 x2"});
  CHECK(fold({"a.0.b.0", "a.0.b.1", "a.1.b.0"}) == Names{"a.0.b.0 - 1 x2", "a.1.b.0"});
  CHECK(fold({"h.00", "h.01"}) == Names{"h.00", "h.01"});
  CHECK(fold({"h.99999999999999999999", "h.99999999999999999999"}).size() == 2);
  CHECK(fold({}).empty());
}

TEST_CASE("order: hostile names stay names", "[order]") {
  GraphCollection collection = blocks({0, 1});
  const std::string evil = "a\"\n\x1b[31m=1+1,'''";
  collection.model.file = collection.model.method = evil;
  for (ModuleRecord& module : collection.modules) module.type = module.path.empty() ? evil : module.type;
  add_module(collection, evil, evil);
  collection.parameters.push_back(parameter(evil, {1}));
  collection.parameters.push_back(parameter("t", {1}, evil));
  collection.graphs[0].execution->param_forward_order.push_back(evil);
  const UseOrder order = order_of_use(collection);
  std::ostringstream text, csv, python;
  write_order_text(order, text, {});
  write_order_csv(order, csv);
  write_order_python(order, plan_fsdp(collection, order), python);
  for (const std::string& written : {text.str(), csv.str(), python.str()}) {
    CHECK(written.find('\x1b') == std::string::npos);
    CHECK(written.find("\"\n\x1b") == std::string::npos);
  }
  CHECK(python.str().find("register_fsdp_forward_method(model, \"a\\\"\\n\\x1b[31m=1+1,'''\")") !=
        std::string::npos);
  CHECK(csv.str().find("\n=") == std::string::npos);
}
