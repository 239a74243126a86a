// The symbolic interpreter: records the graph of a method by running its TorchScript code on values that may
// be proxies (evaluator.h).  Operations on plain values are computed, all others are recorded
// (graph_evaluator.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interpreter/graph/graph_evaluator.h"
#include "interpreter/graph/root_inputs.h"

namespace fxtrace::internal::interpreter {

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

}  // namespace fxtrace::internal::interpreter
