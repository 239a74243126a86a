#include "convert/lower/quantized_calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "operators/names/name_rows.h"
#include "shapes/scalar_type.h"

namespace fxtrace {
namespace {

using Result = std::optional<Argument>;
using Operands = std::vector<Argument>;

struct Bounds {
  std::int64_t low, high;
};

// Returns the bounds of the integers of a dtype that a program can have.
std::optional<Bounds> bounds_of(std::string_view dtype) {
  if (dtype == "quint8") return Bounds{0, 255};
  if (dtype == "qint8") return Bounds{-128, 127};
  return std::nullopt;
}

// --- quantize and dequantize ---

std::string decomposed(const std::string& name) { return "quantized_decomposed." + name; }

std::string form_of(const Quantization& quantization) {
  if (quantization.axis) return "_per_channel.default";
  return quantization.scale.is<NodeId>() ? "_per_tensor.tensor" : "_per_tensor.default";
}

Operands with_quantization(const Argument& tensor, const Quantization& quantization) {
  const Bounds bounds = bounds_of(quantization.dtype).value_or(Bounds{0, 255});
  Operands args{tensor, quantization.scale, quantization.zero_point};
  if (quantization.axis) args.emplace_back(*quantization.axis);
  args.emplace_back(bounds.low);
  args.emplace_back(bounds.high);
  args.emplace_back(Argument::Dtype{dtype_of_integers(quantization.dtype)});
  return args;
}

Meta in_dtype(Meta meta, ScalarType dtype) {
  meta.type = "Tensor";
  meta.dtype = dtype;
  return meta;
}

// Dequantizes a tensor, or each of a list; returns other operands as they are.
Argument dequantized(const LoweredCall& call, Body& body, const Argument& operand,
                     std::string_view name = {}) {
  if (const auto* items = items_of(operand)) {
    Argument::List list;
    for (const Argument& item : *items) list.items.push_back(dequantized(call, body, item));
    return list;
  }
  const Quantization* found = body.quantization(operand);
  if (found == nullptr) return operand;
  const Quantization quantization = *found;
  return body.emit(call.node, decomposed("dequantize" + form_of(quantization)),
                   with_quantization(operand, quantization), {},
                   in_dtype(body.meta_of(operand), ScalarType::kFloat32), name);
}

// Quantizes the numbers, as the result of the call.
Result quantized(const LoweredCall& call, Body& body, const Argument& numbers, Quantization quantization) {
  if (!bounds_of(quantization.dtype)) {
    body.refuse(call.node, "a program cannot have quantized elements of " + quantization.dtype);
    return {};
  }
  const std::string target = decomposed("quantize" + form_of(quantization));
  Argument result =
      body.emit(call.node, target, with_quantization(numbers, quantization), {},
                in_dtype(body.meta_of(numbers), without_quantization(*find_scalar_type(quantization.dtype))),
                call.node.name);
  body.set_quantization(result, std::move(quantization));
  return result;
}

// Returns the metadata of the result of the call, as floats.
std::optional<Meta> meta_of_numbers(const LoweredCall& call, Body& body) {
  const Meta& meta = *call.node.meta;
  if (meta.shape) return in_dtype(meta, ScalarType::kFloat32);
  body.refuse(call.node, "the shape of its result is not known", body.help_for_shapes());
  return std::nullopt;
}

std::optional<double> real_of(const Argument& operand) {
  if (const auto* real = operand.get_if<double>()) return *real;
  if (const auto* whole = operand.get_if<std::int64_t>()) return static_cast<double>(*whole);
  return std::nullopt;
}

// Returns the quantization of the result: the scale and the zero point among the arguments, or those of
// `like` if they are None.
std::optional<Quantization> given_quantization(const LoweredCall& call, Body& body, const Argument& scale,
                                               const Argument& zero_point, const Quantization* like,
                                               std::string dtype) {
  if (like != nullptr && scale.is<Argument::None>() && zero_point.is<Argument::None>()) return *like;
  const auto real = real_of(scale);
  if (!real || !zero_point.is<std::int64_t>()) {
    body.refuse(call.node, "the scale or the zero point of its result is not known");
    return std::nullopt;
  }
  return Quantization{std::move(dtype), *real, zero_point};
}

// Returns the quantization of the first quantized tensor among the arguments.
const Quantization* first_quantization(const LoweredCall& call, const Body& body) {
  const Quantization* found = nullptr;
  const auto look = [&](const Argument& operand) {
    for_each_reference(operand, [&](NodeId id) {
      if (found == nullptr) found = body.quantization(id);
    });
  };
  for (const Argument& operand : call.args) look(operand);
  for (const auto& [name, operand] : call.kwargs) look(operand);
  return found;
}

Argument argument_of(const Operands& args, std::size_t place) {
  return place < args.size() ? args[place] : Argument();
}

// Applies the relu of a fused call: linear_relu, conv2d_add_relu.
Argument with_relu(const LoweredCall& call, Body& body, Argument numbers) {
  const std::string& target = *call.node.target;
  Meta meta = body.meta_of(numbers);
  if (target.find("_relu") == std::string::npos || target.find("leaky_relu") != std::string::npos)
    return numbers;
  return body.emit(call.node, "aten.relu.default", {std::move(numbers)}, {}, std::move(meta));
}

Result quantize(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0, "self"), dtype = call.argument(3, "dtype");
  const auto* name = dtype.get_if<Argument::Dtype>();
  const auto number = [&](std::size_t place, const char* argument) {
    const Argument given = call.argument(place, argument);
    if (place >= call.node.args.size()) return given;
    if (const auto stored = body.stored_number(call.node.args[place])) return *stored;
    return given;
  };
  if (name == nullptr || items_of(tensor) != nullptr) {
    body.refuse(call.node, "its dtype is not known, or it takes a list of tensors");
    return {};
  }
  const Argument scale = number(1, "scale"), zero_point = number(2, "zero_point");
  if (scale.is<NodeId>() && zero_point.is<NodeId>() && body.meta_of(scale).kind() == ValueKind::kTensor &&
      body.meta_of(zero_point).kind() == ValueKind::kTensor)
    return quantized(call, body, tensor, {name->name, scale, zero_point});
  auto quantization = given_quantization(call, body, scale, zero_point, nullptr, name->name);
  if (!quantization) return {};
  return quantized(call, body, tensor, std::move(*quantization));
}

Result quantize_by_channel(const LoweredCall& call, Body& body) {
  const Argument scales = call.argument(1, "scales"), zero_points = call.argument(2, "zero_points");
  const Argument axis = call.argument(3, "axis"), dtype = call.argument(4, "dtype");
  if (!scales.is<NodeId>() || !zero_points.is<NodeId>() || !axis.is<std::int64_t>() ||
      !dtype.is<Argument::Dtype>()) {
    body.refuse(call.node, "its scales, zero points, axis or dtype are not known");
    return {};
  }
  return quantized(
      call, body, call.argument(0, "self"),
      {dtype.get_if<Argument::Dtype>()->name, scales, zero_points, *axis.get_if<std::int64_t>()});
}

// Chooses a quantization from the least and the greatest element, at run time.
Quantization chosen(const LoweredCall& call, Body& body, const Argument& tensor, bool reduced) {
  constexpr double kEpsilon = 1.1920928955078125e-07;  // the epsilon of float32
  Meta scale, zero_point;
  scale.type = zero_point.type = "Tensor";
  scale.shape.emplace({Expression(1)});
  zero_point.shape = scale.shape;
  scale.dtype = ScalarType::kFloat64;
  zero_point.dtype = ScalarType::kInt64;
  const Operands numbers = body.emit_all(
      call.node, decomposed("choose_qparams.tensor"),
      {tensor, std::int64_t{0}, std::int64_t{reduced ? 127 : 255}, kEpsilon, Argument::Dtype{"uint8"}},
      {scale, zero_point});
  return {"quint8", numbers[0], numbers[1]};
}

Result quantize_by_data(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0, "self"), dtype = call.argument(1, "dtype");
  const Argument reduced = call.argument(2, "reduce_range");
  if (dtype != Argument(Argument::Dtype{"quint8"}) || !reduced.is<bool>()) {
    body.refuse(call.node, "a program can choose scales at run time for quint8 only");
    return {};
  }
  return quantized(call, body, tensor, chosen(call, body, tensor, *reduced.get_if<bool>()));
}

// Quantizes and dequantizes, with a scale chosen at run time.
Argument rounded_by_data(const LoweredCall& call, Body& body, const Argument& tensor, bool reduced) {
  const Quantization quantization = chosen(call, body, tensor, reduced);
  const Argument integers =
      body.emit(call.node, decomposed("quantize_per_tensor.tensor"), with_quantization(tensor, quantization),
                {}, in_dtype(body.meta_of(tensor), ScalarType::kUint8));
  return body.emit(call.node, decomposed("dequantize_per_tensor.tensor"),
                   with_quantization(integers, quantization), {},
                   in_dtype(body.meta_of(tensor), ScalarType::kFloat32));
}

Result dequantize(const LoweredCall& call, Body& body) {
  return dequantized(call, body, call.argument(0), call.node.name);
}

Result integers(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0);
  return body.emit(call.node, "aten.clone.default", {tensor}, {}, body.meta_of(tensor), call.node.name);
}

Result from_integers(const LoweredCall& call, Body& body) {
  const Argument tensor = call.argument(0);
  auto quantization = given_quantization(call, body, call.argument(1), call.argument(2), nullptr,
                                         call.node.meta->dtype_text().value_or(""));
  if (!quantization) return {};
  if (!bounds_of(quantization->dtype)) return {};
  Argument result =
      body.emit(call.node, "aten.clone.default", {tensor}, {}, body.meta_of(tensor), call.node.name);
  body.set_quantization(result, std::move(*quantization));
  return result;
}

template <bool IsScale>
Result number_of(const LoweredCall& call, Body& body) {
  const Quantization* quantization = body.quantization(call.argument(0));
  if (quantization == nullptr) return {};
  const Argument& number = IsScale ? quantization->scale : quantization->zero_point;
  if (number.is<NodeId>()) return {};
  return number;
}

// --- operators on quantized tensors ---

// Lowers operators that move elements or drop them, which work on integers unchanged.
Result moved(const LoweredCall& call, Body& body) {
  const Quantization* quantization = first_quantization(call, body);
  if (quantization == nullptr) return {};
  if (quantization->axis) {
    const std::string& target = *call.node.target;
    if (!target.starts_with("aten.clone.") && !target.starts_with("aten.contiguous.") &&
        !target.starts_with("aten.detach.")) {
      body.refuse(call.node, "it moves elements of a tensor that is quantized per channel");
      return {};
    }
  }
  return body.call_on_integers(call, *quantization);
}

Result dropped(const LoweredCall& call, Body& body) {
  if (call.argument(2, "train") != Argument(false)) return {};
  return moved(call, body);
}

// Lowers an operator on floats, whose result is quantized as the first argument.
Result as_input(const LoweredCall& call, Body& body) {
  const Quantization* found = first_quantization(call, body);
  const auto meta = meta_of_numbers(call, body);
  if (found == nullptr || !meta || call.node.meta->items) return {};
  const Quantization quantization = *found;
  std::string target = *call.node.target;
  constexpr std::string_view kOwn = "quantized.";
  if (target.starts_with(kOwn)) target = "aten." + target.substr(kOwn.size());
  Operands args;
  for (const Argument& argument : call.args) args.push_back(dequantized(call, body, argument));
  const Argument numbers = body.emit(call.node, std::move(target), std::move(args), call.kwargs, *meta);
  return quantized(call, body, numbers, quantization);
}

// Lowers operators whose result is not quantized, such as comparisons.
Result on_numbers(const LoweredCall& call, Body& body) {
  const Meta& meta = *call.node.meta;
  if (!meta.shape || !meta.dtype || is_quantized(*meta.dtype)) return {};
  Operands args;
  for (const Argument& argument : call.args) args.push_back(dequantized(call, body, argument));
  return body.emit(call.node, *call.node.target, std::move(args), call.kwargs, meta, call.node.name);
}

// Returns the integer that stands for a number.
std::int64_t integer_for(double number, const Quantization& quantization) {
  const Bounds bounds = bounds_of(quantization.dtype).value_or(Bounds{0, 255});
  const double scale = *real_of(quantization.scale);
  const auto zero_point = static_cast<double>(*quantization.zero_point.get_if<std::int64_t>());
  const double integer = std::nearbyint(number / scale) + zero_point;
  return static_cast<std::int64_t>(
      std::clamp(integer, static_cast<double>(bounds.low), static_cast<double>(bounds.high)));
}

// Clamps: limits of numbers become limits of integers, in place or not.
Result limited(const LoweredCall& call, Body& body, std::optional<double> low, std::optional<double> high) {
  const Argument tensor = call.argument(0);
  const Quantization* found = body.quantization(tensor);
  if (found == nullptr || found->axis || !real_of(found->scale) || !found->zero_point.is<std::int64_t>())
    return {};
  const Quantization quantization = *found;
  const std::string name(call.node.target->substr(0, call.node.target->rfind('.')));
  const bool in_place = name.ends_with('_');
  const auto limit = [&](const std::optional<double>& number) {
    return number ? Argument(integer_for(*number, quantization)) : Argument();
  };
  Argument result = body.emit(call.node, in_place ? "aten.clamp_.default" : "aten.clamp.default",
                              {tensor, limit(low), limit(high)}, {}, body.meta_of(tensor), call.node.name);
  if (in_place) body.keep_maker(result);
  body.set_quantization(result, quantization);
  return result;
}

Result relu(const LoweredCall& call, Body& body) { return limited(call, body, 0.0, std::nullopt); }
Result relu6(const LoweredCall& call, Body& body) {
  constexpr double kSix = 6;
  if (call.node.target->starts_with("quantized.") && call.argument(1, "inplace") == Argument(true)) return {};
  return limited(call, body, 0.0, kSix);
}
Result hardtanh(const LoweredCall& call, Body& body) {
  const auto low = call.args.size() > 1 ? real_of(call.argument(1)) : -1.0;
  const auto high = call.args.size() > 2 ? real_of(call.argument(2)) : 1.0;
  return low && high ? limited(call, body, low, high) : Result();
}
Result clamp(const LoweredCall& call, Body& body) {
  for (const Argument& limit : {call.argument(1, "min"), call.argument(2, "max")}) {
    if (!limit.is<Argument::None>() && !real_of(limit)) return {};
  }
  return limited(call, body, real_of(call.argument(1, "min")), real_of(call.argument(2, "max")));
}

// Lowers operators whose result has fixed bounds, and a fixed quantization for these.
template <int Denominator, bool Centred>
Result with_own_scale(const LoweredCall& call, Body& body) {
  const Quantization* found = body.quantization(call.argument(0));
  const auto meta = meta_of_numbers(call, body);
  if (found == nullptr || !meta) return {};
  const bool is_signed = found->dtype == "qint8";
  constexpr std::int64_t kHalf = 128;
  const std::int64_t zero_point = Centred ? (is_signed ? 0 : kHalf) : (is_signed ? -kHalf : 0);
  const std::string dtype = found->dtype;
  const Argument numbers = body.emit(call.node, *call.node.target,
                                     {dequantized(call, body, call.argument(0))}, call.kwargs, *meta);
  return quantized(call, body, numbers, {dtype, 1.0 / Denominator, zero_point});
}

// An operator whose result has an explicit scale: its place among the arguments, the operator on floats and
// the arguments that this takes.
struct Explicit {
  std::string_view name;  // quantized.NAME
  std::size_t scale;
  const char* target;
  std::array<int, 9> takes;  // places of arguments, up to kEnd
};
constexpr int kEnd = -1, kNone = -2, kFalse = -3, kTrue = -4, kZero = -5;
constexpr Explicit kExplicit[] = {
    {"add add_relu", 2, "aten.add.Tensor", {0, 1, kEnd}},
    {"mul mul_relu", 2, "aten.mul.Tensor", {0, 1, kEnd}},
    {"matmul", 2, "aten.matmul.default", {0, 1, kEnd}},
    {"cat cat_relu", 2, "aten.cat.default", {0, 1, kEnd}},
    {"sigmoid", 1, "aten.sigmoid.default", {0, kEnd}},
    {"softmax", 2, "aten.softmax.int", {0, 1, kEnd}},
    {"hardswish", 1, "aten.hardswish.default", {0, kEnd}},
    {"celu", 1, "aten.celu.default", {0, 3, kEnd}},
    {"elu", 1, "aten.elu.default", {0, 3, 4, 5, kEnd}},
    {"leaky_relu", 3, "aten.leaky_relu.default", {0, 1, kEnd}},
    {"prelu", 2, "aten.prelu.default", {0, 1, kEnd}},
    {"layer_norm", 5, "aten.layer_norm.default", {0, 1, 2, 3, 4, kEnd}},
    {"group_norm", 5, "aten.group_norm.default", {0, 1, 2, 3, 4, kEnd}},
    {"instance_norm", 4, "aten.instance_norm.default", {0, 1, 2, kNone, kNone, kTrue, kZero, 3, kFalse}},
    {"batch_norm batch_norm1d batch_norm2d batch_norm3d batch_norm_relu batch_norm1d_relu batch_norm2d_relu "
     "batch_norm3d_relu",
     6,
     "aten.batch_norm.default",
     {0, 1, 2, 3, 4, kFalse, kZero, 5, kFalse}},
};

std::string_view own_name(const std::string& target) {  // "conv2d" of "quantized.conv2d.new"
  constexpr std::string_view kOwn = "quantized.";
  std::string_view name = std::string_view(target).substr(kOwn.size());
  return name.substr(0, name.find('.'));
}

Result with_given_scale(const LoweredCall& call, Body& body) {
  const std::string name(own_name(*call.node.target));
  const Explicit* row = nullptr;
  for (const Explicit& each : kExplicit) {
    for_each_word(each.name, [&](std::string_view word) {
      if (word == name) row = &each;
    });
  }
  const Quantization* first = first_quantization(call, body);
  const auto meta = meta_of_numbers(call, body);
  if (row == nullptr || first == nullptr || !meta) return {};
  auto quantization = given_quantization(call, body, argument_of(call.args, row->scale),
                                         argument_of(call.args, row->scale + 1), first, first->dtype);
  if (!quantization) return {};
  Operands args;
  for (const int place : row->takes) {
    if (place == kEnd) break;
    if (place == kNone)
      args.emplace_back();
    else if (place == kFalse || place == kTrue)
      args.emplace_back(place == kTrue);
    else if (place == kZero)
      args.emplace_back(0.0);
    else if (static_cast<std::size_t>(place) < call.args.size())
      args.push_back(dequantized(call, body, call.args[static_cast<std::size_t>(place)]));
  }
  Argument numbers = body.emit(call.node, row->target, std::move(args), {}, *meta);
  return quantized(call, body, with_relu(call, body, std::move(numbers)), std::move(*quantization));
}

Result same_in_evaluation(const LoweredCall& call, Body&) {  // quantized.dropout
  if (argument_of(call.args, 4) == Argument(true)) return {};
  return call.argument(0);
}

// Multiplies by a number: the scale changes, and the integers stay.
Result times_number(const LoweredCall& call, Body& body) {
  const bool is_first = body.quantization(call.argument(0)) != nullptr;
  const Argument tensor = call.argument(is_first ? 0 : 1);
  const auto number = real_of(call.argument(is_first ? 1 : 0));
  const Quantization* found = body.quantization(tensor);
  if (found == nullptr || !number || !real_of(found->scale) || *number <= 0) {
    body.refuse(call.node, "the factor of a quantized tensor is not known, or not positive");
    return {};
  }
  Quantization quantization = *found;
  quantization.scale = *real_of(quantization.scale) * *number;
  Argument result =
      body.emit(call.node, "aten.clone.default", {tensor}, {}, body.meta_of(tensor), call.node.name);
  body.set_quantization(result, quantization);
  if (call.node.target->find("_relu") == std::string::npos) return result;
  const std::int64_t zero = integer_for(0, quantization);
  result = body.emit(call.node, "aten.clamp.default", {result, zero, Argument()}, {}, body.meta_of(tensor));
  body.set_quantization(result, std::move(quantization));
  return result;
}

// Adds a number: the zero point moves; where it would leave the range of the integers, the scale changes
// (aten/src/ATen/native/quantized/cpu/qadd.cpp).
Result plus_number(const LoweredCall& call, Body& body) {
  const bool is_first = body.quantization(call.argument(0)) != nullptr;
  const Argument tensor = call.argument(is_first ? 0 : 1);
  const auto number = real_of(call.argument(is_first ? 1 : 0));
  const Quantization* found = body.quantization(tensor);
  if (found == nullptr || !number || !real_of(found->scale) || !found->zero_point.is<std::int64_t>()) {
    body.refuse(call.node, "the number that it adds is not known");
    return {};
  }
  const Quantization before = *found;
  const Bounds bounds = *bounds_of(before.dtype);
  const double scale = *real_of(before.scale);
  const std::int64_t zero_point = *before.zero_point.get_if<std::int64_t>();
  const auto moved_by = static_cast<std::int64_t>(std::nearbyint(*number / scale));
  Quantization after = before;
  const std::int64_t place = zero_point - moved_by;
  const auto width = static_cast<double>(bounds.high - bounds.low);
  if (place < bounds.low) {
    after.scale = static_cast<double>(bounds.high - place) / width * scale;
    after.zero_point = bounds.low;
  } else if (place > bounds.high) {
    after.scale = static_cast<double>(place - bounds.low) / width * scale;
    after.zero_point = bounds.high;
  } else {
    after.zero_point = place;
  }
  const Meta meta = in_dtype(body.meta_of(tensor), ScalarType::kFloat32);
  const Argument sum =
      body.emit(call.node, "aten.add.Tensor",
                {dequantized(call, body, tensor), static_cast<double>(moved_by) * scale}, {}, meta);
  return quantized(call, body, with_relu(call, body, sum), std::move(after));
}

// --- layers ---

// Returns the parts of a tuple that packed_operand() has made.
const Operands* parts_of(const LoweredCall& call, Body& body, const Argument& packed, std::size_t count) {
  const auto* tuple = packed.get_if<Argument::Tuple>();
  if (tuple != nullptr && tuple->items.size() == count) return &tuple->items;
  body.refuse(call.node, "the weights of the layer are not known");
  return nullptr;
}

constexpr std::size_t kLinear = 2, kConvolution = 8;

Argument linear_of(const LoweredCall& call, Body& body, const Argument& input, const Operands& parts,
                   const Meta& meta) {
  return body.emit(call.node, "aten.linear.default", {input, dequantized(call, body, parts[0]), parts[1]}, {},
                   meta);
}

// Lowers linear(X, W, scale, zero point), with the activation of a fused call.
Result quantized_linear(const LoweredCall& call, Body& body) {
  const Quantization* given = body.quantization(call.argument(0));
  const Argument packed = call.argument(1, "W_prepack");
  const Operands* parts = parts_of(call, body, packed, kLinear);
  const auto meta = meta_of_numbers(call, body);
  if (given == nullptr || parts == nullptr || !meta) return {};
  auto quantization =
      given_quantization(call, body, call.argument(2), call.argument(3), nullptr, given->dtype);
  if (!quantization) return {};
  Argument numbers = linear_of(call, body, dequantized(call, body, call.argument(0)), *parts, *meta);
  const std::string_view name = own_name(*call.node.target);
  if (name == "linear_leaky_relu")
    numbers = body.emit(call.node, "aten.leaky_relu.default", {numbers, call.argument(4)}, {}, *meta);
  else if (name == "linear_tanh")
    numbers = body.emit(call.node, "aten.tanh.default", {numbers}, {}, *meta);
  return quantized(call, body, with_relu(call, body, numbers), std::move(*quantization));
}

template <bool IsRounded>  // IsRounded: the input is quantized, too
Result linear_dynamic(const LoweredCall& call, Body& body) {
  const Argument packed = call.argument(1, "W_prepack");
  const Operands* parts = parts_of(call, body, packed, kLinear);
  const auto meta = meta_of_numbers(call, body);
  if (parts == nullptr || !meta) return {};
  Argument input = call.argument(0);
  if (IsRounded) input = rounded_by_data(call, body, input, call.argument(2) == Argument(true));
  return with_relu(call, body, linear_of(call, body, input, *parts, *meta));
}

std::size_t rank_of(const Body& body, const Argument& tensor) {
  const Meta meta = body.meta_of(tensor);
  return meta.shape ? meta.shape->size() : 0;
}

Argument convolution_of(const LoweredCall& call, Body& body, const Argument& input, const Operands& parts,
                        const Meta& meta) {
  Argument numbers = dequantized(call, body, input), weight = dequantized(call, body, parts[0]);
  const std::size_t rank = rank_of(body, weight);
  const std::int64_t dim = 2;
  Meta wide = body.meta_of(input), result = meta;
  // A packed convolution over one dimension is one over two, the first of size 1.
  const bool is_one_of_two = rank == 4 && wide.shape->size() == 3;
  if (is_one_of_two) {
    wide = in_dtype(std::move(wide), ScalarType::kFloat32);
    wide.shape->insert(wide.shape->begin() + dim, Expression(1));
    result.shape->insert(result.shape->begin() + dim, Expression(1));
    numbers = body.emit(call.node, "aten.unsqueeze.default", {numbers, dim}, {}, wide);
  }
  const std::string dims = std::to_string(rank - 2);
  const Argument &stride = parts[2], &padding = parts[3], &output_padding = parts[4], &dilation = parts[5],
                 &groups = parts[6];
  Argument output;
  if (parts[7] == Argument(true)) {
    output =
        body.emit(call.node, "aten.conv_transpose" + dims + "d." + (rank == 3 ? "default" : "input"),
                  {numbers, weight, parts[1], stride, padding, output_padding, groups, dilation}, {}, result);
  } else {
    output = body.emit(call.node, "aten.conv" + dims + "d.default",
                       {numbers, weight, parts[1], stride, padding, dilation, groups}, {}, result);
  }
  if (is_one_of_two) output = body.emit(call.node, "aten.squeeze.dim", {output, dim}, {}, meta);
  return output;
}

// Lowers conv2d(x, W, scale, zero point), also with stride, padding, dilation and groups in between, which W
// has, too; and conv2d_add(x, other, W, scale, zero point).
Result quantized_convolution(const LoweredCall& call, Body& body) {
  const bool adds = own_name(*call.node.target).find("_add") != std::string_view::npos;
  const Quantization* given = body.quantization(call.argument(0));
  const Argument packed = call.argument(adds ? 2 : 1);
  const Operands* parts = parts_of(call, body, packed, kConvolution);
  const auto meta = meta_of_numbers(call, body);
  if (given == nullptr || parts == nullptr || !meta || call.args.size() < 4) return {};
  auto quantization = given_quantization(call, body, call.args[call.args.size() - 2], call.args.back(),
                                         nullptr, given->dtype);
  if (!quantization) return {};
  Argument numbers = convolution_of(call, body, call.argument(0), *parts, *meta);
  if (adds)
    numbers = body.emit(call.node, "aten.add.Tensor", {numbers, dequantized(call, body, call.argument(1))},
                        {}, *meta);
  return quantized(call, body, with_relu(call, body, numbers), std::move(*quantization));
}

Result convolution_dynamic(const LoweredCall& call, Body& body) {
  const Argument packed = call.argument(1);
  const Operands* parts = parts_of(call, body, packed, kConvolution);
  const auto meta = meta_of_numbers(call, body);
  if (parts == nullptr || !meta) return {};
  const Argument input = rounded_by_data(call, body, call.argument(0), call.argument(2) == Argument(true));
  return convolution_of(call, body, input, *parts, *meta);
}

Result pack_linear(const LoweredCall& call, Body&) {
  return Argument::Tuple{{call.argument(0), call.argument(1)}};
}

// Packs the arguments (weight, bias, stride, padding, dilation, groups); transposed ones have output_padding
// before dilation.
Result pack_convolution(const LoweredCall& call, Body&) {
  const bool is_transposed = own_name(*call.node.target).find("transpose") != std::string_view::npos;
  Operands parts(call.args.begin(), call.args.begin() + std::min<std::ptrdiff_t>(std::ssize(call.args), 4));
  if (call.args.size() != (is_transposed ? 7 : 6)) return {};
  parts.push_back(is_transposed ? call.args[4] : Argument(Argument::List{}));
  parts.insert(parts.end(), call.args.end() - 2, call.args.end());
  parts.emplace_back(is_transposed);
  return Argument::Tuple{std::move(parts)};
}

// --- embeddings ---

// Returns an embedding table as floats.  A table of 4 bits has two elements in each byte.
Argument table_of(const LoweredCall& call, Body& body, const Argument& weight) {
  const Quantization quantization = *body.quantization(weight);
  if (quantization.dtype != "quint4x2") return dequantized(call, body, weight);
  constexpr std::int64_t kLow = 15, kBits = 4;
  const Meta bytes = body.meta_of(weight);
  const Argument low = body.emit(call.node, "aten.bitwise_and.Scalar", {weight, kLow}, {}, bytes);
  const Argument high =
      body.emit(call.node, "aten.bitwise_right_shift.Tensor_Scalar", {weight, kBits}, {}, bytes);
  Meta pairs = bytes, whole = bytes;
  pairs.shape->push_back(Expression(2));
  whole.shape->back() = Expression(*whole.shape->back().size() * 2);
  const Argument stacked = body.emit(call.node, "aten.stack.default",
                                     {Argument::List{{low, high}}, std::int64_t{-1}}, {}, std::move(pairs));
  const Argument integers = body.emit(call.node, "aten.flatten.using_ints",
                                      {stacked, std::int64_t{-2}, std::int64_t{-1}}, {}, std::move(whole));
  Quantization of_bytes = quantization;
  of_bytes.dtype = "quint8";
  body.set_quantization(integers, std::move(of_bytes));
  return dequantized(call, body, integers);
}

const Operands* table_parts(const LoweredCall& call, Body& body, const Argument& packed) {
  const Operands* parts = parts_of(call, body, packed, 1);
  if (parts != nullptr && body.quantization(parts->front()) == nullptr) return nullptr;
  return parts;
}

Result embedding(const LoweredCall& call, Body& body) {
  const Argument packed = call.argument(0, "weight");
  const Operands* parts = table_parts(call, body, packed);
  const auto meta = meta_of_numbers(call, body);
  if (parts == nullptr || !meta || call.argument(2) == Argument(true)) return {};
  return body.emit(call.node, "aten.embedding.default",
                   {table_of(call, body, parts->front()), call.argument(1)}, {}, *meta, call.node.name);
}

// Lowers embedding_bag as sums, whatever the mode: torch has no other for quantized tables.
Result embedding_bag(const LoweredCall& call, Body& body) {
  const Argument packed = call.argument(0, "weight"), indices = call.argument(1, "indices");
  const Argument offsets = call.argument(2, "offsets"), weights = call.argument(6, "per_sample_weights");
  const Argument includes_last = call.argument(8, "include_last_offset");
  const Operands* parts = table_parts(call, body, packed);
  const auto meta = meta_of_numbers(call, body);
  if (parts == nullptr || !meta || call.argument(5) == Argument(true) ||
      !call.argument(7).is<Argument::None>()) {
    if (parts != nullptr && meta) body.refuse(call.node, "a program cannot have pruned tables");
    return {};
  }
  const Argument table = table_of(call, body, parts->front());
  if (rank_of(body, indices) == 1) {
    Meta unknown = in_dtype(body.meta_of(indices), ScalarType::kInt64);
    const Operands results = body.emit_all(call.node, "aten.embedding_bag.padding_idx",
                                           {table, indices, offsets, false, std::int64_t{0}, false, weights,
                                            includes_last == Argument(true), Argument()},
                                           {*meta, unknown, unknown, unknown});
    return results[0];
  }
  if (includes_last == Argument(true)) {
    body.refuse(call.node, "include_last_offset is set for indices of two dimensions");
    return {};
  }
  // Each row of indices is a bag.
  Meta rows = *meta;
  rows.shape = body.meta_of(indices).shape;
  if (!rows.shape || rows.shape->size() != 2) return {};
  const std::int64_t last = -1, dim = 1;
  Meta wide = in_dtype(rows, ScalarType::kFloat32);
  rows.shape->push_back(meta->shape->back());
  Argument each = body.emit(call.node, "aten.embedding.default", {table, indices}, {}, rows);
  if (!weights.is<Argument::None>()) {
    wide.shape->push_back(Expression(1));
    const Argument factors = body.emit(call.node, "aten.unsqueeze.default", {weights, last}, {}, wide);
    each = body.emit(call.node, "aten.mul.Tensor", {each, factors}, {}, rows);
  }
  return body.emit(call.node, "aten.sum.dim_IntList", {each, Argument::List{{dim}}}, {}, *meta,
                   call.node.name);
}

// --- recurrent layers ---

// Only the weights of recurrent layers are quantized; their inputs stay floats.
bool add_weights(const LoweredCall& call, Body& body, const Argument& packed, Operands& weights,
                 Operands& biases) {
  const Operands* parts = parts_of(call, body, packed, kLinear);
  if (parts == nullptr) return false;
  weights.push_back(dequantized(call, body, (*parts)[0]));
  biases.push_back((*parts)[1]);
  return true;
}

// aten.quantized_lstm(input, hx, params, has_biases, ..., *, dtype, use_dynamic)
Result recurrent(const LoweredCall& call, Body& body) {
  const bool is_packed = call.node.target->ends_with(".data");
  const std::size_t place = is_packed ? 3 : 2;
  const Argument cells = call.argument(place, "params");
  const auto* items = items_of(cells);
  if (items == nullptr || !call.node.meta->items) {
    body.refuse(call.node, "the weights of the layer, or the shapes of its results, are not known");
    return {};
  }
  Argument::List params;
  for (const Argument& cell : *items) {
    const auto* pair = cell.get_if<Argument::Tuple>();
    Operands weights, biases;
    if (pair == nullptr || pair->items.size() != 2) {
      body.refuse(call.node, "the weights of the layer are not known");
      return {};
    }
    for (const Argument& packed : pair->items) {
      if (!add_weights(call, body, packed, weights, biases)) return {};
    }
    params.items.insert(params.items.end(), weights.begin(), weights.end());
    if (biases[0].is<NodeId>()) params.items.insert(params.items.end(), biases.begin(), biases.end());
  }
  Operands args = call.args;
  args[place] = params;
  args[place + 1] = params.items.size() == items->size() * 4;  // has_biases
  const std::string layer = call.node.target->find("lstm") == std::string::npos ? "gru" : "lstm";
  std::vector<Meta> metas = *call.node.meta->items;
  for (const Meta& meta : metas) {
    if (meta.items || !meta.shape) {
      body.refuse(call.node, "the shapes of its results are not known");
      return {};
    }
  }
  return Argument::Tuple{
      body.emit_all(call.node, "aten." + layer + (is_packed ? ".data" : ".input"), std::move(args), metas)};
}

// quantized.quantized_lstm_cell_dynamic(input, hx, w_ih, w_hh, b_ih, b_hh)
template <const char* TargetOfCell>
Result recurrent_cell(const LoweredCall& call, Body& body) {
  Operands weights, biases;
  for (const std::size_t place : {2, 3}) {
    if (!add_weights(call, body, call.argument(place), weights, biases)) return {};
  }
  Operands args{call.argument(0), call.argument(1)};
  args.insert(args.end(), weights.begin(), weights.end());
  args.insert(args.end(), biases.begin(), biases.end());
  const Meta& meta = *call.node.meta;
  if (meta.items)
    return Argument::Tuple{body.emit_all(call.node, TargetOfCell, std::move(args), *meta.items)};
  const auto own = meta_of_numbers(call, body);
  if (!own) return {};
  return body.emit(call.node, TargetOfCell, std::move(args), {}, *own, call.node.name);
}
constexpr char kLstmCell[] = "aten.lstm_cell.default";
constexpr char kGruCell[] = "aten.gru_cell.default";
constexpr char kReluCell[] = "aten.rnn_relu_cell.default";
constexpr char kTanhCell[] = "aten.rnn_tanh_cell.default";

struct QuantizedRow {
  std::string_view space, names;
  Result (*rewrite)(const LoweredCall&, Body&) = nullptr;
};

constexpr QuantizedRow kQuantizedRows[] = {
    {"aten.quantize_per_tensor", "default tensor_qparams", quantize},
    {"aten", "quantize_per_channel.default", quantize_by_channel},
    {"aten", "quantize_per_tensor_dynamic.default", quantize_by_data},
    {"aten.dequantize", "self tensor tensors", dequantize},
    {"aten", "int_repr.default", integers},
    {"aten", "_make_per_tensor_quantized_tensor.default", from_integers},
    {"aten", "q_scale.default", number_of<true>},
    {"aten", "q_zero_point.default", number_of<false>},
    {"aten",
     "view.default reshape.default flatten.using_ints transpose.int permute.default slice.Tensor select.int "
     "unsqueeze.default squeeze.default squeeze.dim squeeze.dims expand.default expand_as.default "
     "view_as.default reshape_as.default contiguous.default clone.default unflatten.int chunk.default "
     "split.Tensor split.sizes split_with_sizes.default unbind.int index_select.default detach.default "
     "alias.default t.default movedim.int movedim.intlist narrow.default swapaxes.default flip.default "
     "pixel_shuffle.default pixel_unshuffle.default channel_shuffle.default tensor_split.sections "
     "repeat.default numpy_T.default mT.default",
     moved},
    {"aten", "dropout.default feature_dropout.default", dropped},
    {"aten",
     "max_pool1d.default max_pool2d.default max_pool3d.default avg_pool1d.default avg_pool2d.default "
     "avg_pool3d.default adaptive_avg_pool1d.default adaptive_avg_pool2d.default adaptive_avg_pool3d.default "
     "mean.default mean.dim upsample_nearest1d.default upsample_nearest1d.vec upsample_nearest2d.default "
     "upsample_nearest2d.vec upsample_nearest3d.default upsample_nearest3d.vec upsample_bilinear2d.default "
     "upsample_bilinear2d.vec reflection_pad1d.default reflection_pad2d.default leaky_relu.default "
     "gelu.default cat.default",
     as_input},
    {"quantized", "max_pool1d.default max_pool2d.default", as_input},
    {"aten",
     "eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar "
     "ge.Tensor ge.Scalar",
     on_numbers},
    {"aten", "relu.default relu_.default", relu},
    {"", "aten.relu6.default aten.relu6_.default quantized.relu6.default", relu6},
    {"aten", "hardtanh.default hardtanh_.default", hardtanh},
    {"", "aten.clamp.default aten.clamp_.default quantized.clamp.default", clamp},
    {"aten", "sigmoid.default hardsigmoid.default", with_own_scale<256, false>},
    {"aten", "tanh.default", with_own_scale<128, true>},
    {"quantized",
     "add.default add_relu.default mul.default mul_relu.default matmul.default cat.default cat_relu.default "
     "sigmoid.default softmax.default hardswish.default celu.default elu.default leaky_relu.default "
     "prelu.default layer_norm.default group_norm.default instance_norm.default batch_norm.default "
     "batch_norm1d.default batch_norm2d.default batch_norm3d.default batch_norm_relu.default "
     "batch_norm1d_relu.default batch_norm2d_relu.default batch_norm3d_relu.default",
     with_given_scale},
    {"quantized", "dropout.default", same_in_evaluation},
    {"quantized",
     "mul_scalar.default mul_scalar_relu.default mul.Scalar mul.Scalar2 mul_relu.Scalar mul_relu.Scalar2",
     times_number},
    {"quantized",
     "add_scalar.default add_scalar_relu.default add.Scalar add.Scalar2 add_relu.Scalar add_relu.Scalar2",
     plus_number},
    {"quantized", "linear.default linear_relu.default linear_leaky_relu.default linear_tanh.default",
     quantized_linear},
    {"quantized", "linear_dynamic.default linear_relu_dynamic.default", linear_dynamic<true>},
    {"quantized", "linear_dynamic_fp16.default linear_relu_dynamic_fp16.default", linear_dynamic<false>},
    {"quantized",
     "conv1d.default conv1d_relu.default conv2d.default conv2d.new conv2d_relu.default conv2d_relu.new "
     "conv3d.default conv3d.new conv3d_relu.default conv3d_relu.new conv2d_add.default "
     "conv2d_add_relu.default conv_transpose1d.default conv_transpose2d.default conv_transpose3d.default",
     quantized_convolution},
    {"quantized",
     "conv1d_dynamic.default conv2d_dynamic.default conv3d_dynamic.default conv_transpose1d_dynamic.default "
     "conv_transpose2d_dynamic.default conv_transpose3d_dynamic.default",
     convolution_dynamic},
    {"quantized", "linear_prepack.default linear_prepack_fp16.default", pack_linear},
    {"quantized",
     "conv1d_prepack.default conv2d_prepack.default conv3d_prepack.default conv_prepack.default "
     "conv_transpose1d_prepack.default conv_transpose2d_prepack.default conv_transpose3d_prepack.default",
     pack_convolution},
    {"quantized", "embedding_byte.default", embedding},
    {"quantized", "embedding_bag_byte.default embedding_bag_4bit.default", embedding_bag},
    {"aten", "quantized_lstm.input quantized_lstm.data quantized_gru.input quantized_gru.data", recurrent},
    {"quantized", "quantized_lstm_cell_dynamic.default", recurrent_cell<kLstmCell>},
    {"quantized", "quantized_gru_cell_dynamic.default", recurrent_cell<kGruCell>},
    {"quantized", "quantized_rnn_relu_cell_dynamic.default", recurrent_cell<kReluCell>},
    {"quantized", "quantized_rnn_tanh_cell_dynamic.default", recurrent_cell<kTanhCell>},
};

// Operators on sizes, for which quantized tensors are like others.
constexpr std::string_view kSame[] = {"aten.size.", "aten.len.",    "aten.numel.",
                                      "aten.dim.",  "aten.stride.", "aten.storage_offset."};

bool gives_quantized(const Meta& meta) {
  if (meta.dtype && is_quantized(*meta.dtype)) return true;
  return meta.items && std::ranges::any_of(*meta.items, gives_quantized);
}

}  // namespace

bool is_quantized_dtype(std::string_view dtype) { return dtype.starts_with('q'); }

std::string dtype_of_integers(std::string_view dtype) {
  const Dtype type = find_scalar_type(dtype);
  return !type || !is_quantized(*type) ? std::string(dtype) : dtype_name(without_quantization(*type));
}

Meta meta_of_integers(Meta meta) {
  if (meta.dtype) meta.dtype = without_quantization(*meta.dtype);
  return meta;
}

std::string problem_of(const PackedParameters& packed) {
  const std::string& type = packed.type;
  if (packed.tensors.empty()) return "the file does not describe its contents";
  const bool is_cell = type.ends_with("rnn.CellParamsBase");
  if (!type.empty() && !is_cell && type.find("classes.quantized.") == std::string::npos)
    return "a program cannot have objects of " + type;
  for (const PackedPart& tensor : packed.tensors) {
    const bool is_halved = tensor.tensor.dtype == "quint4x2";
    if (!is_quantized_dtype(tensor.tensor.dtype)) continue;
    if (!bounds_of(tensor.tensor.dtype) && !(is_halved && type.ends_with("EmbeddingPackedParamsBase")))
      return "a program cannot have quantized elements of " + tensor.tensor.dtype;
    if (!tensor.quantization) return "the file does not describe its quantization";
    if (is_halved && (tensor.tensor.shape.size() != 2 || tensor.tensor.shape[1] % 2 != 0))
      return "rows of a table of 4 bits do not end at a byte";
  }
  if (type.find(".Conv") != std::string::npos && !packed.convolution)
    return "the file does not describe its stride and padding";
  return {};
}

Argument packed_operand(const PackedParameters& packed, const std::vector<Argument>& tensors) {
  const auto named = [&](std::string_view name) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (packed.tensors[i].name == name) return tensors[i];
    }
    return Argument();
  };
  const auto numbers = [](const std::vector<std::int64_t>& given) {
    Argument::List list;
    for (const std::int64_t number : given) list.items.emplace_back(number);
    return list;
  };
  if (packed.type.empty()) return tensors.front();
  if (packed.type.ends_with("CellParamsBase"))
    return Argument::Tuple{{Argument::Tuple{{named("w_ih.weight"), named("w_ih.bias")}},
                            Argument::Tuple{{named("w_hh.weight"), named("w_hh.bias")}}}};
  if (packed.type.ends_with("EmbeddingPackedParamsBase")) return Argument::Tuple{{tensors.front()}};
  if (!packed.convolution) return Argument::Tuple{{named("weight"), named("bias")}};
  const PackedParameters::Convolution& of = *packed.convolution;
  return Argument::Tuple{{named("weight"), named("bias"), numbers(of.stride), numbers(of.padding),
                          numbers(of.output_padding), numbers(of.dilation), of.groups, of.is_transposed}};
}

bool is_quantized_call(const LoweredCall& call, const Body& body) {
  const std::string& target = *call.node.target;
  const TargetParts parts = target_parts(call.node);
  if (parts.kind == TargetKind::kPython) return false;
  if (std::ranges::any_of(kSame, [&](std::string_view start) { return target.starts_with(start); }))
    return false;
  return target.starts_with("quantized.") || target.starts_with("aten.quantized_") ||
         gives_quantized(*call.node.meta) || first_quantization(call, body) != nullptr;
}

std::optional<Argument> rewrite_quantized(const LoweredCall& call, Body& body) {
  static const NameTable<QuantizedRow> rows(kQuantizedRows);
  if (!body.may_be_quantized()) {
    body.refuse(call.node, "it takes or gives quantized tensors (--quantized refuse)");
    return std::nullopt;
  }
  const QuantizedRow* row = rows.find(*call.node.target);
  return row == nullptr ? std::nullopt : row->rewrite(call, body);
}

}  // namespace fxtrace
