#include "passes/support/named_arguments.h"

#include <utility>

#include "analysis/node_arguments.h"

namespace fxtrace::internal {

NamedArguments::NamedArguments(const Node& node, const OperatorEntry& op) : NamedArguments(op) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (const Argument* given = NodeArguments(node, op).find_argument(i)) values_[i] = *given;
  }
}

std::size_t NamedArguments::place(std::string_view name) const {
  return op_->schema.find_argument(name).value_or(values_.size());
}

const Argument* NamedArguments::find_argument(std::string_view name) const {
  const std::size_t i = place(name);
  if (i == values_.size() || !values_[i] || values_[i]->is<Argument::None>()) return nullptr;
  return &*values_[i];
}

std::optional<std::int64_t> NamedArguments::integer(std::string_view name) const {
  const std::size_t i = place(name);
  if (i == values_.size()) return std::nullopt;
  const auto value = values_[i] ? values_[i] : plain_argument(op_->defaults[i]);
  const auto* number = value ? value->get_if<std::int64_t>() : nullptr;
  return number == nullptr ? std::nullopt : std::optional(*number);
}

void NamedArguments::set(std::string_view name, Argument value) {
  values_.at(place(name)) = std::move(value);
}

void NamedArguments::copy(const NamedArguments& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t from = other.place(op_->schema.arguments[i].name);
    if (from < other.values_.size()) values_[i] = other.values_[from];
  }
}

std::size_t NamedArguments::positional() const {
  std::size_t count = 0;
  while (count < values_.size() && values_[count] && !op_->schema.arguments[count].keyword_only) ++count;
  return count;
}

std::vector<Argument> NamedArguments::args() const {
  std::vector<Argument> args;
  for (std::size_t i = 0; i < positional(); ++i) args.push_back(*values_[i]);
  return args;
}

Kwargs NamedArguments::kwargs() const {
  Kwargs kwargs;
  for (std::size_t i = positional(); i < values_.size(); ++i) {
    if (values_[i]) kwargs.emplace_back(op_->schema.arguments[i].name, *values_[i]);
  }
  return kwargs;
}

}  // namespace fxtrace::internal
