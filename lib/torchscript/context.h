// The state of one run of the interpreter: its subject, and what holds at the current point.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costs/cost_log.h"
#include "costs/custom_costs.h"
#include "symbolic/shape_env.h"
#include "torchscript/findings.h"
#include "torchscript/packed_tensors.h"
#include "torchscript/tensor_names.h"
#include "torchscript/torchscript_program.h"
#include "trace/budget.h"
#include "trace/condition.h"
#include "trace/graph_tracer.h"
#include "trace/input_spec.h"

namespace fxtrace::torchscript {

enum class Mode {
  kRecord,    // the tracer records a graph
  kAbstract,  // works out the result of a leaf, or of a function that is kept as a call, without recording
  kState      // runs an object's __setstate__; values that are not plain are unknown
};

// The modes that `with` switches for the operators inside.
struct Switches {
  struct Autocast {
    std::string device;
    bool enabled = false;
    NodeRef enter;
  };
  bool grad = true;
  std::vector<Autocast> autocast;  // innermost last
  bool casts() const { return !autocast.empty() && autocast.back().enabled; }
};

// What may have become of gradients so far: writes to tensors hand them on, and autograd knows more aliases
// than the interpreter does.  Never taken back: what a way that was left has made may have gone on.
struct GradientWrites {
  bool any = false;         // tensors were written: each may depend on each input
  bool may_gain = false;    // something that carries a gradient was written into a tensor
  bool may_change = false;  // requires_grad_() or the like
  bool disabled = false;    // somewhere, which leaves no node: the graph would compute with gradients there
};

struct Context {
  // `its_findings` are those of all runs of a trace.  They and `its_tracer` are null in Mode::kState.
  Context(const TorchScriptProgram& its_program, const TraceOptions& its_options, Budget& its_budget,
          Findings* its_findings, GraphTracer* its_tracer)
      : program(its_program),
        options(its_options),
        budget(its_budget),
        findings(its_findings),
        tracer(its_tracer),
        mode(its_tracer != nullptr ? Mode::kRecord : Mode::kState),
        shapes(!its_options.inputs.empty() || its_options.param_shapes_constant),
        dimensions(shapes ? make_dimensions(its_options) : ShapeEnv()) {
    switches.grad = its_options.grad;
  }

  bool records() const { return mode == Mode::kRecord; }
  bool makes_subgraphs() const { return records() && options.control_flow == ControlFlow::kSubgraph; }
  NodeRef ref(NodeId node) const { return records() ? tracer->ref(node) : NodeRef{}; }
  const std::string& type_of(ModuleId of) const { return program.modules()[of.index].type; }
  // Returns what `question` answers about the graph of the node, and spends what the answer takes.
  template <typename Question>
  auto ask(const NodeRef& about, const Question& question) const {
    constexpr std::size_t kUsersOfUnit = 4;
    const NumberedGraph graph{tracer->graph_of(about), about.graph.index};
    auto answer = question(graph);
    budget.spend(graph.looked_at / kUsersOfUnit);
    return answer;
  }
  // Records a guard; does nothing when no graph is recorded.
  void guard(Expression expr, std::optional<SourceLocation> source, GuardReason reason) {
    if (records()) tracer->guard(std::move(expr), std::move(source), reason);
  }

  const TorchScriptProgram& program;
  const TraceOptions& options;
  Budget& budget;
  Findings* findings;
  GraphTracer* tracer;
  Mode mode;
  ModuleId root;           // of the graph that is traced
  ModuleId module;         // the module whose forward runs
  std::int64_t steps = 0;  // loop iterations and function calls in the innermost module call
  Switches switches;
  GradientWrites gradient_writes;
  CustomCosts custom_costs{options.custom_costs};
  CostLog* costs = nullptr;      // of what Mode::kAbstract follows; null when not wanted
  bool has_concrete = false;     // options give values to inputs of the graph's root
  bool inputs_are_open = false;  // these inputs are unknown in this run, which is abstract
  bool both_ways = false;        // both branches of an `if` are run, so one of them may be unreachable
  bool shapes;                   // whether shapes are propagated through values that depend on inputs
  ShapeEnv dimensions;
  TensorNames names;
  MadeObjects made;  // in Mode::kState
};

}  // namespace fxtrace::torchscript
