#include "opinfo/call.h"

#include <algorithm>

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

}  // namespace fxtrace::internal
