// lint() finds broken invariants of a collection.
#include "graph/lint.h"

#include <functional>
#include <string>

#include "catch.h"
#include "sample_collection.h"
#include "support/error.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;  // NOLINT(google-build-using-namespace)

namespace {

// Returns the error of lint() for the collection after the change.
std::string said(GraphCollection collection, const std::function<void(GraphCollection&)>& change) {
  change(collection);
  try {
    lint(collection);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInternal);
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("the collections of these tests pass lint", "[lint]") {
  CHECK_NOTHROW(lint(sample_collection()));
  CHECK_NOTHROW(lint(exported_collection()));
}

TEST_CASE("lint says what is wrong in a collection", "[lint]") {
  const GraphCollection sample = sample_collection();
  struct Case {
    const char* says;
    std::function<void(GraphCollection&)> change;
  };
  const Case cases[] = {
      {"two modules are named 'a'", [](auto& c) { c.modules.push_back(c.modules[1]); }},
      {"is an alias of 'x'", [](auto& c) { c.modules.back().alias_of = "x"; }},
      {"two parameters are named 'scale'", [](auto& c) { c.parameters.push_back(c.parameters[2]); }},
      {"module 'b' is failed without a failure", [](auto& c) { c.modules[3].failure.reset(); }},
      {"unused_parameters refers to an unknown parameter: 'z'",
       [](auto& c) { c.unused_parameters.push_back("z"); }},
      {"found twice: the graph of ''", [](auto& c) { c.graphs.push_back(c.graphs[0]); }},
      {"has no order of execution", [](auto& c) { c.graphs[0].execution.reset(); }},
      {"refers to an unknown module: 'q'",
       [](auto& c) { c.graphs[0].execution->module_forward_order.push_back("q"); }},
      {"has two constants", [](auto& c) { c.graphs[0].constants.push_back(c.graphs[0].constants[0]); }},
      {"has 3 elements, not 4", [](auto& c) { c.graphs[0].constants[0].second.data->pop_back(); }},
      {"a constant that nothing uses: 'k'", [](auto& c) { c.graphs[0].constants.push_back({"k", {}}); }},
      {"a subgraph that nothing uses: 'g'",
       [](auto& c) {
         c.graphs[0].subgraphs.add(c.graphs[0].subgraphs[0]);
         c.graphs[0].subgraphs[1].name = "g";
       }},
      {"cond refers to an unknown subgraph: 'true_graph_0'", [](auto& c) { c.graphs[0].subgraphs = {}; }},
      {"> true_graph_0 has an order of execution",
       [](auto& c) { c.graphs[0].subgraphs[0].graph.execution.emplace(); }},
      {"the name y is used twice",
       [](auto& c) {
         auto& graph = c.graphs[0].subgraphs[0].graph.graph;
         const_cast<Node&>(graph.node(graph.last())).name = "y";
       }},
      {"is in the scope of a pkg.Sub, but 'a' is a Other", [](auto& c) { c.modules[1].type = "Other"; }},
      {"has no output", [](auto& c) { c.graphs[0].graph.erase(c.graphs[0].graph.last()); }},
      {"calls an unknown module: 'nowhere'",
       [](auto& c) {
         auto& graph = c.graphs[0].graph;
         const_cast<Node&>(graph.node(node_named(graph, "b"))).target = "nowhere";
       }},
      {"the users of b do not match",
       [](auto& c) {
         auto& graph = c.graphs[0].graph;
         const_cast<Node&>(graph.node(node_named(graph, "b"))).users.clear();
       }},
      {"has a subgraph but is not a higher-order operator",
       [](auto& c) {
         auto& graph = c.graphs[0].graph;
         const_cast<Node&>(graph.node(node_named(graph, "cond"))).target = "pkg.cond.default";
       }},
      {"is not a call of a function of the model: 'higher_order.cond'",
       [](auto& c) {
         auto& graph = c.graphs[0].graph;
         const_cast<Node&>(graph.node(node_named(graph, "cond"))).model_function = true;
       }},
  };
  for (const Case& one : cases) {
    INFO(one.says);
    CHECK_THAT(said(sample, one.change), ContainsSubstring(one.says));
  }
  CHECK_THAT(
      said(exported_collection(), [](auto& c) { c.graphs[0].signature->inputs[0].node = NodeId{999}; }),
      ContainsSubstring("of the signature is not a node of the graph"));
}
