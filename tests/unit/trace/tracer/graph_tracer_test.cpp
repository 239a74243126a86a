// The tracer: recorded nodes, and what remains of them when calls fail; a program of a few lines drives it.
#include "trace/tracer/graph_tracer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "catch.h"
#include "fake_program.h"
#include "graph/lint.h"
#include "support/error.h"
#include "tests/forms/graph_text.h"

using namespace fxtrace::internal;

namespace {

using Strings = std::vector<std::string>;

// One graph of a small program: a root with `a`, which has `a.b`; each module has a parameter `weight`.
class Recording {
 public:
  Recording() {
    for (const char* path : {"", "a", "a.b"}) {
      program_.FakeModules::add(path, path[0] == '\0' ? "Net" : "Sub");
      program_.parameter(path, "weight", {2});
    }
    facts_ = std::make_unique<ModuleFacts>(program_);
    rules_ = std::make_unique<LeafRules>(options_, program_);
    tracer_ = std::make_unique<GraphTracer>(*facts_, *rules_, 100, failed_, ModuleId{0}, fixed_);
    x = tracer_->placeholder("x", {}, {});
  }

  GraphTracer& tracer() { return *tracer_; }
  NodeId call(const std::string& target, std::vector<Argument> args) {
    return tracer_->call_function(target, std::move(args), {}, {}, std::nullopt);
  }
  NodeId weight(const std::string& module) {
    return tracer_->get_attr(module.empty() ? "weight" : module + ".weight", {}, std::nullopt);
  }
  bool inline_call(const std::string& module, const std::function<void()>& run) {
    return tracer_->inline_call(program_.find(module), run);
  }
  ModuleGraph take_result() {
    ModuleGraph graph = tracer_->take_result();
    lint_all(graph);
    return graph;
  }
  static void lint_all(const ModuleGraph& graph) {
    lint(graph.graph);
    for (const Subgraph& subgraph : graph.subgraphs) lint_all(subgraph.graph);
  }
  bool has_failed(const std::string& module) const { return failed_.contains(program_.find(module)); }

  NodeId x;

 private:
  FakeProgram program_;
  TraceOptions options_;
  FailedModules failed_;
  std::vector<FixedInput> fixed_;
  std::unique_ptr<ModuleFacts> facts_;
  std::unique_ptr<LeafRules> rules_;
  std::unique_ptr<GraphTracer> tracer_;
};

[[noreturn]] void fail() { throw TraceFailure(Failure{}); }

// Returns print_graph(), with the subgraphs below.
std::string text(const ModuleGraph& graph) {
  std::string result = print_graph(graph.graph);
  for (const Subgraph& subgraph : graph.subgraphs) result += subgraph.name + ":\n" + text(subgraph.graph);
  return result;
}

std::string text(const Execution& execution) {
  const auto joined = [](const auto& names) {
    std::string result;
    for (const std::string& name : names)
      result += (result.empty() ? "" : " ") + (name.empty() ? "root" : name);
    return result;
  };
  std::string result = joined(execution.module_forward_order) + "; " + joined(execution.param_forward_order);
  for (const auto& [module, uses] : execution.module_param_usage) {
    result += "; " + (module.empty() ? "root" : module) + ":";
    for (const auto& [used, parameters] : uses)
      result += " " + (used.empty() ? "root" : used) + "(" + joined(parameters) + ")";
  }
  return result;
}

}  // namespace

TEST_CASE("graph tracer: a call that fails leaves nothing", "[trace]") {
  Recording r;
  r.call("aten.relu.default", {r.x});
  int made = 0;
  const auto constant = [&] {
    ++made;
    return Constant{"float32", {}, {}, ""};
  };
  const bool followed = r.inline_call("a", [&] {
    const NodeId w = r.weight("a");
    r.call("aten.add.Tensor", {r.x, w});
    r.tracer().constant(&made, constant, std::nullopt);
    r.tracer().named_constant("c0", constant);
    r.tracer().guard(Expression::parse("x.dim() == 2"), std::nullopt, GuardReason::kInput);
    CHECK(r.inline_call("a.b", [&] { r.call("aten.mul.Tensor", {r.x, r.weight("a.b")}); }));
    fail();
  });
  CHECK_FALSE(followed);
  CHECK(r.has_failed("a"));
  CHECK_FALSE(r.has_failed("a.b"));
  CHECK_FALSE(r.tracer().stale());
  CHECK(r.tracer().inlined().empty());
  r.tracer().constant(&made, constant, std::nullopt);
  CHECK(made == 3);  // it is made again
  const NodeId sum = r.call("aten.add.Tensor", {r.x, r.weight("a")});
  r.tracer().output(sum, {});
  const ModuleGraph graph = r.take_result();
  CHECK(text(graph) ==
        "%x = placeholder[x]()\n"
        "%relu = call_function[aten.relu.default](%x)\n"
        "%a_weight = get_attr[a.weight]()\n"
        "%add = call_function[aten.add.Tensor](%x, %a_weight)\n"
        "%output = output[output](%add)\n");
  CHECK(graph.constants.empty());
  CHECK(graph.guards.empty());
  CHECK(text(*graph.execution) == "root; a.weight; root: root(a.weight)");
}

TEST_CASE("graph tracer: a failure inside leaves what the call around it did", "[trace]") {
  Recording r;
  CHECK(r.inline_call("a", [&] {
    const NodeId w = r.weight("a");
    CHECK_FALSE(r.inline_call("a.b", [&] {
      r.call("aten.mul.Tensor", {r.x, r.weight("a.b")});
      fail();
    }));
    r.tracer().call_leaf(ModuleId{2}, {r.x}, {}, {}, std::nullopt);
    r.tracer().output(r.call("aten.add.Tensor", {r.x, w}), {});
  }));
  const ModuleGraph graph = r.take_result();
  CHECK(text(graph) ==
        "%x = placeholder[x]()\n"
        "%a_weight = get_attr[a.weight]()  # a: Sub\n"
        "%a_b = call_module[a.b](%x)  # a.b: Sub\n"
        "%add = call_function[aten.add.Tensor](%x, %a_weight)  # a: Sub\n"
        "%output = output[output](%add)  # a: Sub\n");
  CHECK(text(*graph.execution) ==
        "root a a.b; a.b.weight a.weight; root: a(a.weight a.b.weight); a: a.b(a.b.weight) a(a.weight); a.b: "
        "a.b(a.b.weight)");
}

TEST_CASE("graph tracer: a module that was inlined before it failed makes the graph stale", "[trace]") {
  Recording r;
  CHECK(r.inline_call("a", [&] { r.call("aten.relu.default", {r.x}); }));
  CHECK_FALSE(r.inline_call("a", [] { fail(); }));
  CHECK(r.tracer().stale());
}

TEST_CASE("graph tracer: a call that fails in a subgraph takes back its own part of it", "[trace]") {
  Recording r;
  r.tracer().begin_subgraph("true_graph_0");
  const NodeId inner = r.tracer().placeholder("y", {}, {});
  CHECK_FALSE(r.inline_call("a", [&] {
    r.call("aten.relu.default", {inner});
    r.weight("a");
    fail();
  }));
  r.tracer().output(r.call("aten.neg.default", {inner}), {});
  CHECK(r.tracer().end_subgraph().empty());
  r.tracer().output(r.x, {});
  CHECK(text(r.take_result()) ==
        "%x = placeholder[x]()\n"
        "%output = output[output](%x)\n"
        "true_graph_0:\n"
        "%y = placeholder[y]()\n"
        "%neg = call_function[aten.neg.default](%y)\n"
        "%output = output[output](%neg)\n");
}

TEST_CASE("graph tracer: a call that fails takes back the subgraphs it made and left open", "[trace]") {
  for (const bool ended : {false, true}) {
    Recording r;
    r.call("aten.relu.default", {r.x});
    CHECK_FALSE(r.inline_call("a", [&] {
      r.tracer().begin_subgraph("outer");
      r.tracer().begin_subgraph("inner");
      const NodeId y = r.tracer().use(r.tracer().ref(r.tracer().placeholder("y", {}, {})));
      r.call("aten.neg.default", {y});
      r.weight("a");
      r.tracer().guard(Expression::parse("x.dim() == 2"), std::nullopt, GuardReason::kInput);
      if (ended) {
        r.tracer().output(y, {});
        r.tracer().end_subgraph();
        r.call("aten.sin.default", {Argument(1)});
        r.tracer().end_subgraph();
        r.call("aten.cos.default", {r.x});
      }
      fail();
    }));
    r.tracer().output(r.call("aten.tan.default", {r.x}), {});
    const ModuleGraph graph = r.take_result();
    CHECK(graph.subgraphs.empty());
    CHECK(text(graph) ==
          "%x = placeholder[x]()\n"
          "%relu = call_function[aten.relu.default](%x)\n"
          "%tan = call_function[aten.tan.default](%x)\n"
          "%output = output[output](%tan)\n");
  }
}

TEST_CASE("graph tracer: a subgraph captures what it uses from around it", "[trace]") {
  Recording r;
  GraphTracer& tracer = r.tracer();
  const NodeRef x = tracer.ref(r.x);
  const NodeRef w = tracer.ref(r.weight(""));
  CHECK(tracer.use(x) == r.x);
  tracer.begin_subgraph("outer");
  r.call("aten.relu.default", {tracer.use(x)});
  tracer.begin_subgraph("inner");
  r.call("aten.add.Tensor", {tracer.use(x), tracer.use(w)});
  tracer.output(r.call("aten.mul.Tensor", {tracer.use(w), tracer.use(x)}), {});
  const std::vector<NodeId> inner = tracer.end_subgraph();
  CHECK(inner == std::vector<NodeId>{tracer.use(x), tracer.use(w)});
  tracer.output(r.call("wrapped", {tracer.use(w)}), {});
  const std::vector<NodeId> outer = tracer.end_subgraph();
  CHECK(outer == std::vector<NodeId>{x.node, w.node});
  std::vector<Argument> operands(outer.begin(), outer.end());
  tracer.output(tracer.call_with_subgraphs("wrap", std::move(operands), {}, {}, std::nullopt, "", outer), {});
  const ModuleGraph graph = r.take_result();
  CHECK(text(graph) ==
        "%x = placeholder[x]()\n"
        "%weight = get_attr[weight]()\n"
        "%wrap = call_function[wrap](%x, %weight)\n"
        "%output = output[output](%wrap)\n"
        "outer:\n"
        "%x = placeholder[x]()\n"
        "%weight = placeholder[weight]()\n"
        "%relu = call_function[aten.relu.default](%x)\n"
        "%wrapped = call_function[wrapped](%weight)\n"
        "%output = output[output](%wrapped)\n"
        "inner:\n"
        "%x = placeholder[x]()\n"
        "%weight = placeholder[weight]()\n"
        "%add = call_function[aten.add.Tensor](%x, %weight)\n"
        "%mul = call_function[aten.mul.Tensor](%weight, %x)\n"
        "%output = output[output](%mul)\n");
  CHECK(text(*graph.execution) == "root; weight; root: root(weight) root(weight) root(weight)");
}

TEST_CASE("graph tracer: what a failing call captured is not captured", "[trace]") {
  Recording r;
  GraphTracer& tracer = r.tracer();
  const NodeRef x = tracer.ref(r.x);
  const NodeRef w = tracer.ref(r.weight(""));
  tracer.begin_subgraph("subgraph");
  CHECK_FALSE(r.inline_call("a", [&] {
    r.call("aten.relu.default", {tracer.use(w)});
    fail();
  }));
  r.call("aten.relu.default", {tracer.use(x)});
  CHECK(tracer.end_subgraph() == std::vector<NodeId>{x.node});
}

TEST_CASE("graph tracer: values of a subgraph end with it", "[trace]") {
  Recording r;
  r.tracer().begin_subgraph("subgraph");
  const NodeRef y = r.tracer().ref(r.tracer().placeholder("y", {}, {}));
  r.tracer().end_subgraph();
  CHECK_THROWS_AS(r.tracer().use(y), Error);
  CHECK_THROWS_AS(r.tracer().graph_of(y), Error);
}

TEST_CASE("graph tracer: what was only looked at is gone", "[trace]") {
  Recording r;
  r.tracer().look_at([&] {
    r.call("aten.add.Tensor", {r.x, r.weight("")});
    r.tracer().guard(Expression::parse("x.dim() == 2"), std::nullopt, GuardReason::kInput);
  });
  const NodeId w = r.weight("");
  r.tracer().output(r.call("aten.add.Tensor", {w, r.x}), {});
  const ModuleGraph graph = r.take_result();
  CHECK(text(graph) ==
        "%x = placeholder[x]()\n"
        "%weight = get_attr[weight]()\n"
        "%add = call_function[aten.add.Tensor](%weight, %x)\n"
        "%output = output[output](%add)\n");
  CHECK(graph.guards.empty());
}

TEST_CASE("graph tracer: the limit counts nodes and calls", "[trace]") {
  Recording r;
  CHECK_FALSE(r.inline_call("a", [&] {
    for (;;) r.call("aten.relu.default", {r.x});
  }));
  CHECK(r.tracer().graph().size() == 1);
  for (int i = 0; i < 49; ++i) CHECK(r.inline_call("a.b", [] {}));
  for (int i = 0; i < 49; ++i) r.call("aten.relu.default", {r.x});
  CHECK_THROWS_AS(r.call("aten.relu.default", {r.x}), TraceFailure);
}
