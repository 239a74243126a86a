// Quantized tensors and packed weights.  Packed parameters are opaque to the graph.  Their abstract value is
// the list of the values from which they were packed, weight first, so that operators that use them know the
// sizes.
#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

TensorInfo with_dtype(TensorInfo info, Dtype dtype) {
  info.dtype = dtype;
  return info;
}

// ---- Quantization and back ----

// One tensor, or a list of them.
Results in_dtype(const RuleArguments& args, Dtype dtype) {
  const std::string_view name = first_argument(args);
  if (args.is_tensor(name)) return make(with_dtype(args.tensor(name), dtype));
  std::vector<TensorInfo> tensors = args.tensors(name);
  for (TensorInfo& tensor : tensors) tensor.dtype = dtype;
  return make_list(std::move(tensors));
}

Results quantize(const RuleArguments& args) { return in_dtype(args, args.dtype("dtype")); }

Results dequantize(const RuleArguments& args) { return in_dtype(args, ScalarType::kFloat32); }

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

Results quantized_binary(const RuleArguments& args) {
  const TensorInfo& a = args.tensor("qa");
  if (!args.is_tensor("qb")) return make(a);  // a number
  return make(broadcast(a.sizes, args.tensor("qb").sizes, args.dimensions), a.dtype);
}

Results quantized_cat(const RuleArguments& args) {
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
  const bool transposed = args.is_given("output_padding");
  return packed({AbstractValue{weight}, known_sizes(args.sizes("stride")), known_sizes(args.sizes("padding")),
                 known_sizes(args.sizes("dilation")), known_sizes(args.sizes("groups")),
                 known_sizes(transposed ? args.sizes("output_padding") : Sizes{})});
}

// Returns the `count` values from which the argument `name` was packed.
AbstractValue::Sequence parts_of(const RuleArguments& args, std::string_view name, std::size_t count) {
  const AbstractValue::Sequence* parts = args.value(name).sequence();
  if (parts == nullptr || parts->size() != count || (*parts)[0].tensor() == nullptr) throw CannotTell{};
  return *parts;
}

Results linear_of(const RuleArguments& args, bool gives_float) {
  TensorInfo result = args.tensor("X");
  const TensorInfo weight = *parts_of(args, "W_prepack", 1)[0].tensor();
  if (result.sizes.empty() || weight.dim() != 2) throw CannotTell{};
  require_equal(args.dimensions, result.sizes.back(), weight.sizes[1], "features", {"X", "W_prepack"});
  result.sizes.back() = weight.sizes[0];
  if (gives_float) result.dtype = ScalarType::kFloat32;
  return make(std::move(result));
}

Results quantized_linear(const RuleArguments& args) { return linear_of(args, false); }

Results linear_dynamic(const RuleArguments& args) { return linear_of(args, true); }

Results conv_of(const RuleArguments& args, bool transposed, bool gives_float) {
  const TensorInfo& input = args.tensor("qx");
  const AbstractValue::Sequence parts =
      parts_of(args, args.is_given("packed_weight") ? "packed_weight" : "weight", 6);
  TensorInfo weight = *parts[0].tensor();
  // A convolution over one dimension is packed as one over two, the first of which has size 1.
  const bool is_one_of_two = input.dim() == 3 && weight.dim() == 4 && is_one(weight.sizes[2]);
  if (is_one_of_two) weight.sizes.erase(weight.sizes.begin() + 2);
  if (weight.sizes.size() < 3 || input.dim() != weight.dim()) throw CannotTell{};
  const SymInt in_groups = spread(sizes_of(parts[4]), 1)[0];
  require_equal(args.dimensions, input.sizes[1], transposed ? weight.sizes[0] : weight.sizes[1] * in_groups,
                "channels", {"qx", "the packed weight"});
  const std::size_t count = weight.sizes.size() - 2;
  const auto numbers = [&](const AbstractValue& part) {
    Sizes sizes = sizes_of(part);
    if (is_one_of_two && sizes.size() == 2) sizes.erase(sizes.begin());
    return spread(sizes, count);
  };
  const Sizes stride = numbers(parts[1]), padding = numbers(parts[2]), dilation = numbers(parts[3]);
  const Sizes groups = spread(sizes_of(parts[4]), 1);
  const Sizes extra = transposed ? numbers(parts[5]) : Sizes();
  Sizes sizes = {input.sizes[0], transposed ? weight.sizes[1] * groups[0] : weight.sizes[0]};
  for (std::size_t i = 0; i < count; ++i) {
    const SymInt &size = input.sizes[2 + i], &kernel = weight.sizes[2 + i];
    sizes.push_back(transposed
                        ? (size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + extra[i] + 1
                        : window_count(size, {kernel, stride[i], padding[i], dilation[i]}, args.dimensions));
  }
  return make(std::move(sizes), gives_float ? Dtype(ScalarType::kFloat32) : input.dtype);
}

Results quantized_conv(const RuleArguments& args) { return conv_of(args, false, false); }

Results conv_dynamic(const RuleArguments& args) { return conv_of(args, false, true); }

Results quantized_conv_transpose(const RuleArguments& args) { return conv_of(args, true, false); }

Results conv_transpose_dynamic(const RuleArguments& args) { return conv_of(args, true, true); }

// ---- Embeddings ----

Results embedding_prepack(const RuleArguments& args) {
  return packed({AbstractValue{args.tensor("weight")}});
}

// Returns rows of a table as float32, for `sizes` of indices.
TensorInfo rows_of(const RuleArguments& args, Sizes sizes) {
  const TensorInfo weight = *parts_of(args, "weight", 1)[0].tensor();
  if (weight.dim() != 2) throw CannotTell{};
  sizes.push_back(weight.sizes[1]);
  TensorInfo result;
  result.sizes = std::move(sizes);
  result.dtype = ScalarType::kFloat32;
  return result;
}

Results quantized_embedding(const RuleArguments& args) {
  return make(rows_of(args, args.tensor("indices").sizes));
}

Results quantized_embedding_bag(const RuleArguments& args) {
  const TensorInfo& indices = args.tensor("indices");
  // Each row of indices is a bag.
  const SymInt bags = indices.dim() == 2 ? indices.sizes[0] : product(args.tensor("offsets").sizes);
  return make(rows_of(args, {args.flag("include_last_offset") ? bags - 1 : bags}));
}

// ---- Multiply-accumulates ----

// ---- Packed weights ----

const TensorInfo& packed(const RuleArguments& args) {
  for (const std::string_view name : {"packed_weight", "weight", "W_prepack"})
    if (args.is_given(name)) return packed_weight(args, name);
  throw CannotTell{};
}

SymInt packed_conv(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * weights_of_channel(packed(args));
}

SymInt packed_conv_transpose(const RuleArguments& args, const Results&) {
  return product(first_operand(args).sizes) * weights_of_channel(packed(args));
}

// The result is unknown for weights whose packed form has no known sizes.
SymInt packed_linear(const RuleArguments& args, const Results& results) {
  if (!results.empty() && results[0].tensor() != nullptr) return linear_macs(args, results);
  const TensorInfo& weight = packed_weight(args, "W_prepack");
  if (weight.dim() != 2) throw CannotTell{};
  return product(first_operand(args).sizes) * weight.sizes[0];
}

constexpr OperatorRow kQuantizedRows[] = {
    {"_choose_qparams_per_tensor _convert_weight_to_int4pack "
     "_convert_weight_to_int4pack_for_cpu _cslt_compress _dyn_quant_pack_4bit_weight "
     "_empty_affine_quantized _empty_per_channel_affine_quantized "
     "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams "
     "_fused_moving_avg_obs_fq_helper _fused_moving_avg_obs_fq_helper_functional "
     "_make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor "
     "_quantized::_wrapped_linear_prepack _quantized::add _quantized::conv2d_prepack "
     "_quantized::conv3d_prepack _quantized::conv_transpose1d_prepack "
     "_quantized::conv_transpose2d_prepack _quantized::conv_transpose3d_prepack "
     "_quantized::linear_prepack _quantized::linear_prepack_fp16 "
     "_quantized::linear_prepack_fp16_legacy _quantized::linear_prepack_legacy "
     "_quantized::wrapped_fbgemm_pack_gemm_matrix_fp16 _saturate_weight_to_fp16 "
     "_wrapped_linear_prepack choose_qparams_optimized fbgemm_linear_quantize_weight "
     "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix mkldnn_reorder_conv2d_weight "
     "mkldnn_reorder_conv3d_weight q_per_channel_axis q_per_channel_scales "
     "q_per_channel_zero_points q_scale q_zero_point qscheme "
     "quantization::_Bfloat16QuantizedToFloat quantization::_FloatToBfloat16Quantized "
     "quantized::conv1d_unpack quantized::conv2d_dilation quantized::conv2d_groups "
     "quantized::conv2d_output_padding quantized::conv2d_padding quantized::conv2d_stride "
     "quantized::conv2d_transpose quantized::conv2d_unpack quantized::conv2d_unpack_sizes "
     "quantized::conv3d_dilation quantized::conv3d_groups quantized::conv3d_output_padding "
     "quantized::conv3d_padding quantized::conv3d_stride quantized::conv3d_transpose "
     "quantized::conv3d_unpack quantized::conv_transpose1d_unpack "
     "quantized::conv_transpose2d_dilation quantized::conv_transpose2d_groups "
     "quantized::conv_transpose2d_output_padding quantized::conv_transpose2d_padding "
     "quantized::conv_transpose2d_stride quantized::conv_transpose2d_transpose "
     "quantized::conv_transpose2d_unpack quantized::conv_transpose3d_dilation "
     "quantized::conv_transpose3d_groups quantized::conv_transpose3d_output_padding "
     "quantized::conv_transpose3d_padding quantized::conv_transpose3d_stride "
     "quantized::conv_transpose3d_transpose quantized::conv_transpose3d_unpack "
     "quantized::conv_unpack quantized::embedding_4bit quantized::embedding_bag_2bit_prepack "
     "quantized::embedding_bag_2bit_prepack_with_rowwise_min_max "
     "quantized::embedding_bag_2bit_rowwise_offsets quantized::embedding_bag_2bit_unpack "
     "quantized::embedding_bag_4bit_prepack "
     "quantized::embedding_bag_4bit_prepack_with_rowwise_min_max "
     "quantized::embedding_bag_4bit_rowwise_offsets quantized::embedding_bag_4bit_unpack "
     "quantized::embedding_bag_byte_prepack "
     "quantized::embedding_bag_byte_prepack_with_rowwise_min_max "
     "quantized::embedding_bag_byte_rowwise_offsets quantized::embedding_bag_byte_unpack "
     "quantized::embedding_bag_unpack "
     "quantized::linear_prepack_fp16_legacy "
     "quantized::linear_prepack_legacy quantized::linear_unpack quantized::linear_unpack_fp16 "
     "quantized::make_quantized_cell_params quantized::make_quantized_cell_params_dynamic "
     "quantized::make_quantized_cell_params_fp16 "
     "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl "
     "quantized_decomposed::choose_qparams quantized_decomposed::choose_qparams_per_token "
     "quantized_decomposed::choose_qparams_per_token_asymmetric "
     "quantized_decomposed::choose_qparams_symmetric quantized_decomposed::convert_element_type "
     "quantized_decomposed::dequantize_per_channel_group "
     "quantized_decomposed::dequantize_per_token "
     "quantized_decomposed::fake_quant_per_channel "
     "quantized_decomposed::quantize_per_channel_group "
     "quantized_decomposed::quantize_per_token sparse::qlinear_prepack sparse::qlinear_unpack "
     "torchao::choose_qparams_affine torchao::choose_scale_float8 torchao::dequantize_affine "
     "torchao::dequantize_affine_float8 torchao::dequantize_affine_float8_non_decomposed "
     "torchao::quantize_affine torchao::quantize_affine_float8 "
     "torchao::quantize_affine_float8_non_decomposed",
     {.traits = kNoMacs}},
    {"_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine "
     "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine "
     "fused_moving_avg_obs_fake_quant quantized::batch_norm quantized::batch_norm1d "
     "quantized::batch_norm1d_relu quantized::batch_norm2d quantized::batch_norm2d_relu "
     "quantized::batch_norm3d quantized::batch_norm3d_relu quantized::batch_norm_relu "
     "quantized::celu quantized::clamp quantized::dropout quantized::elu quantized::group_norm "
     "quantized::hardswish quantized::instance_norm quantized::layer_norm "
     "quantized::leaky_relu quantized::prelu quantized::relu6 quantized::sigmoid "
     "quantized::softmax quantized::threshold quantized_batch_norm",
     {.traits = kNoMacs | kRankByRanks, .shape = same_as_first}},
    {"_quantized::conv2d _quantized::conv2d_relu _quantized::conv3d _quantized::conv3d_relu "
     "metal_prepack::conv2d_run mkldnn_prepacked::conv2d_run prepacked::conv2d_clamp_run "
     "vulkan_prepack::run_conv2d_context",
     {.traits = kRankByRanks, .macs = packed_conv}},
    {"_quantized::conv_transpose1d _quantized::conv_transpose2d "
     "prepacked::conv2d_transpose_clamp_run",
     {.macs = packed_conv_transpose}},
    {"_quantized::linear _quantized::linear_dynamic", {.traits = kRankByRanks, .macs = packed_linear}},
    {"quantized_decomposed::dequantize_per_channel quantized_decomposed::dequantize_per_tensor "
     "quantized_decomposed::quantize_per_channel quantized_decomposed::quantize_per_tensor",
     {.traits = kNoMacs, .strides = StrideRule::kCopied}},
    {"dequantize", {.traits = kNoMacs, .shape = dequantize}},
    {"export::access_subclass_inner_tensor", {.traits = kNoMacs}},
    {"fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask",
     {.traits = kNoMacs, .shape = fake_quantize_with_mask}},
    {"int_repr", {.traits = kNoMacs, .shape = int_repr}},
    {"quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic",
     {.traits = kNoMacs, .shape = quantize}},
    {"quantized::add quantized::add_relu quantized::add_scalar quantized::add_scalar_relu "
     "quantized::mul quantized::mul_relu quantized::mul_scalar quantized::mul_scalar_relu",
     {.traits = kNoMacs, .shape = quantized_binary}},
    {"quantized::cat quantized::cat_relu", {.traits = kNoMacs | kRankByRanks, .shape = quantized_cat}},
    {"quantized::conv1d quantized::conv1d_relu quantized::conv2d quantized::conv2d_add "
     "quantized::conv2d_add_relu quantized::conv2d_relu quantized::conv3d "
     "quantized::conv3d_relu",
     {.traits = kRankByRanks, .shape = quantized_conv, .macs = packed_conv}},
    {"quantized::conv1d_dynamic quantized::conv2d_dynamic quantized::conv3d_dynamic",
     {.shape = conv_dynamic, .macs = packed_conv}},
    {"quantized::conv1d_prepack quantized::conv2d_prepack quantized::conv3d_prepack "
     "quantized::conv_prepack quantized::conv_transpose1d_prepack "
     "quantized::conv_transpose2d_prepack quantized::conv_transpose3d_prepack",
     {.traits = kNoMacs, .shape = conv_prepack}},
    {"quantized::conv_transpose1d quantized::conv_transpose2d quantized::conv_transpose3d",
     {.shape = quantized_conv_transpose, .macs = packed_conv_transpose}},
    {"quantized::conv_transpose1d_dynamic quantized::conv_transpose2d_dynamic "
     "quantized::conv_transpose3d_dynamic",
     {.shape = conv_transpose_dynamic, .macs = packed_conv_transpose}},
    {"quantized::linear quantized::linear_leaky_relu quantized::linear_relu "
     "quantized::linear_tanh",
     {.traits = kRankByRanks, .shape = quantized_linear, .macs = packed_linear}},
    {"quantized::linear_dynamic quantized::linear_dynamic_fp16 quantized::linear_relu_dynamic "
     "quantized::linear_relu_dynamic_fp16 "
     "quantized::linear_with_input_q_dq_qweight_dq_output_fp32 "
     "quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32",
     {.shape = linear_dynamic, .macs = packed_linear}},
    {"quantized::linear_prepack quantized::linear_prepack_fp16",
     {.traits = kNoMacs, .shape = linear_prepack}},
    {"quantized::embedding_byte", {.traits = kNoMacs, .shape = quantized_embedding}},
    {"quantized::embedding_bag_4bit quantized::embedding_bag_byte",
     {.traits = kNoMacs, .shape = quantized_embedding_bag}},
    {"quantized::embedding_bag_prepack", {.traits = kNoMacs, .shape = embedding_prepack}},
    {"quantized::matmul", {.signature = "...mk * ...kn -> ...mn:first"}},
};

}  // namespace

OperatorRows quantized_rows() { return kQuantizedRows; }

}  // namespace fxtrace::internal
