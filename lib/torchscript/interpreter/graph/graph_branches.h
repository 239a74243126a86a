// `if` statements that depend on inputs: nodes higher_order.cond with a subgraph for each branch.
#pragma once

#include <functional>
#include <string>

#include "torchscript/interpreter/graph/subgraphs.h"

namespace fxtrace::interpreter {

class GraphBranches : RecordingPart {
 public:
  GraphBranches(const RecordingPart& around, Subgraphs& subgraphs)
      : RecordingPart(around), subgraphs_(subgraphs) {}

  void branch(const IrNode* node, const Value& condition);
  // See Strategy.
  bool join_conditions(const IrNode* node, const Value& condition, bool is_and);

 private:
  using OnDifference = std::function<Value(const Value&, const Value&)>;

  bool leave_out(const IrNode* node, const Value& condition, bool is_and);
  void record(const IrNode* node, const Value& condition);
  Argument predicate(const IrNode* node, const Value& condition);
  Value combined(const Value& first, const Value& second, const std::string& name, const IrNode* node,
                 const OnDifference& on_difference);

  Subgraphs& subgraphs_;
};

}  // namespace fxtrace::interpreter
