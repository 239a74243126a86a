// Base class of the parts of the interpreter that record code as nodes.
#pragma once

#include "interpreter/evaluate/evaluator.h"

namespace fxtrace::internal::interpreter {

class RecordingPart : protected EvaluatorPart {
 public:
  explicit RecordingPart(const EvaluatorPart& around) : EvaluatorPart(around), tracer_(recorder_.tracer()) {}

 protected:
  GraphTracer& tracer_;
};

}  // namespace fxtrace::internal::interpreter
