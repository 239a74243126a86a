#include "trace/tracer/execution_log.h"

#include <memory>
#include <string>
#include <utility>

#include "support/shared.h"

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

ExecutionLog::ExecutionLog(const ModuleFacts& facts, Journal& journal, ModuleId root)
    : facts_(facts), journal_(journal) {
  module_order_.push_back(root);
  callers_.emplace_back();
  ++call_count_[root.index];
  first_calls_.push_back(root);
  uses_[root.index];
}

std::int64_t ExecutionLog::begin_call(ModuleId caller, ModuleId module, const Shared<std::string>& code) {
  module_order_.push_back(module);
  callers_.push_back(code);
  const std::int64_t number = ++call_count_[module.index];
  journal_.add([this] {
    --call_count_[module_order_.back().index];
    module_order_.pop_back();
    callers_.pop_back();
  });
  const auto& parameters = facts_.parameters_of(module);
  if (!parameters.empty()) add_use(caller, module, parameters);
  const auto [known, is_new] = uses_.try_emplace(module.index);
  if (is_new) {
    first_calls_.push_back(module);
    journal_.add([this] {
      uses_.erase(first_calls_.back().index);
      first_calls_.pop_back();
    });
  } else if (!known->second.empty()) {
    auto before = std::make_shared<Uses>(std::move(known->second));
    known->second.clear();
    journal_.add([this, module, before] { uses_[module.index] = std::move(*before); });
  }
  return number;
}

std::int64_t ExecutionLog::begin_method(ModuleId module, const std::string& method,
                                        const Shared<std::string>& code) {
  method_calls_.push_back({module, method, module_order_.size(), code});
  journal_.add([this] {
    --method_count_[{method_calls_.back().module, method_calls_.back().method}];
    method_calls_.pop_back();
  });
  return ++method_count_[{module, method}];
}

void ExecutionLog::add_use(ModuleId user, ModuleId module, std::vector<std::size_t> parameters) {
  uses_[user.index].emplace_back(module, std::move(parameters));
  journal_.add([this, user] { uses_[user.index].pop_back(); });
}

void ExecutionLog::visit(const std::vector<std::size_t>& parameters) {
  for (const std::size_t index : parameters) {
    if (index >= visited_.size()) visited_.resize(index + 1);
    if (visited_[index]) continue;
    visited_[index] = true;
    parameter_order_.push_back(index);
    journal_.add([this] {
      visited_[parameter_order_.back()] = false;
      parameter_order_.pop_back();
    });
  }
}

Execution ExecutionLog::take_result() {
  // A parameter is used by its module and by all modules around it, so names are shared.
  std::unordered_map<std::size_t, Shared<std::string>> shared;
  const auto names = [&](const std::vector<std::size_t>& parameters) {
    std::vector<Shared<std::string>> result;
    result.reserve(parameters.size());
    for (const std::size_t index : parameters) {
      const auto [name, is_new] = shared.try_emplace(index);
      if (is_new) name->second = facts_.parameter_name(index);
      result.push_back(name->second);
    }
    return result;
  };
  Execution execution;
  for (const ModuleId module : module_order_)
    execution.module_forward_order.push_back(facts_.info(module).path);
  for (const MethodCall& call : method_calls_)
    execution.method_calls.push_back({facts_.info(call.module).path, call.method, call.position, *call.code});
  execution.callers = callers_;
  for (const std::size_t index : parameter_order_)
    execution.param_forward_order.push_back(facts_.parameter_name(index));
  for (const ModuleId module : first_calls_) {
    Execution::ModuleUses uses{facts_.info(module).path, {}};
    for (const auto& [used, parameters] : uses_[module.index]) {
      uses.uses.push_back({facts_.info(used).path, names(parameters)});
    }
    execution.module_param_usage.push_back(std::move(uses));
  }
  return execution;
}

}  // namespace fxtrace::internal
