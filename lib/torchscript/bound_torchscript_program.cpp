#include "torchscript/bound_torchscript_program.h"

#include "torchscript/interpreter.h"
#include "torchscript/traced_attributes.h"

namespace fxtrace::torchscript {

void BoundTorchScriptProgram::run(ModuleId root, const std::string& method, bool root_is_leaf,
                                  GraphTracer& tracer) {
  Interpreter(program_, options_, budget_, this, &tracer).trace(root, method, root_is_leaf);
}

std::vector<BoundProgram::Attributes> BoundTorchScriptProgram::attributes() const {
  return traced_attributes(program_);
}

void BoundTorchScriptProgram::report_invalid(ModuleId module, const IrNode* node,
                                             const std::string& message) {
  if (invalid_.empty()) first_invalid_ = message;
  invalid_.emplace(module, node);
}

std::vector<std::string> BoundTorchScriptProgram::warnings() const {
  std::vector<std::string> warnings;
  if (options_.hooks == Hooks::kSkip && !has_skipped_hooks_) {
    warnings.emplace_back(
        "--hooks skip left out nothing: what was traced has no hooks apart from its code; torch.jit.trace makes them part of that");
  }
  if (invalid_.empty()) return warnings;
  std::string text = first_invalid_ + "; shapes are unknown from there";
  if (const std::size_t more = invalid_.size() - 1; more > 0) {
    text += ", and from " + std::to_string(more) + " more call" + (more == 1 ? "" : "s") + " like that";
  }
  warnings.push_back(std::move(text));
  return warnings;
}

}  // namespace fxtrace::torchscript
