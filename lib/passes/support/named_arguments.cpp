#include "passes/support/named_arguments.h"

#include <utility>

#include "support/text/number_in.h"

namespace fxtrace {

NamedArguments::NamedArguments(const Node& node, const Schema& schema) : NamedArguments(schema) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Argument* given = fxtrace::find_argument(node, i, schema.arguments[i].name);
    if (given != nullptr) values_[i] = *given;
  }
}

std::size_t NamedArguments::place(std::string_view name) const {
  return schema_->find_argument(name).value_or(schema_->arguments.size());
}

const Argument* NamedArguments::find_argument(std::string_view name) const {
  const std::size_t i = place(name);
  if (i == values_.size() || !values_[i] || values_[i]->is<Argument::None>()) return nullptr;
  return &*values_[i];
}

std::optional<std::int64_t> NamedArguments::integer(std::string_view name) const {
  const std::size_t i = place(name);
  if (i == values_.size()) return std::nullopt;
  if (values_[i]) {
    const auto* number = values_[i]->get_if<std::int64_t>();
    return number == nullptr ? std::nullopt : std::optional(*number);
  }
  return number_in<std::int64_t>(schema_->arguments[i].default_value.value_or(""));
}

void NamedArguments::set(std::string_view name, Argument value) {
  values_.at(place(name)) = std::move(value);
}

void NamedArguments::copy(const NamedArguments& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::size_t from = other.place(schema_->arguments[i].name);
    if (from < other.values_.size()) values_[i] = other.values_[from];
  }
}

std::size_t NamedArguments::positional() const {
  std::size_t count = 0;
  while (count < values_.size() && values_[count] && !schema_->arguments[count].keyword_only) ++count;
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
    if (values_[i]) kwargs.emplace_back(schema_->arguments[i].name, *values_[i]);
  }
  return kwargs;
}

}  // namespace fxtrace
