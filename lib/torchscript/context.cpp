#include "torchscript/context.h"

#include "trace/input_spec.h"

namespace fxtrace::torchscript {

Context::Context(const TorchScriptProgram& its_program, const TraceOptions& its_options, Budget& its_budget,
                 BoundTorchScriptProgram* its_bound, GraphTracer* its_tracer)
    : program(its_program),
      options(its_options),
      budget(its_budget),
      bound(its_bound),
      tracer(its_tracer),
      mode(its_tracer != nullptr ? Mode::kRecord : Mode::kState),
      shapes(!its_options.inputs.empty() || its_options.param_shapes_constant) {
  if (shapes) dimensions = make_dimensions(options);
}

}  // namespace fxtrace::torchscript
