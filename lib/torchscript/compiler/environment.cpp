#include "torchscript/compiler/environment.h"

#include <algorithm>
#include <utility>

#include "support/text/identifier.h"
#include "torchscript/compiler/schema_match.h"

namespace fxtrace::internal::torchscript {

bool is_meaningful_name(std::string_view name) {
  if (name.empty() || name[0] == '$') return false;
  if (name[0] != '_') return true;
  return !std::all_of(name.begin() + 1, name.end(), is_digit);
}

void Environment::push(IrBlock* block) {
  Scope& scope = scopes_.emplace_back();
  scope.block = block;
  scope.parent = current_;
  current_ = &scope;
}

Scope* Environment::pop() { return std::exchange(current_, current_->parent); }

std::optional<SugaredValue> Environment::find_in(Scope* scope, std::string_view name) {
  for (; scope != nullptr; scope = scope->parent) {
    const auto found = scope->variables.find(name);
    if (found == scope->variables.end()) continue;
    if (found->second.sugared) return found->second.sugared;
    IrNode* load = graph_.insert(graph_.create(Symbol::kPrimLoad));
    load->set_attribute(Symbol::kAttrName, std::string(name));
    load->output()->set_type(found->second.type);
    if (is_meaningful_name(name)) load->output()->set_name(name);
    return sugared(load->output());
  }
  return std::nullopt;
}

bool Environment::is_defined_in(const Scope* scope, std::string_view name) const {
  for (; scope != nullptr; scope = scope->parent) {
    if (scope->variables.contains(name)) return true;
  }
  return false;
}

void Environment::store(const SourceRange& range, std::string_view name, IrValue* value, TypePtr type) {
  IrNode* node = graph_.create(Symbol::kPrimStore, {value}, 0);
  node->set_attribute(Symbol::kAttrName, std::string(name))->set_source_range(range);
  graph_.insert(node);
  Scope::Variable& variable = current_->variables[name];
  variable.type = std::move(type);
  variable.sugared.reset();
}

void Environment::set(const SourceRange& range, std::string_view name, SugaredValue value,
                      const TypePtr& declared) {
  if (value.is_value() && !value.value->has_name() && is_meaningful_name(name)) {
    // Equal constants are one value, so only one without uses takes the name.
    const bool is_constant = value.value->node()->is(Symbol::kPrimConstant);
    if (is_constant ? !value.value->has_uses() : value.value->node()->owning_block() == block())
      value.value->set_name(name);
  }
  const Scope* owner = current_->parent;
  while (owner != nullptr && !owner->variables.contains(name)) owner = owner->parent;
  if (owner != nullptr) {
    const Scope::Variable& outer = owner->variables.at(name);
    if (declared != nullptr)
      throw SourceError(range, "Attempting to declare and annotate the type of variable '" +
                                   std::string(name) + "' but it is already defined in an outer block");
    if (!value.is_value() || outer.sugared)
      throw SourceError(range,
                        "Cannot re-assign '" + std::string(name) +
                            "' because it is not a first-class value. Only reassignments to first-class "
                            "values are allowed");
    value.value = matcher_.convert(outer.type, value.value, range);
    std::string why_not;
    if (!is_subtype(*value.value->type(), *outer.type, &why_not))
      throw SourceError(range, "Variable '" + std::string(name) + "' previously had type " +
                                   outer.type->repr_str() + " but is now being assigned to a value of type " +
                                   value.value->type()->repr_str() + (why_not.empty() ? "" : "\n" + why_not));
  }
  if (!value.is_value()) {
    current_->variables[name] = {nullptr, std::move(value)};
    return;
  }
  if (declared != nullptr) expect(*value.value, declared);
  if (declared != nullptr && !is_subtype(*value.value->type(), *declared))
    throw SourceError(range, "Variable '" + std::string(name) + "' is annotated with type " +
                                 declared->repr_str() + " but is being assigned to a value of type " +
                                 value.value->type()->repr_str());
  store(range, name, value.value, declared != nullptr ? declared : value.value->type());
}

void Environment::set_type(std::string_view name, TypePtr type) {
  Scope::Variable& variable = current_->variables[name];
  variable.type = std::move(type);
  variable.sugared.reset();
}

bool Environment::remove(std::string_view name) {
  bool removed = false;
  for (Scope* scope = current_; scope != nullptr; scope = scope->parent)
    removed = scope->variables.erase(name) > 0 || removed;
  return removed;
}

std::vector<std::string_view> Environment::defined_in(const Scope& scope) const {
  std::vector<std::string_view> names;
  for (const auto& [name, variable] : scope.variables) {
    if (!variable.sugared) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

const std::string* Environment::find_reason(std::string_view name) const {
  const auto found = reasons_.find(name);
  return found == reasons_.end() ? nullptr : &found->second;
}

std::string_view Environment::keep_name(std::string name) { return names_.emplace_back(std::move(name)); }

}  // namespace fxtrace::internal::torchscript
