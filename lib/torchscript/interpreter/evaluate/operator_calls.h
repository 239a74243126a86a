// Calls of operators, which are computed when all arguments are known.
#pragma once

#include "torchscript/interpreter/evaluate/evaluator_part.h"

namespace fxtrace::interpreter {

class OperatorCalls : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);

 private:
  // Throws TraceFailure when an integer is passed for a dtype, layout or memory format and represents none.
  void check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) const;
  bool is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values);
  void execute(const IrNode* node, Values values);
};

}  // namespace fxtrace::interpreter
