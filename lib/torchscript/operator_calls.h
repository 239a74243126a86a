// Calls of operators: computed when all arguments are known, else recorded as nodes.
#pragma once

#include <vector>

#include "torchscript/part.h"

namespace fxtrace::torchscript {

class OperatorCalls : Part {
 public:
  using Part::Part;

  void run(const IrNode* node);

 private:
  bool is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values);
  void execute(const IrNode* node, Values values);
  void record(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool record_container_change(const IrNode* node, const FunctionSchema& schema, const Values& values,
                               const AbstractValue& result);
  bool record_in_python(const IrNode* node, const FunctionSchema& schema, const Values& values);
  Value formatted(const Values& values, const IrNode* node);
  void set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                    std::vector<AbstractValue> known);
  NumberMeaning compared_meaning(const IrNode* node, const Values& values);
  // Records nodes that build a list or dict made while tracing, because later changes of it depend on an
  // input.
  void materialize(const Value& container, const IrNode* node);
};

}  // namespace fxtrace::torchscript
