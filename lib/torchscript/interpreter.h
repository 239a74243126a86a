// The symbolic interpreter: runs TorchScript graphs on values that may be proxies.  Operations on plain
// values are computed, all others are recorded.  run.h holds its parts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "torchscript/root_inputs.h"
#include "torchscript/run.h"

namespace fxtrace::torchscript {

class Interpreter {
 public:
  // `findings` are those of all runs of a trace.  They and `tracer` may be null for set_state().
  Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
              Findings* findings, GraphTracer* tracer)
      : run_(program, options, budget, findings, tracer) {}

  // Records the graph of a method (see BoundProgram::run).
  void trace(ModuleId root, const std::string& method, bool root_is_leaf);
  // Runs object.__setstate__(state); attributes stay without values when it cannot be followed.
  void set_state(const Ref<ObjectValue>& object, const Value& state);
  // What operators have made of these states.
  const MadeObjects& made() const { return run_.made; }

 private:
  std::map<std::string, Value> plain_inputs(const Function& function) const;
  void find_fixable(const FunctionSchema& schema, const RootInputs& inputs,
                    const std::map<std::string, Value>& plain, std::vector<BoundInput>& bound);
  void use_call(std::vector<BoundInput>& inputs);
  static Values open_values(const RootInputs& inputs, const FunctionSchema& schema, const Values& values);
  void run_open(Function& function, const Values& open);
  void set_signature(std::vector<GraphSignature::Entry> entries, const FunctionSchema& schema,
                     const Values& values, const std::vector<Argument>& arguments);

  Run run_;
};

}  // namespace fxtrace::torchscript
