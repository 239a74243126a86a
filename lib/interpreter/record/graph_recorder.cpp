#include "interpreter/record/graph_recorder.h"

#include <utility>

namespace fxtrace::interpreter {

std::optional<Recorder::State> GraphRecorder::state() const {
  return State{context_.findings->calls.count(context_.root), context_.dimensions, conditions.assumed()};
}

void GraphRecorder::go_back_to(State state) {
  context_.findings->calls.forget(context_.root, state.seen_calls);
  context_.dimensions = std::move(state.dimensions);
  conditions.set_assumed(std::move(state.assumed));
  input_guards.forget_nodes();
}

Attempt GraphRecorder::begin_attempt() {
  const std::size_t first_node = tracer.graph().mark().ids;
  return {tracer.mark(), context_.checkpoint(), first_node};
}

void GraphRecorder::undo(const Attempt& attempt) {
  tracer.undo_to(attempt.recorded);
  context_.back_to(attempt.before);
}

}  // namespace fxtrace::interpreter
