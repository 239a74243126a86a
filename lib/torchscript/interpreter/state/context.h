// The state of one run of the interpreter: its subject, and what holds at the current point.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "costs/cost_log.h"
#include "costs/custom_costs.h"
#include "symbolic/shape_env.h"
#include "torchscript/interpreter/program/torchscript_program.h"
#include "torchscript/interpreter/state/attributes.h"
#include "torchscript/interpreter/state/changes.h"
#include "torchscript/interpreter/state/findings.h"
#include "torchscript/interpreter/state/frames.h"
#include "torchscript/interpreter/state/recorder.h"
#include "torchscript/interpreter/state/tensor_names.h"
#include "trace/options/budget.h"
#include "trace/options/input_spec.h"

namespace fxtrace::interpreter {

class Strategy;

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

// The state that a call may change, except for what was recorded, which the tracer rolls back.
struct Checkpoint {
  Journal::Mark changes = 0;
  std::size_t frames = 0;
  Journal::Mark stretch = 0;  // of `changes`
  std::int64_t steps = 0;
  Switches switches;
  std::optional<Recorder::State> recorder;
};

struct Context {
  // `its_findings` are those of all runs of a trace; null when an object's __setstate__ is followed.
  Context(const TorchScriptProgram& its_program, const TraceOptions& its_options, Budget& its_budget,
          Findings* its_findings)
      : program(its_program),
        options(its_options),
        budget(its_budget),
        findings(its_findings),
        shapes(!its_options.inputs.empty() || its_options.param_shapes_constant),
        dimensions(shapes ? make_dimensions(its_options) : ShapeEnv()) {
    switches.grad = its_options.grad;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const std::string& type_of(ModuleId of) const { return program.modules()[of.index].type; }
  // Returns the extent of the value; throws TraceFailure when it holds too much to walk through.
  Extent measure(const Value& value, const IrNode* node);
  // Returns the integer as an argument; throws TraceFailure when it represents no dtype, layout or memory
  // format where one is meant.
  Argument number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const;
  // Counts a step; throws TraceFailure when one module call takes too many.
  void count_step(const IrNode* node);
  // Notes, once for each node of the module that runs, that `what` raises.
  void report_invalid(const IrNode* node, const std::string& what, const std::string& error);
  Checkpoint checkpoint();
  // Rolls back to the checkpoint.
  void back_to(Checkpoint before);
  // Notes the dimensions whose ranges were asked for since the last call; take_ranges() returns all of them.
  void note_ranges() { ranges.merge(dimensions.take_relied()); }
  std::set<std::string> take_ranges() {
    note_ranges();
    return std::exchange(ranges, {});
  }

  const TorchScriptProgram& program;
  const TraceOptions& options;
  Budget& budget;
  Findings* findings;
  Frames frames{program};
  Changes changes{budget};
  AssignedAttributes assigned{changes};
  // How the code is followed now, and what that leaves behind.
  Recorder* recorder = nullptr;
  Strategy* strategy = nullptr;
  ModuleId root;           // of the graph that is traced
  ModuleId module;         // the module whose forward runs
  std::int64_t steps = 0;  // loop iterations and function calls in the innermost module call
  Switches switches;
  GradientWrites gradient_writes;
  CustomCosts custom_costs{options.custom_costs};
  CostLog* costs = nullptr;      // of what a leaf does; null when not wanted
  bool has_concrete = false;     // options give values to inputs of the graph's root
  bool inputs_are_open = false;  // these inputs are unknown in this run, in which nothing is recorded
  bool shapes;                   // whether shapes are propagated through values that depend on inputs
  ShapeEnv dimensions;
  std::set<std::string> ranges;  // see note_ranges()
  TensorNames names;
};

}  // namespace fxtrace::interpreter
