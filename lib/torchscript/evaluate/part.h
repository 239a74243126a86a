// Base of the parts of the interpreter, each of which runs one kind of nodes.
#pragma once

#include "torchscript/evaluate/code_runner.h"
#include "torchscript/propagate/value_knowledge.h"
#include "torchscript/state/context.h"

namespace fxtrace::torchscript {

class Part {
 public:
  // All arguments must outlive the part; `code` may still be under construction.
  Part(Context& context, Knowledge& knowledge, CodeRunner& code)
      : context_(context), frames_(context.frames), knowledge_(knowledge), code_(code) {}

 protected:
  Recorder& recorder() const { return *context_.recorder; }
  Strategy& strategy() const { return *context_.strategy; }
  // Throws TraceFailure: control flow (`what`, in words) depends on the value.
  [[noreturn]] void fail(const std::string& what, const Value& value, const IrNode* node) const;

  Context& context_;
  Frames& frames_;
  Knowledge& knowledge_;
  CodeRunner& code_;
};

}  // namespace fxtrace::torchscript
