#include "shapes/checks.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

// The argument, if it is a tensor of which something is known; else null.
const TensorInfo* find_tensor(const RuleArguments& args, std::string_view name) {
  return args.is_tensor(name) ? args.value(name).tensor() : nullptr;
}

// ---- Types ----

// CPU kernels that there are for floating types only.
bool is_for_floats(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
      "_log_softmax",
      "_softmax",
      "_upsample_bicubic2d_aa",
      "_upsample_bilinear2d_aa",
      "_upsample_nearest_exact1d",
      "_upsample_nearest_exact2d",
      "_upsample_nearest_exact3d",
      "adaptive_avg_pool1d",
      "adaptive_avg_pool2d",
      "adaptive_max_pool2d",
      "batch_norm",
      "bernoulli",
      "celu",
      "elu",
      "frac",
      "fractional_max_pool2d",
      "fractional_max_pool3d",
      "gelu",
      "glu",
      "grid_sampler",
      "group_norm",
      "hardshrink",
      "hardsigmoid",
      "hardswish",
      "im2col",
      "instance_norm",
      "layer_norm",
      "leaky_relu",
      "log_normal",
      "log_sigmoid",
      "log_softmax",
      "logcumsumexp",
      "max_pool1d",
      "max_unpool2d",
      "max_unpool3d",
      "mish",
      "native_batch_norm",
      "native_group_norm",
      "native_layer_norm",
      "poisson",
      "rms_norm",
      "rrelu",
      "selu",
      "silu",
      "softmax",
      "softplus",
      "softshrink",
      "std",
      "std_mean",
      "upsample_bicubic2d",
      "upsample_bilinear2d",
      "upsample_linear1d",
      "upsample_nearest1d",
      "upsample_nearest2d",
      "upsample_nearest3d",
      "upsample_trilinear3d",
      "var",
      "var_mean",
  };
  return names.contains(name);
}

// What works with floats and complex numbers of full precision; and the part of it that takes half precision.
enum class Precision { kAny, kFull };

const Precision* find_precision(std::string_view name) {
  static const std::unordered_map<std::string_view, Precision> names = {
      {"cholesky", Precision::kFull},
      {"cholesky_inverse", Precision::kFull},
      {"cholesky_solve", Precision::kFull},
      {"det", Precision::kFull},
      {"geqrf", Precision::kFull},
      {"inverse", Precision::kFull},
      {"linalg_cholesky", Precision::kFull},
      {"linalg_cholesky_ex", Precision::kFull},
      {"linalg_cond", Precision::kFull},
      {"linalg_det", Precision::kFull},
      {"linalg_eig", Precision::kFull},
      {"linalg_eigh", Precision::kFull},
      {"linalg_eigvals", Precision::kFull},
      {"linalg_eigvalsh", Precision::kFull},
      {"linalg_householder_product", Precision::kFull},
      {"linalg_inv", Precision::kFull},
      {"linalg_inv_ex", Precision::kFull},
      {"linalg_ldl_factor", Precision::kFull},
      {"linalg_ldl_factor_ex", Precision::kFull},
      {"linalg_ldl_solve", Precision::kFull},
      {"linalg_lstsq", Precision::kFull},
      {"linalg_lu", Precision::kFull},
      {"linalg_lu_factor", Precision::kFull},
      {"linalg_lu_factor_ex", Precision::kFull},
      {"linalg_lu_solve", Precision::kFull},
      {"linalg_matrix_exp", Precision::kAny},
      {"linalg_matrix_rank", Precision::kFull},
      {"linalg_pinv", Precision::kFull},
      {"linalg_qr", Precision::kFull},
      {"linalg_slogdet", Precision::kFull},
      {"linalg_solve", Precision::kFull},
      {"linalg_solve_ex", Precision::kFull},
      {"linalg_solve_triangular", Precision::kFull},
      {"linalg_svd", Precision::kFull},
      {"linalg_svdvals", Precision::kFull},
      {"linalg_tensorinv", Precision::kFull},
      {"linalg_tensorsolve", Precision::kFull},
      {"linalg_vecdot", Precision::kAny},
      {"logdet", Precision::kFull},
      {"lu_solve", Precision::kFull},
      {"matrix_exp", Precision::kAny},
      {"nuclear_norm", Precision::kFull},
      {"orgqr", Precision::kFull},
      {"ormqr", Precision::kFull},
      {"pinverse", Precision::kFull},
      {"qr", Precision::kFull},
      {"renorm", Precision::kAny},
      {"slogdet", Precision::kFull},
      {"svd", Precision::kFull},
      {"triangular_solve", Precision::kFull},
  };
  const auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

void check_precision(const RuleArguments& args, Precision precision) {
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr || !info->dtype) return;
  // Of nothing, kernels find nothing wrong.
  if (args.dimensions.decide(Relation::kEqual, product(info->sizes), 0) == true) return;
  const bool is_short = *info->dtype == ScalarType::kFloat16 || *info->dtype == ScalarType::kBfloat16;
  if (is_integral(*info->dtype) || (precision == Precision::kFull && is_short && info->device.is_cpu())) {
    throw Raises{"not implemented for " + dtype_name(*info->dtype)};
  }
}

// Channels that come last are those of images or of volumes.
void check_memory_format(const RuleArguments& args) {
  if (!args.given("memory_format")) return;
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr) return;
  const std::int64_t format = args.number("memory_format");
  if (format == kChannelsLastFormat) require_rank(*info, {4}, "what has its channels last");
  if (format == kChannelsLast3dFormat) require_rank(*info, {5}, "what has its channels last");
}

void check_floating(const RuleArguments& args) {
  if (args.given("dtype")) return;
  const TensorInfo* info = find_tensor(args, first_argument(args));
  if (info == nullptr || !info->dtype || !info->device.is_cpu()) return;
  if (*info->dtype == ScalarType::kInt64 || *info->dtype == ScalarType::kInt32 ||
      *info->dtype == ScalarType::kInt16) {
    throw Raises{"not implemented for " + dtype_name(*info->dtype)};
  }
}

using Names = std::vector<std::string_view>;

// Tensors that must have one type.
const Names* find_same_typed(std::string_view name) {
  static const std::unordered_map<std::string_view, Names> same = {
      {"addbmm", {"batch1", "batch2"}},
      {"addmm", {"mat1", "mat2"}},
      {"addmv", {"mat", "vec"}},
      {"baddbmm", {"batch1", "batch2"}},
      {"bmm", {"self", "mat2"}},
      {"dot", {"self", "tensor"}},
      {"fractional_max_pool2d", {"self", "random_samples"}},
      {"fractional_max_pool3d", {"self", "random_samples"}},
      {"index_add", {"self", "source"}},
      {"index_copy", {"self", "source"}},
      {"index_reduce", {"self", "source"}},
      {"index_put", {"self", "values"}},
      {"masked_scatter", {"self", "source"}},
      {"matmul", {"self", "other"}},
      {"mm", {"self", "mat2"}},
      {"mv", {"self", "vec"}},
      {"put", {"self", "source"}},
      {"scatter", {"self", "src"}},
      {"scatter_add", {"self", "src"}},
      {"scatter_reduce", {"self", "src"}},
      {"vdot", {"self", "other"}},
  };
  const auto found = same.find(name);
  return found == same.end() ? nullptr : &found->second;
}

void check_same_type(const RuleArguments& args, const Names& names) {
  const TensorInfo* first = find_tensor(args, names.front());
  if (first == nullptr) return;
  for (const std::string_view name : names) {
    const TensorInfo* other = find_tensor(args, name);
    if (other == nullptr) continue;
    require_same_dtype(first->dtype, other->dtype,
                       "dtypes of '" + std::string(names.front()) + "' and '" + std::string(name) + "'");
  }
}

// Kernels that mix types do so for half precision with float32 only.
void check_mixed(const RuleArguments& args, std::string_view input, std::string_view parameter) {
  const TensorInfo *first = find_tensor(args, input), *second = find_tensor(args, parameter);
  if (first == nullptr || second == nullptr) return;
  const auto is_double = [](const TensorInfo& info) { return info.dtype == ScalarType::kFloat64; };
  if (is_double(*first) != is_double(*second) && first->dtype && second->dtype) {
    require_same_dtype(first->dtype, second->dtype, "dtypes of input and weight");
  }
}

void check_integer(const RuleArguments& args, std::string_view name) {
  const TensorInfo* info = find_tensor(args, name);
  if (info != nullptr && info->dtype && *info->dtype != ScalarType::kInt64 &&
      *info->dtype != ScalarType::kInt32) {
    throw Raises{"'" + std::string(name) + "' is " + dtype_name(*info->dtype) + ", not int64"};
  }
}

// ---- Sizes ----

// One parameter for each channel.
void check_channels(const RuleArguments& args, const SymInt& channels) {
  for (const std::string_view name : {"weight", "bias"}) {
    const TensorInfo* info = find_tensor(args, name);
    if (info == nullptr) continue;
    require_rank(*info, {1}, name);
    require(args.dimensions, Relation::kEqual, info->sizes[0], channels,
            "size of '" + std::string(name) + "' is not the number of channels");
  }
}

void check_group_norm(const RuleArguments& args) {
  const TensorInfo* input = find_tensor(args, "input");
  check_mixed(args, "input", "weight");
  if (input != nullptr && input->dim() >= 2) check_channels(args, input->sizes[1]);
}

void check_layer_norm(const RuleArguments& args) {
  check_mixed(args, "input", "weight");
  check_mixed(args, "input", "bias");
}

// The loss is worked out in the target's place.
void check_logits_loss(const RuleArguments& args) {
  const TensorInfo *input = find_tensor(args, "self"), *target = find_tensor(args, "target");
  if (input == nullptr || target == nullptr) return;
  require_expandable(args.dimensions, input->sizes, target->sizes);
  if (target->dtype && !is_floating(*target->dtype) && input->dtype && is_floating(*input->dtype)) {
    throw Raises{"'target' is " + dtype_name(*target->dtype) + ", and the loss a float"};
  }
}

void check_matrix(const RuleArguments& args) {
  if (const TensorInfo* self = find_tensor(args, "self")) require_rank(*self, {2}, "the matrix");
}

void check_vecdot(const RuleArguments& args) {
  const TensorInfo *x = find_tensor(args, "x"), *y = find_tensor(args, "y");
  if (x == nullptr || y == nullptr || x->dim() != 1 || y->dim() != 1) return;
  require(args.dimensions, Relation::kEqual, x->sizes[0], y->sizes[0], "sizes of the factors differ");
}

void check_put(const RuleArguments& args) {
  const TensorInfo *index = find_tensor(args, "index"), *source = find_tensor(args, "source");
  if (index == nullptr || source == nullptr) return;
  require(args.dimensions, Relation::kEqual, product(index->sizes), product(source->sizes),
          "numbers of elements of 'index' and 'source' differ");
}

void check_multinomial(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr || self->sizes.empty() || args.flag("replacement")) return;
  require(args.dimensions, Relation::kLessEqual, args.size("num_samples"), self->sizes.back(),
          "more samples than there are categories");
}

// Only a batch may be empty.
void check_unfold(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr) return;
  require_rank(*self, {3, 4}, "the input");
  for (std::size_t i = self->sizes.size() - 3; i < self->sizes.size(); ++i)
    require(args.dimensions, Relation::kGreater, self->sizes[i], 0, "the input is empty");
}

void check_equal_parts(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr || self->sizes.empty() || !args.given("sections")) return;
  const std::string_view name = args.name();
  const std::size_t dim = name == "aten::dsplit" ? 2 : name == "aten::hsplit" && self->dim() > 1 ? 1 : 0;
  if (dim >= self->sizes.size()) return;
  const SymInt sections = args.size("sections");
  if (!is_number(sections, 0)) {
    require(args.dimensions, Relation::kEqual, floordiv(self->sizes[dim], sections) * sections,
            self->sizes[dim], "the size cannot be split into equal parts");
  }
}

// Modes other than constant pad the last one, two or three dimensions.
void check_pad(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr || !args.given("mode")) return;
  const auto sizes = static_cast<std::int64_t>(args.sizes("pad").size());
  if (args.text("mode") == "constant") {
    if (sizes > 2 * self->dim()) throw Raises{"more is padded than there are dimensions"};
    return;
  }
  const std::int64_t dims = sizes / 2;
  require_rank(*self, {dims + 1, dims + 2}, "what is padded in " + std::to_string(dims) + " dimensions");
}

void check_indices(const RuleArguments& args) {
  check_integer(args, "indices");
  check_integer(args, "offsets");
}

void check_class_target(const RuleArguments& args) {
  const TensorInfo* target = find_tensor(args, "target");
  if (target != nullptr && target->dtype && *target->dtype != ScalarType::kInt64) {
    throw Raises{"'target' is " + dtype_name(*target->dtype) + ", not int64"};
  }
}

void check_multilabel(const RuleArguments& args) {
  check_class_target(args);
  const TensorInfo *self = find_tensor(args, "self"), *target = find_tensor(args, "target");
  if (self == nullptr || target == nullptr) return;
  require(args.dimensions, Relation::kEqual, product(self->sizes), product(target->sizes),
          "sizes of input and target differ");
}

void check_round(const RuleArguments& args) {
  if (args.given("decimals")) check_floating(args);
}

using Check = void (*)(const RuleArguments& args);

Check find_check(std::string_view name) {
  static const std::unordered_map<std::string_view, Check> checks = {
      {"binary_cross_entropy_with_logits", check_logits_loss},
      {"dsplit", check_equal_parts},
      {"embedding_bag", check_indices},
      {"group_norm", check_group_norm},
      {"hsplit", check_equal_parts},
      {"im2col", check_unfold},
      {"layer_norm", check_layer_norm},
      {"linalg_vecdot", check_vecdot},
      {"multi_margin_loss", check_class_target},
      {"multilabel_margin_loss", check_multilabel},
      {"multinomial", check_multinomial},
      {"native_group_norm", check_group_norm},
      {"native_layer_norm", check_layer_norm},
      {"pad", check_pad},
      {"put", check_put},
      {"round", check_round},
      {"trace", check_matrix},
      {"vsplit", check_equal_parts},
  };
  const auto found = checks.find(name);
  return found == checks.end() ? nullptr : found->second;
}

}  // namespace

void check_call(const RuleArguments& args) {
  std::string_view name = without_namespace(args.name());
  if (name.ends_with('_')) name.remove_suffix(1);
  try {
    if (is_for_floats(name)) check_floating(args);
    if (const Precision* precision = find_precision(name)) check_precision(args, *precision);
    check_memory_format(args);
    if (const Names* names = find_same_typed(name)) check_same_type(args, *names);
    if (const Check check = find_check(name)) check(args);
  } catch (const CannotTell&) {
    // What is not known may be right.
  }
}

}  // namespace fxtrace
