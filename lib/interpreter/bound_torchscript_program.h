// A TorchScript program bound to the options of one trace, with the findings of its runs.
#pragma once

#include <string>
#include <vector>

#include "interpreter/program/torchscript_program.h"
#include "interpreter/state/findings.h"
#include "trace/options/budget.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

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
