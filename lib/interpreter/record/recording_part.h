// Base class of the parts of the interpreter that record code as nodes.
#pragma once

#include "interpreter/evaluate/evaluator_part.h"
#include "interpreter/record/graph_recorder.h"

namespace fxtrace::interpreter {

class RecordingPart : protected EvaluatorPart {
 public:
  RecordingPart(Context& context, ShapePropagation& propagation, CodeRunner& code, GraphRecorder& recording)
      : EvaluatorPart(context, propagation, code), recording_(recording), tracer_(recording.tracer) {}

  bool makes_subgraphs() const { return context_.options.control_flow == ControlFlow::kSubgraph; }

 protected:
  GraphRecorder& recording_;
  GraphTracer& tracer_;
};

}  // namespace fxtrace::interpreter
