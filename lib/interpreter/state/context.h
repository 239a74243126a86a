// The state of one run of the interpreter: the program and options, and all that holds at the current point
// of the code.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "costs/cost_log.h"
#include "costs/custom_costs.h"
#include "interpreter/program/torchscript_program.h"
#include "interpreter/state/attributes.h"
#include "interpreter/state/changes.h"
#include "interpreter/state/findings.h"
#include "interpreter/state/frames.h"
#include "interpreter/state/recorder.h"
#include "interpreter/state/tensor_names.h"
#include "symbolic/shape_env.h"
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

// Events so far after which the gradients of tensors may be others than inferred: writes to tensors hand
// gradients on, and autograd knows more aliases than the interpreter does.  Never undone, as a branch that
// was given up may have had effects that stay.
struct GradientWrites {
  bool any = false;         // tensors were written: each may depend on each input
  bool may_gain = false;    // something that carries a gradient was written into a tensor
  bool may_change = false;  // requires_grad_() or the like
  bool disabled = false;    // torch.no_grad() was entered, which the graph does not show
};

// The state that a call may change, except for recorded nodes, which the tracer rolls back.
struct Checkpoint {
  Journal::Mark changes = 0;
  std::size_t frames = 0;
  Journal::Mark stretch = 0;  // that of the undo log
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
  // Returns the extent of the value; throws TraceFailure when it holds too many others to walk through.
  Extent measure(const Value& value, const IrNode* node);
  // Returns the integer as an argument; throws TraceFailure when it stands for a dtype, layout or memory
  // format that does not exist.
  Argument number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const;
  // Counts a step; throws TraceFailure when one module call takes too many.
  void count_step(const IrNode* node);
  // Notes, once for each node of the module that runs, that the call `what` raises `error`.
  void report_invalid(const IrNode* node, const std::string& what, const std::string& error);
  // Begins a part of the run that back_to() takes back or keep() keeps: a stretch of the undo log (Changes).
  Checkpoint checkpoint();
  // Rolls back to the checkpoint.
  void back_to(Checkpoint before);
  // Goes on with the stretch around the part since the checkpoint.
  void keep(const Checkpoint& before) { changes.begin_stretch(before.stretch); }
  // Notes that the order of keys of these values may decide something.
  void note_key_order(const Value& value);
  // Notes the dimensions whose ranges were used since the last call; take_ranges() returns all that were
  // noted.
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
  // The recorder of nodes and guards, and the strategy that follows the code now.
  Recorder* recorder = nullptr;
  Strategy* strategy = nullptr;
  ModuleId root;           // the root of the graph that is traced
  ModuleId module;         // the module whose forward runs
  std::int64_t steps = 0;  // loop iterations and function calls in the innermost module call
  Switches switches;
  GradientWrites gradient_writes;
  CustomCosts custom_costs{options.custom_costs};
  CostLog* costs = nullptr;      // the costs of the leaf that is followed; null when not wanted
  bool has_concrete = false;     // options give values to inputs of the graph's root
  bool inputs_are_open = false;  // this run takes these inputs for unknown, and records nothing
  bool shapes;                   // whether shapes are propagated through values that depend on inputs
  ShapeEnv dimensions;
  std::set<std::string> ranges;  // dimensions; see note_ranges()
  TensorNames names;
  // Guards on the order of the keys of dicts among the inputs, by the dict: until something asks for it.
  std::map<const void*, Expression> key_orders;
};

}  // namespace fxtrace::interpreter
