#include "convert/lower/written_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "analysis/program_operations.h"
#include "operators/operators.h"
#include "shapes/tensor_options.h"
#include "support/error.h"
#include "support/integers.h"
#include "support/json_emitter.h"

namespace fxtrace::internal {

Error too_few(std::string_view name, std::size_t count, std::size_t index) {
  return input_error("the program has " + std::to_string(count) + " " + std::string(name) +
                     ", but asks for number " + std::to_string(index));
}

NodeId value_of(const Argument& operand) {
  const auto* id = operand.get_if<NodeId>();
  if (id == nullptr) throw input_error("the program has a plain value where a value of its graph is needed");
  return *id;
}

std::int64_t WrittenTensor::count() const {
  std::int64_t result = 1;
  for (const std::int64_t size : shape) multiply_saturated(result, size);
  return result;
}

std::int64_t WrittenTensor::span() const {
  std::int64_t result = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t reach = stride[i];
    multiply_saturated(reach, shape[i] - 1);
    add_saturated(result, reach);
  }
  return result;
}

std::optional<Schema> WrittenProgram::schema_of(const std::string& target, const Operator* op) const {
  if (const auto own = schemas.find(target); own != schemas.end()) return own->second;
  return op == nullptr ? std::nullopt : std::optional(op->schema());
}

namespace {

void write(const TreeSpec& spec, JsonEmitter& json) {
  json.object([&] {
    if (spec.kind == TreeSpec::Kind::kLeaf) {
      json.field("type", std::optional<bool>());
      json.field("context", std::optional<bool>());
    } else if (spec.kind == TreeSpec::Kind::kDict) {
      json.field("type", "builtins.dict");
      json.field("context", json_text(JsonLayout::kSpaced, [&](JsonEmitter& keys) {
                   keys.list(spec.keys, [&](const Argument& key) {
                     const auto* text = key.get_if<std::string>();
                     if (text == nullptr) throw input_error("the program has a dict whose keys are not text");
                     keys.string(*text);
                   });
                 }));
    } else {
      json.field("type", spec.kind == TreeSpec::Kind::kList ? "builtins.list" : "builtins.tuple");
      json.field("context", "null");
    }
    json.key("children_spec").list(spec.children, [&](const TreeSpec& child) { write(child, json); });
  });
}

}  // namespace

std::string tree_text(const TreeSpec& spec) {
  return json_text(JsonLayout::kSpaced, [&](JsonEmitter& json) {
    json.open('[');
    json.item();
    json.integer(1);  // torch.utils._pytree.DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    json.item();
    write(spec, json);
    json.close(']');
  });
}

TreeSpec tree_of(const Argument& value, std::vector<Argument>& leaves) {
  TreeSpec spec;
  const std::size_t before = leaves.size();
  const auto add = [&](const Argument& item) { spec.children.push_back(tree_of(item, leaves)); };
  if (const auto* list = value.get_if<Argument::List>()) {
    spec.kind = TreeSpec::Kind::kList;
    for (const Argument& item : list->items) add(item);
  } else if (const auto* tuple = value.get_if<Argument::Tuple>()) {
    spec.kind = TreeSpec::Kind::kTuple;
    for (const Argument& item : tuple->items) add(item);
  } else if (const auto* dict = value.get_if<Argument::Dict>()) {
    spec.kind = TreeSpec::Kind::kDict;
    for (const auto& [key, item] : dict->items) {
      spec.keys.push_back(constant_argument(key));
      add(item);
    }
  } else {
    leaves.push_back(value);
  }
  spec.leaves = leaves.size() - before;
  return spec;
}

namespace {

// Returns the bits of a 16-bit float with so many bits of fraction, rounded to nearest, ties to even.
std::uint64_t short_bits(double number, int fraction) {
  const int bias = (1 << (14 - fraction)) - 1;
  const std::uint64_t sign = std::signbit(number) ? 1U << 15 : 0;
  const auto infinity = static_cast<std::uint64_t>(2 * bias + 1) << fraction;
  if (std::isnan(number)) return infinity | std::uint64_t{1} << (fraction - 1);
  if (std::isinf(number)) return sign | infinity;
  if (number == 0) return sign;
  const int exponent = std::max(std::ilogb(number), 1 - bias);
  const auto steps =
      static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::abs(number), fraction - exponent)));
  // The leading bit of `steps` adds one to the exponent, and one more if the fraction is rounded up to 2.
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << fraction) + steps;
  return sign | std::min(bits, infinity);
}

std::optional<std::uint64_t> bits_of(const Argument& element, ScalarType type) {
  const auto* flag = element.get_if<bool>();
  const auto* integer = element.get_if<std::int64_t>();
  const auto* real = element.get_if<double>();
  if (flag == nullptr && integer == nullptr && real == nullptr) return std::nullopt;
  if (is_integral(type)) {
    const std::int64_t whole = flag != nullptr      ? *flag
                               : integer != nullptr ? *integer
                                                    : static_cast<std::int64_t>(*real);
    return type == ScalarType::kBool ? static_cast<std::uint64_t>(whole != 0)
                                     : static_cast<std::uint64_t>(whole);
  }
  const double number = real != nullptr ? *real : integer != nullptr ? static_cast<double>(*integer) : *flag;
  switch (type) {
    case ScalarType::kFloat64:
      return std::bit_cast<std::uint64_t>(number);
    case ScalarType::kFloat32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    // torch converts the number to float32 first.
    case ScalarType::kFloat16:
      return short_bits(static_cast<float>(number), 10);
    case ScalarType::kBfloat16:
      return short_bits(static_cast<float>(number), 7);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> element_bytes(const std::vector<Argument>& elements, std::string_view dtype) {
  const Dtype type = find_scalar_type(dtype);
  if (!type) return std::nullopt;
  std::string bytes;
  for (const Argument& element : elements) {
    const auto bits = bits_of(element, *type);
    if (!bits) return std::nullopt;
    for (int i = 0; i < item_size(*type); ++i) bytes += static_cast<char>(*bits >> (8 * i) & 0xFF);
  }
  return bytes;
}

}  // namespace fxtrace::internal
