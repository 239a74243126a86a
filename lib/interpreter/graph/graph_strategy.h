// The strategy that records a graph: operators and leaves become nodes, and control flow that depends on
// inputs becomes control flow of the graph.
#pragma once

#include "interpreter/graph/graph_branches.h"
#include "interpreter/graph/graph_calls.h"
#include "interpreter/graph/graph_loops.h"
#include "interpreter/graph/graph_operators.h"
#include "interpreter/strategies/basic_strategy.h"

namespace fxtrace::interpreter {

class GraphStrategy final : public BasicStrategy {
 public:
  GraphStrategy(Context& context, ShapePropagation& propagation, CodeRunner& code, GraphRecorder& recording)
      : BasicStrategy(context, propagation, code),
        recording_(recording),
        tracer_(recording.tracer),
        part_(context, propagation, code, recording),
        abstract_calls_(context, propagation, code, recording),
        stacks_(context, recording.tracer) {}

  AbstractCalls& abstract_calls() { return abstract_calls_; }
  // Runs the root's method.
  Value run_root(Function& function, Values arguments);
  // To be called when the graph has its output.
  void finish() {
    assignments_.copy_changed_inputs();
    stacks_.fold();
  }

  const IrNode* run(const IrBlock& block, const IrNode* node) override;
  void note_write(const Value& value, const IrNode* node) override { assignments_.note_change(value, node); }
  void note_change(const Value& value, const std::string& name, const IrNode* node) override;
  bool make_object(const IrNode* node, const Values& values) override {
    return calls_.make_object(node, values);
  }
  Value call_module(const MethodCall& call) override { return calls_.call_module(call); }
  Value call_function(Function& function, const Values& arguments, const IrNode* node) override {
    return calls_.call_function(function, arguments, node);
  }
  Value attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) override;
  void set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) override;
  void note_name(const IrValue* name, const IrValue* of) override {
    recording_.conditions.note_uncomputed_as(name, of);
  }
  void assume(const IrNode* node, const Value& condition, bool holds) override {
    recording_.conditions.assume(node, condition, holds);
  }
  void assume_length(const IrNode* node, const Value& list, std::size_t length) override;
  bool join_conditions(const IrNode* node, const Value& condition, bool is_and) override {
    return branches_.join_conditions(node, condition, is_and);
  }
  void branch(const IrNode* node, const Value& condition) override { branches_.branch(node, condition); }
  std::shared_ptr<Attempt> begin_loop() override;
  void loop(const IrNode* node, const std::string& what, const Value& value,
            const std::shared_ptr<Attempt>& start) override;
  void note_no_grad() override { context_.gradient_writes.disabled = true; }

 private:
  void materialize(const Value& container, const IrNode* node) override;
  void set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                   std::vector<AbstractValue> known) override {
    operators_.record(node, schema, values, std::move(known));
  }
  bool follows_operators() const override { return true; }

  GraphRecorder& recording_;
  GraphTracer& tracer_;
  RecordingPart part_;
  AbstractCalls abstract_calls_;
  RecordedStacks stacks_;
  Assignments assignments_{part_};
  Subgraphs subgraphs_{part_};
  GraphBranches branches_{part_, subgraphs_};
  GraphCalls calls_{part_, abstract_calls_, assignments_, subgraphs_, stacks_};
  GraphLoops loops_{part_, subgraphs_};
  GraphOperators operators_{part_};
};

}  // namespace fxtrace::interpreter
