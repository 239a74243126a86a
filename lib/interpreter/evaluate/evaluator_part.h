// Base class of the parts of the interpreter, each of which runs one kind of node.
#pragma once

#include "interpreter/evaluate/code_runner.h"
#include "interpreter/propagate/shape_propagation.h"
#include "interpreter/state/context.h"

namespace fxtrace::interpreter {

class EvaluatorPart {
 public:
  // All arguments must outlive the part; `code` may still be under construction.
  EvaluatorPart(Context& context, ShapePropagation& propagation, CodeRunner& code)
      : context_(context), frames_(context.frames), propagation_(propagation), code_(code) {}

 protected:
  Recorder& recorder() const { return *context_.recorder; }
  Strategy& strategy() const { return *context_.strategy; }
  // Throws TraceFailure: control flow (`what`, such as "an `if`") depends on the value.
  [[noreturn]] void fail(const std::string& what, const Value& value, const IrNode* node) const;

  Context& context_;
  Frames& frames_;
  ShapePropagation& propagation_;
  CodeRunner& code_;
};

}  // namespace fxtrace::interpreter
