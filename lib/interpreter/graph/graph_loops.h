// Records a loop that depends on inputs as a node higher_order.while_loop, with subgraphs for its condition
// and its body.
//
// Both subgraphs are recorded by following one iteration ("turn" in names) of the code, on values that stand
// for those of any iteration.  Before that is done, it is not known which variables an iteration changes, and
// what is the same in all iterations (a dtype, a size).  So record() assumes something, follows one
// iteration, and compares what the iteration hands on with what was assumed.  If the assumptions hold, the
// loop is recorded.  Otherwise they are weakened, the caller (GraphLoops::record) rolls the attempt back and
// calls again: a fixed point.
//
// Variables are the iteration count and the condition, if they are carried, then the loop-carried values of
// the code, then lists and dicts from outside that the body changes.  Each is a tree of containers whose
// leaves are carried one by one; the form of the tree is the same in all iterations.
//
// Invariants:
//
// 1. A leaf that is not carried has its value from before the loop in all iterations.  A leaf that is carried
//    has a kind that torch's control flow takes: a tensor or an int, or a bool or a float in another form
//    (Subgraphs::carried_argument).  Any other leaf that an iteration changes fails the module.
// 2. What is known of a carried leaf (Leaf::known) holds in all iterations.  A size that differs between
//    iterations, and any carried integer, is a fresh symbol: the same one in condition and body, and another
//    one after the loop.
// 3. Assumptions only get weaker, so the fixed point is reached.  A guess that a leaf is carried is withdrawn
//    at most once; a leaf that was then found to be carried stays carried; facts of a tensor are dropped and
//    sizes vary for good; a form, or a container, is added once.
// 4. Carried leaves have one order, that of variables_: they are the first inputs of both subgraphs, the
//    results of the body and the results of the node.  Captured values follow, the same ones for both
//    subgraphs.
// 5. An attempt that did not settle is undone; variables_ alone keeps what it has shown.
//
// Example, from tests/interpreter/while_that_grows.txt, with --input x=float32[1,4], where n is an integer of
// data:
//
//   t = x                      variables: the iteration count i, and t, which is guessed to be carried
//   for i in range(n):         attempt 1  t is float32[1,4]; cat() gives float32[2,4]: dimension 0 varies
//     t = torch.cat([t, x])    attempt 2  t is float32[u2,4]; cat() gives float32[u2+1,4]: this holds
//   return t                   after it   t is float32[u3,4]
//
//   while_loop(while_loop_cond_graph_0, while_loop_body_graph_0, [0, x], [n, x])
//     condition (i, t, n, x)   i < n
//     body (i, t, n, x)        (i + 1, torch.cat([t, x]))
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpreter/code/loop_condition.h"
#include "interpreter/graph/subgraphs.h"

namespace fxtrace::internal::interpreter {

// Computes the loop's condition for the results of an iteration, without changing the values of the frame.
Value condition_after(const IrNode* node, const LoopCondition& condition, const Values& results,
                      Frames& frames, Evaluator& code);

class RecordedLoop : RecordingPart {
 public:
  // `condition` is null when the loop's condition is carried from iteration to iteration itself, or is always
  // true.
  RecordedLoop(const EvaluatorPart& around, Subgraphs& subgraphs, const IrNode* node,
               const LoopCondition* condition);

  // Records the loop by following one iteration.  Returns false when the assumptions did not hold; they are
  // weakened then, and the caller rolls back what was recorded and calls again.
  bool record();

 private:
  // A part of a loop variable that torch's control flow can carry, or that no iteration changes.
  struct Leaf {
    Value before;  // its value before the loop
    bool is_carried = false;
    bool is_guess = false;  // is_carried is assumed, and may be withdrawn
    TypePtr type;
    AbstractValue known = {};       // what is known of it in all iterations
    std::vector<bool> varies = {};  // by dimension: the size differs between iterations
  };
  struct Variable {
    std::string name;               // in the code, for messages and names of inputs
    Value before;                   // its value before the loop
    std::vector<Leaf> leaves = {};  // as map_leaves() finds them
    Value container = {};           // the list or dict from outside that the loop changes, if any
  };

  Variable make_variable(std::string name, const Value& before, bool changes);
  // Returns the index of the first variable of the code.
  std::size_t first_of_code() const { return std::size_t{has_count_} + std::size_t{has_condition_}; }
  // Steps within the subgraphs:
  std::vector<NodeId> enter_turn(Values& variables);
  void leave_turn(Argument result, const std::vector<NodeId>& made);
  Argument test_of_turn(const Values& variables);
  Values run_turn(const Values& variables);
  bool add_containers(Values& results);
  bool settles(const Values& results);
  void compare(const Variable& variable, Leaf& leaf, const Value& after, bool& settled);
  Argument handed_on(const Values& results);
  // Steps in the graph around the subgraphs:
  NodeId call_loop(const std::string& condition_name, const std::string& body_name,
                   const std::vector<NodeId>& operands);
  void set_results(NodeId loop);

  [[noreturn]] void refuse(const Variable& variable, const Value& before, const Value& after) const;
  void make_sizes_fresh(const Leaf& leaf, AbstractValue& known);

  Subgraphs& subgraphs_;
  const IrNode* node_;
  const IrBlock& body_;
  const LoopCondition* condition_;
  bool has_count_, has_condition_;
  // The iteration count and the condition, if carried; then the variables of the code, in its order; then
  // containers.
  std::vector<Variable> variables_;
};

// Loops that depend on inputs, as nodes higher_order.while_loop: finds the loop's condition, and repeats
// RecordedLoop::record() until its fixed point.

class GraphLoops : RecordingPart {
 public:
  GraphLoops(const EvaluatorPart& around, Subgraphs& subgraphs)
      : RecordingPart(around), subgraphs_(subgraphs) {}

  // To be called before each node of a block.  When loops begin to compute their conditions at the node,
  // saves the state: the loops are recorded from there.
  void note_starts(const IrBlock& block, const IrNode* node);
  // Records the loop, and sets its results.
  void record(const IrNode* node);

 private:
  // Returns the loop's condition when its two copies, before the loop and at the end of the body, are the
  // same, so that one subgraph can stand for both; rolls back the copy that was recorded before the loop.
  // Returns null when they differ.
  const LoopCondition* rotated_condition(const IrNode* node);

  Subgraphs& subgraphs_;
  std::unordered_map<const IrNode*, std::optional<LoopCondition>> conditions_;
  // The loops whose conditions begin at a node, by block and node.
  std::unordered_map<const IrBlock*, std::unordered_map<const IrNode*, std::vector<const IrNode*>>> starts_;
  std::int64_t nodes_in_vain_ = 0;  // the number of nodes of attempts that were rolled back
};

}  // namespace fxtrace::internal::interpreter
