#include "writers/formats/python_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "operators/names/allow_lists.h"
#include "operators/target.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {

std::string python_string(std::string_view text) {
  std::string out = "\"";
  for_each_printable(text, out, "\\", [&](std::string_view bytes, char32_t c) {
    if (c == '"' || c == '\\') out += '\\';
    out += bytes;
  });
  return out += '"';
}

bool is_python_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && !text.starts_with("__") &&
         std::ranges::all_of(text, is_word) && !is_python_keyword(text);
}

std::string PythonNames::create(std::string_view candidate) {
  std::string name;
  if (is_python_name(candidate)) {
    name = candidate;
  } else {
    while (candidate.starts_with("__")) candidate.remove_prefix(1);
    if (candidate.empty() || is_digit(candidate[0])) name = "_";
    while (!candidate.empty()) {
      const std::size_t length = first_character(candidate).length;
      name += length == 1 && is_word(candidate[0]) ? candidate[0] : '_';
      candidate.remove_prefix(length);
    }
    if (name == "_" || name.starts_with("__")) name = "x" + name;
  }
  if (is_python_name(name) && try_reserve(name)) return name;
  std::int64_t& number = count_[name];
  std::string numbered;
  do {
    numbered = name + "_" + std::to_string(++number);
  } while (!try_reserve(numbered));
  return numbered;
}

namespace {

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The attributes of every torch.nn.Module.
constexpr std::string_view kModuleNames =
    "T_destination _apply _backward_hooks _backward_pre_hooks _buffers _call_impl _compiled_call_impl "
    "_forward_hooks _forward_hooks_always_called _forward_hooks_with_kwargs _forward_pre_hooks "
    "_forward_pre_hooks_with_kwargs _get_backward_hooks _get_backward_pre_hooks _get_name "
    "_is_full_backward_hook _load_from_state_dict _load_state_dict_post_hooks _load_state_dict_pre_hooks "
    "_maybe_warn_non_full_backward_hook _modules _named_members _non_persistent_buffers_set _parameters "
    "_register_load_state_dict_pre_hook _register_state_dict_hook _replicate_for_data_parallel "
    "_save_to_state_dict _slow_forward _state_dict_hooks _state_dict_pre_hooks _version _wrapped_call_impl "
    "add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval "
    "extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu "
    "load_state_dict modules mtia named_buffers named_children named_modules named_parameters parameters "
    "register_backward_hook register_buffer register_forward_hook register_forward_pre_hook "
    "register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook "
    "register_load_state_dict_pre_hook register_module register_parameter register_state_dict_post_hook "
    "register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule share_memory state_dict to "
    "to_empty train training type xpu zero_grad";

// Builtins that graphs call, without those that could run other code.
constexpr auto kBuiltins = std::to_array<std::string_view>(
    {"abs",    "all",       "any",   "bin",  "bool",  "bytes", "chr",        "complex", "dict",
     "divmod", "enumerate", "float", "hash", "hex",   "int",   "isinstance", "len",     "list",
     "max",    "min",       "oct",   "ord",  "pow",   "range", "reversed",   "round",   "set",
     "slice",  "sorted",    "str",   "sum",  "tuple", "type",  "zip"});
constexpr auto kNotOfOperator =
    std::to_array<std::string_view>({"attrgetter", "call", "itemgetter", "methodcaller"});
// Excluded methods of str: format strings can read any attribute of the arguments.
constexpr auto kNotOfStrings = std::to_array<std::string_view>({"format", "format_map"});
// Attributes of tensors that are plain values, on any object.
constexpr auto kTensorAttributes = std::to_array<std::string_view>(
    {"H",       "T",       "data",      "device",       "dtype",         "grad",     "imag",   "is_cuda",
     "is_leaf", "is_meta", "is_nested", "is_quantized", "is_sparse",     "itemsize", "layout", "mH",
     "mT",      "nbytes",  "ndim",      "real",         "requires_grad", "shape"});
// Attributes of torch.ops and torch.classes that are not namespaces.
constexpr auto kNotOfOps =
    std::to_array<std::string_view>({"import_module", "load_library", "loaded_libraries"});
// Operators of TorchScript with the names of Python's special methods.
constexpr auto kMagicOperators = std::to_array<std::string_view>(
    {"__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__iand__", "__ior__", "__ixor__",
     "__ilshift__", "__irshift__", "__contains__", "__getitem__", "__is__", "__isnot__", "__not__"});
constexpr auto kLayouts = std::to_array<std::string_view>(
    {"_mkldnn", "jagged", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided"});
constexpr auto kMemoryFormats = std::to_array<std::string_view>(
    {"channels_last", "channels_last_3d", "contiguous_format", "preserve_format"});

// Returns the namespace of torch.classes.space.Name, which makes an object; empty for other functions.
std::string_view class_space(const TargetParts& target) {
  constexpr std::string_view kClasses = "torch.classes.";
  if (!target.space.starts_with(kClasses) || target.name.starts_with("__")) return {};
  const std::string_view space = target.space.substr(kClasses.size());
  const bool is_one = is_python_name(space) && !space.starts_with("__") && !is_in(kNotOfOps, space);
  return is_one ? space : std::string_view();
}

// Returns whether a library may have registered the namespace.  Those of torch itself are in the table, as
// far as they only compute.
bool may_be_librarys(std::string_view space) { return !space.empty() && !is_torch_operator_space(space); }

// Returns value.name, or getattr() for names that are not valid in Python.
std::string attribute_of(const std::string& value, std::string_view name) {
  if (is_python_name(name) ||
      (name.starts_with("__") && name.ends_with("__") && is_in(kMagicOperators, name))) {
    return value + "." + std::string(name);
  }
  return "getattr(" + value + ", " + python_string(name) + ")";
}

}  // namespace

std::optional<std::string> fx_function(std::string_view target) {
  const TargetParts parts = parse_target(target);
  if (parts.kind == TargetKind::kHigherOrder) {
    if (!is_python_name(parts.name) || parts.space.size() + parts.name.size() + 1 != target.size()) return {};
    if (!is_callable_operator(parts.space, parts.name)) return {};
    return "torch.ops." + std::string(target);
  }
  if (parts.kind == TargetKind::kOperator) {
    const auto is_fine = [](std::string_view name) { return !name.empty() && !name.starts_with("__"); };
    if (is_in(kNotOfOps, parts.space) || !is_fine(parts.space) || !is_fine(parts.overload)) return {};
    if (!is_callable_operator(parts.space, parts.name, parts.overload) && !may_be_librarys(parts.space))
      return {};
    if (parts.name.empty() ||
        (parts.name.starts_with("__") && parts.name.ends_with("__") && !is_in(kMagicOperators, parts.name))) {
      return {};
    }
    return attribute_of(attribute_of(attribute_of("torch.ops", parts.space), parts.name), parts.overload);
  }
  if (!is_python_name(parts.name)) return {};
  const std::string name(parts.name);
  if (parts.space == "operator") {
    return is_in(kNotOfOperator, parts.name) || name[0] == '_' ? std::nullopt
                                                               : std::optional("operator." + name);
  }
  if (parts.space == "math") return name[0] == '_' ? std::nullopt : std::optional("math." + name);
  if (parts.space == "builtins") return is_in(kBuiltins, name) ? std::optional(name) : std::nullopt;
  if (parts.space == "builtins.str") {
    return name[0] == '_' || is_in(kNotOfStrings, name) ? std::nullopt : std::optional("str." + name);
  }
  const std::string_view classes = class_space(parts);
  const bool is_fine =
      is_torch_function(target) || is_callable_class_space(classes) || may_be_librarys(classes);
  return is_fine ? std::optional(std::string(target)) : std::nullopt;
}

bool may_pass_on(std::string_view target) {
  return target != kPrintOperator && fx_function(target).has_value();
}

std::string_view torch_module_names() { return kModuleNames; }

bool is_tensor_attribute(std::string_view name) { return is_in(kTensorAttributes, name); }

std::string_view fx_library(std::string_view target) {
  const TargetParts parts = parse_target(target);
  const std::string_view space = parts.kind == TargetKind::kOperator ? parts.space : class_space(parts);
  return may_be_librarys(space) && !is_callable_operator(space, parts.name, parts.overload)
             ? space
             : std::string_view();
}

bool is_torch_layout(std::string_view name) { return is_in(kLayouts, name); }
bool is_torch_memory_format(std::string_view name) { return is_in(kMemoryFormats, name); }

}  // namespace fxtrace::internal
