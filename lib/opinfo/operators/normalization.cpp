// Normalization over channels, groups of channels, and last dimensions.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Normalization ----

// Checks a vector with one parameter for each channel: its dtype is that of the input, or differs from it
// only where one has less precision than float32.
void require_vector(const RuleArguments& args, std::string_view name, const TensorInfo& input,
                    const SymInt& channels) {
  if (!args.is_tensor(name)) return;
  const TensorInfo& vector = args.tensor(name);
  const bool both_full = (input.dtype == ScalarType::kFloat32 || input.dtype == ScalarType::kFloat64) &&
                         vector.dtype != ScalarType::kFloat16 && vector.dtype != ScalarType::kBfloat16;
  if (both_full) require_same_dtype(input.dtype, vector.dtype, {"input", name});
  require_rank(vector, {1}, name);
  require_equal(args.dimensions, vector.sizes[0], channels,
                "size of " + std::string(name) + " and channels of input");
}

Results channel_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  // An empty input is valid whatever its shape.
  if (may_be_empty(args.dimensions, input.sizes)) return like_first(args);
  require_least_rank(input, 2, "input");
  for (const std::string_view name : {"weight", "bias", "running_mean", "running_var"}) {
    require_vector(args, name, input, input.sizes[1]);
  }
  return like_first(args);
}

Results group_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  require_least_rank(input, 2, "input");
  const SymInt groups = args.size("num_groups");
  require(args.dimensions, Relation::kGreater, groups, 0, "num_groups");
  require_multiple(args.dimensions, input.sizes[1], groups, "size of input in dimension 1");
  for (const std::string_view name : {"weight", "bias"}) require_vector(args, name, input, input.sizes[1]);
  return like_first(args);
}

// Checks the input and the parameters of a normalization over the last dimensions.
void require_normalized(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  const Sizes shape = args.sizes("normalized_shape");
  if (shape.empty()) throw Raises{"normalized_shape has length 0, expected 1 or more"};
  if (shape.size() > input.sizes.size()) {
    throw Raises{"normalized_shape has length " + std::to_string(shape.size()) + ", expected at most " +
                 std::to_string(input.dim())};
  }
  const std::size_t offset = input.sizes.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    require_equal(args.dimensions, input.sizes[offset + i], shape[i], "last sizes",
                  {"input", "normalized_shape"});
  }
  for (const std::string_view name : {"weight", "bias"}) {
    if (args.is_tensor(name)) {
      require_equal_sizes(args.dimensions, args.tensor(name).sizes, shape, {name, "normalized_shape"});
    }
  }
}

Results shape_norm(const RuleArguments& args) {
  require_normalized(args);
  return like_first(args);
}

// (result, mean, 1 / deviation), or without the mean.  The statistics have size 1 in normalized dimensions.
Results native_layer_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  const std::size_t count = args.sizes("normalized_shape").size();
  require_normalized(args);
  TensorInfo statistics = input;
  std::fill(statistics.sizes.end() - static_cast<std::ptrdiff_t>(count), statistics.sizes.end(), SymInt(1));
  if (input.dtype != ScalarType::kFloat32 && input.dtype != ScalarType::kFloat64) statistics.dtype.reset();
  std::vector<TensorInfo> results(args.schema().results.size(), statistics);
  results[0] = input;
  return make_many(std::move(results));
}

Results native_group_norm(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("input");
  require(args.dimensions, Relation::kGreaterEqual, args.size("N"), 0, "N");
  TensorInfo statistics = tensor_of({args.size("N"), args.size("group")}, input.dtype);
  if (input.dtype != ScalarType::kFloat32 && input.dtype != ScalarType::kFloat64) statistics.dtype.reset();
  return make_many({input, statistics, statistics});
}

Results weight_norm(const RuleArguments& args) {
  std::vector<TensorInfo> results = {args.tensor("v")};
  if (args.schema().results.size() == 2) results.push_back(args.tensor("g"));
  return make_many(std::move(results));
}

// The norm over all dimensions but `dim`; for -1, over all.
Results norm_except_dim(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("v");
  if (args.number("dim") == -1) return make({}, input.dtype);
  const std::size_t dim = dim_index(args.number("dim"), input);
  Sizes sizes(input.sizes.size(), 1);
  sizes[dim] = input.sizes[dim];
  return make(std::move(sizes), input.dtype);
}

// The CPU's kernels mix an input of half precision with parameters of float32, and nothing else.
void check_mixed(const RuleArguments& args) {
  const TensorInfo* input = find_tensor(args, "input");
  if (input == nullptr || !input->device.is_cpu()) return;
  const bool is_short = input->dtype == ScalarType::kFloat16 || input->dtype == ScalarType::kBfloat16;
  for (const std::string_view name : {"weight", "bias"}) {
    const TensorInfo* parameter = find_tensor(args, name);
    if (parameter != nullptr && !(is_short && parameter->dtype == ScalarType::kFloat32))
      require_same_dtype(input->dtype, parameter->dtype, {"input", name});
  }
}

// ---- Sizes ----

// Checks that weight and bias have one parameter for each channel.
void check_channels(const RuleArguments& args, const SymInt& channels) {
  for (const std::string_view name : {"weight", "bias"}) {
    const TensorInfo* info = find_tensor(args, name);
    if (info == nullptr) continue;
    require_rank(*info, {1}, name);
    require_equal(args.dimensions, info->sizes[0], channels,
                  "size of " + std::string(name) + " and channels of input");
  }
}

void check_group_norm(const RuleArguments& args) {
  const TensorInfo* input = find_tensor(args, "input");
  check_mixed(args);
  if (input != nullptr && input->dim() >= 2) check_channels(args, input->sizes[1]);
}

constexpr OperatorRow kNormalizationRows[] = {
    {"_batch_norm_impl_index cudnn_batch_norm miopen_batch_norm",
     {.traits = kNoMacs | kHiddenWrite, .shape = like_first}},
    {"_batch_norm_no_update _batch_norm_with_update _native_batch_norm_legit "
     "_native_batch_norm_legit_no_training batch_norm_elemt",
     {.traits = kNoMacs, .shape = like_first}},
    {"_batch_norm_with_update_functional _native_batch_norm_legit_functional "
     "_nested_tensor_softmax_with_shape _weight_norm_differentiable batch_norm_backward_elemt "
     "batch_norm_backward_reduce batch_norm_stats",
     {.traits = kNoMacs}},
    {"_fused_rms_norm", {.traits = kNoMacs, .shape = native_layer_norm}},
    {"_weight_norm _weight_norm_interface", {.traits = kNoMacs, .shape = weight_norm}},
    {"batch_norm",
     {.traits = kNoMacs | kHiddenWrite | kKeepsRank | kForFloats,
      .shape = channel_norm,
      .strides = StrideRule::kImages,
      .batch = {.rule = &BatchRules::batch_norm},
      .example = {ExampleForm::kChannels, 1}}},
    {"batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_update_stats",
     {.traits = kNoMacs | kHiddenWrite}},
    {"group_norm",
     {.traits = kNoMacs | kKeepsRank | kForFloats,
      .shape = group_norm,
      .strides = StrideRule::kImages,
      .check = check_group_norm,
      .batch = {.rule = &BatchRules::group_norm},
      .example = {ExampleForm::kChannels, 2}}},
    {"instance_norm", {.traits = kNoMacs | kHiddenWrite | kKeepsRank | kForFloats, .shape = channel_norm}},
    {"layer_norm",
     {.traits = kNoMacs | kKeepsRank | kForFloats,
      .shape = shape_norm,
      .check = check_mixed,
      .batch = {.rule = &BatchRules::normalize},
      .example = {ExampleForm::kRows, 2}}},
    {"native_batch_norm", {.traits = kNoMacs | kHiddenWrite | kForFloats, .shape = like_first}},
    {"native_group_norm",
     {.traits = kNoMacs | kForFloats, .shape = native_group_norm, .check = check_group_norm}},
    {"native_layer_norm", {.traits = kNoMacs | kForFloats, .shape = native_layer_norm, .check = check_mixed}},
    {"norm_except_dim", {.traits = kNoMacs, .shape = norm_except_dim}},
    {"rms_norm",
     {.traits = kNoMacs | kForFloats, .shape = shape_norm, .batch = {.rule = &BatchRules::normalize}}},
};

}  // namespace

OperatorRows normalization_rows() { return kNormalizationRows; }

}  // namespace fxtrace::internal
