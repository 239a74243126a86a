#include "security/program_check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include "operators/names/operator_reach.h"
#include "operators/names/torch_functions.h"
#include "security/expression_check.h"
#include "support/error.h"
#include "support/text/identifier.h"
#include "support/text/plain_path.h"
#include "support/text/printable.h"
#include "support/text/words.h"

namespace fxtrace::security {
namespace {

// Returns whether the text is a name with dots, as torch writes it between quotes into the code of a graph's
// module.
bool is_dotted_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_word(c) || c == '.'; });
}

class ProgramCheck {
 public:
  explicit ProgramCheck(const Tell& tell) : tell_(tell) {}

  void value(const JsonValue& value, std::string_view key) {
    if (value.is_object()) return object(value, key);
    if (value.is_array()) {
      for (const JsonValue item : value.items()) this->value(item, key);
      return;
    }
    if (value.is_string()) text(value.string(), key);
  }

 private:
  void object(const JsonValue& object, std::string_view key) {
    if (key == "metadata") return metadata(object);
    if (key == "range_constraints") return ranges(object);
    // The fields of these objects have names of the model.
    const bool has_names = key == "tensor_values" || key == "sym_int_values" || key == "sym_float_values" ||
                           key == "sym_bool_values" || key == "custom_obj_values";
    const bool has_texts =
        key == "as_string_to_argument" || key == "treespec_namedtuple_fields" || key == "opset_version";
    const bool is_kept = key == "device";
    std::set<std::string_view> seen;
    for (const JsonValue field : object.fields()) {
      if (!seen.insert(field.key()).second)
        unknown("", "two fields of one object have the name '" + short_line(field.key()) + "'");
      if (has_names) name(field.key());
      value(field, has_names || has_texts || is_kept ? std::string_view() : field.key());
    }
  }

  void text(std::string_view text, std::string_view key) {
    static const std::unordered_set<std::string_view> names =
        words_of("name as_name forward_arg_names user_input_name field_names");
    static const std::unordered_set<std::string_view> paths =
        words_of("parameter_name buffer_name tensor_constant_name custom_obj_name fqn class_fqn");
    if (key == "expr_str") {
      if (const auto problem = problem_of_size(text)) code(text, "a size: " + *problem);
    } else if (key == "guards_code") {
      if (const auto problem = problem_of_guard(text)) code(text, "a guard: " + *problem);
    } else if (key == "in_spec" || key == "out_spec") {
      if (const auto problem = problem_of_tree(text, key == "in_spec"))
        code(text, "the structure of its arguments: " + *problem);
    } else if (key == "target" || key == "as_operator") {
      check_target(text, tell_);
    } else if (names.contains(key)) {
      name(text);
    } else if (paths.contains(key) && !is_plain_path(text)) {
      code(text, "the name '" + short_line(text) +
                     "' has quotes or control characters, and torch writes it into the code of a module");
    }
    constexpr std::string_view kClass = "__torch__.torch.classes.";
    if (text.starts_with(kClass) && is_dotted_name(text))
      tell_(SecurityKind::kLibrary, std::string(text), "it needs " + std::string(text));
  }

  // Checks a name of a value or keyword argument, which torch writes into the code of the graph's module.
  void name(std::string_view text) {
    if (!text.empty() && !is_identifier(text))
      code(text, "the name '" + short_line(text) +
                     "' is not an identifier, and torch writes it into the code of a module");
  }

  void ranges(const JsonValue& ranges) {
    // torch counts up to the number in the name of an unbacked symbol (u7).
    constexpr std::size_t kMaxDigits = 6;
    for (const JsonValue range : ranges.fields()) {
      const std::string_view symbol = range.key();
      if (const auto problem = problem_of_size(symbol)) code(symbol, "a range: " + *problem);
      const std::size_t digits = symbol.find_first_of("0123456789");
      const bool is_counted = symbol.starts_with('u') || symbol.starts_with("zuf");
      if (is_counted && is_identifier(symbol) && digits != std::string_view::npos &&
          symbol.size() - digits > kMaxDigits)
        tell_(SecurityKind::kSize, std::string(symbol.substr(0, 100)),
              "a symbol whose number is too large: '" + short_line(symbol) + "'");
      value(range, {});
    }
  }

  // Checks the texts about a node; torch uses some, and keeps the others as they are.
  void metadata(const JsonValue& metadata) {
    for (const JsonValue field : metadata.fields()) {
      if (!field.is_string()) {
        value(field, field.key());
        continue;
      }
      const std::string_view text = field.string();
      if (field.key() == "source_fn_stack" && text.find("torch") != std::string_view::npos) sources(text);
      // The stack has "key,path,type" for each module, and unflatten() writes the path into code.
      if (field.key() == "nn_module_stack" && text.find('"') != std::string_view::npos)
        code(text, "the path '" + short_line(text) + "' of a module has quotes");
    }
  }

  // Checks "name,torch.nn.functional.relu;...", whose functions torch looks up.
  void sources(std::string_view text) {
    while (!text.empty()) {
      const std::string_view source = text.substr(0, text.find(';'));
      const std::string_view target = source.substr(source.find(',') + 1);
      if (!std::ranges::all_of(
              target, [](char c) { return is_word(c) || c == '.' || c == ' ' || c == '<' || c == '>'; }))
        code(target, "the source '" + short_line(target) + "' is not the name of a function");
      text.remove_prefix(std::min(text.size(), source.size() + 1));
    }
  }

  void code(std::string_view subject, const std::string& message) {
    tell_(SecurityKind::kCode, short_line(subject), message);
  }
  void unknown(std::string_view subject, const std::string& message) {
    tell_(SecurityKind::kUnknown, std::string(subject), message);
  }

  const Tell& tell_;
};

// Returns whether torch.export writes calls of this function besides those of operators.
bool is_kept_function(std::string_view target) {
  static const std::unordered_set<std::string_view> symbolic = words_of(
      "_operator.add _operator.and_ _operator.eq _operator.floordiv _operator.ge _operator.getitem _operator.gt "
      "_operator.is_ _operator.is_not _operator.le _operator.lshift _operator.lt _operator.mod _operator.mul "
      "_operator.ne _operator.neg _operator.not_ _operator.or_ _operator.pos _operator.pow _operator.rshift "
      "_operator.sub _operator.truediv _operator.xor "
      "math.acos math.asin math.atan math.ceil math.cos math.cosh math.exp math.floor math.log math.log2 "
      "math.pow math.sin math.sinh math.sqrt math.tan math.tanh math.trunc "
      "torch.sym_float torch.sym_int torch.sym_ite torch.sym_max torch.sym_min torch.sym_not torch.sym_sqrt "
      "torch.sym_sum torch._sym_acos torch._sym_asin torch._sym_atan torch._sym_cos torch._sym_cosh "
      "torch._sym_exp torch._sym_log2 torch._sym_sin torch._sym_sinh torch._sym_sqrt torch._sym_tan "
      "torch._sym_tanh "
      "torch._C._set_grad_enabled torch.amp.autocast_mode._enter_autocast torch.amp.autocast_mode._exit_autocast");
  static const std::unordered_set<std::string_view> predispatch = words_of(
      "_add_batch_dim _jvp_decrement_nesting _jvp_increment_nesting _make_dual _remove_batch_dim "
      "_unpack_dual _vmap_decrement_nesting _vmap_increment_nesting _enter_dual_level _exit_dual_level "
      "lazy_load_decompositions _grad_decrement_nesting _grad_increment_nesting");
  constexpr std::string_view kPredispatch = "torch._functorch.predispatch.";
  if (target.starts_with(kPredispatch)) return predispatch.contains(target.substr(kPredispatch.size()));
  return symbolic.contains(target) || is_torch_function(target);
}

}  // namespace

void check_program(const JsonValue& program, const Tell& tell) { ProgramCheck(tell).value(program, {}); }

void check_target(std::string_view target, const Tell& tell) {
  constexpr std::string_view kOperators = "torch.ops.", kHigherOrder = "higher_order.";
  const std::string shown = short_line(target);
  if (!target.starts_with(kOperators)) {
    if (is_kept_function(target)) return;
    // The target is a Python function that torch finds by its name, an extension, or an unknown text.
    tell(SecurityKind::kCode, shown, "it calls " + shown + ", which is not an operator of torch");
    return;
  }
  const std::string_view path = target.substr(kOperators.size());
  std::string_view reach;
  if (!is_dotted_name(path)) {
    tell(SecurityKind::kUnknown, shown, "it calls " + shown + ", which is not the name of an operator");
    return;
  }
  // A namespace, a name and maybe an overload; attributes that every Python object has are refused.
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos || std::ranges::count(path, '.') > 2 || path.find("__") == 0 ||
      path.find(".__class") != std::string_view::npos || path.find(".__call") != std::string_view::npos ||
      path.find(".__init") != std::string_view::npos || path.find(".__dict") != std::string_view::npos) {
    tell(SecurityKind::kCode, shown, "it calls " + shown + ", which is not an operator of torch");
    return;
  }
  if (path.starts_with(kHigherOrder)) {
    reach = higher_order_reach(path.substr(kHigherOrder.size()));
  } else {
    std::string name = std::string(path.substr(0, dot)) + "::" + std::string(path.substr(dot + 1));
    if (name.ends_with(".default")) name.resize(name.size() - std::string_view(".default").size());
    reach = operator_reach(name);
    // The overload is not reported.
    const std::string named(path.substr(0, path.find('.', dot + 1)));
    tell(SecurityKind::kLibrary, named, "it needs " + named);
  }
  if (!reach.empty())
    tell(SecurityKind::kCode, shown, "it calls " + shown + ", which touches " + std::string(reach));
}

std::map<std::string, Payload, std::less<>> read_payloads(const JsonValue& config, const Tell& tell) {
  std::map<std::string, Payload, std::less<>> payloads;
  check_program(config, tell);
  for (const JsonValue item : config.at("config").fields()) {
    const std::string path(item.at("path_name").string());
    Payload payload;
    if (const auto pickled = item.find("use_pickle")) payload.is_pickled = pickled->boolean();
    payload.is_tensor = item.find("tensor_meta").has_value();
    const auto [place, is_new] = payloads.emplace(path, payload);
    // Tied tensors share a record, which is unpickled if one of them says so.
    if (!is_new) place->second.is_pickled |= payload.is_pickled;
  }
  return payloads;
}

}  // namespace fxtrace::security
