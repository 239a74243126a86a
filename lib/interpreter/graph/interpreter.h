// The symbolic interpreter: records the graph of a method by running its TorchScript code on values that may
// be proxies (evaluator.h).  Operations on plain values are computed, all others are recorded
// (graph_strategy.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/graph/graph_strategy.h"
#include "interpreter/graph/root_inputs.h"

namespace fxtrace::interpreter {

class Interpreter {
 public:
  // `findings` are those of all runs of a trace.
  Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
              Findings& findings, GraphTracer& tracer);

  // Records the graph of a method (see BoundProgram::run).
  void trace(ModuleId root, const std::string& method, bool root_is_leaf);

 private:
  // Returns the inputs of a submodule's own graph that had the same plain value in all calls that were seen.
  std::map<std::string, Value> plain_inputs(const Function& function) const;
  // Fixes inputs that an earlier run of this graph asked for, and tells the recorder which others could be
  // fixed.
  void find_fixable(const FunctionSchema& schema, const RootInputs& inputs,
                    const std::map<std::string, Value>& plain, std::vector<BoundInput>& bound);
  // Gives the inputs of a submodule's own graph what is known of them in all calls that were seen.
  void use_call(std::vector<BoundInput>& inputs);
  static Values open_values(const RootInputs& inputs, const FunctionSchema& schema, const Values& values);
  void run_open(Function& function, const Values& open);
  void set_signature(std::vector<GraphSignature::Entry> entries, const FunctionSchema& schema,
                     const Values& values, const std::vector<Argument>& arguments);

  GraphTracer& tracer_;
  Findings& findings_;
  Context context_;
  ShapePropagation propagation_{context_};
  Evaluator evaluator_{context_, propagation_};
  GraphRecorder recorder_;
  GraphStrategy strategy_;
};

}  // namespace fxtrace::interpreter
