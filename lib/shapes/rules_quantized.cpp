// Rules of quantized models.  Packed parameters are opaque to the graph; what is known of them is the list of
// what they were packed from, weight first, so that operators that use them know their sizes.
#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

TensorInfo with_dtype(TensorInfo info, Dtype dtype) {
  info.dtype = dtype;
  return info;
}

// ---- Quantization and back ----

Results quantize(const RuleArguments& args) {
  const ScalarType dtype = args.dtype("dtype");
  if (!args.given("tensors")) return make(with_dtype(args.tensor("self"), dtype));
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) tensor.dtype = dtype;
  return make_list(std::move(tensors));
}

Results dequantize(const RuleArguments& args) {
  const std::string_view name = first_argument(args);
  if (args.is_tensor(name)) return make(with_dtype(args.tensor(name), ScalarType::kFloat32));
  std::vector<TensorInfo> tensors = args.tensors(name);
  for (TensorInfo& tensor : tensors) tensor.dtype = ScalarType::kFloat32;
  return make_list(std::move(tensors));
}

Results int_repr(const RuleArguments& args) {
  TensorInfo result = args.tensor("self");
  if (result.dtype) result.dtype = without_quantization(*result.dtype);
  return make(std::move(result));
}

// (result, mask)
Results fake_quantize_with_mask(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  return make_many({input, with_dtype(input, ScalarType::kBool)});
}

// ---- Operators on quantized tensors ----

Results binary(const RuleArguments& args) {
  const TensorInfo& a = args.tensor("qa");
  if (!args.is_tensor("qb")) return make(a);  // a number
  return make(broadcast(a.sizes, args.tensor("qb").sizes, args.dimensions), a.dtype);
}

Results matmul(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("qa"), &b = args.tensor("qb");
  if (a.dim() < 2 || a.dim() != b.dim()) throw CannotTell{};
  Sizes sizes = a.sizes;
  sizes.back() = b.sizes.back();
  return make(std::move(sizes), a.dtype);
}

Results cat(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("qx");
  if (tensors.empty()) throw CannotTell{};
  TensorInfo result = tensors[0];
  const std::size_t dim = dim_index(args.number("dim"), result);
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].dim() != result.dim()) throw CannotTell{};
    result.sizes[dim] = result.sizes[dim] + tensors[i].sizes[dim];
  }
  return make(std::move(result));
}

// ---- Packed parameters ----

AbstractValue known_sizes(const Sizes& sizes) {
  AbstractValue::Sequence elements;
  for (const SymInt& size : sizes) elements.push_back({size});
  return {std::move(elements)};
}

Results packed(AbstractValue::Sequence parts) {
  Results results;
  results.push_back({std::move(parts)});
  return results;
}

Results linear_prepack(const RuleArguments& args) { return packed({AbstractValue{args.tensor("W")}}); }

Results conv_prepack(const RuleArguments& args) {
  const TensorInfo& weight = args.tensor("weight");
  const bool transposed = args.given("output_padding");
  return packed({AbstractValue{weight}, known_sizes(args.sizes("stride")), known_sizes(args.sizes("padding")),
                 known_sizes(args.sizes("dilation")), known_sizes(args.sizes("groups")),
                 known_sizes(transposed ? args.sizes("output_padding") : Sizes{})});
}

// What `name` was packed from: `count` things.
AbstractValue::Sequence parts_of(const RuleArguments& args, std::string_view name, std::size_t count) {
  const AbstractValue::Sequence* parts = args.value(name).sequence();
  if (parts == nullptr || parts->size() != count || (*parts)[0].tensor() == nullptr) throw CannotTell{};
  return *parts;
}

Results linear_of(const RuleArguments& args, bool gives_float) {
  TensorInfo result = args.tensor("X");
  const TensorInfo weight = *parts_of(args, "W_prepack", 1)[0].tensor();
  if (result.sizes.empty() || weight.dim() != 2) throw CannotTell{};
  require(args.dimensions, Relation::kEqual, result.sizes.back(), weight.sizes[1],
          "features of the input are not what the weight takes");
  result.sizes.back() = weight.sizes[0];
  if (gives_float) result.dtype = ScalarType::kFloat32;
  return make(std::move(result));
}

Results linear(const RuleArguments& args) { return linear_of(args, false); }
Results linear_dynamic(const RuleArguments& args) { return linear_of(args, true); }

Results conv_of(const RuleArguments& args, bool transposed, bool gives_float) {
  const TensorInfo& input = args.tensor("qx");
  const AbstractValue::Sequence parts =
      parts_of(args, args.given("packed_weight") ? "packed_weight" : "weight", 6);
  const TensorInfo weight = *parts[0].tensor();
  if (weight.sizes.size() < 3 || input.dim() != weight.dim()) throw CannotTell{};
  const SymInt in_groups = spread(sizes_of(parts[4]), 1)[0];
  require(args.dimensions, Relation::kEqual, input.sizes[1],
          transposed ? weight.sizes[0] : weight.sizes[1] * in_groups,
          "channels of the input are not what the weight takes");
  const std::size_t count = weight.sizes.size() - 2;
  const Sizes stride = spread(sizes_of(parts[1]), count), padding = spread(sizes_of(parts[2]), count),
              dilation = spread(sizes_of(parts[3]), count), groups = spread(sizes_of(parts[4]), 1);
  const Sizes extra = transposed ? spread(sizes_of(parts[5]), count) : Sizes();
  Sizes sizes = {input.sizes[0], transposed ? weight.sizes[1] * groups[0] : weight.sizes[0]};
  for (std::size_t i = 0; i < count; ++i) {
    const SymInt &size = input.sizes[2 + i], &kernel = weight.sizes[2 + i];
    sizes.push_back(transposed
                        ? (size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + extra[i] + 1
                        : window_count(size, {kernel, stride[i], padding[i], dilation[i]}, args.dimensions));
  }
  return make(std::move(sizes), gives_float ? Dtype(ScalarType::kFloat32) : input.dtype);
}

Results conv(const RuleArguments& args) { return conv_of(args, false, false); }
Results conv_dynamic(const RuleArguments& args) { return conv_of(args, false, true); }
Results conv_transpose(const RuleArguments& args) { return conv_of(args, true, false); }
Results conv_transpose_dynamic(const RuleArguments& args) { return conv_of(args, true, true); }

constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"quantize_per_tensor", quantize},
    {"quantize_per_tensor_dynamic", quantize},
    {"quantize_per_channel", quantize},
    {"dequantize", dequantize},
    {"int_repr", int_repr},
    {"fake_quantize_per_tensor_affine", same_as_first},
    {"fake_quantize_per_channel_affine", same_as_first},
    {"fake_quantize_per_tensor_affine_cachemask", fake_quantize_with_mask},
    {"fake_quantize_per_channel_affine_cachemask", fake_quantize_with_mask},
    {"_fake_quantize_learnable_per_tensor_affine", same_as_first},
    {"_fake_quantize_learnable_per_channel_affine", same_as_first},
    {"fused_moving_avg_obs_fake_quant", same_as_first},
    {"quantized_batch_norm", same_as_first},

    {"quantized::add", binary},
    {"quantized::add_relu", binary},
    {"quantized::add_scalar", binary},
    {"quantized::add_scalar_relu", binary},
    {"quantized::mul", binary},
    {"quantized::mul_relu", binary},
    {"quantized::mul_scalar", binary},
    {"quantized::mul_scalar_relu", binary},
    {"quantized::matmul", matmul},
    {"quantized::cat", cat},
    {"quantized::cat_relu", cat},
    {"quantized::batch_norm", same_as_first},
    {"quantized::batch_norm1d", same_as_first},
    {"quantized::batch_norm1d_relu", same_as_first},
    {"quantized::batch_norm2d", same_as_first},
    {"quantized::batch_norm2d_relu", same_as_first},
    {"quantized::batch_norm3d", same_as_first},
    {"quantized::batch_norm3d_relu", same_as_first},
    {"quantized::batch_norm_relu", same_as_first},
    {"quantized::group_norm", same_as_first},
    {"quantized::instance_norm", same_as_first},
    {"quantized::layer_norm", same_as_first},
    {"quantized::celu", same_as_first},
    {"quantized::clamp", same_as_first},
    {"quantized::dropout", same_as_first},
    {"quantized::elu", same_as_first},
    {"quantized::hardswish", same_as_first},
    {"quantized::leaky_relu", same_as_first},
    {"quantized::prelu", same_as_first},
    {"quantized::relu6", same_as_first},
    {"quantized::sigmoid", same_as_first},
    {"quantized::softmax", same_as_first},
    {"quantized::threshold", same_as_first},

    {"quantized::linear_prepack", linear_prepack},
    {"quantized::linear_prepack_fp16", linear_prepack},
    {"quantized::linear", linear},
    {"quantized::linear_relu", linear},
    {"quantized::linear_leaky_relu", linear},
    {"quantized::linear_tanh", linear},
    {"quantized::linear_dynamic", linear_dynamic},
    {"quantized::linear_relu_dynamic", linear_dynamic},
    {"quantized::linear_dynamic_fp16", linear_dynamic},
    {"quantized::linear_relu_dynamic_fp16", linear_dynamic},
    {"quantized::linear_with_input_q_dq_qweight_dq_output_fp32", linear_dynamic},
    {"quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32", linear_dynamic},
    {"quantized::conv_prepack", conv_prepack},
    {"quantized::conv1d_prepack", conv_prepack},
    {"quantized::conv2d_prepack", conv_prepack},
    {"quantized::conv3d_prepack", conv_prepack},
    {"quantized::conv_transpose1d_prepack", conv_prepack},
    {"quantized::conv_transpose2d_prepack", conv_prepack},
    {"quantized::conv_transpose3d_prepack", conv_prepack},
    {"quantized::conv1d", conv},
    {"quantized::conv1d_relu", conv},
    {"quantized::conv2d", conv},
    {"quantized::conv2d_relu", conv},
    {"quantized::conv2d_add", conv},
    {"quantized::conv2d_add_relu", conv},
    {"quantized::conv3d", conv},
    {"quantized::conv3d_relu", conv},
    {"quantized::conv1d_dynamic", conv_dynamic},
    {"quantized::conv2d_dynamic", conv_dynamic},
    {"quantized::conv3d_dynamic", conv_dynamic},
    {"quantized::conv_transpose1d", conv_transpose},
    {"quantized::conv_transpose2d", conv_transpose},
    {"quantized::conv_transpose3d", conv_transpose},
    {"quantized::conv_transpose1d_dynamic", conv_transpose_dynamic},
    {"quantized::conv_transpose2d_dynamic", conv_transpose_dynamic},
    {"quantized::conv_transpose3d_dynamic", conv_transpose_dynamic},
};

}  // namespace

RuleTable quantized_rules() { return kRules; }

}  // namespace fxtrace
