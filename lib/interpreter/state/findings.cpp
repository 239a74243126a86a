#include "interpreter/state/findings.h"

namespace fxtrace::internal::interpreter {

void Findings::report_invalid(ModuleId module, const IrNode* node, const std::string& message) {
  if (invalid_.empty()) first_invalid_ = message;
  invalid_.emplace(module, node);
}

std::optional<Diagnostic> Findings::invalid_calls() const {
  if (invalid_.empty()) return std::nullopt;
  Diagnostic invalid{"{}; shapes are unknown from there", {first_invalid_}};
  if (const std::size_t more = invalid_.size() - 1; more > 0)
    invalid.add(more == 1 ? ", and from {} more call like that" : ", and from {} more calls like that",
                {std::to_string(more)});
  return invalid;
}

}  // namespace fxtrace::internal::interpreter
