// Runs calls of methods and functions of the code.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

class Calls : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void call_method(const IrNode* node);
  void call_function(const IrNode* node);
};

}  // namespace fxtrace::internal::interpreter
