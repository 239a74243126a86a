// Runs calls of operators: computes them on plain values, and on containers whose elements are not looked at;
// answers others from what is known of their arguments, or hands them to Evaluator::call_operator().
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

class OperatorCalls : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);

 private:
  // Throws TraceFailure when an integer is passed for a dtype, layout or memory format that does not exist.
  void check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) const;
  // Returns whether the operator only moves elements of a list or dict of the code, whatever they are.
  bool is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // Puts the number in the place of a constant tensor; returns the overload for numbers, else `schema`.
  const FunctionSchema* take_number(const IrNode* node, const FunctionSchema* schema, Values& values);
  // Computes the operator on the values themselves.
  void execute(const IrNode* node, Values values);
};

}  // namespace fxtrace::internal::interpreter
