// Runs calls of methods and functions of the code.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::interpreter {

class Calls : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void call_method(const IrNode* node);
  void call_function(const IrNode* node);

 private:
  // Notes the arguments of a module's call, which describe the inputs of the module's own graph.
  void remember(ModuleId module, const Values& values, const IrNode* node);
};

}  // namespace fxtrace::interpreter
