// Answers queries about the process that runs the model (gradient mode, autocast), and follows `with`
// statements, which switch these modes.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

class ProcessState : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  // Answers a query as a process would in which nothing was switched on, and records a guard.  Returns false
  // when the node is not such a query.
  bool answer_query(const IrNode* node);
  void enter_or_exit(const IrNode* node, bool enter);

 private:
  void switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter);
};

}  // namespace fxtrace::internal::interpreter
