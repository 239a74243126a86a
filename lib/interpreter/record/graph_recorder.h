// The recorder of a graph: nodes, and the guards under which the graph is valid.
#pragma once

#include "interpreter/record/conditions.h"
#include "interpreter/record/input_guards.h"
#include "interpreter/record/recording.h"

namespace fxtrace::interpreter {

// A checkpoint that includes what is recorded.
struct Attempt {
  Journal::Mark recorded = 0;
  Checkpoint before;
  std::size_t first_node = 0;  // the least id of the attempt's nodes
};

class GraphRecorder final : public Recording {
 public:
  using Recording::Recording;

  void guard(Expression condition, const std::optional<SourceLocation>& source, GuardReason reason) override {
    tracer.guard(std::move(condition), source, reason);
  }
  void rely_on(const IrNode* node, std::string_view question, const Values& values,
               const AbstractValue& answer, const std::set<std::string>& ranges) override {
    input_guards.rely_on(node, question, values, answer, ranges);
  }
  void record_query(const Value& value) const override { conditions.record_query(value); }
  void report_invalid(const IrNode* node, const std::string& what, const std::string& error) override {
    context_.report_invalid(node, what, error);
  }
  std::optional<bool> decide(const Value& condition) const override { return conditions.decide(condition); }
  std::optional<State> state() const override;
  void go_back_to(State state) override;

  // Begins a part of the run that undo() takes back, with all that it recorded.
  Attempt begin_attempt();
  void undo(const Attempt& attempt);

  Conditions conditions{context_, *this};
  InputGuards input_guards{context_, *this, conditions};
};

}  // namespace fxtrace::interpreter
