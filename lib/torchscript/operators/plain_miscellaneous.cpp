// Plain operators on sizes, dtypes, devices and enums, operators that the compiler inserts
// (prim::unchecked_cast), questions about the state of the process, and hash().
#include "torchscript/operators/plain_call.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shapes/scalar_type.h"
#include "support/text/words.h"
#include "torchscript/values/device_text.h"

namespace fxtrace::internal::torchscript {
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

// --- dtypes; their numbers are valid (plain_checks.cpp) ---

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
