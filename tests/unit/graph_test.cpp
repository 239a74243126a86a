#include "graph/graph.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "graph/text_form.h"
#include "support/error.h"

namespace fxtrace {
namespace {

NodeId add_node(Graph& graph, Opcode op, const std::string& target, std::vector<Argument> args = {},
                Kwargs kwargs = {}) {
  Graph::NodeSpec spec;
  spec.op = op;
  spec.target = target;
  spec.args = std::move(args);
  spec.kwargs = std::move(kwargs);
  return graph.append(std::move(spec));
}

NodeId add_call(Graph& graph, const std::string& target, std::vector<Argument> args, Kwargs kwargs = {}) {
  return add_node(graph, Opcode::kCallFunction, target, std::move(args), std::move(kwargs));
}

std::vector<std::string> names(const Graph& graph, const std::vector<NodeId>& ids) {
  std::vector<std::string> out;
  for (const auto id : ids) out.push_back(graph.node(id).name);
  return out;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a node knows its users once each, in order", "[graph]") {
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  const auto a = add_call(graph, "aten.add.Tensor", {x, x}, {{"other", x}});
  const auto b = add_call(graph, "aten.cat.default", {Argument::List{{a, Argument::Tuple{{x}}}}});
  const auto c = add_call(graph, "operator.getitem", {b, Argument::Slice{{x, {}, {}}}});
  const auto d = add_call(graph, "aten.add.Tensor", {1, Argument::Dict{{{Argument("k"), Argument(c)}}}});
  add_node(graph, Opcode::kOutput, "output", {d});
  CHECK(names(graph, graph.node(x).users) == Strings{"add", "cat", "getitem"});
  CHECK(names(graph, graph.node(c).users) == Strings{"add_1"});
  CHECK(names(graph, graph.order()) == Strings{"x", "add", "cat", "getitem", "add_1", "output"});
  CHECK(graph.size() == 6);
  lint(graph);
}

TEST_CASE("a name hint comes before the target", "[graph]") {
  Graph graph;
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = "pkg.ops.nms";
  spec.name_hint = "nms";
  CHECK(graph.node(graph.append(spec)).name == "nms");
  spec.name_hint.clear();
  spec.target = "builtins.getattr";
  CHECK(graph.node(graph.append(spec)).name == "getattr_1");
}

TEST_CASE("an argument must be a node of the graph", "[graph]") {
  Graph graph;
  CHECK_THROWS_AS(add_call(graph, "aten.relu.default", {NodeId{0}}), Error);
  CHECK_THROWS_AS(add_call(graph, "aten.relu.default", {NodeId{}}), Error);
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  graph.erase(x);
  CHECK_THROWS_AS(add_call(graph, "aten.relu.default", {x}), Error);
  CHECK(graph.size() == 0);
  CHECK(graph.node(add_node(graph, Opcode::kPlaceholder, "relu")).name == "relu");
}

TEST_CASE("only an unused node can be erased", "[graph]") {
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  const auto a = add_call(graph, "aten.relu.default", {x});
  const auto b = add_call(graph, "aten.add.Tensor", {x, a});
  CHECK_THROWS_AS(graph.erase(a), Error);
  graph.erase(b);
  CHECK_THROWS_AS(graph.erase(b), Error);
  CHECK(names(graph, graph.node(x).users) == Strings{"relu"});
  graph.erase(a);
  CHECK(graph.node(x).users.empty());
  CHECK(names(graph, graph.order()) == Strings{"x"});
  lint(graph);
}

TEST_CASE("rolling back leaves the graph as it was", "[graph]") {
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  const auto a = add_call(graph, "aten.add.Tensor", {x, 1});
  const auto before = print_graph(graph);
  const auto mark = graph.mark();
  for (int round = 0; round < 2; ++round) {
    const auto b = add_call(graph, "aten.add.Tensor", {x, a, x});
    add_call(graph, "aten.mul.Tensor", {Argument::List{{b, b}}, a});
    CHECK(graph.node(b).name == "add_1");
    graph.roll_back(mark);
    CHECK(print_graph(graph) == before);
    CHECK(graph.size() == 2);
    CHECK(names(graph, graph.node(x).users) == Strings{"add"});
    CHECK(graph.node(a).users.empty());
    lint(graph);
  }
}

TEST_CASE("a copy is a graph of its own", "[graph]") {
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  Graph copy = graph;
  add_call(copy, "aten.relu.default", {x});
  CHECK(graph.size() == 1);
  CHECK(graph.node(x).users.empty());
  CHECK(names(copy, copy.node(x).users) == Strings{"relu"});
}

TEST_CASE("lint finds what is out of place", "[graph]") {
  SECTION("a placeholder behind another node") {
    Graph graph;
    add_call(graph, "aten.rand.default", {});
    add_node(graph, Opcode::kPlaceholder, "x");
    CHECK_THROWS_AS(lint(graph), Error);
  }
  SECTION("an output that is not the last") {
    Graph graph;
    const auto x = add_node(graph, Opcode::kPlaceholder, "x");
    add_node(graph, Opcode::kOutput, "output", {x});
    add_call(graph, "aten.relu.default", {x});
    CHECK_THROWS_AS(lint(graph), Error);
  }
}

TEST_CASE("undoing costs what is undone", "[graph]") {
  // A quadratic roll back would take minutes here.
  Graph graph;
  auto last = add_node(graph, Opcode::kPlaceholder, "x");
  const auto x = last;
  for (int i = 0; i < 100'000; ++i) last = add_call(graph, "aten.add.Tensor", {last, x});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20'000; ++i) {
    const auto mark = graph.mark();
    add_call(graph, "aten.add.Tensor", {last, x});
    graph.roll_back(mark);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(elapsed.count() < 5);
  CHECK(graph.node(x).users.size() == 100'000);
}

}  // namespace fxtrace
