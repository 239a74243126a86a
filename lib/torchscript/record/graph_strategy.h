// Follows code to record it: operators and leaves become nodes, and what depends on inputs control flow of
// the graph.
#pragma once

#include "torchscript/evaluate/basic_strategy.h"
#include "torchscript/record/graph_branches.h"
#include "torchscript/record/graph_calls.h"
#include "torchscript/record/graph_loops.h"
#include "torchscript/record/graph_operators.h"

namespace fxtrace::torchscript {

class GraphStrategy final : public BasicStrategy {
 public:
  GraphStrategy(Context& context, Knowledge& knowledge, CodeRunner& code, GraphRecorder& recording)
      : BasicStrategy(context, knowledge, code),
        stacks(context, recording.tracer),
        abstract_calls(context, knowledge, code, recording),
        assignments(context, knowledge, code, recording),
        recording_(recording),
        tracer_(recording.tracer),
        subgraphs_(context, knowledge, code, recording),
        part_(context, knowledge, code, recording) {}

  const IrNode* run(const IrBlock& block, const IrNode* node) override;
  void note_write(const Value& value, const IrNode* node) override { assignments.note_change(value, node); }
  void note_change(const Value& value, const std::string& name, const IrNode* node) override;
  bool make_object(const IrNode* node, const Values& values) override {
    return calls.make_object(node, values);
  }
  Value call_module(const ModuleCall& call) override { return calls.call_module(call); }
  Value call_function(Function& function, const Values& arguments, const IrNode* node) override {
    return calls.call_function(function, arguments, node);
  }
  Value attribute(const AttributeRead& read, const TypePtr& type, const IrNode* node) override;
  void set_attribute(const Ref<ObjectValue>& object, const std::string& name, const Value& value,
                     const IrNode* node) override;
  void note_name(const IrValue* name, const IrValue* of) override {
    recording_.conditions.leave_out_as(name, of);
  }
  void assume(const IrNode* node, const Value& condition, bool holds) override {
    recording_.conditions.assume(node, condition, holds);
  }
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
  bool makes_subgraphs() const { return context_.options.control_flow == ControlFlow::kSubgraph; }

 public:
  RecordedStacks stacks;
  AbstractCalls abstract_calls;
  Assignments assignments;

 private:
  GraphRecorder& recording_;
  GraphTracer& tracer_;
  Subgraphs subgraphs_;
  RecordingPart part_;
  GraphBranches branches_{part_, subgraphs_};
  GraphLoops loops_{part_, subgraphs_};
  GraphOperators operators_{part_};

 public:
  GraphCalls calls{part_, abstract_calls, assignments, stacks};
};

}  // namespace fxtrace::torchscript
