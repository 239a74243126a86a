// Pooling: windows that slide over images.  Functions, as sizes follow from kernel, stride, padding and
// dilation.
#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
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
