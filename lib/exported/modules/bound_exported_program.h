// An exported program bound to the options of one trace, with its graph and dimensions narrowed by them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/program_operations.h"
#include "costs/custom_costs.h"
#include "exported/modules/call_graph.h"
#include "exported/program/exported_program.h"
#include "exported/program/program_dimensions.h"
#include "trace/options/options.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

class BoundExportedProgram : public BoundProgram {
 public:
  BoundExportedProgram(const ExportedProgram& program, const TraceOptions& options);

  std::vector<MethodInfo> methods(ModuleId module) const override;
  std::vector<Attributes> attributes() const override;
  std::vector<Diagnostic> warnings() const override;
  void run(ModuleId root, const std::string& method, bool root_is_leaf, GraphTracer& tracer) override;

  // --- for module_graph.h ---
  const ExportedProgram& program() const { return program_; }
  const TraceOptions& options() const { return options_; }
  const CustomCosts& custom_costs() const { return custom_costs_; }
  ProgramView graph() const { return narrowed_ ? narrowed_->view() : program_.graph(); }
  const ProgramDimensions& dimensions() const { return dimensions_; }
  const CallIndex& calls() const;

 private:
  const ExportedProgram& program_;
  const TraceOptions options_;  // as by_own_inputs() returns them
  const CustomCosts custom_costs_{options_.custom_costs};
  ProgramDimensions dimensions_;
  std::optional<ExportedGraph> narrowed_;     // absent when the program's own graph is used
  mutable std::unique_ptr<CallIndex> calls_;  // made on first use
};

}  // namespace fxtrace::internal
