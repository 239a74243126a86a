#include "torchscript/shapes/rules.h"

#include <initializer_list>
#include <unordered_map>

#include "torchscript/shapes/rule_helpers.h"
#include "torchscript/shapes/size_arithmetic.h"
#include "torchscript/value.h"

namespace fxtrace {

const at::IValue* RuleArguments::find(std::string_view name) const {
  const std::vector<c10::Argument>& arguments = schema_.arguments();
  for (std::size_t i = 0; i < arguments.size() && i < values_.size(); ++i) {
    if (arguments[i].name() == name) return &values_[i];
  }
  return nullptr;
}

const at::IValue& RuleArguments::value(std::string_view name) const {
  if (const at::IValue* found = find(name)) return *found;
  throw CannotTell{};
}

bool RuleArguments::given(std::string_view name) const {
  const at::IValue* found = find(name);
  return found != nullptr && !found->isNone();
}

bool RuleArguments::is_tensor(std::string_view name) const {
  if (!given(name)) return false;
  const at::IValue& argument = value(name);
  if (const Proxy* proxy = find_proxy(argument)) {
    if (proxy->known && !proxy->known->is_unknown()) return proxy->known->tensor() != nullptr;
    return proxy->type->kind() == c10::TypeKind::TensorType;
  }
  return argument.isTensor();
}

TensorInfo RuleArguments::tensor(std::string_view name) const {
  const Known known = known_of_value(value(name));
  if (known.tensor() == nullptr) throw CannotTell{};
  return *known.tensor();
}

std::vector<TensorInfo> RuleArguments::tensors(std::string_view name) const {
  const Known known = known_of_value(value(name));
  if (known.sequence() == nullptr) throw CannotTell{};
  std::vector<TensorInfo> result;
  for (const Known& element : *known.sequence()) {
    if (element.tensor() == nullptr) throw CannotTell{};
    result.push_back(*element.tensor());
  }
  return result;
}

SymInt RuleArguments::size(std::string_view name) const {
  const Known known = known_of_value(value(name));
  if (known.tensor() != nullptr) {
    const TensorContent* content = known.tensor()->find_content();
    if (content != nullptr && content->element) return *content->element;
  }
  if (known.integer() == nullptr) throw CannotTell{};
  return *known.integer();
}

std::vector<SymInt> RuleArguments::sizes(std::string_view name) const {
  const Known known = known_of_value(value(name));
  if (known.integer() != nullptr) return {*known.integer()};
  if (known.sequence() == nullptr) throw CannotTell{};
  std::vector<SymInt> result;
  for (const Known& element : *known.sequence()) {
    if (element.integer() == nullptr) throw CannotTell{};
    result.push_back(*element.integer());
  }
  return result;
}

std::int64_t RuleArguments::number(std::string_view name) const { return number_of(size(name)); }

std::vector<std::int64_t> RuleArguments::numbers(std::string_view name) const {
  std::vector<std::int64_t> result;
  for (const SymInt& size : sizes(name)) result.push_back(number_of(size));
  return result;
}

double RuleArguments::real(std::string_view name) const {
  const at::IValue& argument = value(name);
  if (argument.isDouble()) return argument.toDouble();
  return static_cast<double>(number(name));
}

bool RuleArguments::flag(std::string_view name) const {
  const at::IValue& argument = value(name);
  if (!argument.isBool()) throw CannotTell{};
  return argument.toBool();
}

std::string_view RuleArguments::text(std::string_view name) const {
  const at::IValue& argument = value(name);
  if (!argument.isString()) throw CannotTell{};
  return argument.toStringRef();
}

at::ScalarType RuleArguments::dtype(std::string_view name) const {
  const std::int64_t type = number(name);
  if (type < 0 || type >= static_cast<std::int64_t>(at::ScalarType::NumOptions)) throw CannotTell{};
  return static_cast<at::ScalarType>(type);
}

at::Device RuleArguments::device(std::string_view name) const {
  const at::IValue& argument = value(name);
  if (!argument.isDevice()) throw CannotTell{};
  return argument.toDevice();
}

namespace {

using Rules = std::unordered_map<std::string_view, Rule>;

const Rules* rules_of(std::initializer_list<RuleTable> tables) {
  auto* rules = new Rules;
  for (const RuleTable table : tables) rules->insert(table.begin(), table.end());
  return rules;
}

Rule find_in(const Rules& rules, std::string_view operator_name) {
  constexpr std::string_view kAten = "aten::";
  if (operator_name.starts_with(kAten)) operator_name.remove_prefix(kAten.size());
  const auto found = rules.find(operator_name);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace

Rule find_rule(std::string_view operator_name) {
  static const Rules* const rules =
      rules_of({pointwise_rules(), creation_rules(), tensor_rules(), reduction_rules(), indexing_rules(),
                linalg_rules(), nn_rules(), vision_rules(), quantized_rules(), sparse_rules()});
  return find_in(*rules, operator_name);
}

Rule find_sparse_rule(std::string_view operator_name) {
  static const Rules* const rules = rules_of({rules_of_sparse_tensors()});
  return find_in(*rules, operator_name);
}

}  // namespace fxtrace
