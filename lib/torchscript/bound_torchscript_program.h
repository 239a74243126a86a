// A TorchScript program bound to the options of one trace, with the findings of its runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/seen_calls.h"
#include "torchscript/torchscript_program.h"
#include "trace/budget.h"
#include "trace/options.h"
#include "trace/program.h"

namespace fxtrace::torchscript {

class BoundTorchScriptProgram : public BoundProgram {
 public:
  BoundTorchScriptProgram(const TorchScriptProgram& program, const TraceOptions& options)
      : program_(program), options_(options), budget_(options, program.file_size()) {}

  std::vector<MethodInfo> methods(ModuleId module) const override { return program_.methods(module); }
  void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) override;
  bool inputs_changed(ModuleId root) const override { return calls_.changed(root); }
  std::vector<Attributes> attributes() const override;
  std::vector<Diagnostic> warnings() const override;
  std::vector<Diagnostic> undone(const std::function<Leaves()>& leaves) const override;

  // --- for the interpreter ---
  SeenCalls& calls() { return calls_; }
  // What the runs of a root's graph have found out about what its forward assigns.
  struct State {
    std::set<std::pair<const ObjectValue*, std::size_t>> assigned;  // attributes, by slot
    bool needs_shapes = false;
  };
  State& state_of(ModuleId root) { return states_[root.index]; }
  // Warns, once for each node, of an operator that torch would reject for what is known of its arguments.
  void report_invalid(ModuleId module, const IrNode* node, const std::string& message);

 private:
  const TorchScriptProgram& program_;
  const TraceOptions& options_;
  Budget budget_;
  SeenCalls calls_;
  std::map<std::uint32_t, State> states_;  // by root
  std::set<std::pair<ModuleId, const IrNode*>> invalid_;
  std::string first_invalid_;
};

}  // namespace fxtrace::torchscript
