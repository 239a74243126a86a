#include "torchscript/run.h"

#include <utility>

namespace fxtrace::torchscript {

Checkpoint Run::checkpoint() {
  Checkpoint now{changes.mark(), frames.size(), changes.stretch(), steps, switches, 0, std::nullopt, {}};
  if (records()) {
    now.seen_calls = bound->calls().count(root);
    now.dimensions = dimensions;
    now.assumed = conditions.assumed();
  }
  return now;
}

void Run::back_to(Checkpoint before) {
  frames.pop_to(before.frames);
  changes.undo_to(before.changes);
  changes.begin_stretch(before.stretch);
  steps = before.steps;
  switches = std::move(before.switches);
  if (!before.dimensions) return;
  bound->calls().forget(root, before.seen_calls);
  dimensions = std::move(*before.dimensions);
  conditions.set_assumed(std::move(before.assumed));
  input_guards.forget_nodes();
}

Attempt Run::begin_attempt() {
  const std::size_t first_node = tracer->graph().mark().ids;
  return {tracer->mark(), checkpoint(), first_node};
}

void Run::undo(const Attempt& attempt) {
  tracer->undo_to(attempt.recorded);
  back_to(attempt.before);
}

void Run::count_step(const IrNode* node) {
  if (++steps <= options.limits.iterations) return;
  frames.fail(FailureKind::kLimit,
              "more than " + std::to_string(options.limits.iterations) +
                  " loop iterations and function calls in one module call (--max-iterations)",
              node, Limit::kIterations);
}

}  // namespace fxtrace::torchscript
