// The graph: nodes, users, order, edits, and transactions that are rolled back.
#include "graph/graph.h"

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "graph/analysis/input_sizes.h"
#include "graph/analysis/text_form.h"
#include "graph/lint.h"
#include "graph/rewrite.h"
#include "support/error.h"
#include "tests/forms/graph_text.h"

namespace fxtrace::internal {
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

TEST_CASE("everything in a node's arguments is visited once, in order", "[graph]") {
  const Graph graph = parse_graph(R"(
      %x = placeholder[x]()
      %f = call_function[operator.f]([%x, graph("a")], (slice(1, graph("b"), None),), k={graph("c"): %x}))");
  const Node& node = graph.node(graph.last());
  std::string names;
  for_each_of<Argument::GraphRef>(node, [&](const auto& found) { names += found.name; });
  CHECK(names == "abc");
  Strings values, inputs;
  for_each_argument(node, [&](const Argument& argument) {
    for_each_value(argument, [&](const Argument& value) { values.push_back(print_argument(graph, value)); });
  });
  for_each_input(node, [&](NodeId id) { inputs.push_back(graph.node(id).name); });
  CHECK(values == Strings{"[%x, graph(\"a\")]", "%x", "graph(\"a\")", "(slice(1, graph(\"b\"), None),)",
                          "slice(1, graph(\"b\"), None)", "1", "graph(\"b\")", "None", "{graph(\"c\"): %x}",
                          "graph(\"c\")", "%x"});
  CHECK(inputs == Strings{"x", "x"});
}

TEST_CASE("a name hint comes before the target", "[graph]") {
  Graph graph;
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = "pkg.ops.nms";
  spec.name = "nms";
  CHECK(graph.node(graph.append(spec)).name == "nms");
  spec.name.clear();
  spec.target = "builtins.getattr";
  CHECK(graph.node(graph.append(spec)).name == "getattr_1");
}

TEST_CASE("a function of the model's own gives its last part to the name", "[graph]") {
  Graph graph;
  for (const bool own : {false, true}) {
    Graph::NodeSpec spec;
    spec.op = Opcode::kCallFunction;
    spec.target = "rp.rope.applyRotary";
    spec.model_function = own;
    graph.append(spec);
  }
  CHECK(graph.node(graph.first()).name == "rope");
  CHECK(graph.node(graph.last()).name == "apply_rotary");
  CHECK(target_parts(graph.node(graph.first())).kind == TargetKind::kOperator);
  CHECK(target_parts(graph.node(graph.last())).name == "applyRotary");
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

TEST_CASE("rolling back takes what was inserted too", "[graph]") {
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  const auto a = add_call(graph, "aten.relu.default", {x});
  const auto before = print_graph(graph);
  const auto mark = graph.mark();
  for (int round = 0; round < 2; ++round) {
    // This is how a subgraph gets an input in front of its nodes; its users come later, or never.
    const auto y = graph.insert_before(a, {Opcode::kPlaceholder, "", {}, {}, {}, {}, {}, "y"});
    if (round == 0) add_call(graph, "aten.add.Tensor", {a, y});
    CHECK(graph.node(y).name == "y");
    graph.roll_back(mark);
    CHECK(print_graph(graph) == before);
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

TEST_CASE("an id is never given twice", "[graph]") {
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  const auto mark = graph.mark();
  const auto a = add_call(graph, "aten.relu.default", {x});
  graph.roll_back(mark);
  const auto b = add_call(graph, "aten.relu.default", {x});
  CHECK(a != b);
  CHECK_FALSE(graph.contains(a));
  CHECK(graph.contains(b));
  CHECK_THROWS_AS(graph.node(a), Error);
  graph.erase(b);
  CHECK(add_call(graph, "aten.relu.default", {x}) != b);
}

TEST_CASE("nodes are put between others", "[graph]") {
  Graph graph = parse_graph(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)
      %output = output[output](%relu))");
  const NodeId x = graph.first(), relu = graph.next(x), output = graph.last();
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = "aten.neg.default";
  spec.args = {x};
  NodeId position = relu;
  for (int i = 0; i < 100; ++i) position = graph.insert_before(position, spec);  // each before the last one
  CHECK(graph.size() == 103);
  CHECK(graph.next(x) == position);
  CHECK(graph.is_before(position, relu));
  CHECK_FALSE(graph.is_before(output, relu));
  CHECK(graph.node(x).users.front() == position);  // users are in execution order
  CHECK(graph.node(x).users.back() == relu);
  lint(graph);
  CHECK_THROWS_AS(graph.insert_before(NodeId{}, spec), Error);
}

TEST_CASE("arguments are set and uses replaced", "[graph]") {
  Graph graph = parse_graph(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)
      %add = call_function[aten.add.Tensor](%relu, %x, alpha=2)
      %cat = call_function[aten.cat.default]([%relu, (%x,)], {"k": %relu})
      %getitem = call_function[operator.getitem](%cat, slice(%relu, None, %x))
      %output = output[output]((%getitem, %relu)))");
  const NodeId x = graph.first(), relu = graph.next(x), add = graph.next(relu);

  SECTION("everywhere") {
    graph.replace_all_uses(relu, x);
    CHECK(graph.node(relu).users.empty());
    CHECK(names(graph, graph.node(x).users) == Strings{"relu", "add", "cat", "getitem", "output"});
    graph.erase(relu);
    lint(graph);
    CHECK(print_graph(graph) == print_graph(parse_graph(R"(
      %x = placeholder[x]()
      %add = call_function[aten.add.Tensor](%x, %x, alpha=2)
      %cat = call_function[aten.cat.default]([%x, (%x,)], {"k": %x})
      %getitem = call_function[operator.getitem](%cat, slice(%x, None, %x))
      %output = output[output]((%getitem, %x)))")));
  }
  SECTION("not in what takes the place") {
    graph.replace_all_uses(x, relu);
    CHECK(names(graph, graph.node(x).users) == Strings{"relu"});
    CHECK(names(graph, graph.node(relu).users) == Strings{"add", "cat", "getitem", "output"});
    lint(graph);
  }
  SECTION("in some") {
    graph.replace_all_uses(relu, x, [&](NodeId user) { return user == add; });
    CHECK(names(graph, graph.node(relu).users) == Strings{"cat", "getitem", "output"});
    lint(graph);
  }
  SECTION("of one node") {
    graph.set_args(add, {x, 3}, {});
    CHECK(names(graph, graph.node(relu).users) == Strings{"cat", "getitem", "output"});
    CHECK(names(graph, graph.node(x).users) == Strings{"relu", "add", "cat", "getitem"});
    lint(graph);
    CHECK_THROWS_AS(graph.set_args(add, {NodeId{77}}, {}), Error);
    lint(graph);  // the edit that threw changed nothing
    graph.set_args(relu, {add}, {});
    CHECK_THROWS_AS(lint(graph), Error);  // used before it is made
  }
}

TEST_CASE("several nodes are erased at once", "[graph]") {
  Graph graph = parse_graph(R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)
      %neg = call_function[aten.neg.default](%relu)
      %sin = call_function[aten.sin.default](%relu, %neg)
      %output = output[output](%x))");
  const NodeId relu = graph.next(graph.first()), neg = graph.next(relu), sin = graph.next(neg);
  CHECK_THROWS_AS(graph.erase({relu, neg}), Error);
  CHECK(graph.size() == 5);
  graph.erase({relu, sin, neg, relu});
  CHECK(names(graph, graph.order()) == Strings{"x", "output"});
  lint(graph);
}

TEST_CASE("any sequence of edits leaves a graph that passes lint", "[graph]") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 50; ++round) {
    Graph graph;
    add_node(graph, Opcode::kPlaceholder, "x");
    std::vector<NodeId> expected = graph.order();  // the order as a plain list
    for (int step = 0; step < 200; ++step) {
      const std::size_t at = 1 + below(expected.size());
      Graph::NodeSpec spec;
      spec.op = Opcode::kCallFunction;
      spec.target = "aten.add.Tensor";
      spec.args = {expected[below(at)], Argument::List{{expected[below(at)]}}};
      const std::size_t node = below(expected.size());
      switch (below(5)) {
        case 0:
        case 1: {
          const NodeId made =
              at == expected.size() ? graph.append(spec) : graph.insert_before(expected[at], spec);
          expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at), made);
          break;
        }
        case 2:
          if (node > 0) graph.set_args(expected[node], {expected[below(node)], expected[below(node)]}, {});
          break;
        case 3:
          if (node > 0) graph.replace_all_uses(expected[node], expected[below(node)]);
          break;
        default:
          if (node > 0 && graph.node(expected[node]).users.empty()) {
            graph.erase(expected[node]);
            expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(node));
          }
      }
    }
    lint(graph);
    CHECK(graph.order() == expected);
    CHECK(graph.size() == expected.size());
  }
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

TEST_CASE("edits cost what they touch", "[graph]") {
  // Everything uses x; an edit that visits all its users would take minutes.
  constexpr int kNodes = 100'000;
  Graph graph;
  const auto x = add_node(graph, Opcode::kPlaceholder, "x");
  std::vector<NodeId> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(add_call(graph, "aten.neg.default", {x}));
  const auto y = add_call(graph, "aten.relu.default", {x});
  const auto start = std::chrono::steady_clock::now();
  Graph::NodeSpec spec;
  spec.op = Opcode::kCallFunction;
  spec.target = "aten.sin.default";
  spec.args = {nodes.front()};
  for (int i = 0; i < kNodes; ++i) graph.insert_before(y, spec);
  for (std::size_t i = nodes.size(); i-- > 1;) graph.set_args(nodes[i], {nodes[i - 1]}, {});
  for (std::size_t i = 1; i < nodes.size(); ++i) graph.replace_all_uses(nodes[i], x);
  graph.erase(std::vector<NodeId>(nodes.begin() + 1, nodes.end()));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(elapsed.count() < 5);
  CHECK(graph.size() == kNodes + 3);
  lint(graph);
}

TEST_CASE("subgraphs are found by name, the first of two that share it") {
  SubgraphList list;
  const auto add = [&](const char* name, const char* module) {
    ModuleGraph graph;
    graph.module = module;
    list.add({name, std::move(graph)});
  };
  const auto found = [&](const char* name) {
    const ModuleGraph* graph = list.find_graph(name);
    return graph == nullptr ? std::string("none") : graph->module;
  };
  add("a", "first");
  add("b", "second");
  add("a", "third");
  CHECK(found("a") == "first");
  CHECK(found("c") == "none");
  CHECK(list.take_last().graph.module == "third");
  CHECK(found("a") == "first");
  list.erase_if([](const Subgraph& subgraph) { return subgraph.name == "a"; });
  CHECK(found("a") == "none");
  CHECK(found("b") == "second");
  CHECK(list.take_last().name == "b");
  CHECK(found("b") == "none");
}

TEST_CASE("sizes of inputs are read where they are a dimension, or follow from one", "[graph]") {
  Meta x, y, z, n;
  x.type = y.type = z.type = "Tensor";
  n.type = "int";
  x.shape = std::vector<Expression>{Expression::parse("b*2+1"), 3, Expression::parse("s*t")};
  y.shape = std::vector<Expression>{Expression::parse("a"), Expression::parse("b - 1")};
  z.shape = std::vector<Expression>{Expression::parse("a*2"), Expression::parse("10 - c")};
  n.value = Expression::parse("k");
  InputSizes sizes;
  sizes.add("x", x, {"words['ids'][0]"});
  sizes.add("y", y);
  sizes.add("z", z);
  sizes.add("n", n);
  const auto sources = sizes.sources();
  const auto value = [&](const char* name) { return sizes.value_of(sources.at(name)).text(); };
  CHECK(sources.size() == 4);
  CHECK(value("a") == "y.size(0)");
  CHECK(value("b") == "(x.size(0)-1)//2");
  CHECK(sizes.rest_of(sources.at("b"))->text() == "(x.size(0)-1)%2");
  CHECK(value("c") == "-z.size(1)+10");
  CHECK_FALSE(sizes.rest_of(sources.at("c")));
  CHECK(value("k") == "n");

  const auto over = [&](const char* text) { return sizes.over_dimensions(Expression::parse(text)).text(); };
  CHECK(over("words['ids'][0].size()[0] == 2*y.size()[0]") == "b*2+1 == a*2");
  CHECK(over("x.shape[-2] > n and words['ids'][0].stride()[0] == 1") == "3 > k and x.stride()[0] == 1");
  CHECK(over("x.dim() == 3 and x.size(3) == 1") == "x.size(3) == 1");
  CHECK(over("Mod(z.size()[0], 2) == 0") == "True");
  const auto is_told = [&](const char* text) { return sizes.is_told_by_shapes(Expression::parse(text)); };
  CHECK(is_told("x.size(1) == 3"));
  CHECK(is_told("z.size(0) == y.size(0)*2"));
  CHECK_FALSE(is_told("x.size(1) == 4"));
  CHECK_FALSE(is_told("y.size(0) > 2"));
}

TEST_CASE("a name that is an input's and a dimension's is the input's in a condition", "[graph]") {
  ModuleGraph graph;
  graph.graph = parse_graph("%x = placeholder[x]()\n%n = placeholder[n]()\n%output = output[output](%x)\n");
  Meta x;
  x.type = "Tensor";
  x.shape = std::vector<Expression>{Expression::parse("n"), Expression::parse("m")};
  graph.graph.set_meta(graph.graph.first(), Shared<Meta>(std::move(x)));
  GraphSignature signature;
  signature.inputs.resize(1);
  signature.inputs[0].path = {Argument("m")};
  graph.signature = signature;
  const InputSizes sizes(graph);
  const auto over = [&](const char* text) { return sizes.over_dimensions(Expression::parse(text)).text(); };
  CHECK(over("x.size(0) == 2") == "n == 2");  // the dimension
  CHECK(over("n == 2") == "inputs['n'] == 2");
  CHECK(over("m == 2 and x.size(1) > 2") == "inputs['m'] == 2 and m > 2");
}

TEST_CASE("a node that stands for another has all of its fields", "[graph]") {
  Graph graph;
  const NodeId x = add_node(graph, Opcode::kPlaceholder, "x");
  Graph::NodeSpec spec = spec_of(Opcode::kCallModule, "encoder", {x}, {{"scale", 2}});
  spec.scope = Scope{"encoder", "pkg.Encoder", 3, ""};
  spec.source = SourceLocation{"net.py", 7, "forward", "return self.encoder(x)"};
  spec.in_order_of_use = true;
  spec.method = "forward1";
  spec.program = ProgramPart{{"linear"}, {{"x", {0}}}, {{"linear", {}}}};
  Cost cost;
  cost.macs = 8;
  spec.cost = cost;
  const Node& node = graph.node(graph.append(spec));

  Graph other;
  const Copies made{{x.index, add_node(other, Opcode::kPlaceholder, "y")}};
  const Node& copy = other.node(other.append(copy_of(node, made)));
  CHECK(copy.name == node.name);
  CHECK(copy.args == std::vector<Argument>{made.at(x.index)});
  CHECK(copy.kwargs == node.kwargs);
  CHECK(copy.scope == node.scope);
  CHECK(copy.source == node.source);
  CHECK(copy.in_order_of_use);
  CHECK(copy.method == node.method);
  CHECK(copy.program == node.program);
  CHECK(copy.cost == node.cost);
}

}  // namespace fxtrace::internal
