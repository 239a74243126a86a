// Loss functions.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Reduction 0 keeps one loss for each element, 1 is the mean of all, 2 their sum.  The effect of other
// numbers depends on whether the loss is composed of other operators. ----

bool is_reduced(const RuleArguments& args) {
  const std::int64_t reduction = args.number("reduction");
  return reduction == 1 || reduction == 2;
}

// Returns the dtype of a loss; unknown when two floating dtypes differ, as losses differ in which they take.
Dtype loss_dtype(Dtype input, Dtype target) {
  const bool target_counts = target && is_floating(*target);
  return input == target || (target && !target_counts && input && is_floating(*input)) ? input : Dtype();
}

Results loss(const RuleArguments& args, Sizes unreduced, Dtype dtype) {
  // Whether integers and complex numbers keep their dtype depends on the formula.
  if (dtype && !is_floating(*dtype)) dtype.reset();
  return make(args.number("reduction") == 0 ? std::move(unreduced) : Sizes{}, dtype);
}

// A loss that is composed of other operators: integers may stay integers, and have no mean.
Results composed_loss(const RuleArguments& args, Sizes unreduced, Dtype dtype) {
  if (!is_reduced(args)) return make(std::move(unreduced), dtype);
  if (args.number("reduction") == 2) return make(Sizes{}, sum_dtype(dtype));
  if (dtype && is_integral(*dtype))
    throw Raises{"the loss is " + dtype_name(*dtype) + ", expected a floating or complex dtype for its mean"};
  return make(Sizes{}, dtype);
}

Dtype loss_dtype_of(const RuleArguments& args) {
  return loss_dtype(args.tensor(first_argument(args)).dtype, args.tensor("target").dtype);
}

Results broadcast_loss(const RuleArguments& args) {
  const TensorInfo &input = args.tensor(first_argument(args)), &target = args.tensor("target");
  const Dtype dtype = promoted(args, {first_argument(args), "target"});
  return loss(args, broadcast(input.sizes, target.sizes, args.dimensions), dtype);
}

// poisson_nll_loss, kl_div
Results float_loss(const RuleArguments& args) {
  const std::string_view first = first_argument(args);
  if (args.name() == "aten::kl_div") {
    const auto is_inexact = [](ScalarType type) { return !is_integral(type); };
    for (const std::string_view name : {first, std::string_view("target")})
      require_dtype(args.tensor(name).dtype, is_inexact, name, "a floating or complex dtype");
  }
  // The formula begins with the exponential or logarithm of the input, which is a float.
  TensorInfo input = args.tensor(first);
  input.dtype = float_dtype(input.dtype);
  Promotion promotion;
  promotion.add(input);
  promotion.add(args.tensor("target"));
  return composed_loss(args, broadcast_of(args, {first, "target"}), promotion.result());
}

// The loss is computed in place of the input, so that it must have the promoted dtype.
Results huber_loss(const RuleArguments& args) {
  const Dtype dtype = args.tensor("self").dtype;
  const bool is_right = dtype == promoted(args, {"self", "target"}) && dtype && is_floating(*dtype);
  return composed_loss(args, broadcast_of(args, {"self", "target"}), is_right ? dtype : std::nullopt);
}

Results l1_loss(const RuleArguments& args) {
  return composed_loss(args, broadcast_of(args, {"self", "target"}),
                       real_dtype(promoted(args, {"self", "target"})));
}

Results hinge_embedding_loss(const RuleArguments& args) {
  return composed_loss(args, broadcast_of(args, {"self", "target"}), args.tensor("self").dtype);
}

// The target must be expandable to the input.
Results soft_margin_loss(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &target = args.tensor("target");
  require_expandable(args.dimensions, target.sizes, self.sizes, "target");
  if (self.dtype && is_integral(*self.dtype))
    throw Raises{"self is " + dtype_name(*self.dtype) + ", expected a floating dtype"};
  return loss(args, self.sizes, self.dtype);
}

Results input_shaped_loss(const RuleArguments& args) {
  return loss(args, args.tensor("self").sizes, loss_dtype_of(args));
}

Results target_shaped_loss(const RuleArguments& args) {
  return composed_loss(args, args.tensor("target").sizes, loss_dtype_of(args));
}

// Removes the classes from the sizes (samples, classes, ...) or (classes).
Sizes without_classes(Sizes sizes) {
  if (sizes.empty()) throw CannotTell{};
  sizes.erase(sizes.begin() + (sizes.size() == 1 ? 0 : 1));
  return sizes;
}

// Checks a target of one class for each element, or of probabilities with the sizes of the input.
void require_classes(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("self"), &target = args.tensor("target");
  require_least_rank(input, 1, "self");
  const bool takes_probabilities = args.name() == "aten::cross_entropy_loss";
  if (takes_probabilities && input.dim() == target.dim() && input.dim() > 1) {
    require_equal_sizes(args.dimensions, input.sizes, target.sizes, {"self", "target"});
    require_dtype(target.dtype, is_floating, "target", "a floating dtype (probabilities)");
    return;
  }
  if (takes_probabilities && input.sizes == target.sizes) return;
  const auto is_class = [](ScalarType type) {
    return type == ScalarType::kInt64 || type == ScalarType::kUint8;
  };
  require_dtype(target.dtype, is_class, "target", "int64 or uint8 (classes)");
  if (args.is_tensor("weight")) {
    require_rank(args.tensor("weight"), {1}, "weight");
    require_equal(args.dimensions, args.tensor("weight").sizes[0], input.sizes[input.dim() > 1 ? 1 : 0],
                  "size of weight and classes of self");
  }
  if (input.dim() == 1) {
    require_rank(target, {0, 1}, "target");
    if (target.dim() == 1)
      require(args.dimensions, Relation::kEqual, target.sizes[0], 1, "size of target in dimension 0");
    return;
  }
  require_equal_sizes(args.dimensions, target.sizes, without_classes(input.sizes),
                      {"target", "self without its classes"});
}

Results class_loss(const RuleArguments& args) {
  require_classes(args);
  return loss(args, without_classes(args.tensor("self").sizes), loss_dtype_of(args));
}

// (result, total weight)
Results class_loss_forward(const RuleArguments& args) {
  Results results = class_loss(args);
  results.push_back({tensor_of({}, args.tensor("self").dtype)});
  return results;
}

Results multi_margin_loss(const RuleArguments& args) {
  if (args.real("p") != 1 && args.real("p") != 2) throw Raises{"p is neither 1 nor 2"};
  const TensorInfo &input = args.tensor("self"), &target = args.tensor("target");
  return loss(args, input.dim() == 2 ? Sizes{input.sizes[0]} : target.sizes, input.dtype);
}

Results multilabel_margin_loss(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  return loss(args, input.dim() == 2 ? Sizes{input.sizes[0]} : Sizes{}, input.dtype);
}

Results margin_ranking_loss(const RuleArguments& args) {
  return composed_loss(args, broadcast_of(args, {"input1", "input2", "target"}),
                       float_dtype(promoted(args, {"input1", "input2", "target"})));
}

Results cosine_embedding_loss(const RuleArguments& args) {
  const TensorInfo &one = args.tensor("input1"), &two = args.tensor("input2"),
                   &target = args.tensor("target");
  require_rank(target, {0, 1}, "target");
  require_rank(one, {target.dim() + 1}, "input1");
  require_rank(two, {target.dim() + 1}, "input2");
  const Sizes samples = without_last(broadcast(one.sizes, two.sizes, args.dimensions));
  // torch sums squares of integers before it converts to floats.
  const Dtype first = float_dtype(one.dtype), second = float_dtype(two.dtype);
  return composed_loss(args, broadcast(samples, target.sizes, args.dimensions),
                       first && second ? promote(*first, *second) : std::nullopt);
}

Results triplet_margin_loss(const RuleArguments& args) {
  const TensorInfo &anchor = args.tensor("anchor"), &positive = args.tensor("positive"),
                   &negative = args.tensor("negative");
  require_rank(positive, {anchor.dim()}, "positive");
  require_rank(negative, {anchor.dim()}, "negative");
  // The loss broadcasts the two distances, and has their promoted dtype.
  const auto distance = [&](std::string_view example) {
    return tensor_of(without_last(broadcast(anchor.sizes, args.tensor(example).sizes, args.dimensions,
                                            {"anchor", example})),
                     real_dtype(float_dtype(promoted(args, {"anchor", example}))));
  };
  const TensorInfo first = distance("positive"), second = distance("negative");
  const Dtype dtype = first.dtype && second.dtype ? promote(*first.dtype, *second.dtype) : std::nullopt;
  return composed_loss(args, broadcast(first.sizes, second.sizes, args.dimensions), dtype);
}

// Checks the lengths for log_probs of (time, samples, classes), or of (time, classes) for one sample.
void require_lengths(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("log_probs");
  require_rank(input, {2, 3}, "log_probs");
  const SymInt samples = input.dim() == 3 ? input.sizes[1] : SymInt(1);
  for (const std::string_view name : {"input_lengths", "target_lengths"}) {
    const SymInt count = args.is_tensor(name) ? product(args.tensor(name).sizes)
                                              : static_cast<std::int64_t>(args.sizes(name).size());
    require_equal(args.dimensions, count, samples,
                  "length of " + std::string(name) + " and samples of log_probs");
  }
  const TensorInfo& targets = args.tensor("targets");
  if (targets.dim() == 2)
    require(args.dimensions, Relation::kEqual, targets.sizes[0], samples, "size of targets in dimension 0");
  if (args.is_tensor("target_lengths") || targets.sizes.empty()) return;
  SymInt sum = 0, longest = 0;
  for (const SymInt& length : args.sizes("target_lengths")) {
    sum = sum + length;
    longest = max(longest, length);
  }
  if (targets.dim() == 1) {
    require_equal(args.dimensions, targets.sizes[0], sum, "size of targets and sum of target_lengths");
  } else {
    require(args.dimensions, Relation::kGreaterEqual, targets.sizes[1], longest,
            "size of targets in dimension 1");
  }
}

Results ctc_loss(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("log_probs");
  require_lengths(args);
  return composed_loss(args, input.dim() == 3 ? Sizes{input.sizes[1]} : Sizes{}, input.dtype);
}

// (losses, values for the backward pass)
Results unreduced_ctc_loss(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("log_probs");
  require_lengths(args);
  return first_only(args, tensor_of(input.dim() == 3 ? Sizes{input.sizes[1]} : Sizes{}, input.dtype));
}

// The loss is computed in place of the target.
void check_logits_loss(const RuleArguments& args) {
  const TensorInfo *input = find_tensor(args, "self"), *target = find_tensor(args, "target");
  if (input == nullptr || target == nullptr) return;
  require_expandable(args.dimensions, input->sizes, target->sizes, "self");
  for (const std::string_view name : {"weight", "pos_weight"}) {
    if (const TensorInfo* weight = find_tensor(args, name))
      broadcast(weight->sizes, target->sizes, args.dimensions, {name, "target"});
  }
  if (target->dtype && !is_floating(*target->dtype) && input->dtype && is_floating(*input->dtype)) {
    throw Raises{"target is " + dtype_name(*target->dtype) + ", expected a floating dtype"};
  }
}

void check_class_target(const RuleArguments& args) {
  const TensorInfo* target = find_tensor(args, "target");
  if (target != nullptr && target->dtype && *target->dtype != ScalarType::kInt64) {
    throw Raises{"target is " + dtype_name(*target->dtype) + ", expected int64"};
  }
}

void check_multilabel(const RuleArguments& args) {
  check_class_target(args);
  const TensorInfo *self = find_tensor(args, "self"), *target = find_tensor(args, "target");
  if (self == nullptr || target == nullptr) return;
  if (self->dim() == 2)
    return require_equal_sizes(args.dimensions, self->sizes, target->sizes, {"self", "target"});
  require_equal(args.dimensions, product(self->sizes), product(target->sizes), "numbers of elements",
                {"self", "target"});
}

// binary_cross_entropy() drops dimensions of size 1 of self and target, then broadcasts.
void check_probabilities(const RuleArguments& args) {
  const TensorInfo *self = find_tensor(args, "self"), *target = find_tensor(args, "target");
  if (self == nullptr || target == nullptr) return;
  for (const TensorInfo* info : {self, target}) {
    for (const SymInt& size : info->sizes)
      if (args.dimensions.decide(Relation::kNotEqual, size, 1) != true) return;
  }
  broadcast(self->sizes, target->sizes, args.dimensions, {"self", "target"});
}

// ---- Gradients ----

// The gradient of `self`.
Results gradient_of_self(const RuleArguments& args) { return make(args.tensor("self")); }

// _softmax_backward_data(): a gradient of half precision is converted from float32; other dtypes of the input
// are passed over.
Results gradient_of_softmax(const RuleArguments& args) {
  const TensorInfo& grad = args.tensor("grad_output");
  require_equal_sizes(args.dimensions, grad.sizes, args.tensor("output").sizes, {"grad_output", "output"});
  const Dtype input = dtype_or(args, "input_dtype", grad.dtype);
  const bool is_converted = grad.dtype == ScalarType::kFloat32 && input == ScalarType::kFloat16;
  return make(grad.sizes, is_converted ? input : grad.dtype);
}

constexpr OperatorRow kLossesRows[] = {
    {"_ctc_loss", {.traits = kNoMacs, .shape = unreduced_ctc_loss}},
    {"_cudnn_ctc_loss _use_cudnn_ctc_loss _use_miopen_ctc_loss miopen_ctc_loss "
     "multilabel_margin_loss_forward",
     {.traits = kNoMacs}},
    {"_log_softmax_backward_data _softmax_backward_data", {.traits = kNoMacs, .shape = gradient_of_softmax}},
    {"_upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward _upsample_nearest_exact1d_backward "
     "_upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward upsample_bicubic2d_backward "
     "upsample_bilinear2d_backward upsample_linear1d_backward upsample_nearest1d_backward "
     "upsample_nearest2d_backward upsample_nearest3d_backward upsample_trilinear3d_backward",
     {.traits = kNoMacs, .signature = "... -> <input_size>"}},
    {"diagonal_backward select_backward slice_backward unfold_backward",
     {.traits = kNoMacs, .signature = "... -> <input_sizes>"}},
    {"elu_backward", {.traits = kNoMacs, .shape = same_as_first}},
    {"_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward "
     "adaptive_max_pool3d_backward avg_pool2d_backward avg_pool3d_backward binary_cross_entropy_backward "
     "fractional_max_pool2d_backward fractional_max_pool3d_backward glu_backward hardshrink_backward "
     "hardsigmoid_backward hardswish_backward hardtanh_backward huber_loss_backward leaky_relu_backward "
     "log_sigmoid_backward max_pool2d_with_indices_backward max_pool3d_with_indices_backward mish_backward "
     "mse_loss_backward multi_margin_loss_backward multilabel_margin_loss_backward nll_loss2d_backward "
     "nll_loss_backward reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward "
     "replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward "
     "rrelu_with_noise_backward smooth_l1_loss_backward soft_margin_loss_backward softplus_backward "
     "softshrink_backward",
     {.traits = kNoMacs, .shape = gradient_of_self}},
    {"binary_cross_entropy",
     {.traits = kNoMacs, .shape = input_shaped_loss, .check = check_probabilities, .batch = kLoss}},
    {"binary_cross_entropy_with_logits",
     {.traits = kNoMacs, .shape = target_shaped_loss, .check = check_logits_loss, .batch = kLoss}},
    {"cosine_embedding_loss", {.traits = kNoMacs, .shape = cosine_embedding_loss}},
    {"cross_entropy_loss nll_loss_nd",
     {.traits = kNoMacs, .shape = class_loss, .batch = {.rule = &BatchRules::cross_entropy}}},
    {"ctc_loss", {.traits = kNoMacs, .shape = ctc_loss}},
    {"hinge_embedding_loss", {.traits = kNoMacs, .shape = hinge_embedding_loss}},
    {"huber_loss", {.traits = kNoMacs, .shape = huber_loss, .batch = kLoss}},
    {"kl_div", {.traits = kNoMacs, .shape = float_loss, .batch = kLoss}},
    {"l1_loss", {.traits = kNoMacs, .shape = l1_loss, .batch = kLoss}},
    {"margin_ranking_loss", {.traits = kNoMacs, .shape = margin_ranking_loss}},
    {"mse_loss smooth_l1_loss", {.traits = kNoMacs, .shape = broadcast_loss, .batch = kLoss}},
    {"multi_margin_loss", {.traits = kNoMacs, .shape = multi_margin_loss, .check = check_class_target}},
    {"multilabel_margin_loss",
     {.traits = kNoMacs, .shape = multilabel_margin_loss, .check = check_multilabel}},
    {"nll_loss nll_loss2d", {.traits = kNoMacs, .shape = class_loss}},
    {"nll_loss2d_forward nll_loss_forward", {.traits = kNoMacs, .shape = class_loss_forward}},
    {"poisson_nll_loss", {.traits = kNoMacs, .shape = float_loss}},
    {"soft_margin_loss", {.traits = kNoMacs, .shape = soft_margin_loss, .batch = kLoss}},
    {"triplet_margin_loss", {.traits = kNoMacs, .shape = triplet_margin_loss}},
};

}  // namespace

OperatorRows losses_rows() { return kLossesRows; }

// Distances and similarities of vectors.

namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Distances ----

Results cosine_similarity(const RuleArguments& args) {
  require_dtype(promoted(args, {"x1", "x2"}), is_floating, "the common dtype of x1 and x2",
                "a floating dtype");
  TensorInfo result =
      tensor_of(broadcast(args.tensor("x1").sizes, args.tensor("x2").sizes, args.dimensions, {"x1", "x2"}),
                promoted(args, {"x1", "x2"}));
  const std::int64_t dim = normalize_dim(args.number("dim"), result.dim());
  if (!result.sizes.empty()) result.sizes.erase(result.sizes.begin() + dim);
  return make(std::move(result));
}

Results pairwise_distance(const RuleArguments& args) {
  Sizes sizes = broadcast(args.tensor("x1").sizes, args.tensor("x2").sizes, args.dimensions, {"x1", "x2"});
  sizes = args.flag("keepdim") ? with_last(std::move(sizes), 1) : without_last(sizes);
  return make(std::move(sizes), real_dtype(float_dtype(promoted(args, {"x1", "x2"}))));
}

// One distance for each pair of rows.
Results pdist(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  require_rank(input, {2}, "self");
  require_dtype(input.dtype, is_floating, "self", "a floating dtype");
  return make({floordiv(input.sizes[0] * (input.sizes[0] - 1), 2)}, input.dtype);
}

// ---- Multiply-accumulates ----

// ---- Distances ----

// ATen/native/Distance.cpp: a matrix product of rows with two more features.
SymInt euclidean(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * (from_back(operand(args, "x1").sizes, 1) + 2);
}

// A matrix product for many rows, or if compute_mode asks for it; otherwise elementwise, without MACs.
SymInt distances(const RuleArguments& args, const Results& results) {
  constexpr std::int64_t kIfMany = 0, kAlways = 1, kMany = 25;
  const std::int64_t mode = args.is_given("compute_mode") ? args.number("compute_mode") : kIfMany;
  if (args.real("p") != 2 || (mode != kAlways && mode != kIfMany)) return 0;
  const SymInt most = max(from_back(operand(args, "x1").sizes, 2), from_back(operand(args, "x2").sizes, 2));
  const bool as_product = mode == kAlways || decided(args.dimensions, Relation::kGreater, most, kMany);
  return as_product ? euclidean(args, results) : SymInt(0);
}

constexpr std::string_view kDistances = "...mk:floating ...nk:floating -> ...mn";

constexpr OperatorRow kDistancesRows[] = {
    {"_cdist_forward", {.traits = kNoMacs, .signature = kDistances}},
    {"_euclidean_dist",
     {.signature = kDistances,
      .same_dtype = {"x1", "x2"},
      .macs = euclidean,
      .batch = {.rule = &BatchRules::equal}}},
    {"_pdist_forward pdist", {.traits = kNoMacs, .shape = pdist}},
    {"cdist",
     {.signature = kDistances,
      .same_dtype = {"x1", "x2"},
      .macs = distances,
      .batch = {.rule = &BatchRules::equal}}},
    {"cosine_similarity",
     {.traits = kNoMacs | kRankByRanks, .shape = cosine_similarity, .batch = kBroadcast}},
    {"pairwise_distance", {.traits = kNoMacs, .shape = pairwise_distance, .batch = kBroadcast}},
};

}  // namespace

OperatorRows distances_rows() { return kDistancesRows; }

}  // namespace fxtrace::internal
