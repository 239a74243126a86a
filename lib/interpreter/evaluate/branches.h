// Runs `if` statements and exceptions.  A condition on plain values is followed, and one that only guards an
// exception is assumed; a virtual function of Evaluator decides about any other.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

class Branches : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);
  void choose(const IrNode* node, bool branch);
  [[noreturn]] void raise(const IrNode* node);

 private:
  // Handles an `if` that is there for an exception alone; returns false for any other.
  bool assume(const IrNode* node, const Value& condition);
};

}  // namespace fxtrace::internal::interpreter
