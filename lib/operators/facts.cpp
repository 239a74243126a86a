#include <algorithm>
#include <array>
#include <utility>

#include "operators/operators.h"

namespace fxtrace {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the table is written with them

// plain_values: may be carried out on numbers, strings, lists, dicts, tuples, devices and dtypes while
// tracing. They do nothing but give their result, and change nothing but the list or dict that they are
// given.  An archive can name any operator that LibTorch has, and some write files or change the process:
// what is not listed is never carried out.
constexpr std::string_view kPlainValues[] = {
    // numbers
    "aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floordiv", "aten::remainder", "aten::fmod",
    "aten::mathremainder", "aten::divmod", "aten::__round_to_zero_floordiv", "aten::pow", "aten::neg",
    "aten::gcd", "aten::factorial", "aten::__and__", "aten::__or__", "aten::__xor__", "aten::__not__",
    "aten::__lshift__", "aten::__rshift__", "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt",
    "aten::ge", "prim::abs", "prim::min", "prim::max", "aten::sum", "aten::any", "aten::all", "aten::Int",
    "aten::Float", "aten::Bool", "aten::Complex", "aten::IntImplicit", "aten::FloatImplicit",
    "aten::ComplexImplicit", "aten::ScalarImplicit",
    // math
    "aten::acos", "aten::acosh", "aten::angle", "aten::asin", "aten::asinh", "aten::atan", "aten::atan2",
    "aten::atanh", "aten::ceil", "aten::copysign", "aten::cos", "aten::cosh", "aten::degrees", "aten::erf",
    "aten::erfc", "aten::exp", "aten::expm1", "aten::fabs", "aten::floor", "aten::frexp", "aten::gamma",
    "aten::isfinite", "aten::isinf", "aten::isnan", "aten::ldexp", "aten::lgamma", "aten::log", "aten::log10",
    "aten::log1p", "aten::modf", "aten::polar", "aten::radians", "aten::round", "aten::sin", "aten::sinh",
    "aten::sqrt", "aten::tan", "aten::tanh", "aten::trunc",
    // text
    "aten::bin", "aten::capitalize", "aten::center", "aten::chr", "aten::count", "aten::endswith",
    "aten::expandtabs", "aten::find", "aten::format", "aten::hash", "aten::hex", "aten::index",
    "aten::isalnum", "aten::isalpha", "aten::isdecimal", "aten::isdigit", "aten::isidentifier",
    "aten::islower", "aten::isnumeric", "aten::isprintable", "aten::isspace", "aten::istitle",
    "aten::isupper", "aten::join", "aten::ljust", "aten::lower", "aten::lstrip", "aten::oct", "aten::ord",
    "aten::partition", "aten::percentFormat", "aten::replace", "aten::rfind", "aten::rindex", "aten::rjust",
    "aten::rpartition", "aten::rsplit", "aten::rstrip", "aten::split", "aten::splitlines", "aten::startswith",
    "aten::str", "aten::strip", "aten::swapcase", "aten::title", "aten::upper", "aten::zfill",
    "prim::StringIndex",
    // lists, dicts and tuples, beyond those that only move elements
    "aten::mul_", "aten::remove", "aten::select", "aten::sort", "aten::sorted", "aten::Size",
    "aten::__range_length", "aten::__derive_index", "prim::rangelist", "prim::TupleIndex",
    // sizes, dtypes, devices and enums
    "aten::_infer_size", "aten::_size_if_not_equal", "aten::broadcast_shapes", "aten::can_cast",
    "aten::promote_types", "aten::result_type", "aten::device", "prim::type", "prim::index", "prim::EnumName",
    "prim::EnumValue",
    // what the compiler leaves behind, and questions with one answer in every process
    "aten::__is__", "aten::__isnot__", "aten::_unwrap_optional", "prim::unchecked_cast",
    "prim::unchecked_unwrap_optional", "aten::is_scripting", "aten::_get_tracing_state",
    "aten::has_torch_function",
    // questions about the process: the answer is the one of a process in which nothing was switched on
    "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled", "aten::get_autocast_dtype"};

// Of these too, whatever the elements are.
constexpr std::string_view kElementMovers[] = {
    "aten::append",      "aten::insert",    "aten::extend",       "aten::pop",        "aten::reverse",
    "aten::clear",       "aten::copy",      "aten::list",         "aten::add",        "aten::add_",
    "aten::__getitem__", "aten::_set_item", "aten::Delete",       "aten::len",        "aten::mul",
    "aten::slice",       "aten::keys",      "aten::values",       "aten::items",      "aten::update",
    "aten::get",         "aten::dict",      "aten::__contains__", "aten::setdefault", "aten::popitem"};

constexpr std::string_view kTensorMakers[] = {
    "aten::tensor", "aten::as_tensor", "aten::scalar_tensor", "prim::NumToTensor", "aten::_list_to_tensor",
    "aten::arange", "aten::zeros",     "aten::ones",          "aten::full",        "aten::linspace",
    "aten::eye"};

// small_tensors: may be carried out, like those above, on small tensors whose elements are known.
constexpr std::string_view kSmallTensorFunctions[] = {
    // elementwise
    "aten::abs", "aten::bitwise_and", "aten::bitwise_not", "aten::bitwise_or", "aten::bitwise_xor",
    "aten::clamp", "aten::clamp_max", "aten::clamp_min", "aten::exp2", "aten::floor_divide", "aten::frac",
    "aten::log2", "aten::logical_and", "aten::logical_not", "aten::logical_or", "aten::logical_xor",
    "aten::maximum", "aten::minimum", "aten::reciprocal", "aten::rsqrt", "aten::rsub", "aten::sigmoid",
    "aten::sign", "aten::square", "aten::true_divide", "aten::where", "aten::masked_fill", "aten::full_like",
    "aten::ones_like", "aten::zeros_like", "aten::new_full", "aten::new_ones", "aten::new_zeros",

    // over dimensions
    "aten::amax", "aten::amin", "aten::argmax", "aten::argmin", "aten::argsort", "aten::cumprod",
    "aten::cumsum", "aten::diff", "aten::dot", "aten::matmul", "aten::max", "aten::mean", "aten::min",
    "aten::outer", "aten::prod", "aten::tril", "aten::triu",
    // shape and elements
    "aten::alias", "aten::broadcast_tensors", "aten::broadcast_to", "aten::cat", "aten::chunk", "aten::clone",
    "aten::concat", "aten::contiguous", "aten::detach", "aten::expand", "aten::expand_as", "aten::flatten",
    "aten::flip", "aten::gather", "aten::hstack", "aten::index_select", "aten::meshgrid", "aten::movedim",
    "aten::narrow", "aten::permute", "aten::repeat", "aten::reshape", "aten::roll", "aten::split",
    "aten::split_with_sizes", "aten::squeeze", "aten::stack", "aten::t", "aten::take", "aten::tile",
    "aten::to", "aten::transpose", "aten::type_as", "aten::unbind", "aten::unflatten", "aten::unsqueeze",
    "aten::view", "aten::view_as", "aten::vstack",
    // answers
    "aten::allclose", "aten::dim", "aten::equal", "aten::is_nonzero", "aten::item", "aten::numel",
    "aten::size", "prim::tolist"};

// torch/csrc/autograd, ATen/native/Normalization.cpp: running statistics are updated in training.
constexpr std::string_view kHiddenWriters[] = {"aten::_batch_norm_impl_index",
                                               "aten::_no_grad_embedding_renorm_",
                                               "aten::batch_norm",
                                               "aten::batch_norm_gather_stats",
                                               "aten::batch_norm_gather_stats_with_counts",
                                               "aten::batch_norm_update_stats",
                                               "aten::cudnn_batch_norm",
                                               "aten::instance_norm",
                                               "aten::miopen_batch_norm",
                                               "aten::native_batch_norm"};

constexpr std::string_view kSizes[] = {"aten::dim",
                                       "aten::is_contiguous",
                                       "aten::len",

                                       "aten::numel",
                                       "aten::size",
                                       "aten::storage_offset",
                                       "aten::stride",
                                       "aten::sym_is_contiguous",
                                       "aten::sym_numel",
                                       "aten::sym_size",
                                       "aten::sym_storage_offset",
                                       "aten::sym_stride"};

constexpr std::string_view kLayoutReaders[] = {"aten::_reshape_alias",
                                               "aten::_unsafe_view",
                                               "aten::as_strided",
                                               "aten::as_strided_copy",
                                               "aten::as_strided_scatter",
                                               "aten::is_contiguous",
                                               "aten::is_non_overlapping_and_dense",
                                               "aten::is_strides_like_format",
                                               "aten::storage_offset",
                                               "aten::stride",
                                               "aten::sym_is_contiguous",
                                               "aten::sym_storage_offset",
                                               "aten::sym_stride",
                                               "aten::view",
                                               "aten::view_as",
                                               "aten::view_as_complex",
                                               "aten::view_copy"};

constexpr std::string_view kAssertions[] = {"aten::_assert_async",
                                            "aten::_assert_scalar",
                                            "aten::_assert_tensor_metadata",
                                            "aten::_functional_assert_async",
                                            "aten::_functional_assert_scalar",
                                            "aten::sym_constrain_range",
                                            "aten::sym_constrain_range_for_size",
                                            "prim::RaiseException"};

// Of a tensor with one element, as aten::item, which has the tag.
constexpr std::string_view kReaders[] = {"aten::Bool",        "aten::Complex",        "aten::ComplexImplicit",
                                         "aten::Float",       "aten::FloatImplicit",  "aten::Int",
                                         "aten::IntImplicit", "aten::ScalarImplicit", "prim::tolist"};

// Forms of TorchScript's IR that LibTorch's alias analysis knows by heart.
constexpr std::string_view kIrForms[] = {"aten::_unwrap_optional", "prim::TupleIndex",
                                         "prim::TupleUnpack",      "prim::Uninitialized",
                                         "prim::tolist",           "prim::unchecked_cast"};

constexpr std::string_view kComparisons[] = {"aten::eq",     "aten::ne",       "aten::__contains__",
                                             "aten::index",  "aten::count",    "aten::remove",
                                             "aten::__is__", "aten::__isnot__"};

constexpr std::string_view kDivisions[] = {
    "aten::remainder", "aten::floordiv", "aten::__round_to_zero_floordiv",
    "aten::divmod",    "aten::fmod",     "aten::mathremainder"};

constexpr std::string_view kRepetitions[] = {"aten::mul",   "aten::mul_",      "prim::rangelist",
                                             "aten::ljust", "aten::rjust",     "aten::center",
                                             "aten::zfill", "aten::expandtabs"};
constexpr std::string_view kProducts[] = {"aten::replace", "aten::join"};

// What they give may be an argument itself: a tensor that has the dtype already, dropout that drops nothing.
constexpr std::string_view kMayBeArguments[] = {"aten::_autocast_to_full_precision",
                                                "aten::_autocast_to_reduced_precision",
                                                "aten::_grad_sum_to_size",
                                                "aten::alpha_dropout",
                                                "aten::as_tensor",
                                                "aten::atleast_1d",
                                                "aten::atleast_2d",
                                                "aten::atleast_3d",
                                                "aten::broadcast_tensors",
                                                "aten::coalesce",
                                                "aten::conj",
                                                "aten::contiguous",
                                                "aten::cpu",
                                                "aten::cuda",
                                                "aten::dropout",
                                                "aten::feature_alpha_dropout",
                                                "aten::feature_dropout",
                                                "aten::flatten",
                                                "aten::lift",
                                                "aten::lift_fresh",
                                                "aten::pin_memory",
                                                "aten::positive",
                                                "aten::real",
                                                "aten::resolve_conj",
                                                "aten::resolve_neg",
                                                "aten::to",
                                                "aten::type_as"};

// Questions that conditions ask, and what stands in them: not all methods of torch.Tensor.
constexpr std::string_view kTensorMethods[] = {"aten::abs",
                                               "aten::add",
                                               "aten::all",
                                               "aten::allclose",
                                               "aten::amax",
                                               "aten::amin",
                                               "aten::any",
                                               "aten::argmax",
                                               "aten::argmin",
                                               "aten::ceil",
                                               "aten::clamp",
                                               "aten::contiguous",
                                               "aten::count_nonzero",
                                               "aten::cumsum",
                                               "aten::detach",
                                               "aten::dim",
                                               "aten::div",
                                               "aten::eq",
                                               "aten::equal",
                                               "aten::exp",
                                               "aten::flatten",
                                               "aten::floor",
                                               "aten::ge",
                                               "aten::gt",
                                               "aten::is_complex",
                                               "aten::is_contiguous",
                                               "aten::is_floating_point",
                                               "aten::is_nonzero",
                                               "aten::isfinite",
                                               "aten::isinf",
                                               "aten::isnan",
                                               "aten::item",
                                               "aten::le",
                                               "aten::log",
                                               "aten::logical_and",
                                               "aten::logical_not",
                                               "aten::logical_or",
                                               "aten::lt",
                                               "aten::matmul",
                                               "aten::max",
                                               "aten::mean",
                                               "aten::min",
                                               "aten::mul",
                                               "aten::ne",
                                               "aten::neg",
                                               "aten::nonzero",
                                               "aten::norm",
                                               "aten::numel",
                                               "aten::permute",
                                               "aten::pow",
                                               "aten::prod",
                                               "aten::remainder",
                                               "aten::reshape",
                                               "aten::round",
                                               "aten::select",
                                               "aten::size",
                                               "aten::sqrt",
                                               "aten::squeeze",
                                               "aten::std",
                                               "aten::stride",
                                               "aten::sub",
                                               "aten::sum",
                                               "aten::t",
                                               "aten::to",
                                               "aten::transpose",
                                               "aten::type_as",
                                               "aten::unsqueeze",
                                               "aten::var",
                                               "aten::view"};

// Besides pointwise ones of one tensor.
constexpr std::string_view kRankKeepers[] = {"aten::_convolution",
                                             "aten::adaptive_avg_pool1d",
                                             "aten::adaptive_avg_pool2d",
                                             "aten::adaptive_avg_pool3d",
                                             "aten::alpha_dropout",
                                             "aten::avg_pool1d",
                                             "aten::avg_pool2d",
                                             "aten::avg_pool3d",
                                             "aten::batch_norm",
                                             "aten::clone",
                                             "aten::constant_pad_nd",
                                             "aten::contiguous",
                                             "aten::conv1d",
                                             "aten::conv2d",
                                             "aten::conv3d",
                                             "aten::conv_transpose1d",
                                             "aten::conv_transpose2d",
                                             "aten::conv_transpose3d",
                                             "aten::cumsum",
                                             "aten::detach",
                                             "aten::dropout",
                                             "aten::feature_dropout",
                                             "aten::flip",
                                             "aten::group_norm",
                                             "aten::instance_norm",
                                             "aten::layer_norm",
                                             "aten::log_softmax",
                                             "aten::max_pool1d",
                                             "aten::max_pool2d",
                                             "aten::max_pool3d",
                                             "aten::pad",
                                             "aten::permute",
                                             "aten::pixel_shuffle",
                                             "aten::prelu",
                                             "aten::roll",
                                             "aten::softmax",
                                             "aten::to",
                                             "aten::transpose",
                                             "aten::type_as"};

// Besides pointwise ones of one tensor.  Those of floats alone are among them: in place they raise for
// others.
constexpr std::string_view kDtypeKeepers[] = {"aten::_index_put_impl",
                                              "aten::absolute",
                                              "aten::addbmm",
                                              "aten::addmm",
                                              "aten::addmv",
                                              "aten::addr",
                                              "aten::alpha_dropout",
                                              "aten::arccos",
                                              "aten::arccosh",
                                              "aten::arcsin",
                                              "aten::arcsinh",
                                              "aten::arctan",
                                              "aten::arctanh",
                                              "aten::baddbmm",
                                              "aten::bernoulli",
                                              "aten::copy",
                                              "aten::dropout",
                                              "aten::exponential",
                                              "aten::feature_alpha_dropout",
                                              "aten::feature_dropout",
                                              "aten::fill",
                                              "aten::fix",
                                              "aten::hardswish",
                                              "aten::index_add",
                                              "aten::index_copy",
                                              "aten::index_fill",
                                              "aten::index_put",
                                              "aten::index_reduce",
                                              "aten::masked_fill",
                                              "aten::masked_scatter",
                                              "aten::negative",
                                              "aten::normal_functional",
                                              "aten::put",
                                              "aten::renorm",
                                              "aten::scatter",
                                              "aten::scatter_add",
                                              "aten::scatter_reduce",
                                              "aten::tril",
                                              "aten::triu",
                                              "aten::uniform",
                                              "aten::zero"};

constexpr std::string_view kBoolGivers[] = {
    "aten::eq",          "aten::ge",          "aten::greater",    "aten::greater_equal",
    "aten::gt",          "aten::le",          "aten::less",       "aten::less_equal",
    "aten::logical_and", "aten::logical_not", "aten::logical_or", "aten::logical_xor",
    "aten::lt",          "aten::ne",          "aten::not_equal"};

// Where their schema says alias, it is one only if no copy is needed.
constexpr std::string_view kMayCopies[] = {"aten::_autocast_to_full_precision",
                                           "aten::_autocast_to_reduced_precision",
                                           "aten::_grad_sum_to_size",
                                           "aten::as_tensor",
                                           "aten::coalesce",
                                           "aten::contiguous",
                                           "aten::cpu",
                                           "aten::cuda",
                                           "aten::flatten",
                                           "aten::pin_memory",
                                           "aten::ravel",
                                           "aten::reshape",
                                           "aten::reshape_as",
                                           "aten::resolve_conj",
                                           "aten::resolve_neg",
                                           "aten::to"};

template <std::size_t Size>
struct Group {
  Traits traits;
  const std::string_view (&names)[Size];
};
template <std::size_t Size>
Group(Traits, const std::string_view (&)[Size]) -> Group<Size>;

// One row a name, in byte order; names that several groups have come several times.
template <std::size_t... Sizes>
consteval auto table(const Group<Sizes>&... groups) {
  std::array<Fact, (Sizes + ...)> rows;
  std::size_t count = 0;
  const auto add = [&](const auto& group) {
    for (const std::string_view name : group.names) rows[count++] = {name, group.traits};
  };
  (add(groups), ...);
  std::sort(rows.begin(), rows.end(), [](const Fact& a, const Fact& b) { return a.base_name < b.base_name; });
  return rows;
}

constexpr auto kFacts = table(
    Group{kPlain, kPlainValues}, Group{kPlain | kMovesElements, kElementMovers},
    Group{kMakesTensor, kTensorMakers}, Group{kSmallTensors, kSmallTensorFunctions}, Group{kKnown, kIrForms},
    Group{kReadsData, kReaders}, Group{kHiddenWrite, kHiddenWriters}, Group{kGivesSize, kSizes},
    Group{kAsserts, kAssertions}, Group{kCompares, kComparisons}, Group{kDivides, kDivisions},
    Group{kRepeats, kRepetitions}, Group{kJoins, kProducts}, Group{kMayBeArgument, kMayBeArguments},
    Group{kMayCopy, kMayCopies}, Group{kTensorMethod, kTensorMethods}, Group{kKeepsRank, kRankKeepers},
    Group{kKeepsDtype, kDtypeKeepers}, Group{kGivesBool, kBoolGivers}, Group{kReadsLayout, kLayoutReaders});

}  // namespace

std::span<const Fact> facts() { return kFacts; }

Traits facts_of(std::string_view base_name) {
  Traits all = 0;
  for (const Fact& fact : std::ranges::equal_range(kFacts, base_name, {}, &Fact::base_name))
    all |= fact.traits;
  return all;
}

}  // namespace fxtrace
