#include "pictures/scope_tree.h"

#include <string>
#include <vector>

#include "catch.h"
#include "sample_collection.h"

namespace fxtrace {
namespace {

bool all(const Node&) { return true; }

// One scope a line, what is inside further in: "a: Sub, calls 1: mul add; subgraphs 0".
std::string text_of(const ScopeTree& tree, const Graph& graph, std::size_t at = 0, std::string indent = "") {
  const ScopeTree::Scope& scope = tree.scopes[at];
  std::string text = indent + (scope.path.empty() ? "(root)" : scope.path) + ": " + scope.type + ", calls " +
                     std::to_string(scope.calls) + ":";
  for (const std::size_t position : scope.nodes) {
    CHECK(tree.scope_of[position] == at);
    text += " " + graph.node(tree.order[position]).name;
  }
  if (!scope.subgraphs.empty()) text += "; subgraphs";
  for (const std::size_t subgraph : scope.subgraphs) text += " " + std::to_string(subgraph);
  text += "\n";
  for (const std::size_t child : scope.children) {
    CHECK(child > at);
    CHECK(tree.scopes[child].parent == at);
    text += text_of(tree, graph, child, indent + "  ");
  }
  return text;
}

GraphCollection collection_of(const std::vector<std::pair<std::string, std::string>>& modules) {
  GraphCollection collection;
  for (const auto& [path, type] : modules) {
    ModuleRecord& record = collection.modules.emplace_back();
    record.path = path;
    record.type = type;
  }
  return collection;
}

}  // namespace

TEST_CASE("scope tree: nodes stand in their modules, calls where they are called from", "[scope_tree]") {
  const auto collection = collection_of({{"", "N"}, {"a", "A"}, {"a.b", "B"}, {"a.b.c", "C"}, {"z", "Z"}});
  const auto graph = module_graph("", "N", R"(
      %x = placeholder[x]()
      %relu = call_function[aten.relu.default](%x)  # a.b: B
      %a_b_c = call_module[a.b.c](%relu)  # a.b.c: C
      %z = call_module[z](%a_b_c)  # z: Z
      %neg = call_function[aten.neg.default](%z)  # a: A
      %relu_1 = call_function[aten.relu.default](%neg)  # a.b: B, call 2
      %output = output[output](%relu_1))");
  const ScopeTree tree = ScopeTrees(collection).tree(graph, all);
  CHECK(text_of(tree, graph.graph) ==
        "(root): N, calls 1: x z output\n"
        "  a: A, calls 1: neg\n"
        "    a.b: B, calls 2: relu a_b_c relu_1\n");
  CHECK(tree.modules_around(tree.scope_of[2]) == std::vector<std::string>{"a.b", "a"});
}

TEST_CASE("scope tree: no scopes around the root of a submodule's graph", "[scope_tree]") {
  const auto collection = collection_of({{"", "N"}, {"a", "A"}, {"a.b", "B"}, {"a.b.c", "C"}, {"z", "Z"}});
  const auto graph = module_graph("a.b", "B", R"(
      %x = placeholder[x]()  # a.b: B
      %relu = call_function[aten.relu.default](%x)  # a.b.c: C
      %neg = call_function[aten.neg.default](%relu)  # a: A
      %relu_1 = call_function[aten.relu.default](%neg)  # z: Z
      %output = output[output](%relu_1)  # a.b: B)");
  const ScopeTree tree = ScopeTrees(collection).tree(graph, all);
  CHECK(text_of(tree, graph.graph) ==
        "a.b: B, calls 1: x neg output\n"
        "  a.b.c: C, calls 1: relu\n"
        "  z: Z, calls 1: relu_1\n");
}

TEST_CASE("scope tree: modules that are in no record, and nodes that are left out", "[scope_tree]") {
  const auto collection = collection_of({{"", "N"}});
  const auto graph = module_graph("", "N", R"(
      %x = placeholder[x]()
      %w = get_attr[w]()  # hidden: H
      %relu = call_function[aten.relu.default](%x)  # a.b: B
      %neg = call_function[aten.neg.default](%relu)  # a
      %output = output[output](%neg))");
  const ScopeTree tree =
      ScopeTrees(collection).tree(graph, [](const Node& node) { return node.op != Opcode::kGetAttr; });
  CHECK(text_of(tree, graph.graph) ==
        "(root): N, calls 1: x neg output\n"
        "  a.b: B, calls 1: relu\n");
  CHECK(tree.scope_of[1] == ScopeTree::kNowhere);
}

TEST_CASE("scope tree: subgraphs stand in the scope of all that run them", "[scope_tree]") {
  const auto collection = exported_collection();
  const ModuleGraph& graph = collection.graphs[0];
  ScopeTrees trees(collection);
  const ScopeTree tree = trees.tree(graph, all);
  REQUIRE(tree.scopes.size() == 2);
  CHECK(tree.scopes[1].path == "a");
  CHECK(tree.scopes[1].subgraphs == std::vector<std::size_t>{0, 1});
  CHECK(tree.runs.at(6) == std::vector<std::size_t>{0, 1});
  CHECK(tree.runs.size() == 2);
  // What is around a subgraph is not around its nodes once more.
  const ModuleGraph& subgraph = graph.subgraphs[0].graph;
  const ScopeTree inner = trees.tree(subgraph, all, tree.modules_around(1));
  CHECK(text_of(inner, subgraph.graph) ==
        "(root): pkg.Net, calls 0: y output\n"
        "  a.inner: pkg.Part, calls 1: map_impl; subgraphs 0\n");

  ModuleGraph both = module_graph("", "pkg.Net", R"(
      %x = placeholder[x]()
      %cond = call_function[higher_order.cond](%x, graph("f"), slice(graph("g"), None, None))  # a: pkg.Gate
      %cond_1 = call_function[higher_order.cond](%cond, graph("f"))  # a.inner: pkg.Part
      %cond_2 = call_function[higher_order.cond](%cond_1, graph("g"))
      %output = output[output](%cond_2))");
  for (const char* name : {"f", "g", "unused"}) both.subgraphs.push_back({name, module_graph("", "", "")});
  const ScopeTree placed = trees.tree(both, all);
  CHECK(text_of(placed, both.graph) ==
        "(root): pkg.Net, calls 1: x cond_2 output; subgraphs 1 2\n"
        "  a: pkg.Gate, calls 1: cond; subgraphs 0\n"
        "    a.inner: pkg.Part, calls 1: cond_1\n");
}

TEST_CASE("scope tree: long paths cost what they are long", "[scope_tree]") {
  std::string path = "m";
  for (int i = 0; i < 200'000; ++i) path += ".m";
  const auto collection = collection_of({{"", "N"}, {path, "M"}});
  auto graph = module_graph("", "N", "");
  for (int i = 0; i < 5; ++i) {
    Graph::NodeSpec spec;
    spec.target = "x" + std::to_string(i);
    spec.scope.edit().module_path = path;
    graph.graph.append(spec);
  }
  const ScopeTree tree = ScopeTrees(collection).tree(graph, all);
  REQUIRE(tree.scopes.size() == 2);
  CHECK(tree.scopes[1].path == path);
  CHECK(tree.scopes[1].nodes.size() == 5);
}

}  // namespace fxtrace
