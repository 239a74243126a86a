// Records a loop as a node higher_order.while_loop with subgraphs for its condition and its body.
#pragma once

#include <string>
#include <vector>

#include "torchscript/interpreter/code/loop_condition.h"
#include "torchscript/interpreter/graph/subgraphs.h"

namespace fxtrace::interpreter {

// Computes the loop's condition for the results of an iteration, without changing the values of the frame.
Value condition_after(const IrNode* node, const LoopCondition& condition, const Values& results,
                      Frames& frames, CodeRunner& code);

class RecordedLoop : RecordingPart {
 public:
  // `condition` is null when the loop's condition is itself carried from iteration to iteration, or always
  // true.
  RecordedLoop(const RecordingPart& around, Subgraphs& subgraphs, const IrNode* node,
               const LoopCondition* condition);

  // Records the loop by tracing one iteration.  Returns false when that shows that more values are carried,
  // or less is known of them, than assumed: the caller rolls back what was recorded and calls again, until a
  // fixed point is reached.
  bool record();

 private:
  // A part of a loop variable that torch's control flow can carry, or that no iteration changes.
  struct Leaf {
    Value before;  // its value before the loop
    bool is_carried = false;
    bool is_guess = false;  // is_carried is only assumed
    TypePtr type;
    AbstractValue known = {};       // in all iterations
    std::vector<bool> varies = {};  // by dimension: the size differs between iterations
  };
  struct Variable {
    std::string name;
    Value before;
    std::vector<Leaf> leaves = {};  // as map_leaves() finds them
    Value container = {};           // the list or dict from outside that the loop changes, if any
  };

  Variable make_variable(std::string name, const Value& before, bool changes);
  std::size_t first_of_code() const { return std::size_t{has_count_} + std::size_t{has_condition_}; }
  // Within the subgraphs:
  std::vector<NodeId> enter_turn(Values& variables);
  void leave_turn(Argument result, const std::vector<NodeId>& made);
  Argument test_of_turn(const Values& variables);
  Values run_turn(const Values& variables);
  bool add_containers(Values& results);
  bool settles(const Values& results);
  void compare(const Variable& variable, Leaf& leaf, const Value& after, bool& settled);
  Argument handed_on(const Values& results);
  // Around the subgraphs:
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

}  // namespace fxtrace::interpreter
