// Records a graph: operators and leaves become nodes, and control flow that depends on
// inputs becomes control flow of the graph.
#pragma once

#include "interpreter/graph/graph_branches.h"
#include "interpreter/graph/graph_calls.h"
#include "interpreter/graph/graph_loops.h"
#include "interpreter/graph/graph_operators.h"

namespace fxtrace::internal::interpreter {

class GraphEvaluator final : public Evaluator {
 public:
  using Evaluator::Evaluator;

  AbstractCalls& abstract_calls() { return abstract_calls_; }
  // Runs the root's method.
  Value run_root(Function& function, Values arguments);
  // To be called when the graph has its output.
  void finish() {
    assignments_.copy_changed_inputs();
    stacks_.fold();
  }

  const IrNode* run_from(const IrBlock& block, const IrNode* node) override;
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
  bool join_conditions(const IrNode* node, const Value& condition, bool is_and) override {
    return branches_.join_conditions(node, condition, is_and);
  }
  void branch(const IrNode* node, const Value& condition) override { branches_.branch(node, condition); }
  void loop(const IrNode* node, const std::string& what, const Value& value,
            const std::optional<Checkpoint>& start) override;

 private:
  void materialize(const Value& container, const IrNode* node) override;
  void set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                   std::vector<AbstractValue> known) override {
    operators_.record(node, schema, values, std::move(known));
  }

  GraphTracer& tracer_ = recorder_.tracer();
  AbstractCalls abstract_calls_{propagation_};
  RecordedStacks stacks_{run_, tracer_};
  Assignments assignments_{*this};
  Subgraphs subgraphs_{*this};
  GraphBranches branches_{*this, subgraphs_};
  GraphCalls calls_{*this, abstract_calls_, assignments_, subgraphs_, stacks_};
  GraphLoops loops_{*this, subgraphs_};
  GraphOperators operators_{*this};
};

}  // namespace fxtrace::internal::interpreter
