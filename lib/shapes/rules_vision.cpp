// Rules of what slides windows over images or resamples them: convolution, pooling, padding, interpolation,
// and torchvision's operators.
#include <cmath>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

// Older operators call it self, newer ones input.
const TensorInfo& first_tensor(const RuleArguments& args) { return args.tensor(first_argument(args)); }

// One for each spatial dimension; operators whose schema has no such argument behave as with `otherwise`.
Sizes each_dim(const RuleArguments& args, std::string_view name, std::size_t count, const SymInt& otherwise) {
  return args.given(name) ? spread(args.sizes(name), count) : Sizes(count, otherwise);
}

TensorInfo with_last(TensorInfo info, const Sizes& last) {
  if (info.sizes.size() < last.size()) throw CannotTell{};
  std::copy(last.begin(), last.end(), info.sizes.end() - static_cast<std::ptrdiff_t>(last.size()));
  return info;
}

// Pooling that also tells where the maxima were.
Results with_indices(const RuleArguments& args, const TensorInfo& result) {
  std::vector<TensorInfo> results(args.schema().results.size(), result);
  for (std::size_t i = 1; i < results.size(); ++i) results[i].dtype = ScalarType::kInt64;
  return make_many(std::move(results));
}

// ---- Convolution ----
// Weights are (out, in / groups, kernel...); transposed, (in, out / groups, kernel...).

Results convolve(const RuleArguments& args, bool transposed) {
  const TensorInfo& input = first_tensor(args);
  const TensorInfo& weight = args.tensor("weight");
  if (weight.sizes.size() < 3) throw CannotTell{};
  const std::size_t count = weight.sizes.size() - 2;
  // With a batch or without.
  const auto rank = static_cast<std::int64_t>(count);
  require_rank(input, {rank + 1, rank + 2}, "the input of a convolution");
  const std::size_t batch = input.sizes.size() - count - 1;
  require_same_dtype(input.dtype, weight.dtype, "dtypes of input and weight");
  const SymInt groups = args.given("groups") ? args.size("groups") : SymInt(1);
  const SymInt channels = transposed ? weight.sizes[0] : weight.sizes[1] * groups;
  require(args.dimensions, Relation::kEqual, input.sizes[batch], channels,
          "channels of the input are not what the weight takes");

  if (args.is_tensor("bias")) {
    const TensorInfo& bias = args.tensor("bias");
    require_rank(bias, {1}, "the bias of a convolution");
    require(args.dimensions, Relation::kEqual, bias.sizes[0],
            transposed ? weight.sizes[1] * groups : weight.sizes[0], "bias and weight differ");
    // Less precision than that of the input is converted.
    const bool is_integer = bias.dtype == ScalarType::kInt64;
    if (is_integer || (!transposed && bias.dtype == ScalarType::kFloat64))
      require_same_dtype(input.dtype, bias.dtype, "dtypes of input and bias");
  }

  const bool mode = args.given("padding") && args.value("padding").get_if<std::string>() != nullptr;
  const bool same = mode && args.text("padding") == "same";
  const Sizes stride = each_dim(args, "stride", count, 1), dilation = each_dim(args, "dilation", count, 1);
  const Sizes padding =
      mode ? Sizes(count, 0) : each_dim(args, args.given("pad") ? "pad" : "padding", count, 0);
  const Sizes extra = each_dim(args, "output_padding", count, 0);

  Sizes sizes = slice_of(input.sizes, 0, batch);
  sizes.push_back(transposed ? weight.sizes[1] * groups : weight.sizes[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const SymInt& size = input.sizes[batch + 1 + i];
    const SymInt& kernel = weight.sizes[2 + i];
    if (transposed) {
      sizes.push_back((size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + extra[i] + 1);
    } else {
      if (!same) {
        require(args.dimensions, Relation::kGreaterEqual, size + 2 * padding[i],
                dilation[i] * (kernel - 1) + 1, "the kernel is larger than the padded input");
      }
      sizes.push_back(
          same ? size : window_count(size, {kernel, stride[i], padding[i], dilation[i]}, args.dimensions));
    }
  }
  return make(std::move(sizes), input.dtype ? input.dtype : weight.dtype);
}

Results convolution(const RuleArguments& args) {
  return convolve(args, args.given("transposed") && args.flag("transposed"));
}

Results transposed_convolution(const RuleArguments& args) { return convolve(args, true); }

// (time, batch, in) and (kernel, in, out).
Results conv_tbc(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("self"), &weight = args.tensor("weight");
  if (input.dim() != 3 || weight.dim() != 3) throw CannotTell{};
  Window window{weight.sizes[0]};
  window.padding = args.size("pad");
  return make({window_count(input.sizes[0], window, args.dimensions), input.sizes[1], weight.sizes[2]},
              input.dtype);
}

// ---- Pooling ----

// Only a batch may be empty.
void require_image(const RuleArguments& args, const TensorInfo& image, std::size_t count) {
  for (std::size_t i = image.sizes.size() - count; i < image.sizes.size(); ++i) {
    require(args.dimensions, Relation::kGreater, image.sizes[i], 0, "size of an image");
  }
}

template <std::size_t Count>
Results pool(const RuleArguments& args) {
  TensorInfo result = first_tensor(args);
  require_rank(result, {static_cast<std::int64_t>(Count) + 1, static_cast<std::int64_t>(Count) + 2},
               "the input of a pooling layer");
  const Sizes kernel = each_dim(args, "kernel_size", Count, 1);
  const bool strides = args.given("stride") && !args.sizes("stride").empty();
  const Sizes stride = strides ? spread(args.sizes("stride"), Count) : kernel;
  const Sizes padding = each_dim(args, "padding", Count, 0), dilation = each_dim(args, "dilation", Count, 1);
  const bool ceil_mode = args.flag("ceil_mode");
  require_image(args, result, Count + 1);
  for (std::size_t i = 0; i < Count; ++i) {
    SymInt& size = result.sizes[result.sizes.size() - Count + i];
    const SymInt before = size;
    require(args.dimensions, Relation::kGreater, stride[i], 0, "stride of a window");
    require(args.dimensions, Relation::kGreaterEqual, padding[i], 0, "padding");
    require(args.dimensions, Relation::kLessEqual, padding[i], floordiv(dilation[i] * (kernel[i] - 1) + 1, 2),
            "padding is more than half of a window");
    size = window_count(size, {kernel[i], stride[i], padding[i], dilation[i], ceil_mode}, args.dimensions);
    if (args.dimensions.decide(Relation::kGreater, size, 0) == false) {
      throw Raises{"nothing is left of " + before.text() + " by windows of " + kernel[i].text()};
    }
  }
  return with_indices(args, result);
}

// The sizes of the result are an argument.
template <std::size_t Count>
Results resize(const RuleArguments& args) {
  constexpr auto kCount = static_cast<std::int64_t>(Count);
  require_rank(first_tensor(args), {kCount + 1, kCount + 2}, "the input of a pooling layer");
  if (Count > 1) require_image(args, first_tensor(args), Count);
  if (args.is_tensor("indices")) {
    const TensorInfo &input = first_tensor(args), &indices = args.tensor("indices");
    require_rank(indices, {input.dim()}, "the tensor of indices");
    require_same_dtype(indices.dtype, ScalarType::kInt64, "dtypes of indices");
    for (std::size_t i = 0; i < input.sizes.size(); ++i) {
      require(args.dimensions, Relation::kEqual, indices.sizes[i], input.sizes[i],
              "sizes of the indices differ");
    }
  }
  return with_indices(args, with_last(first_tensor(args), spread(args.sizes("output_size"), Count)));
}

// ---- Columns of windows and back ----

Results im2col(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (input.dim() != 3 && input.dim() != 4) throw CannotTell{};
  const std::size_t channel = input.sizes.size() - 3;
  const Sizes kernel = each_dim(args, "kernel_size", 2, 1), dilation = each_dim(args, "dilation", 2, 1),
              padding = each_dim(args, "padding", 2, 0), stride = each_dim(args, "stride", 2, 1);
  SymInt windows = 1;
  for (std::size_t i = 0; i < 2; ++i) {
    windows = windows * window_count(input.sizes[channel + 1 + i],
                                     {kernel[i], stride[i], padding[i], dilation[i]}, args.dimensions);
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

// ---- Padding: pairs (before, after), the last dimension first. ----

enum class Filling { kConstant, kReflection, kReplication, kCircle };

Filling filling_of(const RuleArguments& args) {
  const std::string_view name = without_namespace(args.name());
  const std::string_view mode = args.given("mode") && name == "pad" ? args.text("mode") : name;
  if (mode.starts_with("reflect")) return Filling::kReflection;
  if (mode.starts_with("replica")) return Filling::kReplication;
  return mode.ends_with("circular") ? Filling::kCircle : Filling::kConstant;
}

Results pad(const RuleArguments& args) {
  TensorInfo result = args.tensor("self");
  const Sizes pairs = args.sizes(args.given("pad") ? "pad" : "padding");
  const Filling filling = filling_of(args);
  if (filling != Filling::kConstant && result.sizes.size() > pairs.size() / 2) {
    require_image(args, result, pairs.size() / 2);
  }
  if (pairs.size() % 2 != 0 || pairs.size() / 2 > result.sizes.size()) throw CannotTell{};
  for (std::size_t i = 0; i < pairs.size() / 2; ++i) {
    SymInt& size = result.sizes[result.sizes.size() - 1 - i];
    for (const SymInt* more : {&pairs[2 * i], &pairs[2 * i + 1]}) {
      if (filling == Filling::kReflection) {
        require(args.dimensions, Relation::kLess, *more, size, "more is padded than can be reflected");
      } else if (filling == Filling::kCircle) {
        require(args.dimensions, Relation::kLessEqual, *more, size, "more is padded than there is");
      }
    }
    size = size + pairs[2 * i] + pairs[2 * i + 1];
  }
  return make(std::move(result));
}

// ---- Interpolation ----

double plain_real(const AbstractValue& value) {
  if (const auto* number = value.get_if<double>()) return *number;
  if (value.integer() == nullptr) throw CannotTell{};
  return static_cast<double>(number_of(*value.integer()));
}

std::vector<double> factors(const AbstractValue& value, std::size_t count) {
  if (value.sequence() == nullptr) return std::vector<double>(count, plain_real(value));
  std::vector<double> result;
  for (const AbstractValue& element : *value.sequence()) result.push_back(plain_real(element));
  if (result.size() != count) throw CannotTell{};
  return result;
}

// LibTorch multiplies as float64 and rounds down.  For an expression only a factor will do that is a fraction
// with a power of two below, such as 2, .5 and 1.25: products of sizes and others are not exact.
SymInt scaled(const SymInt& size, double factor) {
  constexpr double kLimit = 1 << 20;
  if (!(factor > 0 && factor <= kLimit)) throw CannotTell{};
  if (const std::optional<std::int64_t> number = size.number()) {
    constexpr double kMaxSize = 9e18;
    const double product = static_cast<double>(*number) * factor;
    if (!(product < kMaxSize)) throw CannotTell{};
    return static_cast<std::int64_t>(product);
  }
  constexpr std::int64_t kMaxBelow = std::int64_t{1} << 40;
  for (std::int64_t below = 1; below <= kMaxBelow && static_cast<double>(below) * factor <= kLimit;
       below *= 2) {
    const double above = static_cast<double>(below) * factor;
    if (above == std::floor(above)) return floordiv(size * static_cast<std::int64_t>(above), below);
  }
  throw CannotTell{};
}

Results interpolate_to(const RuleArguments& args, std::string_view size_name, std::string_view factor_name) {
  TensorInfo result = first_tensor(args);
  // upsample_nearest2d
  const std::string_view name = args.name();
  const std::size_t digit = name.find_first_of("123");
  if (digit != std::string_view::npos && name.substr(digit + 1).starts_with('d')) {
    require_rank(result, {name[digit] - '0' + 2}, "what is resized");
    require_image(args, result, result.sizes.size() - 2);
  }
  if (result.dim() < 3 || result.dim() > 5) throw CannotTell{};
  const std::size_t count = result.sizes.size() - 2;
  if (args.given(size_name)) return make(with_last(std::move(result), spread(args.sizes(size_name), count)));
  const std::vector<double> scales = factors(args.value(factor_name), count);
  for (std::size_t i = 0; i < count; ++i) result.sizes[2 + i] = scaled(result.sizes[2 + i], scales[i]);
  return make(std::move(result));
}

Results upsample(const RuleArguments& args) { return interpolate_to(args, "output_size", "scale_factors"); }

// torch.nn.functional.interpolate, as archives of old versions call it.
Results interpolate(const RuleArguments& args) { return interpolate_to(args, "size", "scale_factor"); }

// (batch, channels, ...) sampled at (batch, ..., 2 or 3).
Results grid_sampler(const RuleArguments& args) {
  const TensorInfo &input = first_tensor(args), &grid = args.tensor("grid");
  require_rank(input, {4, 5}, "the input of a sampler");
  require_rank(grid, {input.dim()}, "the grid of a sampler");
  require_same_dtype(input.dtype, grid.dtype, "dtypes of input and grid");
  require(args.dimensions, Relation::kEqual, grid.sizes.back(), input.dim() - 2, "positions in the grid");
  require(args.dimensions, Relation::kEqual, grid.sizes[0], input.sizes[0],
          "batches of input and grid differ");
  require_image(args, input, input.sizes.size() - 2);
  return make(concatenated(slice_of(input.sizes, 0, 2), slice_of(grid.sizes, 1, grid.sizes.size() - 1)),
              input.dtype);
}

Results affine_grid_generator(const RuleArguments& args) {
  const Sizes size = args.sizes("size");
  if (size.size() != 4 && size.size() != 5) throw CannotTell{};
  Sizes sizes = {size[0]};
  sizes.insert(sizes.end(), size.begin() + 2, size.end());
  sizes.emplace_back(static_cast<std::int64_t>(size.size()) - 2);
  return make(std::move(sizes), args.tensor("theta").dtype);
}

// ---- torchvision ----

Results nms(const RuleArguments& args) {
  const TensorInfo& boxes = args.tensor("dets");
  if (boxes.dim() != 2) throw CannotTell{};
  return make({fresh_up_to(boxes.sizes[0], args.dimensions)}, ScalarType::kInt64);
}

// (boxes, channels, height, width) of each box; where a second result is, it has indices for each of them.
Results pool_boxes(const RuleArguments& args, bool channels_by_place) {
  const TensorInfo &input = args.tensor("input"), &boxes = args.tensor("rois");
  if (input.dim() != 4 || boxes.dim() != 2) throw CannotTell{};
  const SymInt height = args.size("pooled_height"), width = args.size("pooled_width");
  const SymInt channels =
      channels_by_place ? quotient({input.sizes[1]}, {height, width}, args.dimensions) : input.sizes[1];
  TensorInfo result;
  result.sizes = {boxes.sizes[0], channels, height, width};
  result.dtype = input.dtype;
  std::vector<TensorInfo> results(args.schema().results.size(), result);
  for (std::size_t i = 1; i < results.size(); ++i) results[i].dtype = ScalarType::kInt32;
  return make_many(std::move(results));
}

Results roi_pool(const RuleArguments& args) { return pool_boxes(args, false); }
Results ps_roi_pool(const RuleArguments& args) { return pool_boxes(args, true); }

Results deform_conv2d(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("input"), &weight = args.tensor("weight");
  if (input.dim() != 4 || weight.dim() != 4) throw CannotTell{};
  const Window rows{weight.sizes[2], args.size("stride_h"), args.size("pad_h"), args.size("dilation_h")};
  const Window columns{weight.sizes[3], args.size("stride_w"), args.size("pad_w"), args.size("dilation_w")};
  return make({input.sizes[0], weight.sizes[0], window_count(input.sizes[2], rows, args.dimensions),
               window_count(input.sizes[3], columns, args.dimensions)},
              input.dtype);
}

constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"conv1d", convolution},
    {"conv2d", convolution},
    {"conv3d", convolution},
    {"convolution", convolution},
    {"convolution_overrideable", convolution},
    {"_convolution", convolution},
    {"_convolution_mode", convolution},
    {"_conv_depthwise2d", convolution},
    {"conv_depthwise3d", convolution},
    {"_slow_conv2d_forward", convolution},
    {"slow_conv3d", convolution},
    {"slow_conv3d_forward", convolution},
    {"slow_conv_dilated2d", convolution},
    {"slow_conv_dilated3d", convolution},
    {"thnn_conv2d", convolution},
    {"_nnpack_spatial_convolution", convolution},
    {"mkldnn_convolution", convolution},
    {"cudnn_convolution", convolution},
    {"cudnn_convolution_relu", convolution},
    {"cudnn_convolution_add_relu", convolution},
    {"conv_transpose1d", transposed_convolution},
    {"conv_transpose2d", transposed_convolution},
    {"conv_transpose3d", transposed_convolution},
    {"cudnn_convolution_transpose", transposed_convolution},
    {"slow_conv_transpose2d", transposed_convolution},
    {"slow_conv_transpose3d", transposed_convolution},
    {"conv_tbc", conv_tbc},

    {"max_pool1d", pool<1>},
    {"max_pool2d", pool<2>},
    {"max_pool3d", pool<3>},
    {"max_pool1d_with_indices", pool<1>},
    {"max_pool2d_with_indices", pool<2>},
    {"max_pool3d_with_indices", pool<3>},
    {"mkldnn_max_pool2d", pool<2>},
    {"mkldnn_max_pool3d", pool<3>},
    {"quantized_max_pool1d", pool<1>},
    {"quantized_max_pool2d", pool<2>},
    {"quantized_max_pool3d", pool<3>},
    {"quantized::max_pool1d", pool<1>},
    {"quantized::max_pool2d", pool<2>},
    {"avg_pool1d", pool<1>},
    {"avg_pool2d", pool<2>},
    {"avg_pool3d", pool<3>},
    {"adaptive_avg_pool1d", resize<1>},
    {"adaptive_avg_pool2d", resize<2>},
    {"adaptive_avg_pool3d", resize<3>},
    {"_adaptive_avg_pool2d", resize<2>},
    {"_adaptive_avg_pool3d", resize<3>},
    {"mkldnn_adaptive_avg_pool2d", resize<2>},
    {"adaptive_max_pool1d", resize<1>},
    {"adaptive_max_pool2d", resize<2>},
    {"adaptive_max_pool3d", resize<3>},
    {"fractional_max_pool2d", resize<2>},
    {"fractional_max_pool3d", resize<3>},
    {"max_unpool2d", resize<2>},
    {"max_unpool3d", resize<3>},
    {"im2col", im2col},
    {"col2im", col2im},

    {"pad", pad},
    {"_pad_enum", pad},
    {"_pad_circular", pad},
    {"constant_pad_nd", pad},
    {"reflection_pad1d", pad},
    {"reflection_pad2d", pad},
    {"reflection_pad3d", pad},
    {"replication_pad1d", pad},
    {"replication_pad2d", pad},
    {"replication_pad3d", pad},

    {"upsample_nearest1d", upsample},
    {"upsample_nearest2d", upsample},
    {"upsample_nearest3d", upsample},
    {"_upsample_nearest_exact1d", upsample},
    {"_upsample_nearest_exact2d", upsample},
    {"_upsample_nearest_exact3d", upsample},
    {"upsample_linear1d", upsample},
    {"upsample_bilinear2d", upsample},
    {"upsample_bicubic2d", upsample},
    {"upsample_trilinear3d", upsample},
    {"_upsample_bilinear2d_aa", upsample},
    {"_upsample_bicubic2d_aa", upsample},
    {"_upsample_lanczos2d_aa", upsample},
    {"torchvision::_interpolate_bilinear2d_aa", upsample},
    {"torchvision::_interpolate_bicubic2d_aa", upsample},
    {"__interpolate", interpolate},
    {"__upsample", interpolate},
    {"__upsample_nearest", interpolate},
    {"__upsample_bilinear", interpolate},
    {"grid_sampler", grid_sampler},
    {"grid_sampler_2d", grid_sampler},
    {"grid_sampler_3d", grid_sampler},
    {"_grid_sampler_2d_cpu_fallback", grid_sampler},
    {"cudnn_grid_sampler", grid_sampler},
    {"affine_grid_generator", affine_grid_generator},

    {"torchvision::nms", nms},
    {"torchvision::qnms", nms},
    {"torchvision::roi_align", roi_pool},
    {"torchvision::qroi_align", roi_pool},
    {"torchvision::roi_pool", roi_pool},
    {"torchvision::ps_roi_align", ps_roi_pool},
    {"torchvision::ps_roi_pool", ps_roi_pool},
    {"torchvision::deform_conv2d", deform_conv2d},
};

}  // namespace

RuleTable vision_rules() { return kRules; }

}  // namespace fxtrace
