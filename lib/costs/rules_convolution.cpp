// Costs of convolutions: torch.utils.flop_counter, conv_flop_count().  Each place of the result takes each
// weight of its channel once; of a transposed one, each place of the input gives to each weight of its
// channel.  Padding counts like the rest.
#include "costs/cost_rules.h"

namespace fxtrace {
namespace {

// (channels, channels of a group, kernel...)
SymInt weights_of_channel(const TensorInfo& weight) {
  if (weight.dim() < 2) throw CannotTell{};
  return product(slice_of(weight.sizes, 1, weight.sizes.size()));
}

SymInt forward(const SymInt& places, const RuleArguments& args) {
  return places * weights_of_channel(operand(args, "weight"));
}

SymInt conv(const RuleArguments& args, const Results& results) {
  return forward(product(first_result(results).sizes), args);
}

SymInt conv_transpose(const RuleArguments& args, const Results&) {
  return forward(product(first_operand(args).sizes), args);
}

SymInt either(const RuleArguments& args, const Results& results) {
  return args.flag("transposed") ? conv_transpose(args, results) : conv(args, results);
}

// The gradients of input and weight each take what the call itself takes.  (torch.utils.flop_counter counts
// that of the weight as if there were no groups.)
SymInt backward(const RuleArguments& args, const Results&) {
  const AbstractValue::Sequence* mask = args.value("output_mask").sequence();
  if (mask == nullptr || mask->size() != 3) throw CannotTell{};
  SymInt gradients = 0;
  for (const std::size_t i : {0U, 1U}) {
    const bool* wanted = (*mask)[i].get_if<bool>();
    if (wanted == nullptr) throw CannotTell{};
    if (*wanted) gradients = gradients + 1;
  }
  return gradients *
         forward(product(operand(args, args.flag("transposed") ? "input" : "grad_output").sizes), args);
}

// (time, batch, channels) by (kernel, channels, channels of the result): ATen/native/ConvolutionTBC.cpp.
SymInt conv_tbc(const RuleArguments& args, const Results& results) {
  const Sizes& weight = operand(args, "weight").sizes;
  if (weight.size() != 3) throw CannotTell{};
  return product(first_result(results).sizes) * weight[0] * weight[1];
}

// The weight may be kept with a dimension for groups in front.
SymInt reordered(const RuleArguments& args, const SymInt& places, std::string_view input,
                 std::string_view name) {
  const TensorInfo& weight = operand(args, name);
  const bool has_groups = weight.dim() == operand(args, input).dim() + 1;
  if (weight.dim() < 3) throw CannotTell{};
  return places * product(slice_of(weight.sizes, has_groups ? 2 : 1, weight.sizes.size()));
}

SymInt mkldnn_conv(const RuleArguments& args, const Results& results) {
  const std::string_view input = args.given("input") ? "input" : "self";
  return reordered(args, product(first_result(results).sizes), input, "weight");
}
SymInt pointwise_conv(const RuleArguments& args, const Results& results) {
  return reordered(args, product(first_result(results).sizes), "X", "W");
}
SymInt quantized_pointwise_conv(const RuleArguments& args, const Results& results) {
  return reordered(args, product(first_result(results).sizes), "qx", "qw");
}
SymInt pointwise_conv_transpose(const RuleArguments& args, const Results&) {
  return reordered(args, product(operand(args, "X").sizes), "X", "W");
}

// ---- Packed weights ----

const TensorInfo& packed(const RuleArguments& args) {
  for (const std::string_view name : {"packed_weight", "weight", "W_prepack"})
    if (args.given(name)) return packed_weight(args, name);
  throw CannotTell{};
}

SymInt packed_conv(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * weights_of_channel(packed(args));
}

SymInt packed_conv_transpose(const RuleArguments& args, const Results&) {
  return product(first_operand(args).sizes) * weights_of_channel(packed(args));
}

constexpr std::pair<std::string_view, CostRule> kRules[] = {
    {"_conv_depthwise2d", conv},
    {"_convolution", either},
    {"_convolution_mode", conv},
    {"_mps_convolution", conv},
    {"_mps_convolution_transpose", conv_transpose},
    {"_nnpack_spatial_convolution", conv},
    {"_slow_conv2d_forward", conv},
    {"conv1d", conv},
    {"conv2d", conv},
    {"conv3d", conv},
    {"conv_depthwise3d", conv},
    {"conv_tbc", conv_tbc},
    {"conv_transpose1d", conv_transpose},
    {"conv_transpose2d", conv_transpose},
    {"conv_transpose3d", conv_transpose},
    {"convolution", either},
    {"convolution_backward", backward},
    {"convolution_backward_overrideable", backward},
    {"convolution_overrideable", either},
    {"cudnn_convolution", conv},
    {"cudnn_convolution_add_relu", conv},
    {"cudnn_convolution_relu", conv},
    {"cudnn_convolution_transpose", conv_transpose},
    {"miopen_convolution", conv},
    {"miopen_convolution_add_relu", conv},
    {"miopen_convolution_relu", conv},
    {"miopen_convolution_transpose", conv_transpose},
    {"miopen_depthwise_convolution", conv},
    {"mkldnn_convolution", mkldnn_conv},
    {"slow_conv3d", conv},
    {"slow_conv3d_forward", conv},
    {"slow_conv_dilated2d", conv},
    {"slow_conv_dilated3d", conv},
    {"slow_conv_transpose2d", conv_transpose},
    {"slow_conv_transpose3d", conv_transpose},
    {"thnn_conv2d", conv},

    {"_quantized::conv2d", packed_conv},
    {"_quantized::conv2d_relu", packed_conv},
    {"_quantized::conv3d", packed_conv},
    {"_quantized::conv3d_relu", packed_conv},
    {"_quantized::conv_transpose1d", packed_conv_transpose},
    {"_quantized::conv_transpose2d", packed_conv_transpose},
    {"metal_prepack::conv2d_run", packed_conv},
    {"mkldnn::_convolution_pointwise", pointwise_conv},
    {"mkldnn::_convolution_pointwise_", pointwise_conv},
    {"mkldnn::_convolution_transpose_pointwise", pointwise_conv_transpose},
    {"mkldnn_prepacked::conv2d_run", packed_conv},
    {"onednn::qconv1d_pointwise", quantized_pointwise_conv},
    {"onednn::qconv2d_pointwise", quantized_pointwise_conv},
    {"onednn::qconv3d_pointwise", quantized_pointwise_conv},
    {"onednn::qconv_pointwise", quantized_pointwise_conv},
    {"prepacked::conv2d_clamp_run", packed_conv},
    {"prepacked::conv2d_transpose_clamp_run", packed_conv_transpose},
    {"prim::mkldnn_convolution", mkldnn_conv},
    {"quantized::conv1d", packed_conv},
    {"quantized::conv1d_dynamic", packed_conv},
    {"quantized::conv1d_relu", packed_conv},
    {"quantized::conv2d", packed_conv},
    {"quantized::conv2d_add", packed_conv},
    {"quantized::conv2d_add_relu", packed_conv},
    {"quantized::conv2d_dynamic", packed_conv},
    {"quantized::conv2d_relu", packed_conv},
    {"quantized::conv3d", packed_conv},
    {"quantized::conv3d_dynamic", packed_conv},
    {"quantized::conv3d_relu", packed_conv},
    {"quantized::conv_transpose1d", packed_conv_transpose},
    {"quantized::conv_transpose1d_dynamic", packed_conv_transpose},
    {"quantized::conv_transpose2d", packed_conv_transpose},
    {"quantized::conv_transpose2d_dynamic", packed_conv_transpose},
    {"quantized::conv_transpose3d", packed_conv_transpose},
    {"quantized::conv_transpose3d_dynamic", packed_conv_transpose},
    // torchvision's own kernel; sampling between places is interpolation.
    {"torchvision::deform_conv2d", conv},
    {"vulkan_prepack::run_conv2d_context", packed_conv},
};

}  // namespace

CostTable convolution_costs() { return kRules; }

}  // namespace fxtrace
