// The symbolic interpreter: runs TorchScript graphs on values that may be proxies.  What only sees plain
// values is computed; everything else is recorded.  Its parts are in run.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "torchscript/root_inputs.h"
#include "torchscript/run.h"

namespace fxtrace::torchscript {

class Interpreter {
 public:
  // What runs tell of each other goes to `bound`.  It and `tracer` may be null for set_state().
  Interpreter(const TorchScriptProgram& program, const TraceOptions& options, Budget& budget,
              BoundTorchScriptProgram* bound, GraphTracer* tracer)
      : run_(program, options, budget, bound, tracer) {}

  // Records the graph of a method (see BoundProgram::run).
  void trace(ModuleId root, const std::string& method, bool root_is_leaf);
  // Follows object.__setstate__(state); what cannot be followed leaves attributes without values.
  void set_state(const Ref<ObjectValue>& object, const Value& state);

 private:
  std::map<std::string, Value> plain_inputs(const Function& function) const;
  void find_fixable(const FunctionSchema& schema, const RootInputs& inputs,
                    const std::map<std::string, Value>& plain, std::vector<BoundInput>& bound);
  void use_call(std::vector<BoundInput>& inputs);
  void set_signature(std::vector<GraphSignature::Entry> entries, const FunctionSchema& schema,
                     const Values& values, const std::vector<Argument>& arguments);

  Run run_;
};

}  // namespace fxtrace::torchscript
