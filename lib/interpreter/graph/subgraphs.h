// Records the subgraphs of control flow that depends on inputs: the branches of higher_order.cond, and
// condition and body of higher_order.while_loop.
//
// A subgraph is recorded by following a block of the code.  Torch's control flow hands tensors and integers
// in and out and allows nothing else, while the code may read any value around the block and change lists and
// dicts in place.  This class mends the difference: it converts values to the forms in which they are
// carried, and turns a change of a list or dict from outside into a result of the subgraph.
//
// Invariants:
//
// 1. Only tensors and integers enter and leave a subgraph.  A bool is carried as an integer, and a float as a
//    float64 tensor without dimensions; both are converted back where they arrive (carried_argument(),
//    carried_value()).
// 2. A tensor that is an input or an attribute of the subgraph leaves it as a copy (aten.clone), as torch's
//    control flow requires.
// 3. What is assumed or learned within a subgraph (conditions, ranges of dimensions) holds there alone;
//    record() drops it at the end.  Symbols that were made inside stay declared, so no symbol is given twice.
// 4. After take_changes() the containers from outside have the content that they had when the subgraph began,
//    and the final content is in the result.  The caller sets it in the graph around, with change().
// 5. A subgraph is a stretch of the undo log (state/changes.h).
// 6. Objects from outside are not changed within a subgraph: check_change() throws.  It does so too, in any
//    place, for a list or dict that is one of several as control flow has it (may_be_another()), as a change
//    of it would have to be seen under several names.
//
// Example (--control-flow subgraph):
//
//   xs = [x, y]
//   if bool(x.sum() > 0):
//       xs[0] = x * 2           note_change(): xs is from outside, and was [x, y]
//   return xs[0] + xs[1]
//
// At the end of the first branch take_changes() returns xs with [x, y] before and [mul, y] after, and makes
// xs [x, y] again for the second branch, which changes nothing.  So the contents differ at index 0: that is
// the only result.  The second branch returns a copy, as x is its input.
//
//   cond(gt, true_graph_0, false_graph_0, [x])
//     true_graph_0 (x)          (x * 2,)
//     false_graph_0 (x)         (x.clone(),)
//
// Afterwards change() makes xs [getitem(cond, 0), y], and the code adds these two.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/evaluate/evaluator.h"

namespace fxtrace::internal::interpreter {

// A list or dict that a subgraph changes in place.
struct ChangedContainer {
  std::string name;
  Value container;
  Value before;  // a copy
  Value after;   // a copy at the end of the subgraph
};

// Returns the type in which a value of `type` is carried; see Subgraphs::carried_argument().
TypePtr carried_type(const TypePtr& type);
// Returns whether values of the type are carried in another form.
bool is_converted(const Type& type);
// Returns what is known of the carried form of a value of which `known` is known.
AbstractValue carried_knowledge(const Type& type, const AbstractValue& known, bool shapes);

class Subgraphs : RecordingPart {
 public:
  // A subgraph that is being recorded.
  struct Body {
    const IrNode* node = nullptr;  // the branch or loop
    std::size_t frame = 0;         // index of the activation that runs it
    Values handed_in = {};         // values that were made for the body in place of values from outside
    std::optional<std::unordered_set<const void*>> around = {};  // mutable, from outside; made on first use
    std::vector<ChangedContainer> changed = {};                  // changed containers from outside
  };

  using RecordingPart::RecordingPart;

  // Records what `run` does as a subgraph.  Assumptions and knowledge gained inside are dropped at its end.
  GraphTracer::OpenSubgraph record(const std::string& name, const IrBlock& block,
                                   const std::vector<NodeId>& operands, const std::function<void()>& run);
  Body& innermost() { return bodies_.back(); }

  // Throws TraceFailure when the container that is changed in place is one of several as control flow has it.
  // `what` says that it is changed for the message: "a list is changed".
  void check_choice(const Value& container, const std::string& what, const IrNode* node);
  // Throws also when the container is from outside the subgraph.
  void check_change(const Value& container, const std::string& what, const IrNode* node);
  // Notes that the container is about to be changed in place.  If it is from outside, its final content
  // becomes a result of the subgraph; else see check_change().
  void note_change(const Value& container, const std::string& name, const IrNode* node);
  // Replaces the content of the container, as a change of its own.
  void change(const Value& container, const Value& content, const std::string& name, const IrNode* node);
  // Returns the changes at the end of a subgraph, and restores the containers.
  std::vector<ChangedContainer> take_changes();
  // Notes that the container may be an alias of one of `others`.  Those of them that are visible around
  // `node`, and then the container too, may not be changed from now on.
  void may_be_another(const Value& container, const Values& others, const IrNode* node);

  // Returns the argument by which a subgraph outputs the value, in its carried form.  `known` is what is
  // known of the value.
  Argument carried_argument(const Value& value, const TypePtr& type, const AbstractValue& known,
                            const IrNode* node);
  // Returns the value whose carried form is the node.
  Value carried_value(NodeId carried, const TypePtr& type, AbstractValue known, const IrNode* node);
  // Returns the value that is result `index` of the node of control flow.
  Value carried_result(NodeId control_flow, std::int64_t index, const TypePtr& type, AbstractValue known,
                       const IrNode* node);

 private:
  // Returns whether the container can be reached from a value outside of the innermost subgraph.
  bool is_from_around(const Value& container);
  Argument result(const Value& value, const TypePtr& type, const AbstractValue& known, const IrNode* node);
  // Returns a value in the place of one that the code did not compute, and does not read.
  Argument unread_value(const TypePtr& type, const AbstractValue& known);

  std::vector<Body> bodies_;  // innermost last
  // Lists and dicts that may be an alias or a copy of one another, as results of control flow.
  std::unordered_map<const void*, Value> may_be_other_;
};

// Records `if` statements that depend on inputs, as nodes higher_order.cond with a subgraph for each branch.

class GraphBranches : RecordingPart {
 public:
  GraphBranches(const EvaluatorPart& around, Subgraphs& subgraphs)
      : RecordingPart(around), subgraphs_(subgraphs) {}

  void branch(const IrNode* node, const Value& condition);
  // See Evaluator::join_conditions().
  bool join_conditions(const IrNode* node, const Value& condition, bool is_and);

 private:
  // Makes a value when the node is there that gives its parts.
  using Later = std::function<Value()>;
  using OnDifference = std::function<Later(const Value&, const Value&)>;

  // Keeps `a and b` or `a or b` as an expression over the inputs instead of computing it; false when that is
  // not possible.
  bool leave_out(const IrNode* node, const Value& condition, bool is_and);
  void record(const IrNode* node, const Value& condition);
  // Returns the first argument of the higher_order.cond.
  Argument predicate(const IrNode* node, const Value& condition);
  // Joins the results of both branches, leaf by leaf; `on_difference` gives the joint value of two leaves.
  Later combined(const Value& first, const Value& second, const std::string& name, const IrNode* node,
                 const OnDifference& on_difference);

  Subgraphs& subgraphs_;
};

}  // namespace fxtrace::internal::interpreter
