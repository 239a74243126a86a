// Runs loops: unrolls them as long as plain values decide the number of iterations; a virtual
// function of Evaluator handles others.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

class Loops : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);
};

}  // namespace fxtrace::internal::interpreter
