#include "operators/batching.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fxtrace {
namespace {

using Form = BatchingRule::Form;

struct Row {
  std::string_view name;  // with its overload
  BatchingRule rule;
};

// Besides elementwise operators, which are broadcast.  In byte order.
constexpr Row kRows[] = {
    {"aten::__and__.Scalar", {.form = Form::kLeading}},
    {"aten::__and__.Tensor", {.form = Form::kBroadcast}},
    {"aten::__or__.Scalar", {.form = Form::kLeading}},
    {"aten::__or__.Tensor", {.form = Form::kBroadcast}},
    {"aten::_assert_tensor_metadata", {.form = Form::kLeading, .fixed = "size"}},
    {"aten::_log_softmax", {.form = Form::kLeading}},
    {"aten::_softmax", {.form = Form::kLeading}},
    {"aten::_to_copy", {.form = Form::kLeading}},
    {"aten::_unsafe_view", {.form = Form::kSizes, .sizes = "size"}},
    {"aten::absolute", {.form = Form::kLeading}},
    {"aten::addmm", {.form = Form::kAddMatmul}},
    {"aten::addmv", {.form = Form::kAddMatmul}},
    {"aten::alias", {.form = Form::kLeading}},
    {"aten::all", {.form = Form::kReduce, .target = "aten.all.dims"}},
    {"aten::all.dim", {.form = Form::kReduce}},
    {"aten::all.dims", {.form = Form::kReduce}},
    {"aten::amax", {.form = Form::kReduce}},
    {"aten::amin", {.form = Form::kReduce}},
    {"aten::any", {.form = Form::kReduce, .target = "aten.any.dims"}},
    {"aten::any.dim", {.form = Form::kReduce}},
    {"aten::any.dims", {.form = Form::kReduce}},
    {"aten::argmax", {.form = Form::kReduce}},
    {"aten::argmin", {.form = Form::kReduce}},
    {"aten::argsort", {.form = Form::kLeading}},
    {"aten::argsort.stable", {.form = Form::kLeading}},
    {"aten::baddbmm", {.form = Form::kAddMatmul}},
    {"aten::binary_cross_entropy", {.form = Form::kLoss}},
    {"aten::binary_cross_entropy_with_logits", {.form = Form::kLoss}},
    {"aten::bmm", {.form = Form::kMatmul}},
    {"aten::broadcast_tensors", {.form = Form::kBroadcast}},
    {"aten::broadcast_to", {.form = Form::kExpand, .sizes = "size"}},
    {"aten::bucketize.Tensor", {.form = Form::kLeading}},
    {"aten::cat", {.form = Form::kEqual}},
    {"aten::cdist", {.form = Form::kEqual}},
    {"aten::chunk", {.form = Form::kLeading}},
    {"aten::constant_pad_nd", {.form = Form::kLeading}},
    {"aten::contiguous", {.form = Form::kLeading}},
    {"aten::cosine_similarity", {.form = Form::kBroadcast}},
    {"aten::count_nonzero", {.form = Form::kReduce, .target = "aten.count_nonzero.dim_IntList"}},
    {"aten::count_nonzero.dim_IntList", {.form = Form::kReduce}},
    {"aten::cross_entropy_loss", {.form = Form::kCrossEntropy}},
    {"aten::cummax", {.form = Form::kLeading}},
    {"aten::cummin", {.form = Form::kLeading}},
    {"aten::cumprod", {.form = Form::kLeading}},
    {"aten::cumsum", {.form = Form::kLeading}},
    {"aten::detach", {.form = Form::kLeading}},
    {"aten::diag_embed", {.form = Form::kLeading}},
    {"aten::diagonal", {.form = Form::kLeading}},
    {"aten::divide.Tensor", {.form = Form::kBroadcast}},
    {"aten::dot", {.form = Form::kDot}},
    {"aten::dropout", {.form = Form::kLeading}},
    {"aten::embedding", {.form = Form::kLeading, .argument = "indices"}},
    {"aten::equal", {.form = Form::kNone}},
    {"aten::expand", {.form = Form::kExpand, .sizes = "size"}},
    {"aten::expand_as", {.form = Form::kSizesOf, .target = "aten.expand.default"}},
    {"aten::flatten.using_ints", {.form = Form::kLeading}},
    {"aten::flip", {.form = Form::kLeading}},
    {"aten::floor_divide", {.form = Form::kBroadcast}},
    {"aten::full_like", {.form = Form::kLeading}},
    {"aten::gather", {.form = Form::kEqual}},
    {"aten::glu", {.form = Form::kLeading}},
    {"aten::greater.Tensor", {.form = Form::kBroadcast}},
    {"aten::greater_equal.Tensor", {.form = Form::kBroadcast}},
    {"aten::hardswish", {.form = Form::kLeading}},
    {"aten::huber_loss", {.form = Form::kLoss}},
    {"aten::index.Tensor", {.form = Form::kIndex}},
    {"aten::index_select", {.form = Form::kLeading}},
    {"aten::inverse", {.form = Form::kLeading}},
    {"aten::kl_div", {.form = Form::kLoss}},
    {"aten::kthvalue", {.form = Form::kLeading}},
    {"aten::l1_loss", {.form = Form::kLoss}},
    {"aten::layer_norm", {.form = Form::kNormalize}},
    {"aten::less.Tensor", {.form = Form::kBroadcast}},
    {"aten::less_equal.Tensor", {.form = Form::kBroadcast}},
    {"aten::linalg_cholesky", {.form = Form::kLeading}},
    {"aten::linalg_cross", {.form = Form::kEqual}},
    {"aten::linalg_det", {.form = Form::kLeading}},
    {"aten::linalg_inv", {.form = Form::kLeading}},
    {"aten::linalg_vector_norm", {.form = Form::kReduce}},
    {"aten::linear", {.form = Form::kLinear}},
    {"aten::log_sigmoid", {.form = Form::kLeading}},
    {"aten::log_softmax.int", {.form = Form::kLeading}},
    {"aten::logcumsumexp", {.form = Form::kLeading}},
    {"aten::logsumexp", {.form = Form::kReduce}},
    {"aten::mT", {.form = Form::kLeading}},
    {"aten::matmul", {.form = Form::kMatmul}},
    {"aten::max", {.form = Form::kReduce, .target = "aten.amax.default"}},
    {"aten::max.dim", {.form = Form::kReduce}},
    {"aten::mean", {.form = Form::kReduce, .target = "aten.mean.dim"}},
    {"aten::mean.dim", {.form = Form::kReduce}},
    {"aten::median.dim", {.form = Form::kReduce}},
    {"aten::min", {.form = Form::kReduce, .target = "aten.amin.default"}},
    {"aten::min.dim", {.form = Form::kReduce}},
    {"aten::mm", {.form = Form::kMatmul}},
    {"aten::movedim.int", {.form = Form::kLeading}},
    {"aten::movedim.intlist", {.form = Form::kLeading}},
    {"aten::mse_loss", {.form = Form::kLoss}},
    {"aten::multiply.Tensor", {.form = Form::kBroadcast}},
    {"aten::mv", {.form = Form::kMatmul}},
    {"aten::narrow", {.form = Form::kLeading}},
    {"aten::negative", {.form = Form::kLeading}},
    {"aten::new_full", {.form = Form::kSizes, .sizes = "size"}},
    {"aten::new_ones", {.form = Form::kSizes, .sizes = "size"}},
    {"aten::new_zeros", {.form = Form::kSizes, .sizes = "size"}},
    {"aten::norm.ScalarOpt_dim", {.form = Form::kReduce}},
    {"aten::not_equal.Tensor", {.form = Form::kBroadcast}},
    {"aten::ones_like", {.form = Form::kLeading}},
    {"aten::outer", {.form = Form::kOuter}},
    {"aten::pad", {.form = Form::kLeading, .fixed = "mode"}},
    {"aten::pairwise_distance", {.form = Form::kBroadcast}},
    {"aten::permute", {.form = Form::kPermute}},
    {"aten::prod", {.form = Form::kReduce, .target = "aten.prod.dim_int"}},
    {"aten::prod.dim_int", {.form = Form::kReduce}},
    {"aten::repeat", {.form = Form::kRepeat, .sizes = "repeats"}},
    {"aten::repeat_interleave.self_int", {.form = Form::kLeading}},
    {"aten::reshape", {.form = Form::kSizes, .sizes = "shape"}},
    {"aten::reshape_as", {.form = Form::kSizesOf, .target = "aten.reshape.default"}},
    {"aten::rms_norm", {.form = Form::kNormalize}},
    {"aten::roll", {.form = Form::kLeading}},
    {"aten::scaled_dot_product_attention", {.form = Form::kEqual}},
    {"aten::scatter.src", {.form = Form::kEqual}},
    {"aten::scatter.value", {.form = Form::kEqual}},
    {"aten::scatter_add", {.form = Form::kEqual}},
    {"aten::select.int", {.form = Form::kLeading}},
    {"aten::slice.Tensor", {.form = Form::kLeading}},
    {"aten::smooth_l1_loss", {.form = Form::kLoss}},
    {"aten::soft_margin_loss", {.form = Form::kLoss}},
    {"aten::softmax.int", {.form = Form::kLeading}},
    {"aten::sort", {.form = Form::kLeading}},
    {"aten::sort.stable", {.form = Form::kLeading}},
    {"aten::split.Tensor", {.form = Form::kLeading}},
    {"aten::split.sizes", {.form = Form::kLeading}},
    {"aten::split_with_sizes", {.form = Form::kLeading}},
    {"aten::squeeze", {.form = Form::kSqueezeAll}},
    {"aten::squeeze.dim", {.form = Form::kLeading}},
    {"aten::squeeze.dims", {.form = Form::kLeading}},
    {"aten::stack", {.form = Form::kEqual, .of_result = true}},
    {"aten::std", {.form = Form::kReduce, .target = "aten.std.dim"}},
    {"aten::std.correction", {.form = Form::kReduce}},
    {"aten::std.dim", {.form = Form::kReduce}},
    {"aten::subtract.Tensor", {.form = Form::kBroadcast}},
    {"aten::sum", {.form = Form::kReduce, .target = "aten.sum.dim_IntList"}},
    {"aten::sum.dim_IntList", {.form = Form::kReduce}},
    {"aten::swapaxes", {.form = Form::kLeading}},
    {"aten::swapdims", {.form = Form::kLeading}},
    {"aten::sym_size.int", {.form = Form::kLeading}},
    {"aten::t", {.form = Form::kTransposeOne}},
    {"aten::tensor_split.indices", {.form = Form::kLeading}},
    {"aten::tensor_split.sections", {.form = Form::kLeading}},
    {"aten::tile", {.form = Form::kRepeat, .sizes = "dims"}},
    {"aten::to.device", {.form = Form::kLeading}},
    {"aten::to.dtype", {.form = Form::kLeading}},
    {"aten::to.dtype_layout", {.form = Form::kLeading}},
    {"aten::to.other", {.form = Form::kTypeOf}},
    {"aten::topk", {.form = Form::kLeading}},
    {"aten::transpose.int", {.form = Form::kLeading}},
    {"aten::tril", {.form = Form::kLeading}},
    {"aten::triu", {.form = Form::kLeading}},
    {"aten::type_as", {.form = Form::kTypeOf}},
    {"aten::unbind.int", {.form = Form::kLeading}},
    {"aten::unflatten.int", {.form = Form::kLeading}},
    {"aten::unfold", {.form = Form::kLeading}},
    {"aten::unsqueeze", {.form = Form::kLeading, .of_result = true}},
    {"aten::var", {.form = Form::kReduce, .target = "aten.var.dim"}},
    {"aten::var.correction", {.form = Form::kReduce}},
    {"aten::var.dim", {.form = Form::kReduce}},
    {"aten::view", {.form = Form::kSizes, .sizes = "size"}},
    {"aten::view_as", {.form = Form::kSizesOf, .target = "aten.view.default"}},
    {"aten::where.Scalar", {.form = Form::kLeading}},
    {"aten::where.ScalarOther", {.form = Form::kBroadcast}},
    {"aten::where.ScalarSelf", {.form = Form::kBroadcast}},
    {"aten::zeros_like", {.form = Form::kLeading}},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

constexpr std::string_view kDimensions[] = {"axis0", "axis1",   "destination", "dim",
                                            "dim0",  "dim1",    "dim2",        "dimension",
                                            "dims",  "end_dim", "source",      "start_dim"};

constexpr std::pair<std::string_view, VmapFunction> kVmapFunctions[] = {
    {"lazy_load_decompositions", VmapFunction::kLoad},
    {"_vmap_increment_nesting", VmapFunction::kOpen},
    {"_add_batch_dim", VmapFunction::kAdd},
    {"_remove_batch_dim", VmapFunction::kRemove},
    {"_vmap_decrement_nesting", VmapFunction::kClose},
};

}  // namespace

BatchingRule batching_rule(const Operator& op) {
  const auto row = std::ranges::lower_bound(kRows, op.name, {}, &Row::name);
  if (row != std::end(kRows) && row->name == op.name) return row->rule;
  return {.form = has_trait(&op, traits::kPointwise) ? Form::kBroadcast : Form::kNone};
}

bool names_dimensions(const SchemaArgument& argument) {
  return std::ranges::find(kDimensions, argument.name) != std::end(kDimensions);
}

VmapFunction vmap_function(std::string_view target) {
  constexpr std::string_view kPrefix = "torch._functorch.predispatch.";
  if (!target.starts_with(kPrefix)) return VmapFunction::kNone;
  for (const auto& [name, function] : kVmapFunctions) {
    if (target.substr(kPrefix.size()) == name) return function;
  }
  return VmapFunction::kNone;
}

}  // namespace fxtrace
