// Operators that torch implements in Python only, in a module that a program's user imports:
// quantized_decomposed, which convert writes for quantized archives and PT2E quantization puts into programs.
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "execute/engine_value.h"

// Each computes what its namesake in torch/ao/quantization/fx/_decomposed.py does (2.6 to 2.13), by the same
// kernels in the same order, so that results are equal bit for bit.
namespace fxtrace::internal::execute {
namespace {

using at::ScalarType;
using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using OptionalType = std::optional<ScalarType>;

bool is_integer(ScalarType dtype) {
  return dtype == at::kByte || dtype == at::kChar || dtype == at::kShort || dtype == at::kInt ||
         dtype == at::kUInt16;
}

void check_range(int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  if (dtype == at::kFloat8_e5m2 || dtype == at::kFloat8_e4m3fn) {
    const int64_t most = dtype == at::kFloat8_e5m2 ? 57344 : 448;
    TORCH_CHECK(-most <= quant_min && quant_max <= most, "the range is wider than ", dtype);
    return;
  }
  TORCH_CHECK(is_integer(dtype), "unsupported dtype ", dtype);
  const bool is_signed = at::isSignedType(dtype);
  const int64_t bits = 8 * static_cast<int64_t>(c10::elementSize(dtype)) - (is_signed ? 1 : 0);
  const int64_t most = (int64_t{1} << bits) - 1;
  TORCH_CHECK((is_signed ? -most - 1 : 0) <= quant_min && quant_max <= most, "the range is wider than ",
              dtype);
}

double number(const Tensor& tensor) {
  TORCH_CHECK(tensor.numel() == 1, "a scale has one element");
  return tensor.item().toDouble();
}
int64_t integer(const Tensor& tensor) {
  TORCH_CHECK(tensor.numel() == 1, "a zero point has one element");
  return tensor.item().toLong();
}

Tensor as_float(const Tensor& input) {
  const bool is_half = input.scalar_type() == at::kHalf || input.scalar_type() == at::kBFloat16;
  Tensor result = is_half ? input.to(at::kFloat) : input;
  TORCH_CHECK(result.scalar_type() == at::kFloat, "the input is no float32, but ", input.scalar_type());
  return result;
}

void check_dtype(const Tensor& input, ScalarType dtype) {
  TORCH_CHECK(input.scalar_type() == dtype, "the input is no ", dtype, ", but ", input.scalar_type());
}

// --- of a tensor ---

Tensor quantize_per_tensor(const Tensor& given, double scale, int64_t zero_point, int64_t quant_min,
                           int64_t quant_max, ScalarType dtype) {
  const Tensor input = as_float(given);
  check_range(quant_min, quant_max, dtype);
  TORCH_CHECK(scale != 0, "float division by zero");
  return at::clamp(at::round(input * (1.0 / scale)) + zero_point, quant_min, quant_max).to(dtype);
}
Tensor quantize_per_tensor_tensor(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                  int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  return quantize_per_tensor(input, number(scale), integer(zero_point), quant_min, quant_max, dtype);
}
Tensor quantize_per_tensor_tensor2(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                   const Tensor& quant_min, const Tensor& quant_max, ScalarType dtype) {
  return quantize_per_tensor_tensor(input, scale, zero_point, integer(quant_min), integer(quant_max), dtype);
}

Tensor dequantize_per_tensor(const Tensor& input, double scale, int64_t zero_point, int64_t /*quant_min*/,
                             int64_t /*quant_max*/, ScalarType dtype, OptionalType out_dtype) {
  check_dtype(input, dtype);
  TORCH_CHECK(is_integer(dtype) || dtype == at::kFloat8_e5m2 || dtype == at::kFloat8_e4m3fn,
              "unsupported dtype ", dtype);
  return (input.to(out_dtype.value_or(at::kFloat)) - zero_point) * scale;
}
Tensor dequantize_per_tensor_tensor(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                    int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                    OptionalType out_dtype) {
  return dequantize_per_tensor(input, number(scale), integer(zero_point), quant_min, quant_max, dtype,
                               out_dtype);
}
Tensor dequantize_per_tensor_tensor2(const Tensor& input, const Tensor& scale, const Tensor& zero_point,
                                     const Tensor& quant_min, const Tensor& quant_max, ScalarType dtype,
                                     OptionalType out_dtype) {
  return dequantize_per_tensor_tensor(input, scale, zero_point, integer(quant_min), integer(quant_max), dtype,
                                      out_dtype);
}

Pair qparams(const Tensor& input, int64_t quant_min, int64_t quant_max, double eps, ScalarType dtype,
             bool is_symmetric) {
  TORCH_CHECK(input.scalar_type() == at::kFloat || input.scalar_type() == at::kHalf ||
                  input.scalar_type() == at::kBFloat16,
              "the input is no float32, float16 or bfloat16, but ", input.scalar_type());
  TORCH_CHECK(quant_min <= 0 && 0 <= quant_max && quant_min < quant_max,
              "the range has no 0 and another number");
  const auto [low, high] = at::aminmax(input);
  const Tensor least = at::min(low, at::zeros_like(low));
  Tensor most = at::max(high, at::zeros_like(high));
  const Tensor smallest = at::full({1}, eps, at::kFloat);
  const auto range = static_cast<double>(quant_max - quant_min);
  if (is_symmetric) {
    most = at::max(-least, most);
    const Tensor scale = at::max(most / (range / 2), smallest);
    return {scale.to(at::kDouble), at::full({1}, dtype == at::kByte ? 128 : 0, at::kLong)};
  }
  const Tensor scale = at::max((most - least) / range, smallest);
  const Tensor zero_point = quant_min - at::round(least / scale).to(at::kInt);
  return {scale.to(at::kDouble), at::clamp(zero_point, quant_min, quant_max).to(at::kLong)};
}
Pair choose_qparams(const Tensor& input, int64_t quant_min, int64_t quant_max, double eps, ScalarType dtype) {
  return qparams(input, quant_min, quant_max, eps, dtype, false);
}
Pair choose_qparams_symmetric(const Tensor& input, int64_t quant_min, int64_t quant_max, double eps,
                              ScalarType dtype) {
  return qparams(input, quant_min, quant_max, eps, dtype, true);
}

// --- of each channel ---

// Returns the shape of one number for each index of the first of so many dimensions.
std::vector<int64_t> along_first(const Tensor& scales, int64_t dims) {
  std::vector<int64_t> shape(static_cast<size_t>(dims), 1);
  shape.at(0) = scales.size(0);
  return shape;
}

Tensor quantize_per_channel(const Tensor& given, const Tensor& scales, const Tensor& zero_points,
                            int64_t axis, int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  const Tensor input = as_float(given).transpose(0, axis);
  check_range(quant_min, quant_max, dtype);
  const auto shape = along_first(scales, input.dim());
  const Tensor steps = at::round(input * (1.0 / scales.view(shape))) + zero_points.view(shape);
  return at::clamp(steps, quant_min, quant_max).transpose(0, axis).to(dtype);
}

Tensor dequantize_per_channel(const Tensor& given, const Tensor& scales,
                              const std::optional<Tensor>& zero_points, int64_t axis, int64_t quant_min,
                              int64_t quant_max, ScalarType dtype, OptionalType out_dtype) {
  check_dtype(given, dtype);
  check_range(quant_min, quant_max, dtype);
  Tensor input = given.transpose(0, axis);
  const auto shape = along_first(scales, input.dim());
  if (zero_points) input = input - zero_points->view(shape);
  return (input * scales.view(shape)).to(out_dtype.value_or(at::kFloat)).transpose(0, axis);
}

Tensor fake_quant_per_channel(const Tensor& input, const Tensor& given_scales,
                              const Tensor& given_zero_points, int64_t axis, int64_t quant_min,
                              int64_t quant_max) {
  TORCH_CHECK(input.scalar_type() == at::kFloat, "the input is no float32, but ", input.scalar_type());
  TORCH_CHECK(axis < input.dim(), "the input has no dimension ", axis);
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape.at(static_cast<size_t>(axis)) = given_scales.numel();
  const Tensor scales = given_scales.to(at::kFloat).view(shape);
  const Tensor zero_points = given_zero_points.to(at::kInt).view(shape);
  const Tensor steps = at::round(input * (1.0 / scales)) + zero_points;
  return (at::clamp(steps, quant_min, quant_max) - zero_points) * scales;
}

// --- of each token: the last dimension ---

Pair choose_qparams_per_token(const Tensor& input, ScalarType dtype) {
  TORCH_CHECK(dtype == at::kChar, "unsupported dtype ", dtype);
  Tensor scales = input.abs().amax(-1, true);
  if (scales.scalar_type() == at::kHalf) scales = scales.to(at::kFloat);
  scales = scales.clamp(1e-5).div(127);
  return {scales, at::zeros_like(scales)};
}

Pair choose_qparams_per_token_asymmetric(const Tensor& input, ScalarType /*dtype*/) {
  constexpr int64_t kMin = -128, kMax = 127;
  const Tensor low = input.amin(-1, true), high = input.amax(-1, true);
  const Tensor least = at::min(low, at::zeros_like(low)), most = at::max(high, at::zeros_like(high));
  const Tensor scale = ((most - least) / static_cast<double>(kMax - kMin))
                           .clamp(static_cast<double>(std::numeric_limits<float>::epsilon()));
  const Tensor lowest = least / scale, highest = most / scale;
  const Tensor zero_point = at::where((kMin + lowest) + (kMax + highest) > 0, kMin - lowest, kMax - highest)
                                .clamp(kMin, kMax)
                                .round();
  return {scale.to(at::kDouble), zero_point.to(at::kLong)};
}

void check_tokens(const Tensor& input, const Tensor& numbers) {
  int64_t tokens = 1;
  for (int64_t i = 0; i + 1 < input.dim(); ++i) tokens *= input.size(i);
  TORCH_CHECK(tokens == numbers.numel(), tokens, " tokens, but ", numbers.numel(), " scales or zero points");
}

Tensor quantize_per_token(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                          int64_t quant_min, int64_t quant_max, ScalarType dtype) {
  check_range(quant_min, quant_max, dtype);
  check_tokens(input, scales);
  check_tokens(input, zero_points);
  return input.mul(1.0 / scales).add(zero_points).round().clamp(quant_min, quant_max).to(dtype);
}

Tensor dequantize_per_token(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                            int64_t /*quant_min*/, int64_t /*quant_max*/, ScalarType /*dtype*/,
                            ScalarType output_dtype) {
  return ((input - zero_points) * scales).to(output_dtype);
}

// --- of each group of a channel ---

int64_t checked_group_size(const Tensor& input, const Tensor& scales, int64_t group_size) {
  TORCH_CHECK(group_size > 1, "a group has two elements or more");
  TORCH_CHECK(input.dim() == 2, "the input has ", input.dim(), " dimensions, not 2");
  if (group_size > input.size(-1) && scales.size(-1) == 1) group_size = input.size(-1);
  TORCH_CHECK(group_size > 0 && input.size(-1) % group_size == 0,
              "the last size is no multiple of the group's");
  return group_size;
}

Tensor quantize_per_channel_group(const Tensor& input, const Tensor& scales, const Tensor& zero_points,
                                  int64_t quant_min, int64_t quant_max, ScalarType dtype,
                                  int64_t group_size) {
  const Tensor groups = input.reshape({-1, checked_group_size(input, scales, group_size)});
  TORCH_CHECK(!at::isnan(groups).any().item().toBool(), "the input has NaN");
  return groups.mul(1.0 / scales.reshape({-1, 1}))
      .add(zero_points.reshape({-1, 1}))
      .round()
      .clamp(quant_min, quant_max)
      .to(dtype)
      .reshape_as(input);
}

Tensor dequantize_per_channel_group(const Tensor& input, const Tensor& scales,
                                    const std::optional<Tensor>& zero_points, int64_t /*quant_min*/,
                                    int64_t /*quant_max*/, ScalarType /*dtype*/, int64_t group_size,
                                    ScalarType output_dtype) {
  const Tensor groups = input.reshape({-1, checked_group_size(input, scales, group_size)});
  const Tensor from = zero_points ? zero_points->reshape({-1, 1}) : at::zeros({}, at::kInt);
  return groups.sub(from).mul(scales.reshape({-1, 1})).reshape_as(input).to(output_dtype);
}

Tensor convert_element_type(const Tensor& input, ScalarType dtype) { return input.to(dtype); }

}  // namespace

void add_quantized_decomposed() {
  static torch::Library library(torch::Library::FRAGMENT, "quantized_decomposed", std::nullopt, __FILE__,
                                __LINE__);
  const auto add = [](const std::string& name, const std::string& rest, auto* function) {
    const auto dot = name.find('.');
    const c10::OperatorName full{"quantized_decomposed::" + name.substr(0, dot),
                                 dot == std::string::npos ? "" : name.substr(dot + 1)};
    if (c10::Dispatcher::singleton().findSchema(full)) return;  // a library of operators has it
    library.def((name + rest).c_str(),
                torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, function));
  };
  const std::string range = "int quant_min, int quant_max, ScalarType dtype",
                    type = ", *, ScalarType? out_dtype=None";
  const std::string tensors = "Tensor input, Tensor scale, Tensor zero_point, ";
  const std::string lists = "Tensor input, Tensor scales, Tensor zero_points, ";
  const std::string optional_lists = "Tensor input, Tensor scales, Tensor? zero_points, ";
  const std::string range_tensors = "Tensor quant_min, Tensor quant_max, ScalarType dtype";
  const std::string qparams =
      "(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)";
  add("quantize_per_tensor", "(Tensor input, float scale, int zero_point, " + range + ") -> Tensor",
      quantize_per_tensor);
  add("quantize_per_tensor.tensor", "(" + tensors + range + ") -> Tensor", quantize_per_tensor_tensor);
  add("quantize_per_tensor.tensor2", "(" + tensors + range_tensors + ") -> Tensor",
      quantize_per_tensor_tensor2);
  add("dequantize_per_tensor", "(Tensor input, float scale, int zero_point, " + range + type + ") -> Tensor",
      dequantize_per_tensor);
  add("dequantize_per_tensor.tensor", "(" + tensors + range + type + ") -> Tensor",
      dequantize_per_tensor_tensor);
  add("dequantize_per_tensor.tensor2", "(" + tensors + range_tensors + type + ") -> Tensor",
      dequantize_per_tensor_tensor2);
  add("choose_qparams.tensor", qparams, choose_qparams);
  add("choose_qparams_symmetric.tensor", qparams, choose_qparams_symmetric);
  add("quantize_per_channel", "(" + lists + "int axis, " + range + ") -> Tensor", quantize_per_channel);
  add("dequantize_per_channel", "(" + optional_lists + "int axis, " + range + type + ") -> Tensor",
      dequantize_per_channel);
  add("fake_quant_per_channel", "(" + lists + "int axis, int quant_min, int quant_max) -> Tensor",
      fake_quant_per_channel);
  add("choose_qparams_per_token", "(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
      choose_qparams_per_token);
  for (const char* name :
       {"_choose_qparams_per_token_asymmetric_impl", "choose_qparams_per_token_asymmetric"})
    add(name, "(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_qparams_per_token_asymmetric);
  add("quantize_per_token", "(" + lists + range + ") -> Tensor", quantize_per_token);
  add("dequantize_per_token", "(" + lists + range + ", ScalarType output_dtype) -> Tensor",
      dequantize_per_token);
  add("quantize_per_channel_group", "(" + lists + range + ", int group_size) -> Tensor",
      quantize_per_channel_group);
  add("dequantize_per_channel_group",
      "(" + optional_lists + range + ", int group_size, ScalarType output_dtype) -> Tensor",
      dequantize_per_channel_group);
  add("convert_element_type.no_fuse", "(Tensor input, ScalarType dtype) -> Tensor", convert_element_type);
}

}  // namespace fxtrace::internal::execute
