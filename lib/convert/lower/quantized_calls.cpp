#include "convert/lower/quantized_calls.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "convert/lower/rewrites.h"
#include "shapes/tensor_options.h"

namespace fxtrace::internal {
namespace {

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

Operands all_dequantized(const LoweredCall& call, Body& body) {
  return *items_of(dequantized(call, body, Argument::List{call.args}));
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

// Quantizes and dequantizes.
Argument rounded(const LoweredCall& call, Body& body, const Argument& tensor, Quantization quantization) {
  const Argument integers =
      body.emit(call.node, decomposed("quantize_per_tensor.tensor"), with_quantization(tensor, quantization),
                {}, in_dtype(body.meta_of(tensor), ScalarType::kUint8));
  body.set_quantization(integers, std::move(quantization));
  return dequantized(call, body, integers);
}

Result dequantize(const LoweredCall& call, Body& body) {
  return dequantized(call, body, call.argument(0), call.node.name);
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
  Operands args = all_dequantized(call, body);
  const Argument numbers = body.emit(call.node, std::move(target), std::move(args), call.kwargs, *meta);
  return quantized(call, body, numbers, quantization);
}

// Lowers operators whose result is not quantized, such as comparisons.
Result on_numbers(const LoweredCall& call, Body& body) {
  const Meta& meta = *call.node.meta;
  if (!meta.shape || !meta.dtype || is_quantized(*meta.dtype)) return {};
  Operands args = all_dequantized(call, body);
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
Result clamped(const LoweredCall& call, Body& body, Operands args) {
  const Quantization* found = body.quantization(args[0]);
  if (found == nullptr || found->axis || !real_of(found->scale) || !found->zero_point.is<std::int64_t>())
    return {};
  const Quantization quantization = *found;
  args.resize(3);
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (args[i].is<Argument::None>()) continue;
    const auto limit = real_of(args[i]);
    if (!limit) return {};
    args[i] = integer_for(*limit, quantization);
  }
  const bool in_place = target_parts(call.node).name.ends_with('_');
  const Meta meta = body.meta_of(args[0]);
  Argument result = body.emit(call.node, in_place ? "aten.clamp_.default" : "aten.clamp.default",
                              std::move(args), {}, meta, call.node.name);
  if (in_place) body.keep_maker(result);
  body.set_quantization(result, quantization);
  return result;
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

constexpr std::size_t kTable = 1, kLinear = 2, kConvolution = 8;

std::size_t rank_of(const Body& body, const Argument& tensor) {
  const Meta meta = body.meta_of(tensor);
  return meta.shape ? meta.shape->size() : 0;
}

Result convolution_of(const LoweredCall& call, Body& body, const Argument& input, const Argument& packed) {
  const Operands* parts = parts_of(call, body, packed, kConvolution);
  if (parts == nullptr) return {};
  const Argument numbers = dequantized(call, body, input), weight = dequantized(call, body, (*parts)[0]);
  const std::size_t rank = rank_of(body, weight);
  const bool is_transposed = (*parts)[7] == Argument(true);
  // A packed convolution over one dimension is one over two, the first of size 1.
  const bool is_one_of_two = rank == 4 && rank_of(body, input) == 3;
  std::string text = is_one_of_two ? "(aten.unsqueeze(x, 2)" : "(x";
  text += is_transposed ? ", w, b, stride, padding, output_padding, groups, dilation)"
                        : ", w, b, stride, padding, dilation, groups)";
  text = (is_transposed ? "aten.conv_transpose" : "aten.conv") + std::to_string(rank - 2) +
         (is_transposed && rank > 3 ? "d.input" : "d") + text;
  return make_operations(is_one_of_two ? "aten.squeeze.dim(" + text + ", 2)" : text,
                         {{"x", numbers},
                          {"w", weight},
                          {"b", (*parts)[1]},
                          {"stride", (*parts)[2]},
                          {"padding", (*parts)[3]},
                          {"output_padding", (*parts)[4]},
                          {"dilation", (*parts)[5]},
                          {"groups", (*parts)[6]}},
                         call, body, false);
}

// --- embeddings ---

// Returns an embedding table as floats.  A table of 4 bits has two elements in each byte.
Result table_of(const LoweredCall& call, Body& body, const Argument& packed) {
  const Operands* parts = parts_of(call, body, packed, kTable);
  const Quantization* found = parts == nullptr ? nullptr : body.quantization(parts->front());
  if (found == nullptr) return {};
  if (found->dtype != "quint4x2") return dequantized(call, body, parts->front());
  Quantization of_bytes = *found;
  of_bytes.dtype = "quint8";
  const auto integers = make_operations(
      "low = aten.bitwise_and.Scalar(w, 15); "
      "high = aten.bitwise_right_shift.Tensor_Scalar(w, 4); "
      "aten.flatten.using_ints(aten.stack([low, high], -1), -2, -1)",
      {{"w", parts->front()}}, call, body, false);
  if (!integers) return {};
  body.set_quantization(*integers, std::move(of_bytes));
  return dequantized(call, body, *integers);
}

// Lowers embedding_bag as sums, whatever the mode: torch has no other for quantized tables.
Result embedding_bag(const LoweredCall& call, Body& body) {
  const Argument packed = call.argument(0, "weight"), indices = call.argument(1, "indices");
  const Argument offsets = call.argument(2, "offsets"), weights = call.argument(6, "per_sample_weights");
  const Argument includes_last = call.argument(8, "include_last_offset");
  const auto meta = meta_of_numbers(call, body);
  if (!meta) return {};
  if (call.argument(5) == Argument(true) || !call.argument(7).is<Argument::None>()) {
    body.refuse(call.node, "a program cannot have pruned tables");
    return {};
  }
  const auto table = table_of(call, body, packed);
  if (!table) return {};
  if (rank_of(body, indices) == 1) {
    Meta unknown = in_dtype(body.meta_of(indices), ScalarType::kInt64);
    const Operands results = body.emit_all(call.node, "aten.embedding_bag.padding_idx",
                                           {*table, indices, offsets, false, std::int64_t{0}, false, weights,
                                            includes_last == Argument(true), Argument()},
                                           {*meta, unknown, unknown, unknown});
    return results[0];
  }
  if (includes_last == Argument(true)) {
    body.refuse(call.node, "include_last_offset is set for indices of two dimensions");
    return {};
  }
  // Each row of indices is a bag.
  const std::string rows = "aten.embedding(table, indices)";
  return make_operations(
      "aten.sum.dim_IntList(" +
          (weights.is<Argument::None>() ? rows
                                        : "aten.mul.Tensor(" + rows + ", aten.unsqueeze(weights, -1))") +
          ", [1])",
      {{"table", *table}, {"indices", indices}, {"weights", weights}}, call, body, true);
}

// --- recurrent layers ---

// Only the weights of recurrent layers are quantized; their inputs stay floats.
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
      const Operands* parts = parts_of(call, body, packed, kLinear);
      if (parts == nullptr) return {};
      weights.push_back(dequantized(call, body, (*parts)[0]));
      biases.push_back((*parts)[1]);
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

// --- the table ---

// Makes the calls of the texts below.  dq() and weight() dequantize; quantized() has the scale and the zero
// point that are given, or those of the input; rounded() has a scale that is chosen at run time.
Result make_call(const LoweredCall& call, Body& body, const std::string& target, Operands args, Kwargs kwargs,
                 bool is_last) {
  const bool is_reduced = args.size() > 1 && args[1] == Argument(true);
  if (target == "dq") return dequantized(call, body, args[0]);
  if (target == "relu") return with_relu(call, body, args[0]);
  if (target == "clamped") return clamped(call, body, std::move(args));
  if (target == "rounded") return rounded(call, body, args[0], chosen(call, body, args[0], is_reduced));
  if (target == "rounded_as") {
    const std::vector<Argument> like = body.view().node(*args[1].get_if<NodeId>()).args;
    return rounded(call, body, args[0], {"quint8", like[1], like[2]});
  }
  if (target == "convolution") return convolution_of(call, body, args[0], args[1]);
  if (target == "table") return table_of(call, body, args[0]);
  if (target == "weight" || target == "bias") {
    const Operands* parts = parts_of(call, body, args[0], kLinear);
    if (parts == nullptr) return {};
    return target == "bias" ? (*parts)[1] : dequantized(call, body, (*parts)[0]);
  }
  if (target != "quantized")
    return make_operation(call, body, target, std::move(args), std::move(kwargs), is_last);
  const Quantization* like = first_quantization(call, body);
  if (like == nullptr) return {};
  auto quantization = given_quantization(call, body, args[1], args[2], like, like->dtype);
  if (!quantization) return {};
  return quantized(call, body, with_relu(call, body, args[0]), std::move(*quantization));
}

constexpr RewriteRow kRows[] = {
    {"aten: quantize_per_tensor quantize_per_tensor.tensor_qparams", quantize},
    {"aten.quantize_per_channel", quantize_by_channel},
    {"aten.quantize_per_tensor_dynamic", quantize_by_data},
    {"aten: dequantize.self dequantize.tensor dequantize.tensors", dequantize},
    {"aten.int_repr(self)", "aten.clone(self)"},
    {"aten._make_per_tensor_quantized_tensor", from_integers},
    {"aten.q_scale", number_of<true>},
    {"aten.q_zero_point", number_of<false>},
    {"aten: view reshape flatten.using_ints transpose.int permute slice.Tensor select.int unsqueeze "
     "squeeze squeeze.dim squeeze.dims expand expand_as view_as reshape_as contiguous clone "
     "unflatten.int chunk split.Tensor split.sizes split_with_sizes unbind.int index_select detach alias "
     "t movedim.int movedim.intlist narrow swapaxes flip pixel_shuffle pixel_unshuffle channel_shuffle "
     "tensor_split.sections repeat numpy_T mT",
     moved},
    {"aten: dropout feature_dropout", dropped},
    {"aten: max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
     "adaptive_avg_pool2d adaptive_avg_pool3d mean mean.dim upsample_nearest1d upsample_nearest1d.vec "
     "upsample_nearest2d upsample_nearest2d.vec upsample_nearest3d upsample_nearest3d.vec "
     "upsample_bilinear2d upsample_bilinear2d.vec reflection_pad1d reflection_pad2d leaky_relu gelu cat "
     "quantized: max_pool1d max_pool2d",
     as_input},
    {"aten: eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor "
     "gt.Scalar ge.Tensor ge.Scalar",
     on_numbers},

    {"aten: relu relu_(x)", "clamped(x, 0.0)"},
    {"aten: relu6 relu6_(x)", "clamped(x, 0.0, 6.0)"},
    {"quantized.relu6(x, inplace=False)", "clamped(x, 0.0, 6.0)"},
    {"aten: hardtanh hardtanh_(x)", "clamped(x, -1.0, 1.0)"},
    {"aten: hardtanh hardtanh_(x, min_val, max_val=number)", "clamped(x, min_val, max_val)"},
    {"aten: clamp clamp_ quantized: clamp(x, min, max)", "clamped(x, min, max)"},
    {"aten: sigmoid hardsigmoid", with_own_scale<256, false>},
    {"aten.tanh", with_own_scale<128, true>},

    {"quantized: add add_relu(x, y, scale, zero)", "quantized(aten.add.Tensor(dq(x), dq(y)), scale, zero)"},
    {"quantized: mul mul_relu(x, y, scale, zero)", "quantized(aten.mul.Tensor(dq(x), dq(y)), scale, zero)"},
    {"quantized.matmul(x, y, scale, zero)", "quantized(aten.matmul(dq(x), dq(y)), scale, zero)"},
    {"quantized: cat cat_relu(x, dim, scale, zero)", "quantized(aten.cat(dq(x), dim), scale, zero)"},
    {"quantized.sigmoid(x, scale, zero)", "quantized(aten.sigmoid(dq(x)), scale, zero)"},
    {"quantized.softmax(x, dim, scale, zero)", "quantized(aten.softmax.int(dq(x), dim), scale, zero)"},
    {"quantized.hardswish(x, scale, zero)", "quantized(aten.hardswish(dq(x)), scale, zero)"},
    {"quantized.celu(x, scale, zero, alpha)", "quantized(aten.celu(dq(x), alpha), scale, zero)"},
    {"quantized.elu(x, scale, zero, alpha, a, b)", "quantized(aten.elu(dq(x), alpha, a, b), scale, zero)"},
    {"quantized.leaky_relu(x, slope, inplace, scale, zero)",
     "quantized(aten.leaky_relu(dq(x), slope), scale, zero)"},
    {"quantized.prelu(x, w, scale, zero)", "quantized(aten.prelu(dq(x), dq(w)), scale, zero)"},
    {"quantized.layer_norm(x, shape, w, b, eps, scale, zero)",
     "quantized(aten.layer_norm(dq(x), shape, w, b, eps), scale, zero)"},
    {"quantized.group_norm(x, groups, w, b, eps, scale, zero)",
     "quantized(aten.group_norm(dq(x), groups, w, b, eps), scale, zero)"},
    {"quantized.instance_norm(x, w, b, eps, scale, zero)",
     "quantized(aten.instance_norm(dq(x), w, b, None, None, True, 0.0, eps, False), scale, zero)"},
    {"quantized: batch_norm batch_norm1d batch_norm2d batch_norm3d batch_norm_relu batch_norm1d_relu "
     "batch_norm2d_relu batch_norm3d_relu(x, w, b, mean, var, eps, scale, zero)",
     "quantized(aten.batch_norm(dq(x), w, b, mean, var, False, 0.0, eps, False), scale, zero)"},
    {"quantized.dropout(x, scale, zero, p, training=False)", "x"},
    {"quantized: mul_scalar mul_scalar_relu mul.Scalar mul.Scalar2 mul_relu.Scalar mul_relu.Scalar2",
     times_number},
    {"quantized: add_scalar add_scalar_relu add.Scalar add.Scalar2 add_relu.Scalar add_relu.Scalar2",
     plus_number},

    {"quantized: linear linear_relu(x, w, scale, zero)",
     "quantized(aten.linear(dq(x), weight(w), bias(w)), scale, zero)"},
    {"quantized.linear_leaky_relu(x, w, scale, zero, slope)",
     "quantized(aten.leaky_relu(aten.linear(dq(x), weight(w), bias(w)), slope), scale, zero)"},
    {"quantized.linear_tanh(x, w, scale, zero)",
     "quantized(aten.tanh(aten.linear(dq(x), weight(w), bias(w))), scale, zero)"},
    {"quantized: linear_dynamic linear_relu_dynamic(x, w, reduced)",
     "relu(aten.linear(rounded(x, reduced), weight(w), bias(w)))"},
    {"quantized: linear_dynamic_fp16 linear_relu_dynamic_fp16(x, w)",
     "relu(aten.linear(x, weight(w), bias(w)))"},
    {"quantized: conv1d conv1d_relu conv2d.new conv2d_relu.new conv3d.new conv3d_relu.new "
     "conv_transpose1d conv_transpose2d conv_transpose3d(x, w, scale, zero)",
     "quantized(convolution(x, w), scale, zero)"},
    // `w` has the stride and the padding, too.
    {"quantized: conv2d conv2d_relu conv3d conv3d_relu(x, w, stride, padding, dilation, groups, scale, zero)",
     "quantized(convolution(x, w), scale, zero)"},
    {"quantized: conv2d_add conv2d_add_relu(x, y, w, scale, zero)",
     "quantized(aten.add.Tensor(convolution(x, w), dq(y)), scale, zero)"},
    // As LibTorch, which quantizes the result as the input.
    {"quantized: conv1d_dynamic conv2d_dynamic conv3d_dynamic conv_transpose1d_dynamic "
     "conv_transpose2d_dynamic conv_transpose3d_dynamic(x, w, reduced)",
     "y = rounded(x, reduced); rounded_as(convolution(y, w), y)"},
    {"quantized: linear_prepack linear_prepack_fp16(w, b)", "(w, b)"},
    {"quantized: conv1d_prepack conv2d_prepack conv3d_prepack conv_prepack"
     "(w, b, stride, padding, dilation, groups)",
     "(w, b, stride, padding, [], dilation, groups, False)"},
    {"quantized: conv_transpose1d_prepack conv_transpose2d_prepack conv_transpose3d_prepack"
     "(w, b, stride, padding, output_padding, dilation, groups)",
     "(w, b, stride, padding, output_padding, dilation, groups, True)"},
    {"quantized.embedding_byte(w, indices, pruned_weights=False)", "aten.embedding(table(w), indices)"},
    {"quantized: embedding_bag_byte embedding_bag_4bit", embedding_bag},
    {"aten: quantized_lstm.input quantized_lstm.data quantized_gru.input quantized_gru.data", recurrent},
    {"quantized.quantized_lstm_cell_dynamic(x, h, w, v, b, c)",
     "aten.lstm_cell(x, h, weight(w), weight(v), bias(w), bias(v))"},
    {"quantized.quantized_gru_cell_dynamic(x, h, w, v, b, c)",
     "aten.gru_cell(x, h, weight(w), weight(v), bias(w), bias(v))"},
    {"quantized.quantized_rnn_relu_cell_dynamic(x, h, w, v, b, c)",
     "aten.rnn_relu_cell(x, h, weight(w), weight(v), bias(w), bias(v))"},
    {"quantized.quantized_rnn_tanh_cell_dynamic(x, h, w, v, b, c)",
     "aten.rnn_tanh_cell(x, h, weight(w), weight(v), bias(w), bias(v))"},
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

Result rewrite_quantized(const LoweredCall& call, Body& body) {
  static const RewriteTable table(kRows, make_call);
  if (body.may_be_quantized()) return table.apply(*call.node.target, call, body);
  body.refuse(call.node, "it takes or gives quantized tensors (--quantized refuse)");
  return {};
}

}  // namespace fxtrace::internal
