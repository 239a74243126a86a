#include "graph/analysis/call_order.h"

namespace fxtrace::internal {

CallOrder::CallOrder(const Execution& execution) {
  auto other = execution.method_calls.begin();
  const auto add_others = [&](std::int64_t position) {
    for (; other != execution.method_calls.end() && static_cast<std::int64_t>(other->position) <= position;
         ++other)
      add(other->module, other->method, 0, other->caller);
  };
  std::int64_t position = 0;
  for (const std::string& module : execution.module_forward_order) {
    add_others(position);
    const auto place = static_cast<std::size_t>(position);
    const bool is_told = place < execution.callers.size();
    add(module, {}, ++position, is_told ? std::string_view(*execution.callers[place]) : std::string_view());
  }
  add_others(position);
}

void CallOrder::add(std::string_view module, std::string_view method, std::int64_t position,
                    std::string_view caller) {
  std::vector<std::size_t>& calls = method.empty() ? forward_[module] : others_[module][method];
  calls.push_back(calls_.size());
  calls_.push_back({module, method, static_cast<std::int64_t>(calls.size()), position, caller});
}

const std::vector<std::size_t>* CallOrder::find_calls(std::string_view module) const {
  const auto found = forward_.find(module);
  return found == forward_.end() ? nullptr : &found->second;
}

std::optional<std::size_t> CallOrder::find_calls(const Scope& scope) const {
  const std::vector<std::size_t>* calls = nullptr;
  if (scope.method.empty()) {
    calls = find_calls(scope.module_path);
  } else if (const auto others = others_.find(scope.module_path); others != others_.end()) {
    const auto found = others->second.find(scope.method);
    if (found != others->second.end()) calls = &found->second;
  }
  const auto number = static_cast<std::size_t>(scope.call);
  return calls != nullptr && number <= calls->size() ? std::optional((*calls)[number - 1]) : std::nullopt;
}

}  // namespace fxtrace::internal
