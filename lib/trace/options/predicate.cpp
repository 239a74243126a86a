#include "trace/options/predicate.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <optional>

#include "graph/analysis/fold_numbers.h"
#include "operators/names/torch_functions.h"
#include "support/error.h"
#include "support/json_fields.h"
#include "trace/options/config_values.h"

namespace fxtrace::internal {
namespace {

// Returns the order of two values; absent when they are of kinds that are never equal and have no order.
std::optional<std::partial_ordering> compare(const Argument& a, const Argument& b) {
  const auto left = number_of(a), right = number_of(b);
  if (left && right) return internal::compare(*left, *right);
  const auto* left_text = a.get_if<std::string>();
  const auto* right_text = b.get_if<std::string>();
  if (left_text != nullptr && right_text != nullptr) return *left_text <=> *right_text;
  const auto* left_items = items_of(a);
  const auto* right_items = items_of(b);
  if (left_items != nullptr && right_items != nullptr) {
    const std::size_t common = std::min(left_items->size(), right_items->size());
    for (std::size_t i = 0; i < common; ++i) {
      const auto order = compare((*left_items)[i], (*right_items)[i]);
      if (!order || *order != 0) return order ? order : std::partial_ordering::unordered;
    }
    return left_items->size() <=> right_items->size();
  }
  if (a.is<Argument::None>() && b.is<Argument::None>()) return std::partial_ordering::equivalent;
  return std::nullopt;
}

}  // namespace

bool holds(const Predicate& predicate, const Argument& actual) {
  if (predicate.op == "in") {
    const std::vector<Argument>* choices = items_of(predicate.value);
    return choices != nullptr && std::ranges::any_of(*choices, [&](const Argument& choice) {
             return compare(actual, choice) == std::partial_ordering::equivalent;
           });
  }
  const auto order = compare(actual, predicate.value);
  // Values of different kinds are not equal, but have no order.
  if (!order) return predicate.op == "!=";
  const bool none = actual.is<Argument::None>();
  const PythonOperator* known = operator_of_symbol(predicate.op);
  if (known == nullptr || !known->relation) throw usage_error("unknown comparison '" + predicate.op + "'");
  const bool is_ordered = *known->relation != Relation::kEqual && *known->relation != Relation::kNotEqual;
  return !(none && is_ordered) && internal::holds(*known->relation, *order);
}

std::vector<Predicate> read_where(const JsonValue& value) {
  std::vector<Predicate> predicates;
  if (object_fields(value, "an object with conditions").empty()) {
    value.fail("expected at least one condition");
  }
  for (const JsonValue condition : value.fields()) {
    const std::string attribute(condition.key());
    if (!condition.is_object()) {
      predicates.push_back({attribute, "==", read_plain(condition)});
      continue;
    }
    if (condition.fields().empty()) condition.fail("expected a comparison such as {\">\": 1}");
    check_keys(condition, {"==", "!=", "<", "<=", ">", ">=", "in"}, "comparison");
    for (const JsonValue wanted : condition.fields()) {
      if (wanted.key() == "in") array_items(wanted, "an array of values");
      predicates.push_back({attribute, std::string(wanted.key()), read_plain(wanted)});
    }
  }
  return predicates;
}

void write_where(const std::vector<Predicate>& where, JsonEmitter& json) {
  for (std::size_t i = 0; i < where.size();) {
    const std::string& attribute = where[i].attribute;
    json.key(attribute).object([&] {
      for (; i < where.size() && where[i].attribute == attribute; ++i) {
        json.key(where[i].op);
        write_value(where[i].value, json);
      }
    });
  }
}

}  // namespace fxtrace::internal
