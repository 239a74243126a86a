#include "operators/names/function_traits.h"

#include "operators/names/name_table.h"

namespace fxtrace::internal {
namespace {

using namespace function_traits;  // NOLINT(google-build-using-namespace): the table is written with them

struct Row {
  std::string_view space, names;
  PythonFunction function;
};

constexpr FunctionTraits kShares = kKnown | kMayBeArgument;
constexpr FunctionTraits kDropout = kShares | kInPlaceOption | kOptionRandom | kIdentity;

// The functions with their traits; tests/python/test_module_traits.py compares the table with torch.
constexpr Row kRows[] = {
    {"builtins", "abs all any bin bool chr complex divmod float hex int oct ord round str", {kKnown}},
    {"builtins", "len", {kKnown | kReadsNoElement}},
    {"builtins", "dict getattr list max min sorted sum", {kShares}},
    {"operator",
     "and_ contains countOf eq floordiv ge gt indexOf is_ is_not le lshift lt mod ne neg "
     "not_ pow rshift sub truediv xor",
     {kKnown}},
    {"operator", "add getitem mul or_ pos", {kShares}},
    {"operator", "delitem iadd ior setitem", {kShares | kWritesFirst | kJoins}},
    {"torch", "sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum tensor", {kKnown}},
    {"torch", "save", {kKnown | kSideEffect}},
    {"torch", "as_tensor", {kShares}},
    {"torch._C", "_log_api_usage_once", {kKnown | kSideEffect | kLogs}},
    {"torch._C", "_set_grad_enabled", {kKnown | kSideEffect | kSetsMode}},
    {"torch.amp.autocast_mode", "_exit_autocast", {kKnown | kSideEffect | kClosesRegion}},
    {"torch.amp.autocast_mode", "_enter_autocast", {kKnown | kSideEffect | kOpensRegion}},
    {"torch.functional",
     "_consecutive_return_counts _consecutive_return_inverse "
     "_consecutive_return_inverse_and_counts _consecutive_return_inverse_false "
     "_consecutive_return_inverse_true _consecutive_return_output _lu_impl _lu_no_infos "
     "_lu_with_infos _return_counts _return_inverse _return_inverse_and_counts "
     "_return_inverse_false _return_inverse_true _return_output _unique_consecutive_impl "
     "_unique_impl block_diag broadcast_shapes cdist istft lu norm stft unique "
     "unique_consecutive",
     {kKnown}},
    {"torch.functional",
     "_meshgrid _unravel_index atleast_1d atleast_2d atleast_3d broadcast_tensors "
     "cartesian_prod chain_matmul einsum meshgrid split tensordot unravel_index",
     {kShares}},
    {"torch.nn.functional", "alpha_dropout feature_alpha_dropout", {kDropout, "training", 2, 3}},
    {"torch.nn.functional",
     "dropout dropout1d dropout2d dropout3d",
     {kDropout | kOnByDefault, "training", 2, 3}},
    {"torch.nn.functional",
     "_adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _get_softmax_dim "
     "_max_pool1d _max_pool2d _max_pool3d _unpool_output_size adaptive_avg_pool1d "
     "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
     "adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices "
     "adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid avg_pool1d avg_pool2d "
     "avg_pool3d bilinear binary_cross_entropy binary_cross_entropy_with_logits conv1d "
     "conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d "
     "cosine_embedding_loss cosine_similarity cross_entropy ctc_loss fold gaussian_nll_loss "
     "gelu glu grid_sample group_norm grouped_mm hardshrink hinge_embedding_loss huber_loss "
     "interpolate kl_div l1_loss layer_norm linear local_response_norm log_softmax "
     "logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d "
     "max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
     "max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mse_loss "
     "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss one_hot "
     "pairwise_distance pdist poisson_nll_loss prelu rms_norm sigmoid smooth_l1_loss "
     "soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink "
     "triplet_margin_loss unfold upsample upsample_bilinear upsample_nearest",
     {kKnown}},
    {"torch.nn.functional", "rrelu", {kKnown | kInPlaceOption | kOptionRandom, "training", 3, 4}},
    {"torch.nn.functional",
     "hardsigmoid hardswish mish relu relu6 selu silu",
     {kKnown | kInPlaceOption, {}, -1, 1}},
    {"torch.nn.functional", "celu elu leaky_relu", {kKnown | kInPlaceOption, {}, -1, 2}},
    {"torch.nn.functional", "_threshold hardtanh threshold", {kKnown | kInPlaceOption, {}, -1, 3}},
    {"torch.nn.functional", "scaled_dot_product_attention", {kKnown | kOptionRandom, "dropout_p", 4}},
    {"torch.nn.functional",
     "multi_head_attention_forward",
     {kKnown | kOptionRandom | kOnByDefault, "training", 13}},
    {"torch.nn.functional", "embedding embedding_bag", {kKnown | kOptionWrites, "max_norm", 3}},
    {"torch.nn.functional", "normalize", {kKnown | kOptionWrites, "out", 4}},
    {"torch.nn.functional", "batch_norm", {kKnown | kOptionWrites, "training", 5}},
    {"torch.nn.functional", "instance_norm", {kKnown | kOptionWrites | kOnByDefault, "use_input_stats", 5}},
    {"torch.nn.functional",
     "_fractional_max_pool2d _fractional_max_pool3d fractional_max_pool2d "
     "fractional_max_pool2d_with_indices fractional_max_pool3d "
     "fractional_max_pool3d_with_indices gumbel_softmax",
     {kKnown | kRandom}},
    {"torch.nn.functional",
     "celu_ elu_ hardtanh_ leaky_relu_ relu_ selu_ threshold_",
     {kKnown | kWritesFirst | kMayBeArgument}},
    {"torch.nn.functional",
     "_canonical_mask _in_projection _in_projection_packed _list_or_empty _none_or_dtype "
     "channel_shuffle native_channel_shuffle pad pixel_shuffle pixel_unshuffle",
     {kShares}},
};

}  // namespace

PythonFunction find_python_function(std::string_view qualified_name) {
  // These functions take plain numbers and strings, and return plain values.
  if (qualified_name.starts_with("math.") || qualified_name.starts_with("builtins.str.")) return {kKnown};
  static const NameTable<Row> table(kRows);
  const Row* row = table.find(qualified_name);
  return row != nullptr ? row->function : PythonFunction{};
}

}  // namespace fxtrace::internal
