// Dtypes and devices of tensors.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// The dtypes of torch: names, sizes, categories and promotion.

// In the order of the numbers that TorchScript has for dtypes.
enum class ScalarType : std::int8_t {
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
  kBool,
  kQint8,
  kQuint8,
  kQint32,
  kBfloat16,
  kQuint4x2,
  kQuint2x4,
  kBits1x8,
  kBits2x4,
  kBits4x2,
  kBits8,
  kBits16,
  kFloat8E5m2,
  kFloat8E4m3fn,
  kFloat8E5m2fnuz,
  kFloat8E4m3fnuz,
  kUint16,
  kUint32,
  kUint64,
  kUint1,
  kUint2,
  kUint3,
  kUint4,
  kUint5,
  kUint6,
  kUint7,
  kInt1,
  kInt2,
  kInt3,
  kInt4,
  kInt5,
  kInt6,
  kInt7,
  kFloat8E8m0fnu,
  kFloat4E2m1fnX2
};
inline constexpr std::int64_t kScalarTypes = static_cast<std::int64_t>(ScalarType::kFloat4E2m1fnX2) + 1;

using Dtype = std::optional<ScalarType>;  // absent: unknown

inline constexpr ScalarType kDefaultFloat = ScalarType::kFloat32;
inline constexpr ScalarType kDefaultComplex = ScalarType::kComplex64;

std::string dtype_name(ScalarType type);         // "float32"
Dtype find_scalar_type(std::string_view name);   // by a name such as "float32"
Dtype find_scalar_type(std::int64_t number);     // by TorchScript's number
std::int64_t item_size(ScalarType type);         // bytes of an element
std::int64_t elements_in_byte(ScalarType type);  // 2 for quint4x2; 1 for dtypes of whole bytes
bool is_integral(ScalarType type);               // includes bool, but no type smaller than a byte
bool is_floating(ScalarType type);
bool is_complex(ScalarType type);
bool is_quantized(ScalarType type);
std::optional<bool> is_signed(ScalarType type);    // absent when torch does not define it
ScalarType without_quantization(ScalarType type);  // int8 for qint8
ScalarType real_type(ScalarType type);             // float32 for complex64
Dtype complex_type(ScalarType type);               // complex64 for float32; absent for most others

// Returns the result dtype of an operator on two tensors, as torch.promote_types does; absent when torch
// raises.
Dtype promote(ScalarType a, ScalarType b);

// The device of a tensor.

struct Device {
  std::string type = "cpu";  // "cuda", "meta", or a name of another vendor
  int index = -1;            // -1: the current one of that type

  // Parses a text of the form that text() writes; any other text becomes a type without an index.
  static Device named(std::string_view text) {
    if (const auto colon = text.find(':'); colon != std::string_view::npos) {
      Device device{.type = std::string(text.substr(0, colon)), .index = -1};
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), device.index);
      if (device.text() == text) return device;
    }
    return {.type = std::string(text), .index = -1};
  }

  bool has_index() const { return index >= 0; }
  bool is_cpu() const { return type == "cpu"; }
  std::string text() const { return index < 0 ? type : type + ":" + std::to_string(index); }  // "cuda:0"
  bool operator==(const Device&) const = default;
};

}  // namespace fxtrace::internal
