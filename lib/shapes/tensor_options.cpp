#include "shapes/tensor_options.h"

#include <algorithm>
#include <array>

namespace fxtrace::internal {
namespace {

enum class Kind : std::uint8_t {
  kBool,
  kInteger,
  kSubByteInteger,
  kFloat,
  kStoredFloat,
  kComplex,
  kQuantized,
  kBits
};
enum class Sign : std::uint8_t { kSigned, kUnsigned, kNone };

struct Row {
  std::string_view name;
  std::int8_t bytes;
  Kind kind;
  Sign sign = Sign::kSigned;
};

// By the number of the dtype.  kSubByteInteger: integers of less than a byte.  kStoredFloat: floats that
// torch does not promote with other dtypes.
constexpr std::array<Row, kScalarTypes> kRows{{
    {"uint8", 1, Kind::kInteger, Sign::kUnsigned},
    {"int8", 1, Kind::kInteger},
    {"int16", 2, Kind::kInteger},
    {"int32", 4, Kind::kInteger},
    {"int64", 8, Kind::kInteger},
    {"float16", 2, Kind::kFloat},
    {"float32", 4, Kind::kFloat},
    {"float64", 8, Kind::kFloat},
    {"complex32", 4, Kind::kComplex},
    {"complex64", 8, Kind::kComplex},
    {"complex128", 16, Kind::kComplex},
    {"bool", 1, Kind::kBool, Sign::kUnsigned},
    {"qint8", 1, Kind::kQuantized, Sign::kNone},
    {"quint8", 1, Kind::kQuantized, Sign::kNone},
    {"qint32", 4, Kind::kQuantized, Sign::kNone},
    {"bfloat16", 2, Kind::kFloat},
    {"quint4x2", 1, Kind::kQuantized, Sign::kNone},
    {"quint2x4", 1, Kind::kQuantized, Sign::kNone},
    {"bits1x8", 1, Kind::kBits, Sign::kNone},
    {"bits2x4", 1, Kind::kBits, Sign::kNone},
    {"bits4x2", 1, Kind::kBits, Sign::kNone},
    {"bits8", 1, Kind::kBits, Sign::kNone},
    {"bits16", 2, Kind::kBits, Sign::kNone},
    {"float8_e5m2", 1, Kind::kStoredFloat},
    {"float8_e4m3fn", 1, Kind::kStoredFloat},
    {"float8_e5m2fnuz", 1, Kind::kStoredFloat},
    {"float8_e4m3fnuz", 1, Kind::kStoredFloat},
    {"uint16", 2, Kind::kInteger, Sign::kUnsigned},
    {"uint32", 4, Kind::kInteger, Sign::kUnsigned},
    {"uint64", 8, Kind::kInteger, Sign::kUnsigned},
    {"uint1", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"uint2", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"uint3", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"uint4", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"uint5", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"uint6", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"uint7", 1, Kind::kSubByteInteger, Sign::kUnsigned},
    {"int1", 1, Kind::kSubByteInteger},
    {"int2", 1, Kind::kSubByteInteger},
    {"int3", 1, Kind::kSubByteInteger},
    {"int4", 1, Kind::kSubByteInteger},
    {"int5", 1, Kind::kSubByteInteger},
    {"int6", 1, Kind::kSubByteInteger},
    {"int7", 1, Kind::kSubByteInteger},
    {"float8_e8m0fnu", 1, Kind::kStoredFloat, Sign::kUnsigned},
    {"float4_e2m1fn_x2", 1, Kind::kStoredFloat},
}};

const Row& row_of(ScalarType type) { return kRows.at(static_cast<std::size_t>(type)); }
Kind kind_of(ScalarType type) { return row_of(type).kind; }

// Returns whether torch only stores the dtype ("barebones"): unsigned integers other than uint8.
bool is_barebones(ScalarType type) {
  return row_of(type).sign == Sign::kUnsigned && type != ScalarType::kUint8 &&
         (kind_of(type) == Kind::kInteger || kind_of(type) == Kind::kSubByteInteger);
}

Dtype promote_barebones(ScalarType other) {
  const bool wins = kind_of(other) == Kind::kFloat || other == ScalarType::kFloat4E2m1fnX2;
  return wins ? Dtype(other) : std::nullopt;
}

// Promotes two dtypes of signed integers or uint8.
ScalarType promote_integers(ScalarType a, ScalarType b) {
  if (item_size(a) != item_size(b)) return item_size(a) > item_size(b) ? a : b;
  return a == b ? a : ScalarType::kInt16;  // uint8 and int8
}

ScalarType promote_floats(ScalarType a, ScalarType b) {
  if (item_size(a) != item_size(b)) return item_size(a) > item_size(b) ? a : b;
  return a == b ? a : ScalarType::kFloat32;  // float16 and bfloat16
}

}  // namespace

std::string dtype_name(ScalarType type) { return std::string(row_of(type).name); }

Dtype find_scalar_type(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &Row::name);
  return row == kRows.end() ? std::nullopt : find_scalar_type(std::int64_t{row - kRows.begin()});
}

Dtype find_scalar_type(std::int64_t number) {
  return number >= 0 && number < kScalarTypes ? Dtype(static_cast<ScalarType>(number)) : std::nullopt;
}

std::int64_t item_size(ScalarType type) { return row_of(type).bytes; }

std::int64_t elements_in_byte(ScalarType type) {
  constexpr std::int64_t kHalves = 2, kQuarters = 4;
  if (type == ScalarType::kQuint4x2) return kHalves;
  return type == ScalarType::kQuint2x4 ? kQuarters : 1;
}

bool is_integral(ScalarType type) { return kind_of(type) == Kind::kInteger || kind_of(type) == Kind::kBool; }
bool is_floating(ScalarType type) {
  return kind_of(type) == Kind::kFloat || kind_of(type) == Kind::kStoredFloat;
}
bool is_complex(ScalarType type) { return kind_of(type) == Kind::kComplex; }
bool is_quantized(ScalarType type) { return kind_of(type) == Kind::kQuantized; }

std::optional<bool> is_signed(ScalarType type) {
  const Sign sign = row_of(type).sign;
  return sign == Sign::kNone ? std::nullopt : std::optional(sign == Sign::kSigned);
}

ScalarType without_quantization(ScalarType type) {
  if (type == ScalarType::kQint8) return ScalarType::kInt8;
  if (type == ScalarType::kQint32) return ScalarType::kInt32;
  return is_quantized(type) ? ScalarType::kUint8 : type;
}

ScalarType real_type(ScalarType type) {
  if (type == ScalarType::kComplex32) return ScalarType::kFloat16;
  if (type == ScalarType::kComplex64) return ScalarType::kFloat32;
  return type == ScalarType::kComplex128 ? ScalarType::kFloat64 : type;
}

Dtype complex_type(ScalarType type) {
  if (is_complex(type)) return type;
  if (type == ScalarType::kFloat16) return ScalarType::kComplex32;
  if (type == ScalarType::kFloat32 || type == ScalarType::kBfloat16) return ScalarType::kComplex64;
  return type == ScalarType::kFloat64 ? Dtype(ScalarType::kComplex128) : std::nullopt;
}

Dtype promote(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (is_barebones(a)) return promote_barebones(b);
  if (is_barebones(b)) return promote_barebones(a);
  const auto mixes = [](Kind kind) {
    return kind == Kind::kBool || kind == Kind::kInteger || kind == Kind::kFloat || kind == Kind::kComplex;
  };
  const Kind kind = std::max(kind_of(a), kind_of(b));
  if (!mixes(kind_of(a)) || !mixes(kind_of(b))) return std::nullopt;
  if (kind_of(a) != kind_of(b) && kind != Kind::kComplex) return kind_of(a) == kind ? a : b;
  if (kind == Kind::kInteger) return promote_integers(a, b);
  if (kind == Kind::kFloat) return promote_floats(a, b);
  // Complex and real dtypes: integers take no part.
  if (is_integral(a)) return b;
  if (is_integral(b)) return a;
  return complex_type(promote_floats(real_type(a), real_type(b)));
}

}  // namespace fxtrace::internal
