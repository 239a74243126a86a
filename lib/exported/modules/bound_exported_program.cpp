#include "exported/modules/bound_exported_program.h"

#include "exported/modules/inferred_attributes.h"
#include "exported/modules/module_graph.h"
#include "exported/program/nested_inputs.h"
#include "graph/analysis/text_form.h"
#include "support/error.h"

namespace fxtrace::internal {

BoundExportedProgram::BoundExportedProgram(const ExportedProgram& program, const TraceOptions& options)
    : program_(program), options_(by_own_inputs(options, program)), dimensions_(program.dimensions()) {
  dimensions_.narrow(options_, program.graph(), program.signature());
  if (!dimensions_.are_narrowed()) return;
  narrowed_ = ExportedGraph{program.graph().module_graph(), program.graph().table()};
  dimensions_.apply(*narrowed_);
}

const CallIndex& BoundExportedProgram::calls() const {
  if (!calls_) calls_ = std::make_unique<CallIndex>(graph(), program_.hierarchy());
  return *calls_;
}

namespace {

// Returns the path as text: "boxes.1".
std::string path_text(const std::vector<Argument>& path) {
  std::string text;
  for (const Argument& step : path) {
    if (!text.empty()) text += '.';
    const auto* key = step.get_if<std::string>();
    text += key != nullptr ? *key : print_argument(step);
  }
  return text;
}

}  // namespace

std::vector<MethodInfo> BoundExportedProgram::methods(ModuleId module) const {
  if (module.index != 0) {
    if (!program_.modules()[module.index].has_forward) return {};
    return {{"forward", {}, {}}};
  }
  const auto port = [&](const GraphSignature::Entry& entry, std::string name, const Argument& value) {
    PortInfo info{std::move(name), {}, {}, entry.value};
    if (const auto* id = value.get_if<NodeId>()) {
      info.meta = graph().meta(*id);
      if (const Argument* fixed = graph().find_fixed(*id); fixed != nullptr && !info.fixed)
        info.fixed = *fixed;
    } else if (!info.fixed) {
      info.fixed = constant_argument(value);
    }
    return info;
  };
  const GraphSignature& signature = program_.signature();
  MethodInfo forward{"forward", {}, {}};
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const auto& entry = signature.inputs[i];
    if (entry.role == SignatureRole::kUserInput)
      forward.inputs.push_back(port(entry, entry.name, program_.inputs()[i]));
  }
  const std::vector<Argument> outputs = graph().outputs();
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    const auto& entry = signature.outputs[i];
    if (!is_result(entry.role)) continue;
    forward.outputs.push_back(port(entry, path_text(entry.path), outputs[i]));
  }
  return {std::move(forward)};
}

std::vector<BoundProgram::Attributes> BoundExportedProgram::attributes() const {
  return attributes_of_modules(graph(), program_.hierarchy(), program_.parameters());
}

std::vector<Diagnostic> BoundExportedProgram::warnings() const {
  std::vector<Diagnostic> warnings = dimensions_.warnings();
  if (options_.hooks == Hooks::kSkip)
    warnings.push_back(
        {"--hooks skip had no effect: torch.export makes hooks part of the program and does not mark them"});
  return warnings;
}

void BoundExportedProgram::run(ModuleId root, const std::string&, bool root_is_leaf, GraphTracer& tracer) {
  build_module_graph(*this, root, root_is_leaf, tracer);
}

std::unique_ptr<BoundProgram> ExportedProgram::bind(const TraceOptions& options,
                                                    const SpentUnits& /*spent*/) const {
  return std::make_unique<BoundExportedProgram>(*this, options);
}

}  // namespace fxtrace::internal
