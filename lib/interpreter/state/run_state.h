// What changes in the course of a run: all that holds at the current point of the code.
// Recorder::checkpoint() and back_to() take it back, but for what says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "costs/cost_log.h"
#include "interpreter/state/attributes.h"
#include "interpreter/state/changes.h"
#include "interpreter/state/frames.h"
#include "interpreter/state/run.h"
#include "interpreter/state/tensor_names.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal::interpreter {

// The modes that `with` switches for the operators inside.
struct Switches {
  struct Autocast {
    std::string device;
    bool enabled = false;
    NodeRef enter;
  };
  bool grad = true;
  std::vector<Autocast> autocast = {};  // innermost last
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

struct RunState {
  explicit RunState(const Run& of);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // Returns the extent of the value; throws TraceFailure when it holds too many others to walk through.
  Extent measure(const Value& value, const IrNode* node);
  // Counts a step; throws TraceFailure when one module call takes too many.
  void count_step(const IrNode* node);
  // Notes the dimensions whose ranges were used since the last call; take_ranges() returns all that were
  // noted.
  void note_ranges() { ranges.merge(dimensions.take_relied()); }
  std::set<std::string> take_ranges() {
    note_ranges();
    return std::exchange(ranges, {});
  }

  const Run& run;
  Frames frames{run.program};
  Changes changes{run.budget};
  AssignedAttributes assigned{changes};
  ModuleId module = run.root;  // the module whose forward runs
  std::int64_t steps = 0;      // loop iterations and function calls in the innermost module call
  Switches switches{run.options.grad};
  GradientWrites gradient_writes;
  CostLog* costs = nullptr;  // the costs of the leaf that is followed; null when not wanted
  ShapeEnv dimensions;
  std::set<std::string> ranges;  // dimensions; see note_ranges().  Never undone
  TensorNames names;             // likewise
};

}  // namespace fxtrace::internal::interpreter
