#include "opinfo/rules/shape_rules.h"

#include "opinfo/operator_entry.h"
#include "opinfo/rules/shape_helpers.h"
#include "support/text/words.h"

namespace fxtrace::internal {

std::string_view RuleArguments::name() const { return op_.name; }
const Schema& RuleArguments::schema() const { return op_.schema; }
Traits RuleArguments::traits() const { return op_.traits; }

std::size_t RuleArguments::argument_index(std::string_view name) const {
  for_each_word(op_.renamed, [&, asked = name](std::string_view pair) {
    const std::size_t middle = pair.find('=');
    if (pair.substr(0, middle) == asked) name = pair.substr(middle + 1);
  });
  return std::min(op_.schema.find_argument(name).value_or(values_.size()), values_.size());
}

const AbstractValue& RuleArguments::value(std::string_view name) const {
  return values_[argument_index(name)];
}

ValueType RuleArguments::type(std::string_view name) const {
  const std::size_t place = argument_index(name);
  if (place == values_.size()) throw CannotTell{};
  return values_.type(place);
}

bool RuleArguments::is_given(std::string_view name) const {
  const std::size_t place = argument_index(name);
  return place < values_.size() && values_.type(place).kind != ValueType::Kind::kNone;
}

bool RuleArguments::is_tensor(std::string_view name) const {
  const std::size_t place = argument_index(name);
  if (place == values_.size()) return false;
  const ValueType type = values_.type(place);
  if (type.lists > 0 || type.kind == ValueType::Kind::kNone) return false;
  const AbstractValue& argument = values_[place];
  return argument.is_unknown() ? type.kind == ValueType::Kind::kTensor : argument.tensor() != nullptr;
}

const TensorInfo& RuleArguments::tensor(std::string_view name) const {
  const TensorInfo* info = value(name).tensor();
  if (info == nullptr) throw CannotTell{};
  return *info;
}

std::vector<TensorInfo> RuleArguments::tensors(std::string_view name) const {
  const AbstractValue::Sequence* sequence = value(name).sequence();
  if (sequence == nullptr) throw CannotTell{};
  std::vector<TensorInfo> result;
  for (const AbstractValue& element : *sequence) {
    if (element.tensor() == nullptr) throw CannotTell{};
    result.push_back(*element.tensor());
  }
  return result;
}

SymInt RuleArguments::size(std::string_view name) const {
  const AbstractValue& argument = value(name);
  if (const TensorInfo* info = argument.tensor()) {
    const TensorContent* content = info->find_content();
    const auto elements =
        content != nullptr && content->array ? content->array->integers() : std::vector<SymInt>{};
    if (elements.size() == 1) return elements[0];
  }
  if (argument.integer() == nullptr) throw CannotTell{};
  return *argument.integer();
}

std::vector<SymInt> RuleArguments::sizes(std::string_view name) const {
  const AbstractValue& argument = value(name);
  if (argument.integer() != nullptr) return {*argument.integer()};
  return sizes_of(argument);
}

std::int64_t RuleArguments::number(std::string_view name) const { return number_of(size(name)); }

std::vector<std::int64_t> RuleArguments::numbers(std::string_view name) const {
  std::vector<std::int64_t> result;
  for (const SymInt& size : sizes(name)) result.push_back(number_of(size));
  return result;
}

double RuleArguments::real(std::string_view name) const {
  if (const auto* number = value(name).get_if<double>()) return *number;
  return static_cast<double>(number(name));
}

bool RuleArguments::flag(std::string_view name) const {
  const auto* flag = value(name).get_if<bool>();
  if (flag == nullptr) throw CannotTell{};
  return *flag;
}

std::string_view RuleArguments::text(std::string_view name) const {
  const auto* text = value(name).get_if<std::string>();
  if (text == nullptr) throw CannotTell{};
  return *text;
}

ScalarType RuleArguments::dtype(std::string_view name) const {
  const AbstractValue& argument = value(name);
  if (const auto* type = argument.get_if<ScalarType>()) return *type;
  const Dtype type = find_scalar_type(number(name));
  if (!type) throw CannotTell{};
  return *type;
}

}  // namespace fxtrace::internal
