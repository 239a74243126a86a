#include "torchscript/operators/plain_operators.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shapes/tensor_options.h"
#include "support/error.h"
#include "support/text/words.h"
#include "torchscript/operators/plain_call.h"
#include "torchscript/values/tensor_value.h"

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

// Plain operators on sizes, dtypes, devices and enums, operators that the compiler inserts
// (prim::unchecked_cast), questions about the state of the process, and hash().

namespace {

// --- sizes ---

std::vector<std::int64_t> sizes_argument(Arguments arguments, std::size_t i) {
  std::vector<std::int64_t> sizes;
  for (const Value& size : list_argument(arguments, i).items) {
    if (!size.is_int()) not_supported("a size is not an int");
    sizes.push_back(size.to_int());
  }
  return sizes;
}

// LibTorch's message calls the second argument "a".
Value broadcast(Arguments arguments) {
  const auto a = sizes_argument(arguments, 1), b = sizes_argument(arguments, 0);
  std::vector<std::int64_t> result(std::max(a.size(), b.size()));
  for (std::size_t i = result.size(); i > 0; --i) {
    const std::size_t behind = result.size() - i;  // the number of sizes after this one
    const std::int64_t x = behind < a.size() ? a[a.size() - 1 - behind] : 1;
    const std::int64_t y = behind < b.size() ? b[b.size() - 1 - behind] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Raised("The size of tensor a (" + std::to_string(x) + ") must match the size of tensor b (" +
                   std::to_string(y) + ") at non-singleton dimension " + std::to_string(i - 1));
    }
    result[i - 1] = x == 1 ? y : x;
  }
  return make_int_list(result);
}

Value size_if_not_equal(Arguments arguments) {
  return sizes_argument(arguments, 0) == sizes_argument(arguments, 1) ? Value() : arguments[0];
}

// --- dtypes; their numbers are valid (plain_call.cpp) ---

ScalarType dtype_argument(Arguments arguments, std::size_t i) {
  const Dtype dtype = find_scalar_type(int_argument(arguments, i));
  if (!dtype) throw Raised("an argument is not the number of a dtype");
  return *dtype;
}

Value number_of(ScalarType dtype) { return static_cast<std::int64_t>(dtype); }

Value can_cast(Arguments arguments) {
  const ScalarType from = dtype_argument(arguments, 0), to = dtype_argument(arguments, 1);
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to)) return false;
  return from == ScalarType::kBool || to != ScalarType::kBool;
}

Value promote_types(Arguments arguments) {
  const Dtype result = promote(dtype_argument(arguments, 0), dtype_argument(arguments, 1));
  if (!result) not_supported("the dtypes have no common dtype");
  return number_of(*result);
}

ScalarType dtype_of(const Value& number) {
  if (number.is_bool()) return ScalarType::kBool;
  if (number.is_int()) return ScalarType::kInt64;
  if (number.is_double()) return kDefaultFloat;
  if (number.is_complex()) return kDefaultComplex;
  not_supported("an argument is not a number");
}

Value result_type(Arguments arguments) {
  return number_of(*promote(dtype_of(argument(arguments, 0)), dtype_of(argument(arguments, 1))));
}

// --- devices ---

Value make_device(Arguments arguments) {
  const std::string& text = text_argument(arguments, 0);
  DeviceText device = read_device(text);
  if (!device.device) throw Raised(std::move(device.why));
  return *device.device;
}

Value make_indexed_device(Arguments /*arguments*/) {
  not_supported("LibTorch takes the index of a device for its type");
}

const Device& device_argument(Arguments arguments) {
  return argument_of(ValueTag::kDevice, arguments, 0, "an argument is not a device").to_device();
}
Value device_kind(Arguments arguments) { return device_argument(arguments).type; }
Value device_index(Arguments arguments) {
  const int index = device_argument(arguments).index;
  return index < 0 ? Value() : Value(index);
}

// --- enums ---

const EnumValue& enum_argument(Arguments arguments) {
  return argument_of(ValueTag::kEnum, arguments, 0, "an argument is not an enum").to_enum();
}
Value enum_name(Arguments arguments) { return enum_argument(arguments).name; }
Value enum_value(Arguments arguments) { return enum_argument(arguments).value; }

// --- operators that the compiler inserts, and questions with one answer in every process ---

Value is_same(Arguments arguments) { return argument(arguments, 0).is(argument(arguments, 1)); }
Value is_not_same(Arguments arguments) { return !argument(arguments, 0).is(argument(arguments, 1)); }
Value itself(Arguments arguments) { return argument(arguments, 0); }
Value unwrapped(Arguments arguments) {
  if (argument(arguments, 0).is_none()) throw Raised("Unwrapping null optional");
  return arguments[0];
}
template <bool Answer>
Value always(Arguments /*arguments*/) {
  return Answer;
}

// Returns the dtype of a process that has not set one.
Value autocast_dtype(Arguments arguments) {
  DeviceText device = read_device(text_argument(arguments, 0));
  if (!device.device) throw Raised(std::move(device.why));
  const std::string& type = device.device->type;
  if (has_word("cuda mps maia mtia privateuseone xpu", type)) return number_of(ScalarType::kFloat16);
  if (has_word("cpu hpu ipu xla", type)) return number_of(ScalarType::kBfloat16);
  not_supported("the autocast dtype of this device is not known");
}

// --- hash(): strings and floats have the hash of the C++ library ---

std::size_t hash_of(const Value& value, std::size_t depth, std::size_t& looked) {
  if (depth == kMaxValueDepth || ++looked > kMaxPlainSize)
    throw Raised("a value is too large for its hash", RefusalKind::kLimit);
  switch (value.kind()) {
    case ValueTag::kNone:
      return 0;
    case ValueTag::kBool:
      return std::hash<bool>{}(value.to_bool());
    case ValueTag::kInt:
      return std::hash<std::int64_t>{}(value.to_int());
    case ValueTag::kDouble:
      return std::hash<double>{}(value.to_double());
    case ValueTag::kString:
      return std::hash<std::string>{}(value.to_string());
    case ValueTag::kTuple: {
      constexpr std::size_t kMix = 0x9e3779b9;
      std::size_t seed = 0;
      for (const Value& item : value.items())
        seed ^= hash_of(item, depth + 1, looked) + kMix + (seed << 6U) + (seed >> 2U);
      return seed;
    }
    case ValueTag::kComplex:
    case ValueTag::kList:
    case ValueTag::kDict:
      throw Raised("unhashable type: '" + dynamic_type(value)->repr_str() + "'");
    default:
      not_supported("the hash of this kind of value is not known");
  }
}
Value hash(Arguments arguments) {
  std::size_t looked = 0;
  return wrapped(hash_of(argument(arguments, 0), 0, looked));
}

constexpr PlainRow kOtherOperators[] = {
    {"aten::_infer_size aten::broadcast_shapes", gives<broadcast>},
    {"aten::_size_if_not_equal", gives<size_if_not_equal>},
    {"aten::can_cast", gives<can_cast>},
    {"aten::promote_types", gives<promote_types>},
    {"aten::result_type.Scalar_Scalar", gives<result_type>},
    {"aten::device", gives<make_device>},
    {"aten::device.with_index", gives<make_indexed_device>},
    {"prim::type", gives<device_kind>},
    {"prim::index", gives<device_index>},
    {"prim::EnumName", gives<enum_name>},
    {"prim::EnumValue", gives<enum_value>},
    {"aten::__is__", gives<is_same>},
    {"aten::__isnot__", gives<is_not_same>},
    {"aten::_unwrap_optional", gives<unwrapped>},
    {"prim::unchecked_cast prim::unchecked_unwrap_optional", gives<itself>},
    {"aten::is_scripting", gives<always<true>>},
    {"aten::_get_tracing_state aten::has_torch_function aten::is_autocast_enabled "
     "aten::is_autocast_cpu_enabled",
     gives<always<false>>},
    {"aten::get_autocast_dtype", gives<autocast_dtype>},
    {"aten::hash", gives<hash>},
};

}  // namespace

PlainTable other_operators() { return kOtherOperators; }

}  // namespace fxtrace::internal::torchscript
