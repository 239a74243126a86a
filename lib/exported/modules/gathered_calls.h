// Scheduling: reorders operations so that those of a leaf's call are contiguous and one call_module can stand
// for them.
//
// The program lists operations in execution order, so a call's operations are nearly always contiguous.  They
// are not where torch.export moved or shared an operation, or added one that belongs to no module.  The order
// may change only as far as data dependencies and effects allow (effect_of() in program_operations.h).
//
// Consecutive operations of one leaf's call form a step, and every other operation is a step of its own.  A
// call with several steps is gathered within the window from its first step to its last.  Each other step of
// the window goes to one of three places:
//
//   into the call    if it belongs to no module, uses a result of the call, and nothing in its way forbids it
//   before the call  if it uses neither the call nor a step behind the call, and commutes with both
//   behind the call  otherwise
//
// When an operation of the call needs a step that went behind the call, or does not commute with one, the
// call is split there: what was collected becomes a step, the steps behind it follow, and collecting starts
// again.
//
// Invariants:
// 1. Each operation of the graph is in exactly one of the returned steps.
// 2. A value is made before it is used, and operations that do not commute keep their order.  kSymbolic
//    commutes with everything, kWrites with kSymbolic only; of the rest only two kRandom do not commute.
// 3. Gathering a call moves steps only within its window.
// 4. The operations of a step are in program order.
// 5. A call that could not be gathered is in several steps, all with the same `leaf`.  That includes the
//    calls for which the bound on the work was reached, so that a hostile file costs no more than linear time
//    and that bound.
//
// Example: a leaf `lin`, decomposed, and two operations of the root's forward:
//
//   t = permute(w)       lin     collected
//   s = sigmoid(x)       root    uses nothing of lin: before the call
//   mm = mm(x, t)        lin     collected
//   g = mul(mm, s)       root    uses mm: behind the call
//   add = add(mm, b)     lin     does not use g, and both are pure: collected
//
// gives sigmoid; lin (permute, mm, add); mul.  If the last line were add(mm, g), lin would be split:
// sigmoid; lin (permute, mm); mul; lin (add).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/exported_program.h"
#include "trace/modules/recorded_calls.h"
#include "trace/tracer/leaf_rules.h"

namespace fxtrace::internal {

// An operation that no leaf's call runs, or a leaf's call with the operations that it stands for.
struct Step {
  std::optional<CallId> leaf;
  std::vector<NodeId> operations;  // in program order
};

// Returns the operations of `graph` as steps, in an order that respects data dependencies and effects.
// leaf_of() returns the leaf call that an operation belongs to, or nothing.
std::vector<Step> schedule(const ProgramView& graph,
                           const std::function<std::optional<CallId>(NodeId)>& leaf_of);

// Calls of Python functions that the user's rules keep as nodes (--wrap), found by the stack traces of an
// exported program.

struct KeptCall {
  std::string function;  // qualified name
  SourceLocation caller;
  // In program order, without the computations of sizes that other operations use as well.
  std::vector<NodeId> operations;
  // The values that enter and leave the call, without sizes that follow from the tensors that enter.
  Boundary boundary;
};

class KeptFunctions {
 public:
  // Both must outlive this.
  KeptFunctions(const LeafRules& rules, const ExportedProgram& program)
      : program_(program), functions_(rules, program.modules()) {}

  // Returns the calls in `graph`.  leaf_of() returns the leaf that the operation belongs to, or kRootCall;
  // is_own() whether a value is a constant of the code.  `uses` is count_uses(graph).
  std::vector<KeptCall> find_calls(const ProgramView& graph, const std::vector<std::uint32_t>& uses,
                                   const std::function<CallId(NodeId)>& leaf_of,
                                   const std::function<bool(NodeId)>& is_own);

  // Returns why other calls of these functions are traced into.
  std::vector<Diagnostic> followed() const { return followed_.reasons(); }
  // Returns whether the program's stack traces name functions, as those of strict=True do; others only have
  // frames of `forward`.
  bool are_known() const {
    return program_.hierarchy().is_strict() || has_seen_strict_ || has_seen_function_;
  }

 private:
  // Returns the frames of an operation, innermost first; empty when they are not known.
  std::vector<StackFrame> stack_of(const ProgramView& graph, NodeId operation);
  bool is_of_torch(CallId call) const;
  // Returns the number of `call` and the calls that contain it whose forward has a frame.
  std::size_t forwards(CallId call) const;

  const ExportedProgram& program_;
  RecordedFunctions functions_;
  RecordedFunctions::Followed followed_;
  bool has_seen_function_ = false;
  bool has_seen_strict_ = false;
};

}  // namespace fxtrace::internal
