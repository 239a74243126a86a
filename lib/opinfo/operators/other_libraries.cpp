// Operators of torch's namespace `prims`, and those of other libraries and of training, of which only traits
// are known: they have no MACs, and some have side effects.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Operators of prims.  Each runs as one of aten, after a check that refuses what aten would broadcast or
// promote (torch/_prims/__init__.py) ----

// All tensors have the same sizes, but for those without dimensions, and all but a condition the same dtype.
void check_same_meta(const RuleArguments& args) {
  const TensorInfo *of_sizes = nullptr, *of_dtype = nullptr;
  std::string_view sizes_name, dtype_name;
  for (const SchemaArgument& argument : args.schema().arguments) {
    if (!args.is_tensor(argument.name)) continue;
    const TensorInfo& info = args.tensor(argument.name);
    if (argument.name != "pred") {
      if (of_dtype != nullptr) require_same_dtype(of_dtype->dtype, info.dtype, {dtype_name, argument.name});
      of_dtype = &info;
      dtype_name = argument.name;
    }
    if (info.sizes.empty()) continue;
    if (of_sizes != nullptr)
      require_equal_sizes(args.dimensions, of_sizes->sizes, info.sizes, {sizes_name, argument.name});
    of_sizes = &info;
    sizes_name = argument.name;
  }
}

void check_complex(const RuleArguments& args) {
  require_dtype(first_tensor(args).dtype, is_complex, first_argument(args), "a complex dtype");
}

// div(): the quotient of integers is truncated; that of bools is a float.
Results truncated_quotient(const RuleArguments& args) {
  const Dtype dtype = promoted(args, {"self", "other"});
  const bool truncates = dtype && is_integral(*dtype) && *dtype != ScalarType::kBool;
  return make(broadcast_all(args), truncates ? dtype : float_dtype(dtype));
}

// prod(): an empty list of dimensions reduces none, as it does not for sum().
Results product_along(const RuleArguments& args) {
  return args.sizes("dims").empty() ? same_as_first(args) : shape_by_signature(args);
}

// broadcast_in_dim(a, shape, broadcast_dimensions): where each dimension of `a` goes.
Results broadcast_in_dim(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("a");
  const Sizes shape = args.sizes("shape");
  const std::vector<std::int64_t> places = args.numbers("broadcast_dimensions");
  if (places.size() != self.sizes.size()) {
    throw Raises{"broadcast_dimensions has length " + std::to_string(places.size()) + ", expected " +
                 std::to_string(self.dim())};
  }
  std::int64_t before = -1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t place = places[i];
    const std::string what = "broadcast_dimensions[" + std::to_string(i) + "]";
    require(args.dimensions, Relation::kGreater, place, before, what);
    require(args.dimensions, Relation::kLess, place, static_cast<std::int64_t>(shape.size()), what);
    require_expandable(args.dimensions, {self.sizes[i]}, {shape[static_cast<std::size_t>(place)]},
                       "dimension " + std::to_string(i) + " of a");
    before = place;
  }
  return make(shape, self.dtype);
}

// split_dim(a, dim, outer_length)
Results split_dim(const RuleArguments& args) {
  TensorInfo self = args.tensor("a");
  const std::size_t dim = dim_index(args.number("dim"), self);
  if (dim >= self.sizes.size()) throw CannotTell{};
  const SymInt outer = args.size("outer_length"), whole = self.sizes[dim];
  require(args.dimensions, Relation::kGreater, outer, 0, "outer_length");
  require_multiple(args.dimensions, whole, outer, "size of a in dimension " + std::to_string(dim));
  self.sizes[dim] = floordiv(whole, outer);
  self.sizes.insert(self.sizes.begin() + signed_index(dim), outer);
  return make(std::move(self));
}

// squeeze(a, dimensions): their sizes must be 1.
Results squeeze_ones(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("a");
  const std::vector<std::int64_t> dims = distinct_dims(args.numbers("dimensions"), self.dim());
  Sizes sizes;
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    if (std::ranges::find(dims, signed_index(i)) == dims.end()) {
      sizes.push_back(self.sizes[i]);
    } else {
      require(args.dimensions, Relation::kEqual, self.sizes[i], 1,
              "size of a in dimension " + std::to_string(i));
    }
  }
  return make(std::move(sizes), self.dtype);
}

// iota(length, start, step)
Results iota(const RuleArguments& args) {
  const ScalarType dtype = args.dtype("dtype");
  require_dtype(
      dtype, [](ScalarType type) { return is_integral(type) && type != ScalarType::kBool; }, "dtype",
      "an integer dtype");
  return make({args.size("length")}, dtype);
}

constexpr std::string_view kA = "self=a", kShape = "size=shape",
                           kReduced = "self=inp dim=dims dtype=output_dtype";

// Elementwise operators.  torch.vmap would broadcast, which they refuse.
constexpr OperatorFacts elementwise(std::string_view like, ShapeRule shape = nullptr) {
  return {.traits = kPointwise,
          .like = like,
          .shape = shape,
          .check = check_same_meta,
          .batch = {.rule = &BatchRules::none}};
}

constexpr OperatorRow kOtherLibrariesRows[] = {
    {"_c10d_functional::all_gather_into_tensor "
     "_c10d_functional::all_gather_into_tensor_coalesced _c10d_functional::all_reduce "
     "_c10d_functional::all_reduce_coalesced _c10d_functional::all_to_all_single "
     "_c10d_functional::broadcast _c10d_functional::reduce_scatter_tensor "
     "_c10d_functional::reduce_scatter_tensor_coalesced "
     "_c10d_functional_autograd::all_gather_into_tensor "
     "_c10d_functional_autograd::all_to_all_single "
     "_c10d_functional_autograd::reduce_scatter_tensor _dtensor::shard_dim_alltoall "
     "_fused_adagrad _fused_adam _fused_adamw _fused_sgd inductor::_alloc_from_pool "
     "inductor::_reinterpret_tensor metal::copy_to_host "
     "mkl::_mkl_reorder_linear_weight mkldnn::_get_mkldnn_serialized_md mkldnn::_nbytes "
     "mkldnn::_reorder_convolution_transpose_weight mkldnn::_reorder_convolution_weight "
     "mkldnn::_reorder_linear_weight mkldnn::_reorder_mkldnn_rnn_layer_weight mkldnn::data_ptr "
     "mkldnn_prepacked::conv2d_prepack onednn::linear_prepack_fp16 onednn::qadd "
     "onednn::qadd_relu onednn::qbatch_norm2d onednn::qconv_prepack onednn::qlinear_prepack "
     "onednn::qmul onnx::Reshape onnx::Shape prepacked::conv2d_clamp_prepack "
     "prepacked::conv2d_transpose_clamp_prepack prepacked::linear_clamp_prepack "
     "profiler::_record_function_exit "
     "static_runtime::VarTupleUnpack static_runtime::clamp_nan_to_num "
     "static_runtime::create_owned_ref static_runtime::dequantize_copy "
     "static_runtime::dict_unpack static_runtime::embedding_bag "
     "static_runtime::expand_dims_copy static_runtime::flatten_copy "
     "static_runtime::fused_equally_split static_runtime::layer_norm "
     "static_runtime::permute_copy static_runtime::reshape_copy static_runtime::signed_log1p "
     "static_runtime::to_copy static_runtime::to_maybe_copy_out",
     {.traits = kNoMacs}},
    {"_c10d_functional::batch_p2p_ops _c10d_functional::irecv _c10d_functional::isend "
     "_c10d_functional::wait_tensor",
     {.traits = kSideEffect | kNoMacs}},
    // The schemas of these do not mark the arguments that they write.
    {"c10d::_allgather_base_ c10d::_reduce_scatter_base_ c10d::allgather_ "
     "c10d::allgather_coalesced_ c10d::allgather_into_tensor_coalesced_ c10d::allreduce_ "
     "c10d::allreduce_coalesced_ c10d::alltoall_ c10d::alltoall_base_ c10d::barrier "
     "c10d::broadcast_ c10d::gather_ c10d::monitored_barrier_ c10d::recv_ "
     "c10d::recv_any_source_ c10d::reduce_ c10d::reduce_scatter_ "
     "c10d::reduce_scatter_tensor_coalesced_ c10d::scatter_ c10d::send inductor::accumulate_grad_ "
     "profiler::_call_end_callbacks_on_jit_fut symm_mem::_barrier symm_mem::nccl_put_signal "
     "symm_mem::nccl_wait_signal",
     {.traits = kHiddenWrite | kSideEffect | kNoMacs}},
    {"prims::_make_token", {.traits = kNoMacs}},
    {"prims::_sink_tokens", {.traits = kSideEffect | kNoMacs}},
    {"prims::abs prims::acos prims::acosh prims::add prims::asin prims::asinh prims::atan prims::atan2 "
     "prims::atanh prims::bitwise_and prims::bitwise_not prims::bitwise_or prims::bitwise_xor prims::ceil "
     "prims::cos prims::cosh prims::digamma prims::eq prims::erf prims::erfc prims::exp prims::exp2 "
     "prims::expm1 prims::fill prims::floor prims::fmax prims::fmin prims::fmod prims::frexp prims::gcd prims::ge "
     "prims::gt prims::hypot prims::igamma prims::igammac prims::isfinite prims::le prims::lgamma prims::log "
     "prims::log10 prims::log1p prims::log2 prims::lt prims::maximum prims::minimum prims::mul prims::ne "
     "prims::neg prims::nextafter prims::pow prims::reciprocal prims::remainder prims::round prims::rsqrt "
     "prims::sign prims::signbit prims::sin prims::sinh prims::sqrt prims::sub prims::tan prims::tanh "
     "prims::trunc",
     elementwise("=")},
    {"prims::amax prims::amin prims::sum prims::var",
     {.traits = kReduction, .like = "=", .renamed = kReduced}},
    {"prims::as_strided", {.traits = kReadsLayout, .like = "=", .renamed = kA}},
    {"prims::as_strided_scatter", {.traits = kReadsLayout, .like = "="}},
    {"prims::bessel_i0", elementwise("i0")},
    {"prims::bessel_i0e", elementwise("special_i0e")},
    {"prims::bessel_i1", elementwise("special_i1")},
    {"prims::bessel_i1e", elementwise("special_i1e")},
    {"prims::bessel_j0", elementwise("special_bessel_j0")},
    {"prims::bessel_j1", elementwise("special_bessel_j1")},
    {"prims::broadcast_in_dim", {.shape = broadcast_in_dim}},
    {"prims::cat", {.like = "=", .strides = StrideRule::kJoined}},
    {"prims::item prims::svd", {.like = "="}},
    {"prims::cbrt", elementwise("exp2")},  // pow(1 / 3)
    {"prims::clone", {.like = "=", .strides = StrideRule::kCopied}},
    {"prims::collapse",
     {.traits = kNoMacs | kMakesContiguous,
      .like = "flatten",
      .renamed = "self=a start_dim=start end_dim=end"}},
    {"prims::collapse_view",
     {.traits = kReadsLayout, .like = "flatten", .renamed = "self=a start_dim=start end_dim=end"}},
    {"prims::conj", {.like = "=", .check = check_complex}},
    {"prims::conj_physical", {.traits = kPointwise, .like = "=", .check = check_complex}},
    {"prims::convert_element_type", {.like = "_to_copy", .renamed = kA, .strides = StrideRule::kCopied}},
    {"prims::copy_strided", {.like = "_to_copy", .renamed = kA, .strides = StrideRule::kAsGiven}},
    {"prims::copy_to prims::maximum_value prims::minimum_value", {.traits = kNoMacs}},
    {"prims::device_put", {.traits = kNoMacs | kMayBeArgument | kMayCopy, .like = "to", .renamed = kA}},
    {"prims::div", elementwise("=", truncated_quotient)},
    {"prims::empty prims::empty_permuted prims::empty_strided prims::full", {.like = "=", .renamed = kShape}},
    {"prims::erf_inv", elementwise("erfinv")},
    {"prims::erfcx", elementwise("special_erfcx")},
    {"prims::fft_c2c", {.like = "_fft_c2c"}},
    {"prims::fft_c2r", {.like = "_fft_c2r"}},
    {"prims::fft_r2c", {.like = "_fft_r2c"}},
    {"prims::full_like", {.like = "=", .strides = StrideRule::kCopied}},
    {"prims::imag prims::real", {.like = "=", .check = check_complex}},
    {"prims::iota", {.traits = kMakesContiguous, .shape = iota}},
    {"prims::ndtri", elementwise("special_ndtri")},
    {"prims::normal", {.like = "empty", .renamed = kShape}},
    {"prims::prod", {.traits = kReduction, .like = "=", .renamed = kReduced, .shape = product_along}},
    {"prims::reshape", {.traits = kNoMacs | kMakesContiguous, .like = "=", .renamed = kA}},
    {"prims::resize", {.traits = kNoMacs | kChangesShape, .like = "=", .renamed = "self=a size=shape"}},
    {"prims::rev", {.like = "flip", .renamed = kA}},
    {"prims::scalar_tensor", {.like = "="}},
    {"prims::shift_left", elementwise("bitwise_left_shift")},
    {"prims::shift_right_arithmetic", elementwise("bitwise_right_shift")},
    {"prims::spherical_bessel_j0", elementwise("special_spherical_bessel_j0")},
    {"prims::split_dim", {.traits = kReadsLayout, .shape = split_dim}},
    {"prims::squeeze", {.shape = squeeze_ones}},
    {"prims::transpose", {.like = "permute", .renamed = "self=a dims=permutation"}},
    {"prims::uniform", {.like = "empty_strided", .renamed = kShape}},
    {"prims::view_of", {.like = "alias", .renamed = kA}},
    {"prims::view_of_dtype", {.traits = kReadsLayout, .like = "view", .renamed = kA}},
    {"prims::where",
     {.traits = kPointwise,
      .like = "=",
      .renamed = "condition=pred self=a other=b",
      .check = check_same_meta,
      .batch = {.rule = &BatchRules::none}}},
    {"prims::xor_sum", {.traits = kReduction, .like = "amax", .renamed = kReduced}},
    {"prims::zeta", elementwise("special_zeta")},
};

}  // namespace

OperatorRows other_libraries_rows() { return kOtherLibrariesRows; }

}  // namespace fxtrace::internal
