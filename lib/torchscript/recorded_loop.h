// A loop as a node higher_order.while_loop, with subgraphs for its condition and its body.
#pragma once

#include <string>
#include <vector>

#include "torchscript/loop_condition.h"
#include "torchscript/recording.h"
#include "torchscript/subgraphs.h"

namespace fxtrace::torchscript {

class RecordedLoop {
 public:
  // `condition` is null where the loop's condition is handed on from turn to turn, or is always true.
  RecordedLoop(Run& run, const IrNode* node, const LoopCondition* condition);

  // Records the loop by one turn of it.  False when the turn shows that more is handed on, or less is known
  // of it, than was taken for granted: the caller takes back what was recorded and tries again.
  bool record();

 private:
  // A part of a variable that control flow of torch can carry, or that no turn changes.
  struct Leaf {
    Value before;  // the loop
    bool is_carried = false;
    bool is_guess = false;  // that it has to be
    TypePtr type;
    AbstractValue known = {};       // in all turns
    std::vector<bool> varies = {};  // by dimension: another size in each turn
  };
  struct Variable {
    std::string name;
    Value before;
    std::vector<Leaf> leaves = {};  // as map_leaves() finds them
    Value container = {};           // that has these values, where the loop changes one from around it
  };

  Variable make_variable(std::string name, const Value& before, bool changes);
  std::size_t first_of_code() const { return std::size_t{has_count_} + std::size_t{has_condition_}; }
  // In the subgraphs.
  std::vector<NodeId> enter_turn(Values& variables);
  void leave_turn(Argument result, const std::vector<NodeId>& made);
  Argument test_of_turn(const Values& variables);
  Values run_turn(const Values& variables);
  bool add_containers(Values& results);
  bool settles(const Values& results);
  void compare(const Variable& variable, Leaf& leaf, const Value& after, bool& settled);
  Argument handed_on(const Values& results);
  // Around them.
  NodeId call_loop(const std::string& condition_name, const std::string& body_name,
                   const std::vector<NodeId>& operands);
  void set_results(NodeId loop);

  [[noreturn]] void refuse(const Variable& variable, const Value& before, const Value& after) const;
  void make_sizes_fresh(const Leaf& leaf, AbstractValue& known);
  Argument carried_argument(const Value& value, const Leaf& leaf);
  Value carried_value(NodeId carried, const Leaf& leaf, AbstractValue known, const IrNode* node);

  Run& run_;
  Frames& frames_;
  Recording& recording_;
  Subgraphs& subgraphs_;
  const IrNode* node_;
  const IrBlock& body_;
  const LoopCondition* condition_;
  bool has_count_, has_condition_;
  // The number of the turn and the condition, where they are carried; then what the code hands on, in its
  // order; then containers.
  std::vector<Variable> variables_;
};

}  // namespace fxtrace::torchscript
