// Base class of the parts of the interpreter, each of which runs one kind of node.
#pragma once

#include "interpreter/propagate/shape_propagation.h"

namespace fxtrace::internal::interpreter {

class Evaluator;

class EvaluatorPart {
 public:
  // Both must outlive the part; `code` may still be under construction.
  EvaluatorPart(ShapePropagation& propagation, Evaluator& code)
      : recorder_(propagation.recorder),
        state_(recorder_.state),
        run_(state_.run),
        frames_(state_.frames),
        propagation_(propagation),
        code_(code) {}

 protected:
  // Returns whether control flow that depends on inputs is recorded here.
  bool makes_subgraphs() const {
    return recorder_.records() && run_.options.control_flow == ControlFlow::kSubgraph;
  }
  // Throws TraceFailure: control flow (`what`, such as "an `if`") depends on the value.
  [[noreturn]] void fail(const std::string& what, const Value& value, const IrNode* node) const;

  Recorder& recorder_;
  RunState& state_;
  const Run& run_;
  Frames& frames_;
  ShapePropagation& propagation_;
  Evaluator& code_;
};

}  // namespace fxtrace::internal::interpreter
