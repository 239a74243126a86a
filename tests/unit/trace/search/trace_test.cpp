// The search for graphs: modules that fail become leaves, and their children get graphs.
#include "trace/search/trace.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "fake_program.h"
#include "trace/tracer/graph_tracer.h"

using namespace fxtrace::internal;

namespace {

void nothing(const FakeProgram&, GraphTracer&) {}
void fails(const FakeProgram&, GraphTracer&) { throw TraceFailure(Failure{}); }
void asks(const FakeProgram&, GraphTracer& tracer) {
  if (!tracer.is_fixed("flag")) throw InputsAsked(std::vector<FixedInput>{{"flag", "False"}});
}

std::vector<std::string> graphs(const GraphCollection& collection) {
  std::vector<std::string> paths;
  for (const auto& graph : collection.graphs) paths.push_back(graph.module);
  return paths;
}

std::vector<std::string> nodes(const ModuleGraph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.graph.order()) names.push_back(graph.graph.node(id).name);
  return names;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("every child of a failed module has a graph, leaves a stub", "[trace]") {
  FakeProgram program;
  program.add("", "Net", fails);
  program.add("linear", "torch.nn.modules.linear.Linear", nothing);
  program.add("own", "Own", nothing);
  program.add("own.linear", "torch.nn.modules.linear.Linear", nothing);
  program.add("list", "torch.nn.modules.container.ModuleList");
  program.add("list.0", "Mine", nothing);
  program.add("list.1", "torch.nn.modules.linear.Linear", nothing);
  TraceOptions options;
  options.leaf_rules.push_back(fxtrace::LeafRule("Mine", true));
  const GraphCollection collection = trace(program, options).collection;
  CHECK(graphs(collection) == Strings{"", "linear", "own", "list.0", "list.1"});
  CHECK(nodes(collection.graphs[0]) == Strings{"x", "flag", "root", "output"});
  CHECK(nodes(collection.graphs[1]) == Strings{"x", "flag", "linear", "output"});
  CHECK(nodes(collection.graphs[2]) == Strings{"x", "flag", "output"});  // it was traced without a failure
  CHECK(nodes(collection.graphs[3]) == Strings{"x", "flag", "list_0", "output"});
  Strings status;
  for (const auto& module : collection.modules) status.emplace_back(to_string(module.status));
  CHECK(status == Strings{"failed", "leaf", "traced", "unvisited", "unvisited", "leaf", "leaf"});
}

TEST_CASE("a stub has no limit", "[trace]") {
  FakeProgram program;
  program.add("", "Net", nothing);
  program.add("linear", "torch.nn.modules.linear.Linear", nothing);
  TraceOptions options;
  options.limits.nodes = 1;
  const GraphCollection collection = trace(program, options).collection;
  CHECK(collection.modules[0].failure.value().kind == FailureKind::kLimit);
  CHECK(nodes(collection.graphs[0]) == Strings{"x", "flag", "root", "output"});
  CHECK(nodes(collection.graphs[1]) == Strings{"x", "flag", "linear", "output"});
}

TEST_CASE("a rule of the user makes the root a leaf, the default rule does not", "[trace]") {
  FakeProgram program;
  program.add("", "torch.nn.modules.transformer.Transformer", nothing);
  program.add("inner", "Inner", nothing);
  TraceOptions options;
  CHECK(nodes(trace(program, options).collection.graphs[0]) == Strings{"x", "flag", "output"});
  options.leaf_rules.push_back(fxtrace::LeafRule("torch.nn.Transformer", true));
  const GraphCollection collection = trace(program, options).collection;
  CHECK(graphs(collection) == Strings{""});
  CHECK(nodes(collection.graphs[0]) == Strings{"x", "flag", "root", "output"});
}

TEST_CASE("inputs that are asked for are fixed", "[trace]") {
  FakeProgram program;
  program.add("", "Net", [](const FakeProgram& p, GraphTracer& t) { p.call("asks", t); });
  program.add("asks", "Asks", asks);
  const TraceResult result = trace(program, {});
  CHECK(nodes(result.collection.graphs[0]) == Strings{"x", "output"});
  CHECK(result.collection.graphs[0].guards.at(0).expr.text() == "flag == False");
  CHECK(result.notes == Strings{"flag has its default, False; --concrete changes it"});
}

TEST_CASE("nothing is fixed for a module that fails all the same", "[trace]") {
  FakeProgram program;
  program.add("", "Net", [](const FakeProgram& p, GraphTracer& t) { p.call("both", t); });
  program.add("both", "Both", [](const FakeProgram& p, GraphTracer& t) {
    asks(p, t);
    fails(p, t);
  });
  program.add("both.below", "Below", asks);
  const TraceResult result = trace(program, {});
  CHECK(nodes(result.collection.graphs[0]) == Strings{"x", "flag", "both", "output"});
  CHECK(result.collection.graphs[0].guards.empty());
  CHECK(result.notes == Strings{"flag has its default, False, in the graph of both.below"});
}

TEST_CASE("a failure seen before an input was fixed does not count", "[trace]") {
  FakeProgram program;
  program.add("", "Net", [](const FakeProgram& p, GraphTracer& t) {
    p.call("depends", t);
    asks(p, t);
  });
  program.add("depends", "Depends", [](const FakeProgram& p, GraphTracer& t) {
    if (!t.is_fixed("flag")) fails(p, t);
  });
  const GraphCollection collection = trace(program, {}).collection;
  CHECK(nodes(collection.graphs[0]) == Strings{"x", "output"});
  CHECK(collection.modules[1].status == ModuleStatus::kTraced);
}

TEST_CASE("warnings that say the same of different things are one and a number", "[trace]") {
  std::vector<Diagnostic> warnings{{"rule {} matched nothing", {"'a.*'"}},
                                   {"rule {} matched nothing", {"'{}'"}}};
  for (int i = 0; i < 25; ++i) {
    const std::string name = "ns::op" + std::to_string(i);
    warnings.push_back(
        {"operator {} is unknown; declared from its calls as {}", {name, name + "(Tensor x)"}});
  }
  std::vector<std::string> told, more;
  Listener listener;
  listener.warning = [&](const std::string& text) { told.push_back(text); };
  listener.progress = [&](const std::string& text) { more.push_back(text); };
  warn_of(warnings, listener);
  CHECK(told ==
        Strings{"rule 'a.*' matched nothing", "rule '{}' matched nothing",
                "operator ns::op0 is unknown; declared from its calls as ns::op0(Tensor x) (and 24 more "
                "like this; -v shows them)"});
  REQUIRE(more.size() == 24);
  CHECK(more.back() == warnings.back().text());
}
