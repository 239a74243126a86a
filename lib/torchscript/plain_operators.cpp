#include "torchscript/plain_operators.h"

#include <unordered_set>

namespace fxtrace {
namespace {

using Names = std::unordered_set<std::string_view>;

const Names& element_movers() {
  static const Names names = {
      "aten::append",      "aten::insert",    "aten::extend",       "aten::pop",        "aten::reverse",
      "aten::clear",       "aten::copy",      "aten::list",         "aten::add",        "aten::add_",
      "aten::__getitem__", "aten::_set_item", "aten::Delete",       "aten::len",        "aten::mul",
      "aten::slice",       "aten::keys",      "aten::values",       "aten::items",      "aten::update",
      "aten::get",         "aten::dict",      "aten::__contains__", "aten::setdefault", "aten::popitem"};
  return names;
}

const Names& plain_names() {
  static const Names names = {
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
      "aten::isfinite", "aten::isinf", "aten::isnan", "aten::ldexp", "aten::lgamma", "aten::log",
      "aten::log10", "aten::log1p", "aten::modf", "aten::polar", "aten::radians", "aten::round", "aten::sin",
      "aten::sinh", "aten::sqrt", "aten::tan", "aten::tanh", "aten::trunc",
      // text
      "aten::bin", "aten::capitalize", "aten::center", "aten::chr", "aten::count", "aten::endswith",
      "aten::expandtabs", "aten::find", "aten::format", "aten::hash", "aten::hex", "aten::index",
      "aten::isalnum", "aten::isalpha", "aten::isdecimal", "aten::isdigit", "aten::isidentifier",
      "aten::islower", "aten::isnumeric", "aten::isprintable", "aten::isspace", "aten::istitle",
      "aten::isupper", "aten::join", "aten::ljust", "aten::lower", "aten::lstrip", "aten::oct", "aten::ord",
      "aten::partition", "aten::percentFormat", "aten::replace", "aten::rfind", "aten::rindex", "aten::rjust",
      "aten::rpartition", "aten::rsplit", "aten::rstrip", "aten::split", "aten::splitlines",
      "aten::startswith", "aten::str", "aten::strip", "aten::swapcase", "aten::title", "aten::upper",
      "aten::zfill", "prim::StringIndex",
      // lists, dicts and tuples, beyond those that only move elements
      "aten::mul_", "aten::remove", "aten::select", "aten::sort", "aten::sorted", "aten::Size",
      "aten::__range_length", "aten::__derive_index", "prim::rangelist", "prim::TupleIndex",
      // sizes, dtypes, devices and enums
      "aten::_infer_size", "aten::_size_if_not_equal", "aten::broadcast_shapes", "aten::can_cast",
      "aten::promote_types", "aten::result_type", "aten::device", "prim::type", "prim::index",
      "prim::EnumName", "prim::EnumValue",
      // what the compiler leaves behind, and questions with one answer in every process
      "aten::_unwrap_optional", "prim::unchecked_cast", "prim::unchecked_unwrap_optional",
      "aten::is_scripting", "aten::_get_tracing_state", "aten::has_torch_function",
      // questions about the process: the answer is the one of a process in which nothing was switched on
      "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled", "aten::get_autocast_dtype"};
  return names;
}

const Names& tensor_makers() {
  static const Names names = {
      "aten::tensor", "aten::as_tensor", "aten::scalar_tensor", "prim::NumToTensor", "aten::_list_to_tensor",
      "aten::arange", "aten::zeros",     "aten::ones",          "aten::full",        "aten::linspace",
      "aten::eye"};
  return names;
}

const Names& tensor_names() {
  static const Names names = {
      // elementwise
      "aten::abs", "aten::bitwise_and", "aten::bitwise_not", "aten::bitwise_or", "aten::bitwise_xor",
      "aten::clamp", "aten::clamp_max", "aten::clamp_min", "aten::exp2", "aten::floor_divide", "aten::frac",
      "aten::log2", "aten::logical_and", "aten::logical_not", "aten::logical_or", "aten::logical_xor",
      "aten::maximum", "aten::minimum", "aten::reciprocal", "aten::rsqrt", "aten::rsub", "aten::sigmoid",
      "aten::sign", "aten::square", "aten::true_divide", "aten::where", "aten::masked_fill",
      "aten::full_like", "aten::ones_like", "aten::zeros_like", "aten::new_full", "aten::new_ones",
      "aten::new_zeros", "aten::new_tensor",
      // over dimensions
      "aten::amax", "aten::amin", "aten::argmax", "aten::argmin", "aten::argsort", "aten::cumprod",
      "aten::cumsum", "aten::diff", "aten::dot", "aten::matmul", "aten::max", "aten::mean", "aten::min",
      "aten::outer", "aten::prod", "aten::tril", "aten::triu",
      // shape and elements
      "aten::alias", "aten::broadcast_tensors", "aten::broadcast_to", "aten::cat", "aten::chunk",
      "aten::clone", "aten::concat", "aten::contiguous", "aten::detach", "aten::expand", "aten::expand_as",
      "aten::flatten", "aten::flip", "aten::gather", "aten::hstack", "aten::index_select", "aten::meshgrid",
      "aten::movedim", "aten::narrow", "aten::permute", "aten::repeat", "aten::reshape", "aten::roll",
      "aten::split", "aten::split_with_sizes", "aten::squeeze", "aten::stack", "aten::t", "aten::take",
      "aten::tile", "aten::to", "aten::transpose", "aten::type_as", "aten::unbind", "aten::unflatten",
      "aten::unsqueeze", "aten::view", "aten::view_as", "aten::vstack",
      // answers
      "aten::allclose", "aten::dim", "aten::equal", "aten::is_nonzero", "aten::item", "aten::ndimension",
      "aten::numel", "aten::size", "prim::tolist"};
  return names;
}

}  // namespace

bool moves_elements(std::string_view name) { return element_movers().contains(name); }

bool makes_tensor_of_numbers(std::string_view name) { return tensor_makers().contains(name); }

bool runs_on_plain_values(std::string_view name) {
  return plain_names().contains(name) || element_movers().contains(name);
}

bool runs_on_small_tensors(std::string_view name) {
  return runs_on_plain_values(name) || tensor_makers().contains(name) || tensor_names().contains(name);
}

}  // namespace fxtrace
