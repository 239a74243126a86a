// `if` statements and exceptions.  A condition on plain values is followed; one that only guards an exception
// is assumed; any other becomes a node higher_order.cond with a subgraph for each branch.
#pragma once

#include <functional>
#include <string>

#include "torchscript/part.h"

namespace fxtrace::torchscript {

class Branches : Part {
 public:
  using Part::Part;

  void run(const IrNode* node);
  [[noreturn]] void raise(const IrNode* node);

 private:
  using OnDifference = std::function<Value(const Value&, const Value&)>;

  void choose(const IrNode* node, bool branch);
  bool assume(const IrNode* node, const Value& condition);
  bool leave_out(const IrNode* node, const Value& condition, bool is_and);
  bool run_both(const IrNode* node);
  void record(const IrNode* node, const Value& condition);
  Argument predicate(const IrNode* node, const Value& condition);
  Value combined(const Value& first, const Value& second, const std::string& name, const IrNode* node,
                 const OnDifference& on_difference);
  AbstractValue merged(const Value& first, const Value& second);
};

}  // namespace fxtrace::torchscript
