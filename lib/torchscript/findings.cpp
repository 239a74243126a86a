#include "torchscript/findings.h"

namespace fxtrace::torchscript {

void Findings::report_invalid(ModuleId module, const IrNode* node, const std::string& message) {
  if (invalid_.empty()) first_invalid_ = message;
  invalid_.emplace(module, node);
}

std::optional<std::string> Findings::invalid_calls() const {
  if (invalid_.empty()) return std::nullopt;
  std::string text = first_invalid_ + "; shapes are unknown from there";
  if (const std::size_t more = invalid_.size() - 1; more > 0)
    text += ", and from " + std::to_string(more) + " more call" + (more == 1 ? "" : "s") + " like that";
  return text;
}

}  // namespace fxtrace::torchscript
