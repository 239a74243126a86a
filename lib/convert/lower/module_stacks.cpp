#include "convert/lower/module_stacks.h"

#include <algorithm>
#include <functional>

namespace fxtrace::internal {
namespace {

constexpr const char* kRootKey = "L__self__";

// Returns the type without the characters that separate the parts of a stack.
std::string in_stack(std::string type) {
  std::erase_if(type, [](char c) { return c == ',' || c == ';' || c == '(' || c == '['; });
  return type.empty() ? "torch.nn.modules.module.Module" : type;
}

}  // namespace

ModuleStacks::ModuleStacks(const GraphCollection& collection, const ModuleGraph& graph)
    : root_type_(collection.model.type), order_(*graph.execution) {
  for (const ModuleRecord& module : collection.modules) types_.emplace(module.path, in_stack(module.type));
  for (std::size_t i = 0; i < order_.size(); ++i) calls_[std::string(order_[i].module)].push_back(i);
  texts_.push_back(std::string(kRootKey) + ",," + in_stack(root_type_));
}

std::string ModuleStacks::entry(const std::string& path, std::size_t call) const {
  const auto& calls = calls_.find(path)->second;
  const auto number = std::ranges::find(calls, call) - calls.begin();
  const auto type = types_.find(path);
  std::string text = std::string(";") + kRootKey + "_" + path;
  if (number > 0) text += "@" + std::to_string(number);
  return text + "," + path + "," + (type == types_.end() ? in_stack("") : type->second);
}

CallId ModuleStacks::find_call(const Scope& scope) {
  if (scope.module_path.empty()) return kRootCall;
  const auto own = order_.find_calls(scope);
  if (!own) return kRootCall;
  const auto [known, is_new] =
      known_.emplace(std::pair(scope.module_path, *own), static_cast<CallId>(texts_.size()));
  if (!is_new) return known->second;
  std::string inner = entry(scope.module_path, *own);
  // The running call of the caller is the last one that has begun.
  for (std::size_t call = *own; !order_[call].caller.empty();) {
    const auto calls = calls_.find(order_[call].caller);
    if (calls == calls_.end()) break;
    const auto after = std::ranges::lower_bound(calls->second, call);
    if (after == calls->second.begin()) break;
    call = *std::prev(after);
    inner = entry(calls->first, call) + inner;
  }
  texts_.push_back(texts_.front() + inner);
  return known->second;
}

}  // namespace fxtrace::internal
