// Control flow: branches, loops, calls, exceptions and `with`.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

// Runs `if` statements and exceptions.  A condition on plain values is followed, and one that only guards an
// exception is assumed; a virtual function of Evaluator decides about any other.

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

// Runs calls of methods and functions of the code.

class Calls : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void call_method(const IrNode* node);
  void call_function(const IrNode* node);
};

// Runs loops: unrolls them as long as plain values decide the number of iterations; a virtual
// function of Evaluator handles others.

class Loops : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  void run(const IrNode* node);
};

// Answers queries about the process that runs the model (gradient mode, autocast), and follows `with`
// statements, which switch these modes.

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
