// Base of the parts that record code as nodes.
#pragma once

#include "torchscript/evaluate/part.h"
#include "torchscript/record/graph_recorder.h"

namespace fxtrace::torchscript {

class RecordingPart : protected Part {
 public:
  RecordingPart(Context& context, Knowledge& knowledge, CodeRunner& code, GraphRecorder& recording)
      : Part(context, knowledge, code), recording_(recording), tracer_(recording.tracer) {}

  bool makes_subgraphs() const { return context_.options.control_flow == ControlFlow::kSubgraph; }

 protected:
  GraphRecorder& recording_;
  GraphTracer& tracer_;
};

}  // namespace fxtrace::torchscript
