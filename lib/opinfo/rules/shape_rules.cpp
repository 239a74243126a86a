#include "opinfo/rules/shape_rules.h"

#include <algorithm>
#include <string>

#include "opinfo/operator_entry.h"
#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

bool is_plain(const AbstractValue& value) {
  if (const auto* items = value.sequence()) return std::ranges::all_of(*items, is_plain);
  if (const SymInt* integer = value.integer()) return integer->is_number();
  if (const auto* dict = value.dict()) return std::ranges::all_of(dict->values, is_plain);
  return !value.is_unknown() && value.tensor() == nullptr && value.get_if<Ratio>() == nullptr &&
         value.get_if<Condition>() == nullptr;
}

}  // namespace

ValueType type_of(const AbstractValue& value) {
  using Kind = ValueType::Kind;
  if (value.integer() != nullptr) return {Kind::kInt};
  if (value.tensor() != nullptr) return {Kind::kTensor};
  if (value.is_none()) return {Kind::kNone};
  if (value.get_if<double>() != nullptr || value.get_if<Ratio>() != nullptr) return {Kind::kFloat};
  if (value.get_if<bool>() != nullptr || value.get_if<Condition>() != nullptr) return {Kind::kBool};
  if (value.get_if<std::complex<double>>() != nullptr) return {Kind::kComplex};
  const AbstractValue::Sequence* items = value.sequence();
  if (items == nullptr) return {};
  ValueType type = items->empty() ? ValueType{} : type_of(items->front());
  ++type.lists;
  return type;
}

bool AbstractArguments::is_literal(std::size_t i) const { return is_plain(values_[i]); }

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

namespace {

// Memory formats with channels last need tensors of four dimensions (images) or five (volumes).
void check_memory_format(const RuleArguments& args) {
  if (!args.is_given("memory_format")) return;
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr) return;
  const std::int64_t format = args.number("memory_format");
  if (format == kChannelsLastFormat) require_rank(*info, {4}, first_argument(args));
  if (format == kChannelsLast3dFormat) require_rank(*info, {5}, first_argument(args));
}

void check_precision(const RuleArguments& args, bool for_half) {
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr || !info->dtype) return;
  // Kernels accept any dtype for empty tensors; the checks that some operators have before them are not
  // known.
  if (may_be_empty(args.dimensions, info->sizes)) return;
  const bool is_short = *info->dtype == ScalarType::kFloat16 || *info->dtype == ScalarType::kBfloat16;
  if (is_integral(*info->dtype) || (!for_half && is_short && info->device.is_cpu())) {
    throw Raises{std::string(first_argument(args)) + " is " + dtype_name(*info->dtype) + ", expected " +
                 (for_half ? "a floating or complex dtype" : "float32, float64 or a complex dtype")};
  }
}

void check_same_type(const RuleArguments& args, const std::array<std::string_view, 2>& names) {
  const TensorInfo* first = find_tensor(args, names.front());
  if (first == nullptr) return;
  for (const std::string_view name : names) {
    const TensorInfo* other = find_tensor(args, name);
    if (other == nullptr) continue;
    require_same_dtype(first->dtype, other->dtype, {names.front(), name});
  }
}

}  // namespace

void check_floating(const RuleArguments& args) {
  if (args.is_given("dtype")) return;
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr || !info->dtype || !info->device.is_cpu()) return;
  if (*info->dtype == ScalarType::kInt64 || *info->dtype == ScalarType::kInt32 ||
      *info->dtype == ScalarType::kInt16) {
    throw Raises{std::string(first_argument(args)) + " is " + dtype_name(*info->dtype) +
                 ", expected a floating dtype"};
  }
}

void check_dim(const RuleArguments& args) {
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info != nullptr) normalize_dim(args.number("dim"), info->dim());
}

void check_call(const RuleArguments& args) {
  std::string_view name = args.name();
  if (name.ends_with('_')) name.remove_suffix(1);
  const OperatorFacts& facts = facts_of(name);
  try {
    if ((facts.traits & traits::kForFloats) != 0) check_floating(args);
    if ((facts.traits & traits::kNotForIntegers) != 0)
      check_precision(args, (facts.traits & traits::kNotForHalf) == 0);
    check_memory_format(args);
    if (!facts.same_dtype.front().empty()) check_same_type(args, facts.same_dtype);
    if (facts.check != nullptr) facts.check(args);
  } catch (const CannotTell&) {
    // Unknown arguments may be valid.
  }
}

}  // namespace fxtrace::internal
