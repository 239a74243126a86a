// The symbolic interpreter of a TorchScript program: it records graphs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interpreter/graph/graph_calls.h"
#include "interpreter/graph/graph_loops.h"
#include "interpreter/graph/graph_operators.h"
#include "interpreter/graph/root_inputs.h"
#include "interpreter/graph/subgraphs.h"
#include "interpreter/program/torchscript_program.h"
#include "interpreter/state/findings.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// Records a graph: operators and leaves become nodes, and control flow that depends on
// inputs becomes control flow of the graph.

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

// The symbolic interpreter: records the graph of a method by running its TorchScript code on values that may
// be proxies (evaluator.h).  Operations on plain values are computed, all others are recorded
// (interpreter.h).

class Interpreter {
 public:
  // Records the graph of a method (see BoundProgram::run).  `findings` are those of all runs of a trace.
  Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
              Findings& findings, GraphTracer& tracer, ModuleId root, const std::string& method);

  void trace(bool root_is_leaf);

 private:
  // Returns the inputs of a submodule's own graph that had the same plain value in all calls that were seen.
  std::map<std::string, Value> plain_inputs() const;
  // Fixes inputs that an earlier run of this graph asked for, and tells the recorder which others could be
  // fixed.
  void find_fixable(const RootInputs& inputs, const std::map<std::string, Value>& plain,
                    std::vector<BoundInput>& bound);
  // Gives the inputs of a submodule's own graph what is known of them in all calls that were seen.
  void use_call(std::vector<BoundInput>& inputs);
  Values open_values(const RootInputs& inputs, const Values& values) const;
  void run_open(const Values& open);
  void set_signature(std::vector<GraphSignature::Entry> entries, const Values& values,
                     const std::vector<Argument>& arguments);

  const Ref<ObjectValue>& object_;  // the root
  const std::string& method_;
  Function& function_;
  const FunctionSchema& schema_;
  Run run_;
  RunState state_{run_};
  Findings& findings_;
  GraphTracer& tracer_;
  Recorder recorder_{state_, &findings_, &tracer_};
  ShapePropagation propagation_{recorder_};
  GraphEvaluator evaluator_{propagation_};
};

// A TorchScript program bound to the options of one trace, with the findings of its runs.

class BoundTorchScriptProgram : public BoundProgram {
 public:
  BoundTorchScriptProgram(const TorchScriptProgram& program, const TraceOptions& options,
                          const SpentUnits& spent)
      : program_(program), options_(options), budget_(options.limits, program.file_size(), spent) {}

  std::vector<MethodInfo> methods(ModuleId module) const override { return program_.methods(module); }
  void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) override;
  bool inputs_changed(ModuleId root) const override { return findings_.calls.changed(root); }
  std::vector<Attributes> attributes() const override;
  std::vector<Diagnostic> warnings() const override;
  std::vector<Diagnostic> unfollowed_options(const std::function<Leaves()>& leaves) const override;

 private:
  const TorchScriptProgram& program_;
  const TraceOptions& options_;
  Budget budget_;
  Findings findings_;
};

}  // namespace fxtrace::internal::interpreter
