#include "torchscript/operators/plain_operators.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <unordered_map>

#include "support/error.h"
#include "support/text/words.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/operators/plain_checks.h"
#include "torchscript/values/literal_value.h"

namespace fxtrace::internal::torchscript {

// --- helpers of the implementations (plain_call.h) ---

void not_supported(const char* why) { throw Raised(why, RefusalKind::kUnsupported); }

const Value& argument_of(ValueTag kind, Arguments arguments, std::size_t i, const char* why_not) {
  const Value& value = argument(arguments, i);
  if (value.kind() != kind) not_supported(why_not);
  return value;
}

std::int64_t int_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueTag::kInt, arguments, i, "an argument is not an int").to_int();
}

bool bool_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueTag::kBool, arguments, i, "an argument is not a bool").to_bool();
}

const std::string& text_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueTag::kString, arguments, i, "an argument is not a str").to_string();
}

ListValue& list_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueTag::kList, arguments, i, "an argument is not a list").to_list();
}

DictValue& dict_argument(Arguments arguments, std::size_t i) {
  return argument_of(ValueTag::kDict, arguments, i, "an argument is not a dict").to_dict();
}

Slice slice_argument(Arguments arguments, std::size_t size) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t step = int_argument(arguments, 3);
  // LibTorch takes the largest integer for None.
  const auto end = [&](std::size_t i) {
    const Value& value = argument(arguments, i);
    return value.is_none() || int_argument(arguments, i) == kMost ? std::nullopt
                                                                  : std::optional(value.to_int());
  };
  if (step == 0) throw Raised("List slice should have non-zero step");
  if (step < -kMost) not_supported("the step of a slice is less than -(2^63 - 1)");
  return slice_of(static_cast<std::int64_t>(size), end(1), end(2), step);
}

bool equal(const Value& a, const Value& b) {
  const auto found = find_equal(a, b);
  if (!found) throw Raised("the values to compare are too large", RefusalKind::kLimit);
  return *found;
}

namespace {

constexpr std::size_t kCharactersInUnit = 16;

const PlainRow* find_row(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const PlainRow*> by_name;
    for (const PlainTable& table : {text_operators(), container_operators(), other_operators()}) {
      for (const PlainRow& row : table)
        for_each_word(row.names, [&](std::string_view each) { by_name[each] = &row; });
    }
    return by_name;
  }();
  const auto found = index.find(name);
  return found != index.end() ? found->second : nullptr;
}

// --- execution by value rules (lib/opinfo) ---

class PlainArguments final : public CallArguments {
 public:
  explicit PlainArguments(Arguments arguments) : arguments_(arguments) {
    for (const Value& value : arguments) values_.push_back(abstract_value(value));
  }

  std::size_t size() const override { return values_.size(); }
  // An empty list has the type of its elements from the list, as it decides the type of its sum.
  ValueType type(std::size_t i) const override {
    using Kind = ValueType::Kind;
    if (!arguments_[i].is_list() || !arguments_[i].items().empty()) return type_of(values_[i]);
    const TypeKind element = arguments_[i].to_list().element_type->kind();
    return {element == TypeKind::kFloat     ? Kind::kFloat
            : element == TypeKind::kComplex ? Kind::kComplex
                                            : Kind::kInt,
            1};
  }
  bool is_literal(std::size_t) const override { return true; }

 private:
  const AbstractValue& value(std::size_t i) const override { return values_[i]; }

  Arguments arguments_;
  std::vector<AbstractValue> values_;
};

// Narrows a result to 32 bits, as LibTorch's Scalar overloads of operators with one argument do.
Value narrowed(const OperatorEntry& entry, const Value& result) {
  constexpr std::string_view kWhole = "aten::Complex aten::Float aten::Int";
  if (entry.row->overload() != "Scalar" || entry.schema.arguments.size() != 1 || has_word(kWhole, entry.name))
    return result;
  if (result.is_int()) return static_cast<std::int32_t>(result.to_int());
  return result.is_double() ? Value(double{static_cast<float>(result.to_double())}) : result;
}

// Throws Raised for a bool as a Scalar, which LibTorch supports only in int().
void check_numbers(const OperatorEntry& entry, Arguments arguments) {
  for (std::size_t i = 0; i < std::min(arguments.size(), entry.schema.arguments.size()); ++i) {
    if (arguments[i].is_bool() && entry.schema.arguments[i].type.name == "Scalar" &&
        entry.name != "aten::Int")
      not_supported("an argument is a bool, expected a number");
  }
}

void run_rule(const OperatorEntry& entry, Arguments arguments, std::vector<Value>& results) {
  check_numbers(entry, arguments);
  ShapeEnv dimensions;
  const PlainArguments values(arguments);
  try {
    for (const AbstractValue& result : entry.value({RuleArguments(entry, values, dimensions), {}})) {
      const Value value = plain_value(result);
      if (value.is_none() && !result.is_none()) throw CannotTell{};
      results.push_back(narrowed(entry, value));
    }
  } catch (const Raises& raises) {
    throw Raised(raises.message);
  } catch (const CannotTell&) {
    not_supported("LibTorch has no sound result for these arguments");
  } catch (const SymbolicError&) {
    not_supported("LibTorch has no sound result for these arguments");
  }
}

}  // namespace

std::optional<PlainOperator> find_plain_operator(const Operator& row) {
  const PlainRow* found = find_row(row.name);
  if (found == nullptr) found = find_row(row.base_name());
  const OperatorEntry& entry = entry_of(row);
  if (found != nullptr) return PlainOperator{&entry, found->run};
  const bool is_plain = (entry.traits & traits::kPlain) != 0 && entry.value != nullptr;
  return is_plain ? std::optional(PlainOperator{&entry, nullptr}) : std::nullopt;
}

std::optional<Refusal> carry_out(const PlainOperator& op, Arguments arguments, std::vector<Value>& results) {
  if (auto refusal = find_refusal(op.entry->name, op.entry->traits, arguments)) return refusal;
  const std::size_t before = results.size();
  try {
    if (op.run != nullptr) {
      op.run(arguments, results);
    } else {
      run_rule(*op.entry, arguments, results);
    }
  } catch (Raised& raised) {
    results.resize(before);
    return std::move(raised.refusal);
  } catch (const Error& error) {
    // Arguments of kinds that no overload accepts; compiled code never passes them.
    if (error.kind() != ErrorKind::kInternal) throw;
    results.resize(before);
    return Refusal{RefusalKind::kUnsupported, error.what()};
  }
  if (std::ranges::any_of(arguments, is_too_large) ||
      std::any_of(results.begin() + static_cast<std::ptrdiff_t>(before), results.end(), is_too_large)) {
    results.resize(before);
    return too_large();
  }
  return std::nullopt;
}

std::size_t length_of(const Value& value) {
  if (value.is_string()) return value.to_string().size() / kCharactersInUnit;
  if (value.is_list()) return value.items().size();
  return value.is_dict() ? value.to_dict().size() : 0;
}

std::size_t cost_of(std::string_view base_name, Arguments arguments) {
  static constexpr std::array<std::string_view, 6> kConstantTime{
      "aten::__getitem__", "aten::_set_item", "aten::append", "aten::get", "aten::len", "aten::setdefault"};
  if (std::ranges::find(kConstantTime, base_name) != kConstantTime.end()) return 1;
  constexpr std::size_t kComparedInUnit = 256;
  std::size_t units = 1 + std::min(search_steps(arguments), kMaxSearch) / kComparedInUnit;
  for (const Value& value : arguments) units += length_of(value);
  return units;
}

}  // namespace fxtrace::internal::torchscript
