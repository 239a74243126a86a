// Records `if` statements that depend on inputs, as nodes higher_order.cond with a subgraph for each branch.
#pragma once

#include <functional>
#include <string>

#include "interpreter/graph/subgraphs.h"

namespace fxtrace::internal::interpreter {

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
