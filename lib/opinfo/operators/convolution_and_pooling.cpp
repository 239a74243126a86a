// Convolutions, and im2col and col2im.  Costs are those of conv_flop_count() in torch.utils.flop_counter:
// each element of the result takes one MAC for each weight of its channel; in a transposed convolution, each
// element of the input does.  Padding counts like the rest.
#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Convolution ----
// Weights are (out, in / groups, kernel...); those of transposed convolutions (in, out / groups, kernel...).

Results convolve(const RuleArguments& args, bool transposed) {
  const TensorInfo& input = first_tensor(args);
  const TensorInfo& weight = args.tensor("weight");
  if (weight.sizes.size() < 3) throw CannotTell{};
  const std::size_t count = weight.sizes.size() - 2;
  // The batch dimension is optional.
  const auto rank = static_cast<std::int64_t>(count);
  require_rank(input, {rank + 1, rank + 2}, first_argument(args));
  const std::size_t batch = input.sizes.size() - count - 1;
  require_same_dtype(input.dtype, weight.dtype, {first_argument(args), "weight"});
  const SymInt groups = args.is_given("groups") ? args.size("groups") : SymInt(1);
  require(args.dimensions, Relation::kGreater, groups, 0, "groups");
  require_multiple(args.dimensions, weight.sizes[0], groups, "size of weight in dimension 0");
  require(args.dimensions, Relation::kGreaterEqual, weight.sizes[0], groups, "size of weight in dimension 0");
  const SymInt channels = transposed ? weight.sizes[0] : weight.sizes[1] * groups;
  require_equal(args.dimensions, input.sizes[batch], channels, "channels", {first_argument(args), "weight"});

  const bool mode = args.is_given("padding") && args.value("padding").get_if<std::string>() != nullptr;
  // Behind other operators a batch is added, and whether the bias is converted depends on the processor.
  const std::string_view name = without_namespace(args.name());
  const bool is_raw = name == "_convolution" || name == "_convolution_mode" || name == "convolution";
  if (is_raw) require_rank(input, {rank + 2}, first_argument(args));
  if (args.is_tensor("bias")) {
    const TensorInfo& bias = args.tensor("bias");
    require_rank(bias, {1}, "bias");
    require_equal(args.dimensions, bias.sizes[0], transposed ? weight.sizes[1] * groups : weight.sizes[0],
                  "size of bias and output channels of weight");
    if (!mode && (name == "conv1d" || name == "conv2d" || name == "conv3d"))
      require_same_dtype(input.dtype, bias.dtype, {first_argument(args), "bias"});
  }

  const bool same = mode && args.text("padding") == "same";
  if (mode && !same && args.text("padding") != "valid")
    throw Raises{"padding is " + python_text_literal(args.text("padding")) + ", expected 'same' or 'valid'"};
  const Sizes stride = each_dim(args, "stride", count, 1), dilation = each_dim(args, "dilation", count, 1);
  const Sizes padding =
      mode ? Sizes(count, 0) : each_dim(args, args.is_given("pad") ? "pad" : "padding", count, 0);
  const Sizes extra = each_dim(args, "output_padding", count, 0);

  Sizes sizes = slice_of(input.sizes, 0, batch);
  sizes.push_back(transposed ? weight.sizes[1] * groups : weight.sizes[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const SymInt& size = input.sizes[batch + 1 + i];
    const SymInt& kernel = weight.sizes[2 + i];
    require(args.dimensions, Relation::kGreater, stride[i], 0, "stride");
    require(args.dimensions, Relation::kGreaterEqual, padding[i], 0, "padding");
    if (same) require(args.dimensions, Relation::kEqual, stride[i], 1, "stride with padding 'same'");
    require(args.dimensions, Relation::kGreaterEqual, extra[i], 0, "output_padding");
    if (transposed) {
      sizes.push_back((size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + extra[i] + 1);
    } else {
      if (!same) {
        require(args.dimensions, Relation::kGreaterEqual, size + 2 * padding[i],
                dilation[i] * (kernel - 1) + 1, "size of the padded input");
      }
      sizes.push_back(
          same ? size : window_count(size, {kernel, stride[i], padding[i], dilation[i]}, args.dimensions));
    }
  }
  return make(std::move(sizes), input.dtype ? input.dtype : weight.dtype);
}

bool is_transposed(const RuleArguments& args) {
  return args.is_given("transposed") && args.flag("transposed");
}

Results convolution(const RuleArguments& args) { return convolve(args, is_transposed(args)); }

Results transposed_convolution(const RuleArguments& args) { return convolve(args, true); }

// The input is (time, batch, in), the weight (kernel, in, out).
Results conv_tbc(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("self"), &weight = args.tensor("weight");
  if (input.dim() != 3 || weight.dim() != 3) throw CannotTell{};
  Window window{weight.sizes[0]};
  window.padding = args.size("pad");
  return make({window_count(input.sizes[0], window, args.dimensions), input.sizes[1], weight.sizes[2]},
              input.dtype);
}

// ---- Columns of windows and back ----

Results im2col(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (input.dim() != 3 && input.dim() != 4) throw CannotTell{};
  require_image(args, input, 3);
  const std::size_t channel = input.sizes.size() - 3;
  const Sizes kernel = each_dim(args, "kernel_size", 2, 1), dilation = each_dim(args, "dilation", 2, 1),
              padding = each_dim(args, "padding", 2, 0), stride = each_dim(args, "stride", 2, 1);
  SymInt windows = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const Window window{kernel[i], stride[i], padding[i], dilation[i]};
    require_window(args.dimensions, window);
    const SymInt count = window_count(input.sizes[channel + 1 + i], window, args.dimensions);
    require(args.dimensions, Relation::kGreater, count, 0, "number of windows");
    windows = windows * count;
  }
  Sizes sizes = slice_of(input.sizes, 0, channel);
  sizes.push_back(input.sizes[channel] * product(kernel));
  sizes.push_back(std::move(windows));
  return make(std::move(sizes), input.dtype);
}

Results col2im(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (input.dim() != 2 && input.dim() != 3) throw CannotTell{};
  const std::size_t channel = input.sizes.size() - 2;
  Sizes sizes = slice_of(input.sizes, 0, channel);
  sizes.push_back(quotient({input.sizes[channel]}, each_dim(args, "kernel_size", 2, 1), args.dimensions));
  return make(concatenated(std::move(sizes), spread(args.sizes("output_size"), 2)), input.dtype);
}

Results deform_conv2d(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("input"), &weight = args.tensor("weight");
  if (input.dim() != 4 || weight.dim() != 4) throw CannotTell{};
  const Window rows{weight.sizes[2], args.size("stride_h"), args.size("pad_h"), args.size("dilation_h")};
  const Window columns{weight.sizes[3], args.size("stride_w"), args.size("pad_w"), args.size("dilation_w")};
  return make({input.sizes[0], weight.sizes[0], window_count(input.sizes[2], rows, args.dimensions),
               window_count(input.sizes[3], columns, args.dimensions)},
              input.dtype);
}

// Kernels look at these when there is an element.
void check_windows(const RuleArguments& args, bool transposed) {
  const TensorInfo* input = find_tensor(args, first_argument(args));
  const TensorInfo* weight = find_tensor(args, "weight");
  if (input == nullptr || weight == nullptr || weight->sizes.size() < 3 || !input->device.is_cpu()) return;
  if (may_be_empty(args.dimensions, input->sizes)) return;
  const std::size_t count = weight->sizes.size() - 2;
  const Sizes stride = each_dim(args, "stride", count, 1), dilation = each_dim(args, "dilation", count, 1),
              extra = each_dim(args, "output_padding", count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    require(args.dimensions, Relation::kGreater, weight->sizes[2 + i], 0, "kernel size");
    require(args.dimensions, Relation::kGreater, dilation[i], 0, "dilation");
    if (transposed)
      require(args.dimensions, Relation::kLess, extra[i], max(stride[i], dilation[i]), "output_padding");
  }
}

void check_convolution(const RuleArguments& args) { check_windows(args, is_transposed(args)); }

void check_transposed_convolution(const RuleArguments& args) { check_windows(args, true); }

void check_col2im(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  require_rank(input, {2, 3}, "self");
  require_image(args, input, 2);
  const Sizes kernel = each_dim(args, "kernel_size", 2, 1), dilation = each_dim(args, "dilation", 2, 1),
              padding = each_dim(args, "padding", 2, 0), stride = each_dim(args, "stride", 2, 1),
              image = spread(args.sizes("output_size"), 2);
  SymInt windows = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    const Window window{kernel[i], stride[i], padding[i], dilation[i]};
    require_window(args.dimensions, window);
    windows = windows * window_count(image[i], window, args.dimensions);
  }
  const std::size_t channel = input.sizes.size() - 2;
  require_multiple(args.dimensions, input.sizes[channel], product(kernel), "size of self in dimension -2");
  require_equal(args.dimensions, input.sizes[channel + 1], windows,
                "size of self in dimension -1 and number of windows");
}

// Throws Raises when a dimension other than the batch is empty.
void check_unfold(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr) return;
  require_rank(*self, {3, 4}, "self");
  for (std::size_t i = self->sizes.size() - 3; i < self->sizes.size(); ++i)
    require(args.dimensions, Relation::kGreater, self->sizes[i], 0, "a size of self");
}

// ---- Multiply-accumulates ----

SymInt convolution_forward(const SymInt& places, const RuleArguments& args) {
  return places * weights_of_channel(operand(args, "weight"));
}

SymInt conv(const RuleArguments& args, const Results& results) {
  return convolution_forward(product(first_result(results).sizes), args);
}

SymInt conv_transpose(const RuleArguments& args, const Results&) {
  return convolution_forward(product(first_operand(args).sizes), args);
}

SymInt either(const RuleArguments& args, const Results& results) {
  return args.flag("transposed") ? conv_transpose(args, results) : conv(args, results);
}

// The gradients of input and weight each cost as much as the call itself.  (torch.utils.flop_counter counts
// the gradient of the weight as if there were no groups.)
SymInt convolution_backward(const RuleArguments& args, const Results&) {
  const AbstractValue::Sequence* mask = args.value("output_mask").sequence();
  if (mask == nullptr || mask->size() != 3) throw CannotTell{};
  SymInt gradients = 0;
  for (const std::size_t i : {0U, 1U}) {
    const bool* wanted = (*mask)[i].get_if<bool>();
    if (wanted == nullptr) throw CannotTell{};
    if (*wanted) gradients = gradients + 1;
  }
  return gradients *
         convolution_forward(product(operand(args, args.flag("transposed") ? "input" : "grad_output").sizes),
                             args);
}

// (time, batch, channels) and (kernel, channels, channels of the result): ATen/native/ConvolutionTBC.cpp.
SymInt conv_tbc(const RuleArguments& args, const Results& results) {
  const Sizes& weight = operand(args, "weight").sizes;
  if (weight.size() != 3) throw CannotTell{};
  return product(first_result(results).sizes) * weight[0] * weight[1];
}

// A weight that is reordered for a kernel may have a dimension for groups in front.
SymInt reordered(const RuleArguments& args, const SymInt& places, std::string_view input,
                 std::string_view name) {
  const TensorInfo& weight = operand(args, name);
  const bool has_groups = weight.dim() == operand(args, input).dim() + 1;
  if (weight.dim() < 3) throw CannotTell{};
  return places * product(slice_of(weight.sizes, has_groups ? 2 : 1, weight.sizes.size()));
}

SymInt mkldnn_conv(const RuleArguments& args, const Results& results) {
  const std::string_view input = args.is_given("input") ? "input" : "self";
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

constexpr OperatorRow kConvolutionRows[] = {
    {"_conv_depthwise2d _nnpack_spatial_convolution _slow_conv2d_forward "
     "conv_depthwise3d cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu "
     "slow_conv3d slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d thnn_conv2d",
     {.shape = convolution, .macs = conv}},
    {"_convolution",
     {.traits = kKeepsRank,
      .compared_as = "conv",
      .shape = convolution,
      .check = check_convolution,
      .macs = either,
      .example = {ExampleForm::kImages, 1, 8, 6}}},
    {"_convolution_mode",
     {.compared_as = "conv", .shape = convolution, .check = check_convolution, .macs = conv}},
    {"_mps_convolution miopen_convolution miopen_convolution_add_relu miopen_convolution_relu "
     "miopen_depthwise_convolution",
     {.macs = conv}},
    {"_mps_convolution_transpose miopen_convolution_transpose", {.macs = conv_transpose}},
    {"col2im", {.traits = kNoMacs, .shape = col2im, .check = check_col2im}},
    {"conv1d conv2d conv3d",
     {.traits = kKeepsRank,
      .shape = convolution,
      .strides = StrideRule::kImages,
      .check = check_convolution,
      .macs = conv,
      .batch = {.rule = &BatchRules::convolution},
      .example = {ExampleForm::kImages, 1, 6}}},
    {"conv_tbc", {.shape = conv_tbc, .macs = conv_tbc}},
    {"conv_transpose1d conv_transpose2d conv_transpose3d",
     {.traits = kKeepsRank,
      .shape = transposed_convolution,
      .strides = StrideRule::kImages,
      .check = check_transposed_convolution,
      .macs = conv_transpose,
      .batch = {.rule = &BatchRules::transposed_convolution}}},
    {"convolution",
     {.traits = kRankByRanks,
      .compared_as = "conv",
      .shape = convolution,
      .strides = StrideRule::kImages,
      .check = check_convolution,
      .macs = either,
      .batch = {.rule = &BatchRules::convolution},
      .example = {ExampleForm::kImages, 1, 8, 6}}},
    {"convolution_backward convolution_backward_overrideable", {.macs = convolution_backward}},
    {"convolution_overrideable", {.shape = convolution, .macs = either}},
    {"cudnn_convolution_transpose slow_conv_transpose2d slow_conv_transpose3d",
     {.shape = transposed_convolution, .macs = conv_transpose}},
    {"im2col", {.traits = kNoMacs | kForFloats, .shape = im2col, .check = check_unfold}},
    {"mkldnn::_convolution_pointwise mkldnn::_convolution_pointwise_", {.macs = pointwise_conv}},
    {"mkldnn::_convolution_transpose_pointwise", {.macs = pointwise_conv_transpose}},
    {"mkldnn_convolution", {.shape = convolution, .macs = mkldnn_conv}},
    {"onednn::qconv1d_pointwise onednn::qconv2d_pointwise onednn::qconv3d_pointwise "
     "onednn::qconv_pointwise",
     {.macs = quantized_pointwise_conv}},
    {"prim::mkldnn_convolution", {.macs = mkldnn_conv}},
    {"torchvision::deform_conv2d", {.shape = deform_conv2d, .macs = conv}},
};

}  // namespace

OperatorRows convolution_rows() { return kConvolutionRows; }

// Pooling: windows that slide over images.  Functions, as sizes follow from kernel, stride, padding and
// dilation.

namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// Returns the result, and the indices of the maxima if the schema has a second result.
Results with_indices(const RuleArguments& args, const TensorInfo& result) {
  std::vector<TensorInfo> results(args.schema().results.size(), result);
  for (std::size_t i = 1; i < results.size(); ++i) results[i].dtype = ScalarType::kInt64;
  return make_many(std::move(results));
}

template <std::size_t Count>
Results pool(const RuleArguments& args) {
  TensorInfo result = first_tensor(args);
  require_rank(result, {static_cast<std::int64_t>(Count) + 1, static_cast<std::int64_t>(Count) + 2},
               first_argument(args));
  const Sizes kernel = each_dim(args, "kernel_size", Count, 1);
  const bool strides = args.is_given("stride") && !args.sizes("stride").empty();
  const Sizes stride = strides ? spread(args.sizes("stride"), Count) : kernel;
  const Sizes padding = each_dim(args, "padding", Count, 0), dilation = each_dim(args, "dilation", Count, 1);
  const bool ceil_mode = args.flag("ceil_mode");
  require_image(args, result, Count + 1);
  for (std::size_t i = 0; i < Count; ++i) {
    SymInt& size = result.sizes[result.sizes.size() - Count + i];
    const SymInt before = size;
    const Window window{kernel[i], stride[i], padding[i], dilation[i], ceil_mode};
    require_window(args.dimensions, window);
    require(args.dimensions, Relation::kLessEqual, padding[i], floordiv(dilation[i] * (kernel[i] - 1) + 1, 2),
            "padding");
    size = window_count(size, window, args.dimensions);
    if (args.dimensions.decide(Relation::kGreater, size, 0) == false) {
      throw Raises{std::string(first_argument(args)) + " has size " + before.text() +
                   ", expected room for a window of " + kernel[i].text()};
    }
  }
  return with_indices(args, result);
}

// Pooling whose argument `output_size` has the sizes of the result.
template <std::size_t Count>
Results resize_spatial(const RuleArguments& args) {
  constexpr auto kCount = static_cast<std::int64_t>(Count);
  require_rank(first_tensor(args), {kCount + 1, kCount + 2}, first_argument(args));
  if (Count > 1) require_image(args, first_tensor(args), Count);
  if (args.is_tensor("indices")) {
    const TensorInfo &input = first_tensor(args), &indices = args.tensor("indices");
    require_rank(indices, {input.dim()}, "indices");
    require_dtype(indices.dtype, ScalarType::kInt64, "indices");
    for (std::size_t i = 0; i < input.sizes.size(); ++i) {
      require_equal_size(args.dimensions, indices.sizes[i], input.sizes[i], {"indices", first_argument(args)},
                         i);
    }
  }
  return with_indices(args, with_last(first_tensor(args), spread(args.sizes("output_size"), Count)));
}

// fractional_max_pool2d(): a position for each batch, channel and dimension of the image.
void check_random_samples(const RuleArguments& args) {
  const TensorInfo &input = first_tensor(args), &samples = args.tensor("random_samples");
  const std::int64_t count = args.name().ends_with("2d") ? 2 : 3;
  require_rank(samples, {3}, "random_samples");
  if (input.dim() == count + 2)
    require(args.dimensions, Relation::kGreaterEqual, samples.sizes[0], input.sizes[0],
            "size of random_samples in dimension 0");
  spread(args.sizes("kernel_size"), static_cast<std::size_t>(count));
}

void check_divisor(const RuleArguments& args) {
  if (args.is_given("divisor_override"))
    require(args.dimensions, Relation::kNotEqual, args.size("divisor_override"), 0, "divisor_override");
}

constexpr BatchingRule kPool1d{.rule = &BatchRules::pool, .spatial = 1};
constexpr BatchingRule kPool2d{.rule = &BatchRules::pool, .spatial = 2};
constexpr BatchingRule kPool3d{.rule = &BatchRules::pool, .spatial = 3};

constexpr OperatorRow kPoolingRows[] = {
    {"_adaptive_avg_pool2d", {.traits = kNoMacs, .shape = resize_spatial<2>, .batch = kPool2d}},
    {"_adaptive_avg_pool3d", {.traits = kNoMacs, .shape = resize_spatial<3>}},
    {"adaptive_avg_pool1d",
     {.traits = kNoMacs | kKeepsRank | kForFloats, .shape = resize_spatial<1>, .batch = kPool1d}},
    {"adaptive_avg_pool2d",
     {.traits = kNoMacs | kKeepsRank | kForFloats,
      .shape = resize_spatial<2>,
      .strides = StrideRule::kImages,
      .batch = kPool2d}},
    {"adaptive_avg_pool3d",
     {.traits = kNoMacs | kKeepsRank | kForFloats, .shape = resize_spatial<3>, .batch = kPool3d}},
    {"adaptive_max_pool1d", {.traits = kNoMacs, .shape = resize_spatial<1>, .batch = kPool1d}},
    {"adaptive_max_pool2d",
     {.traits = kNoMacs | kForFloats,
      .shape = resize_spatial<2>,
      .strides = StrideRule::kImages,
      .batch = kPool2d}},
    {"adaptive_max_pool3d", {.traits = kNoMacs, .shape = resize_spatial<3>, .batch = kPool3d}},
    {"avg_pool1d", {.traits = kNoMacs | kKeepsRank, .shape = pool<1>, .batch = kPool1d}},
    {"avg_pool2d max_pool2d",
     {.traits = kNoMacs | kKeepsRank,
      .shape = pool<2>,
      .strides = StrideRule::kImages,
      .check = check_divisor,
      .batch = kPool2d}},
    {"avg_pool3d max_pool3d",
     {.traits = kNoMacs | kKeepsRank,
      .shape = pool<3>,
      .strides = StrideRule::kImages,
      .check = check_divisor,
      .batch = kPool3d}},
    {"fractional_max_pool2d",
     {.traits = kNoMacs | kForFloats,
      .shape = resize_spatial<2>,
      .check = check_random_samples,
      .same_dtype = {"self", "random_samples"}}},
    {"fractional_max_pool3d",
     {.traits = kNoMacs | kForFloats,
      .shape = resize_spatial<3>,
      .check = check_random_samples,
      .same_dtype = {"self", "random_samples"}}},
    {"max_pool1d", {.traits = kNoMacs | kKeepsRank | kForFloats, .shape = pool<1>, .batch = kPool1d}},
    {"max_pool1d_with_indices", {.traits = kNoMacs, .shape = pool<1>, .batch = kPool1d}},
    {"max_pool2d_with_indices",
     {.traits = kNoMacs, .shape = pool<2>, .strides = StrideRule::kImages, .batch = kPool2d}},
    {"max_pool3d_with_indices", {.traits = kNoMacs, .shape = pool<3>, .batch = kPool3d}},
    {"max_unpool2d", {.traits = kNoMacs | kForFloats, .shape = resize_spatial<2>}},
    {"max_unpool3d", {.traits = kNoMacs | kForFloats, .shape = resize_spatial<3>}},
    {"mkldnn_adaptive_avg_pool2d", {.traits = kNoMacs, .shape = resize_spatial<2>}},
    {"mkldnn_max_pool2d quantized::max_pool2d quantized_max_pool2d", {.traits = kNoMacs, .shape = pool<2>}},
    {"mkldnn_max_pool3d quantized_max_pool3d", {.traits = kNoMacs, .shape = pool<3>}},
    {"quantized::max_pool1d quantized_max_pool1d", {.traits = kNoMacs, .shape = pool<1>}},
};

}  // namespace

OperatorRows pooling_rows() { return kPoolingRows; }

}  // namespace fxtrace::internal
