// `if` statements and exceptions.  A condition on plain values is followed; one that only guards an exception
// is assumed.
#pragma once

#include "torchscript/interpreter/evaluate/evaluator_part.h"

namespace fxtrace::interpreter {

class Branches : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);
  void choose(const IrNode* node, bool branch);
  [[noreturn]] void raise(const IrNode* node);

 private:
  bool assume(const IrNode* node, const Value& condition);
};

}  // namespace fxtrace::interpreter
