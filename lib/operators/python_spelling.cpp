#include "operators/python_spelling.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace fxtrace {
namespace {

using Table = std::unordered_map<std::string_view, std::string_view>;

// Operators on plain numbers, strings and lists; with a tensor among the arguments they are operators.
const Table& plain_targets() {
  static const Table table = {
      {"aten::add", "operator.add"},
      {"aten::add_", "operator.iadd"},
      {"aten::sub", "operator.sub"},
      {"aten::mul", "operator.mul"},
      {"aten::div", "operator.truediv"},
      {"aten::floordiv", "operator.floordiv"},
      {"aten::remainder", "operator.mod"},
      {"aten::pow", "operator.pow"},
      {"aten::neg", "operator.neg"},
      {"aten::eq", "operator.eq"},
      {"aten::ne", "operator.ne"},
      {"aten::lt", "operator.lt"},
      {"aten::le", "operator.le"},
      {"aten::gt", "operator.gt"},
      {"aten::ge", "operator.ge"},
      {"aten::__and__", "operator.and_"},
      {"aten::__or__", "operator.or_"},
      {"aten::__xor__", "operator.xor"},
      {"aten::__lshift__", "operator.lshift"},
      {"aten::__rshift__", "operator.rshift"},
      {"aten::sum", "builtins.sum"},
      {"aten::any", "builtins.any"},
      {"aten::all", "builtins.all"},
      {"aten::abs", "builtins.abs"},
      {"prim::abs", "builtins.abs"},
      {"prim::min", "builtins.min"},
      {"prim::max", "builtins.max"},
      {"aten::mathremainder", "math.remainder"},
      {"aten::copy", "builtins.list"},
      {"aten::list", "builtins.list"},
      {"aten::keys", "builtins.list"},
      {"aten::sorted", "builtins.sorted"},
      {"aten::divmod", "builtins.divmod"},
      {"aten::ord", "builtins.ord"},
      {"aten::chr", "builtins.chr"},
      {"aten::hex", "builtins.hex"},
      {"aten::oct", "builtins.oct"},
      {"aten::bin", "builtins.bin"},
      {"aten::extend", "operator.iadd"},
      {"aten::_set_item", "operator.setitem"},
      {"aten::Delete", "operator.delitem"},
      {"aten::count", "operator.countOf"},
      {"aten::index", "operator.indexOf"},
  };
  return table;
}

// Operators that Python does by a name of its own, whatever the arguments.
const Table& python_targets() {
  static const Table table = {
      {"aten::Int", "builtins.int"},
      {"aten::IntImplicit", "builtins.int"},
      {"aten::Float", "builtins.float"},
      {"aten::FloatImplicit", "builtins.float"},
      {"aten::Bool", "builtins.bool"},
      {"aten::Complex", "builtins.complex"},
      {"aten::ComplexImplicit", "builtins.complex"},
      {"aten::ScalarImplicit", "aten.item.default"},
      {"aten::len", "builtins.len"},
      {"aten::str", "builtins.str"},
      {"aten::__not__", "operator.not_"},
      {"aten::__contains__", "operator.contains"},
      {"aten::__getitem__", "operator.getitem"},
      {"aten::__is__", "operator.is_"},
      {"aten::__isnot__", "operator.is_not"},
      {"aten::tensor", "torch.tensor"},
      {"aten::as_tensor", "torch.as_tensor"},
      {"aten::save", "torch.save"},
  };
  return table;
}

// Same name and meaning in Python's math module; those that give a float there and an integer here are left
// out.
const std::unordered_set<std::string_view>& math_functions() {
  static const std::unordered_set<std::string_view> names = {
      "ceil",  "floor",     "sqrt",  "exp",    "log",  "log2",  "log10", "log1p",   "sin",      "cos",
      "tan",   "asin",      "acos",  "atan",   "sinh", "cosh",  "tanh",  "asinh",   "acosh",    "atanh",
      "fabs",  "factorial", "gamma", "lgamma", "erf",  "erfc",  "expm1", "degrees", "radians",  "isnan",
      "isinf", "isfinite",  "atan2", "fmod",   "gcd",  "trunc", "modf",  "frexp",   "copysign", "ldexp"};
  return names;
}

// Methods of str with the same arguments.
const std::unordered_set<std::string_view>& text_methods() {
  static const std::unordered_set<std::string_view> names = {
      "capitalize", "center",     "count",      "endswith",  "expandtabs", "find",    "index",
      "isalnum",    "isalpha",    "isdigit",    "islower",   "isspace",    "istitle", "isupper",
      "join",       "ljust",      "lower",      "lstrip",    "replace",    "rfind",   "rindex",
      "rjust",      "rpartition", "rsplit",     "rstrip",    "split",      "strip",   "swapcase",
      "title",      "splitlines", "startswith", "partition", "upper",      "zfill"};
  return names;
}

const std::unordered_set<std::string_view>& tensor_attributes() {
  static const std::unordered_set<std::string_view> names = {
      "dtype",     "device",        "layout",       "is_cuda",   "is_cpu",    "is_xla",
      "is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn", "is_vulkan", "is_mps",
      "is_ipu",    "is_xpu",        "is_meta",      "is_mtia",   "is_hpu",    "is_maia",
      "is_nested", "requires_grad", "grad",         "data",      "shape",     "name",
      "itemsize",  "ndim",          "nbytes",       "type",      "index",     "names"};
  return names;
}

bool has_tensor(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(), [](const SchemaArgument& argument) {
    const SchemaType& type = argument.type.required();
    return (type.is_list() ? type.parts.front() : type).name == "Tensor";
  });
}

// torch.ops cannot take a value for these: they have no type in Python.
bool takes_any_type(const Schema& schema) {
  const std::function<bool(const SchemaType&)> has_variable = [&](const SchemaType& type) {
    return type.is_variable() || std::any_of(type.parts.begin(), type.parts.end(), has_variable);
  };
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [&](const SchemaArgument& argument) { return has_variable(argument.type); });
}

}  // namespace

PythonTarget python_target(std::string_view base_name, std::string_view overload, const Schema& schema) {
  const auto colon = base_name.find("::");
  const std::string_view space = base_name.substr(0, colon);
  const std::string_view base = base_name.substr(colon + 2);
  const bool aten = space == "aten";
  const bool prim = space == "prim";
  if (aten || prim) {
    if (const auto it = python_targets().find(base_name); it != python_targets().end()) {
      return {std::string(it->second), TargetForm::kSame};
    }
    if (prim && tensor_attributes().count(base) != 0) return {std::string(base), TargetForm::kAttribute};
    if (!has_tensor(schema)) {
      const std::string first = schema.arguments.empty() ? "" : schema.arguments[0].type.name;
      const std::string result = schema.results.empty() ? "" : schema.results[0].name;
      if (base_name == "aten::slice") return {"operator.getitem", TargetForm::kSlice};
      if (base_name == "aten::append") return {"operator.iadd", TargetForm::kExtendOne};
      if (base_name == "aten::pow" && result == "float") return {"math.pow", TargetForm::kSame};
      if (const auto it = plain_targets().find(base_name); it != plain_targets().end()) {
        return {std::string(it->second), TargetForm::kSame};
      }
      if (aten && math_functions().count(base) != 0 && result != "complex") {
        return {"math." + std::string(base), TargetForm::kSame};
      }
      if (aten && first == "str") {
        if (text_methods().count(base) == 0) return {std::string(base), TargetForm::kUnsupported};
        return {"builtins.str." + std::string(base), TargetForm::kSame};
      }
      const bool container = first == "List" || first == "Dict";
      if (aten && container && schema.writes()) return {std::string(base), TargetForm::kUnsupported};
      if (base_name == "aten::items" || base_name == "aten::values") {
        return {std::string(base), TargetForm::kUnsupported};
      }
    }
  }
  if (takes_any_type(schema)) return {std::string(base), TargetForm::kUnsupported};
  std::string target = std::string(space) + "." + std::string(base) + ".";
  target += overload.empty() ? "default" : overload;
  return {target, TargetForm::kOperator};
}

}  // namespace fxtrace
