#include "trace/tracer/module_facts.h"

#include <utility>

namespace fxtrace::internal {

ModuleFacts::ModuleFacts(const Program& program)
    : modules_(&program.modules()),
      parameters_(&program.parameters()),
      first_parameter_(parameters_->size()),
      subtree_parameters_(modules_->size()) {
  by_name_.reserve(parameters_->size());
  for (std::size_t i = 0; i < parameters_->size(); ++i) by_name_.emplace((*parameters_)[i].name, i);
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    const auto& alias = (*parameters_)[i].alias_of;
    first_parameter_[i] = alias ? by_name_.at(*alias) : i;
  }
}

ModuleId ModuleFacts::first(ModuleId module) const { return info(module).alias_of.value_or(module); }

const std::vector<std::size_t>& ModuleFacts::parameters_of(ModuleId module) const {
  auto& cached = subtree_parameters_[module.index];
  if (cached) return *cached;
  // Explicit stack: module trees of hostile archives may be very deep.
  std::vector<std::size_t> found;
  parameter_marks_.resize(parameters_->size());
  module_marks_.resize(modules_->size());
  const std::size_t mark = ++last_mark_;
  std::vector<ModuleId> pending{module};
  while (!pending.empty()) {
    const ModuleId current = first(pending.back());
    pending.pop_back();
    if (std::exchange(module_marks_[current.index], mark) == mark) continue;
    for (const std::size_t own : info(current).parameters) {
      const std::size_t index = first_parameter_[own];
      if ((*parameters_)[index].kind != ParameterKind::kParameter) continue;
      if (std::exchange(parameter_marks_[index], mark) != mark) found.push_back(index);
    }
    const auto& children = info(current).children;
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  cached = std::move(found);
  return *cached;
}

std::optional<std::size_t> ModuleFacts::find_parameter(const std::string& qualified_name) const {
  const auto it = by_name_.find(qualified_name);
  if (it == by_name_.end()) return std::nullopt;
  const std::size_t index = first_parameter_[it->second];
  if ((*parameters_)[index].kind != ParameterKind::kParameter) return std::nullopt;
  return index;
}

void FailedModules::add(ModuleId module, Failure failure) {
  if (failures_.emplace(module, std::move(failure)).second) order_.push_back(module);
}

void FailedModules::resize(std::size_t count) {
  for (; order_.size() > count; order_.pop_back()) failures_.erase(order_.back());
}

}  // namespace fxtrace::internal
