#include "interpreter/state/run_state.h"

#include "interpreter/program/convert.h"
#include "torchscript/operators/plain_operators.h"
#include "trace/options/input_spec.h"

namespace fxtrace::internal::interpreter {

RunState::RunState(const Run& of)
    : run(of), dimensions(of.shapes ? make_dimensions(of.options) : ShapeEnv()) {}

Extent RunState::measure(const Value& value, const IrNode* node) {
  const Extent extent = extent_of(value);
  run.budget.spend(extent.looked);
  if (extent.size > torchscript::kMaxPlainSize) {
    frames.fail(
        FailureKind::kLimit,
        "a value holds itself, or more than " + std::to_string(torchscript::kMaxPlainSize) + " others", node);
  }
  return extent;
}

void RunState::count_step(const IrNode* node) {
  if (++steps <= run.options.limits.iterations) return;
  frames.fail(FailureKind::kLimit,
              "more than " + std::to_string(run.options.limits.iterations) +
                  " loop iterations and function calls in one module call",
              node, Limit::kIterations);
}

}  // namespace fxtrace::internal::interpreter
