#include "exported/format/inert_texts.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "archive/pickle_machine.h"
#include "exported/format/evaluated_text.h"
#include "operators/names/allow_lists.h"
#include "operators/operators.h"
#include "support/text/identifier.h"
#include "support/text/unicode.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

using Inert = InertText;

constexpr std::string_view kSource = "stands in the source of a module";
constexpr std::string_view kValue = "is taken as it is for a value";

constexpr auto kPlaces = std::to_array<TextPlace>({
    // Evaluated and executed.
    {"", "expr_str", false, Inert::kSize, "is evaluated by sympy"},
    {"", "range_constraints", true, Inert::kSymbol, "is evaluated by sympy"},
    {"", "guards_code", false, Inert::kGuard, "is executed when the program is called"},
    {"graph", "inputs.as_string", false, Inert::kPlain,
     "stands between quotes in a guard, which is executed"},
    {"input_specs", "as_string", false, Inert::kPlain, "stands between quotes in a guard, which is executed"},
    // Imported and looked up.
    {"", "target", false, Inert::kTarget, "is looked up in torch"},
    {"", "as_operator", false, Inert::kTarget, "is looked up in torch"},
    {"", "in_spec", false, Inert::kArguments, "says which classes are imported, and stands in a guard"},
    {"", "out_spec", false, Inert::kResult, "says which classes are imported"},
    {"metadata", "source_fn_stack", false, Inert::kFunctions, "is looked up in torch"},
    // In source.
    {"", "name", false, Inert::kIdentifier, kSource},
    {"", "as_name", false, Inert::kIdentifier, kSource},
    {"", "forward_arg_names", false, Inert::kIdentifier, kSource},
    {"", "user_input_name", false, Inert::kIdentifier, kSource},
    {"", "field_names", false, Inert::kIdentifier, kSource},
    {"", "tensor_values", true, Inert::kIdentifier, kSource},
    {"", "sym_int_values", true, Inert::kIdentifier, kSource},
    {"", "sym_float_values", true, Inert::kIdentifier, kSource},
    {"", "sym_bool_values", true, Inert::kIdentifier, kSource},
    {"", "custom_obj_values", true, Inert::kIdentifier, kSource},
    {"", "parameter_name", false, Inert::kPlain, kSource},
    {"", "buffer_name", false, Inert::kPlain, kSource},
    {"", "tensor_constant_name", false, Inert::kPlain, kSource},
    {"", "custom_obj_name", false, Inert::kPlain, kSource},
    {"", "fqn", false, Inert::kPlain, kSource},
    {"", "class_fqn", false, Inert::kPlain, kSource},
    {"", "config", true, Inert::kPlain, kSource},
    {"metadata", "nn_module_stack", false, Inert::kModules, kSource},
    {"metadata", "", false, Inert::kComment, "stands in the source of a module if FX_GRAPH_SHOW_META is set"},
    // Opened.
    {"config", "path_name", false, Inert::kRecord, "is the name of a record"},
    // Values that torch takes for numbers whatever they are, and writes into source.
    {"", "as_int", false, Inert::kInteger, kValue},
    {"", "as_ints", false, Inert::kInteger, kValue},
    {"", "as_int_lists", false, Inert::kInteger, kValue},
    {"", "as_bool", false, Inert::kBoolean, kValue},
    {"", "as_bools", false, Inert::kBoolean, kValue},
    {"", "as_none", false, Inert::kBoolean, kValue},
    {"", "as_float", false, Inert::kReal, kValue},
    {"", "as_floats", false, Inert::kReal, kValue},
    {"", "as_float_lists", false, Inert::kReal, kValue},
    {"as_complex", "real", false, Inert::kReal, kValue},
    {"as_complex", "imag", false, Inert::kReal, kValue},
    {"", "min_val", false, Inert::kReal, kValue},
    {"", "max_val", false, Inert::kReal, kValue},
    {"", "dtype", false, Inert::kInteger, kValue},
    {"", "layout", false, Inert::kInteger, kValue},
    {"", "as_scalar_type", false, Inert::kInteger, kValue},
    {"", "as_layout", false, Inert::kInteger, kValue},
    {"", "as_memory_format", false, Inert::kInteger, kValue},
    {"", "requires_grad", false, Inert::kBoolean, kValue},
    {"", "persistent", false, Inert::kBoolean, kValue},
    {"", "is_single_tensor_return", false, Inert::kBoolean, kValue},
    {"", "is_hop_single_tensor_return", false, Inert::kBoolean, kValue},
    {"", "is_param", false, Inert::kBoolean, kValue},
    {"", "use_pickle", false, Inert::kBoolean, kValue},
});

// A name in Python may have letters beyond ASCII, of which none ends a name.
bool is_python_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_word(c) || static_cast<unsigned char>(c) >= 0x80;
  });
}

// Calls f() for each part of a text between separators.
template <class F>
bool all_parts(std::string_view text, char separator, const F& f) {
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (!f(text.substr(0, end))) return false;
    if (end == text.size()) return true;
    text.remove_prefix(end + 1);
  }
}

std::string_view second_part(std::string_view item) {
  const std::size_t comma = item.find(',');
  if (comma == std::string_view::npos) return item;
  item.remove_prefix(comma + 1);
  return item;
}

// Returns whether the text has three double quotes in a row, also once it is read as JSON.
bool has_three_quotes(std::string_view text) {
  int quotes = 0;
  for (const char c : text) {
    if (c == '\\') continue;
    quotes = c == '"' ? quotes + 1 : 0;
    if (quotes == 3) return true;
  }
  return false;
}

struct Problem {
  std::string why;
  TextFault::Kind kind = TextFault::Kind::kRuns;
};

std::optional<Problem> problem_of_symbol(std::string_view symbol) {
  constexpr std::size_t kMaxDigits = 6;
  if (const auto problem = problem_of_size_text(symbol)) return Problem{"a range: " + *problem};
  // torch counts up to the number in the name of an unbacked symbol (u7).
  const std::size_t digits = symbol.find_first_of("0123456789");
  const bool is_counted = symbol.starts_with('u') || symbol.starts_with("zuf");
  if (is_counted && is_identifier(symbol) && digits != std::string_view::npos &&
      symbol.size() - digits > kMaxDigits)
    return Problem{"a symbol whose number is too large: '" + short_line(symbol) + "'",
                   TextFault::Kind::kCosts};
  return std::nullopt;
}

bool is_list_of_functions(std::string_view text) {
  return all_parts(text, ';', [](std::string_view item) {
    return std::ranges::all_of(
        second_part(item), [](char c) { return is_word(c) || c == '.' || c == ' ' || c == '<' || c == '>'; });
  });
}

// Returns why the text is not inert in the place.  Programs have millions of texts: nothing is made of one
// that is.
std::optional<Problem> problem_of(std::string_view text, const TextPlace& place) {
  const auto unless = [&](bool is_inert, const char* what, const char* why) -> std::optional<Problem> {
    if (is_inert) return std::nullopt;
    return Problem{std::string(what) + " '" + short_line(text) + "' " + why + ", and it " +
                   std::string(place.use)};
  };
  const auto naming = [](const char* what, std::optional<std::string> problem) -> std::optional<Problem> {
    if (!problem) return std::nullopt;
    return Problem{what + *std::move(problem)};
  };
  constexpr const char* kQuotes = "has quotes, backslashes or control characters";
  switch (place.inert) {
    case Inert::kSize:
      return naming("a size: ", problem_of_size_text(text));
    case Inert::kGuard:
      return naming("a guard: ", problem_of_guard_text(text));
    case Inert::kArguments:
    case Inert::kResult:
      return naming(place.inert == Inert::kArguments ? "the structure of its arguments: "
                                                     : "the structure of its result: ",
                    problem_of_tree_text(text, place.inert == Inert::kArguments));
    case Inert::kTarget:
      return naming("", problem_of_target_text(text));
    case Inert::kSymbol:
      return problem_of_symbol(text);
    case Inert::kIdentifier:
      return unless(text.empty() || is_python_name(text), "the name", "is not an identifier");
    case Inert::kPlain:
      return unless(is_plain_path(text), "the text", kQuotes);
    case Inert::kModules:
      return unless(
          all_parts(text, ';', [](std::string_view item) { return is_plain_path(second_part(item), "\""); }),
          "the path of a module in", kQuotes);
    case Inert::kFunctions:
      return unless(text.find("torch") == std::string_view::npos || is_list_of_functions(text), "the source",
                    "is not the name of a function");
    case Inert::kComment:
      return unless(!has_three_quotes(text), "the text", "has three double quotes, which end a literal");
    case Inert::kRecord: {
      if (text.find_first_of("/\\") == std::string_view::npos) return std::nullopt;
      return Problem{"it names the record '" + short_line(text) + "', which is outside of its folder",
                     TextFault::Kind::kLeads};
    }
    case Inert::kReal:
      return unless(text == "NaN" || text == "Infinity" || text == "-Infinity", "the text",
                    "is not a number");
    case Inert::kInteger:
    case Inert::kBoolean:
      return unless(false, "the text", "is not a number");
  }
  return std::nullopt;
}

class TextCheck {
 public:
  explicit TextCheck(const TellTextFault& tell) : tell_(tell) {
    for (const TextPlace& place : kPlaces) {
      if (place.field.empty()) {
        others_.push_back(&place);
      } else {
        const std::size_t dot = place.field.rfind('.');
        by_field_[place.field.substr(dot == std::string_view::npos ? 0 : dot + 1)].push_back(&place);
      }
    }
  }

  void value(const JsonValue& value) {
    if (value.is_object()) return object(value);
    if (value.is_array()) {
      std::size_t place = 0;
      for (const JsonValue item : value.items()) {
        path_.back().index = place++;
        this->value(item);
      }
      path_.back().index.reset();
      return;
    }
    if (value.is_string()) text(value.string(), false);
  }

 private:
  struct Step {
    std::string_view field;
    std::optional<std::size_t> index = {};  // of an item of its list
    // Fields of this object have names of the model, or of torch's choice, so they are not fields of the
    // format.
    bool has_names = false;
  };

  void object(const JsonValue& object) {
    const std::string_view field = path_.back().field;
    static const std::unordered_set<std::string_view> named = words_of(
        "tensor_values sym_int_values sym_float_values sym_bool_values custom_obj_values treespec_namedtuple_fields "
        "opset_version range_constraints config");
    const bool is_node = object.find("target").has_value() && object.find("inputs").has_value();
    const JsonValue* const outer = std::exchange(node_, is_node ? &object : node_);
    if (is_node) print(object);
    std::set<std::string_view> seen;
    const bool has_names = named.contains(field) && !path_.back().has_names;
    for (const JsonValue each : object.fields()) {
      if (!seen.insert(each.key()).second)
        fault(each.key(), {"two fields of one object have the name '" + short_line(each.key()) + "'",
                           TextFault::Kind::kUnclear});
      if (has_names) text(each.key(), true);
      path_.push_back({each.key(), {}, has_names});
      value(each);
      path_.pop_back();
    }
    node_ = outer;
  }

  bool is_within(const TextPlace& place) const {
    // A field with the one around it: "inputs.as_string", directly below `within`.
    if (const std::size_t dot = place.field.rfind('.'); dot != std::string_view::npos) {
      const std::size_t depth = path_.size();
      return depth > 2 && path_[depth - 2].field == place.field.substr(0, dot) &&
             path_[depth - 3].field == place.within;
    }
    return place.within.empty() ||
           std::ranges::any_of(path_, [&](const Step& step) { return step.field == place.within; });
  }

  // Checks a text, or with `is_key` the name of a field in the object at the end of the path.
  void text(std::string_view text, bool is_key) {
    const std::string_view field = path_.back().has_names ? std::string_view() : path_.back().field;
    const auto found = by_field_.find(field);
    if (!field.empty() && found != by_field_.end()) {
      for (const TextPlace* place : found->second) {
        if (place->is_key != is_key || !is_within(*place)) continue;
        if (auto problem = problem_of(text, *place)) return fault(text, *std::move(problem));
      }
    }
    if (is_key) return;
    for (const TextPlace* place : others_) {
      if (path_.size() < 2 || path_[path_.size() - 2].field != place->within) continue;
      if (auto problem = problem_of(text, *place)) return fault(text, *std::move(problem));
    }
  }

  // Checks the format of a node that prints: its fields could look up attributes.
  void print(const JsonValue& node) {
    constexpr std::string_view kPrint = "torch.ops.higher_order.print";
    const JsonValue target = node.at("target"), inputs = node.at("inputs");
    bool is_format = target.is_string() && target.string() == kPrint;  // whether the next input has to be one
    bool is_plain = !is_format;
    if (!inputs.is_array()) return;
    for (const JsonValue input : inputs.items()) {
      const auto argument = input.is_object() ? input.find("arg") : std::nullopt;
      const auto text_of = [&](std::string_view field) -> std::optional<std::string_view> {
        const auto value = argument && argument->is_object() ? argument->find(field) : std::nullopt;
        if (!value || !value->is_string()) return std::nullopt;
        return value->string();
      };
      const auto text = text_of("as_string");
      if (is_format) is_plain = text && is_plain_format(*text);
      is_format = text_of("as_operator") == kPrint;  // with_effects(token, print, format, ...)
      if (is_format) is_plain = false;
    }
    if (!is_plain)
      fault(kPrint, {"it prints by a format that is not a text whose fields are its arguments alone"});
  }

  void fault(std::string_view text, Problem problem) {
    TextFault fault{problem.kind, "", std::string(text), "", "", std::move(problem.why)};
    for (const Step& step : path_) {
      if (step.field.empty()) continue;
      fault.place += (fault.place.empty() ? "" : ".") + short_line(step.field);
      if (step.index) fault.place += "[" + std::to_string(*step.index) + "]";
    }
    if (const auto name = node_ == nullptr ? std::nullopt : node_->find("name"); name && name->is_string())
      fault.node = name->string();
    if (const auto metadata = node_ == nullptr ? std::nullopt : node_->find("metadata");
        metadata && metadata->is_object()) {
      if (const auto stack = metadata->find("nn_module_stack"); stack && stack->is_string()) {
        const std::string_view item = stack->string().substr(stack->string().rfind(';') + 1);
        const std::string_view path = second_part(item);
        fault.module = path.substr(0, path.find(','));
      }
    }
    tell_(fault);
  }

  const TellTextFault& tell_;
  std::unordered_map<std::string_view, std::vector<const TextPlace*>> by_field_;
  std::vector<const TextPlace*> others_;
  std::vector<Step> path_{{}};
  const JsonValue* node_ = nullptr;
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

// Returns whether the part of a path under torch.ops is an attribute of Python's: of torch.ops itself, of a
// namespace or of an operator.
bool is_python_attribute(std::string_view part, std::size_t place) {
  constexpr std::array<std::string_view, 3> kAttributes = {
      "import_module load_library loaded_libraries _dir", "name _dir",
      "op op_overloads overloads _op _dir _schemas _overload_names _qualified_op_name _has_torchbind_op_overload"};
  return has_word(kAttributes[place], part);
}

}  // namespace

std::span<const TextPlace> text_places() { return kPlaces; }

void check_texts(const JsonValue& json, const TellTextFault& tell) { TextCheck(tell).value(json); }

std::optional<std::string> problem_of_target_text(std::string_view target) {
  constexpr std::string_view kOperators = "torch.ops.";
  const auto calls = [&](const char* what) {
    return "it calls " + short_line(target) + ", which is not " + what;
  };
  constexpr const char* kOperator = "an operator of torch";
  if (!target.starts_with(kOperators)) {
    // A Python function that torch finds by its name, an extension, or an unknown text.
    if (is_kept_function(target)) return std::nullopt;
    return calls(kOperator);
  }
  // A namespace, a name and maybe an overload.
  const std::string_view path = target.substr(kOperators.size());
  if (!is_dotted_name(path)) return calls("the name of an operator");
  std::array<std::string_view, 3> parts;
  std::size_t count = 0;
  bool is_operator = all_parts(path, '.', [&](std::string_view part) {
    if (count == parts.size() || part.empty() || is_python_attribute(part, count)) return false;
    parts[count++] = part;
    return true;
  });
  is_operator = is_operator && count >= 2 && !parts[0].starts_with("__") && !parts[2].starts_with("__");
  // Of names that Python gives a meaning, some are operators: aten.__and__.
  if (is_operator && parts[1].starts_with("__"))
    is_operator = !overloads(std::string(parts[0]) + "::" + std::string(parts[1])).empty();
  return is_operator ? std::nullopt : std::optional(calls(kOperator));
}

std::optional<std::string> problem_of_example_inputs(std::string_view pickle) {
  using Kind = PickleMachine::Kind;
  constexpr int kPickles = 5;  // of the legacy format of torch.save, one after the other
  std::size_t start = 0;
  for (int i = 0; i < kPickles && start < pickle.size(); ++i) {
    PickleMachine machine(pickle, start);
    machine.run(PickleMachine::kMaxOpcodes);
    start = machine.position();
    // Any text: a key may be part of a tuple, or stand in the arguments of the call that makes its dict.
    for (std::size_t id = 0; id < machine.value_count(); ++id) {
      const auto& value = machine.value(static_cast<PickleMachine::Id>(id));
      // Old opcodes have a line for a text, with escapes (\u0027).
      const auto has = [&](std::string_view part) { return value.text.find(part) != std::string_view::npos; };
      if ((value.kind == Kind::kString || value.kind == Kind::kBytes) &&
          (has("'") || has("\"") || has("\\u") || has("\\U")))
        return "its example inputs have the text '" + short_line(value.text) +
               "', and torch writes the keys of example inputs into the source of a guard, which it executes";
    }
  }
  return std::nullopt;
}

}  // namespace fxtrace::internal
