// Loops: unrolled when plain values determine the number of iterations.
#pragma once

#include "torchscript/interpreter/evaluate/evaluator_part.h"

namespace fxtrace::interpreter {

class Loops : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);
};

}  // namespace fxtrace::interpreter
