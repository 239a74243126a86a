#include "trace/options/option_table.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <ranges>
#include <utility>

#include "costs/custom_costs.h"
#include "passes/pass.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/glob.h"
#include "support/text/words.h"
#include "trace/options/input_spec.h"
#include "trace/options/option_json.h"
#include "trace/tracer/leaf_rules.h"

namespace fxtrace::internal {
namespace {

using Texts = std::vector<std::string>;

struct Reading {
  const OptionRow& row;
  OptionSource& source;
};

// --- one item of a list, from its text and as a text ---

// Returns the path of a library: a relative name is searched for in `folder`, then where the system searches.
std::string library_path(const std::string& name, const std::filesystem::path& folder) {
  std::error_code failed;
  const std::filesystem::path path(name);
  if (path.is_absolute()) return name;
  const auto here = folder / path;
  if (!std::filesystem::exists(here, failed)) return name;
  return here.has_parent_path() ? here.string() : "./" + here.string();
}

void read(const std::string& text, const Reading& how, std::string& value) {
  if (how.row.check != nullptr) how.row.check(text);
  if (how.row.kind != OptionKind::kLibraries) {
    value = text;
    return;
  }
  value = library_path(text, how.source.folder);
  std::error_code failed;
  const bool is_of_file = how.source.read_file == nullptr;
  if (is_of_file && value.find('/') != std::string::npos && !std::filesystem::exists(value, failed))
    throw usage_error(how.row.name + ": cannot load " + value + ": no such file");
}
std::string shown(const std::string& value, const OptionRow& row) {
  return row.kind == OptionKind::kLibraries ? value.substr(value.find_last_of('/') + 1) : value;
}

void read(const std::string& text, const Reading& how, LeafRule& value) {
  value = LeafRule(text, how.row.given);
}
std::string shown(const LeafRule& value, const OptionRow&) { return value.text; }

void read(const std::string& text, const Reading& how, WrapRule& value) {
  const Glob check(text);
  value = {text, how.row.given};
}
std::string shown(const WrapRule& value, const OptionRow&) { return value.glob; }

// Reads "flag=true" or "state=@state.json".
void read(const std::string& text, const Reading& how, ConcreteArg& value) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw usage_error("--concrete: expected NAME=VALUE, got '" + text + "'",
                      {"VALUE is JSON: --concrete training=false --concrete 'mode=\"fast\"'"});
  }
  value.name = text.substr(0, equals);
  std::string json = text.substr(equals + 1);
  if (json.starts_with('@')) json = how.source.read_file(json.substr(1));
  value.value = parse_concrete(json, "--concrete " + shell_word(value.name));
}
std::string shown(const ConcreteArg& value, const OptionRow&) {
  return value.name + "=" +
         json_text(JsonLayout::kCompact, [&](JsonEmitter& json) { write_value(value.value, json); });
}

void read(const std::string& text, const Reading& how, InputSpec& value) {
  value = read_input_spec(text, how.source.inputs_by_position);
  if (text.find('=') == std::string::npos) ++how.source.inputs_by_position;
}
std::string shown(const InputSpec& value, const OptionRow&) { return value.name + "=" + value.text; }

void read(const std::string& text, const Reading&, DimensionRange& value) {
  value = read_dimension_range(text);
}
std::string shown(const DimensionRange& value, const OptionRow&) {
  return value.name + "=" + range_text(value);
}

void read(const std::string& text, const Reading&, CustomCost& value) { value = read_custom_cost(text); }
std::string shown(const CustomCost& value, const OptionRow&) { return value.name + "=" + value.text; }

// --- members, from a text and as texts ---

// Splits "x,y", and leaves out empty parts.
Texts split(const std::string& text, char between) {
  Texts parts;
  for (const auto part : std::views::split(text, between)) {
    if (!part.empty()) parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

void read(const std::string& text, const Reading& how, bool& value) {
  value = text.empty() ? how.row.given : text == "true";
}
Texts texts(bool value, const OptionRow&) { return {value ? "true" : "false"}; }

void read(const std::string& text, const Reading&, std::int64_t& value) { value = std::stoll(text); }
Texts texts(std::int64_t value, const OptionRow&) { return {std::to_string(value)}; }

Texts texts(const std::string& value, const OptionRow&) { return {value}; }

template <class T>
  requires std::is_enum_v<T>
void read(const std::string& text, const Reading& how, T& value) {
  value = static_cast<T>(std::ranges::find(how.row.choices, text) - how.row.choices.begin());
}
template <class T>
  requires std::is_enum_v<T>
Texts texts(T value, const OptionRow& row) {
  return {row.choices[static_cast<std::size_t>(value)]};
}

void read(const std::string& text, const Reading&, std::optional<Texts>& value) { value = split(text, ','); }
Texts texts(const std::optional<Texts>& value, const OptionRow&) {
  return value ? Texts{joined(*value, {}, ",")} : Texts();
}

template <class T>
void read(const std::string& text, const Reading& how, std::optional<T>& value) {
  read(text, how, value.emplace());
}
template <class T>
Texts texts(const std::optional<T>& value, const OptionRow& row) {
  return value ? texts(*value, row) : Texts();
}

template <class T>
void read(const std::string& text, const Reading& how, std::vector<T>& value) {
  T item;
  read(text, how, item);
  value.push_back(std::move(item));
}
template <class T>
std::vector<T> merged(std::vector<T> values) {
  return values;
}
// Returns each name once, with the intersection of its ranges.
std::vector<DimensionRange> merged(const std::vector<DimensionRange>& ranges) {
  std::vector<DimensionRange> result;
  for (const DimensionRange& range : ranges) {
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&](const DimensionRange& other) { return other.name == range.name; });
    if (same == result.end()) {
      result.push_back(range);
      continue;
    }
    if (range.low) same->low = std::max(*range.low, same->low.value_or(*range.low));
    if (range.high) same->high = std::min(*range.high, same->high.value_or(*range.high));
  }
  return result;
}

template <class T>
Texts texts(const std::vector<T>& value, const OptionRow& row) {
  Texts all;
  for (const T& item : merged(value)) all.push_back(shown(item, row));
  return all;
}

// Calls f for the value of the option, if it is one member.
template <class C, class F>
void with_value(const OptionRow& row, C& config, const F& f) {
  std::visit(
      [&](auto member) {
        if constexpr (requires { config.*member; }) {
          f(config.*member);
        } else if constexpr (requires { config.options.*member; }) {
          f(config.options.*member);
        } else if constexpr (requires { config.options.limits.*member; }) {
          f(config.options.limits.*member);
        }
      },
      row.member);
}

void check_pass(const std::string& name) {
  if (find_pass(name) == nullptr)
    throw usage_error("--pass: there is no pass '" + name + "'", {"fxtrace trace --list-passes lists them"});
}

void check_schema(const std::string& schema) {
  parse_op_schema(schema, [](const std::string& name) { return torchscript::var_type(name); });
}

// --- the table ---

// The commands that trace operators alone, without leaves.
constexpr std::string_view kOperatorsOnly = "convert partition";

std::vector<OptionRow> make_table() {
  using enum OptionKind;
  std::vector<OptionRow> rows{
      {"--method NAME", kWhatIsTraced, "convert", kText, &TraceOptions::method,
       "the method of the root to trace; default forward"},
      {"--model NAME", kWhatIsTraced, "", kText, &TraceOptions::model,
       "the model to trace, in an archive of several exported programs"},
      {"rules", kLeaves, "", kRules, std::monostate(), ""},
      {"--leaf RULE", kLeaves, kOperatorsOnly, kRule, &TraceOptions::leaf_rules,
       "keep matching modules as leaves; RULE is TYPE, @PATH or TYPE@PATH, globs over the module's type (or "
       "its public alias) and path: * matches within one dotted part, ** across parts. Repeatable; the last "
       "rule that matches a module decides"},
      {"--no-leaf RULE", kLeaves, kOperatorsOnly, kRule, &TraceOptions::leaf_rules,
       "trace into matching modules"},
      {"--flat, --no-default-leaves", kLeaves, kOperatorsOnly, kFlag, &TraceOptions::default_leaves,
       "trace down to operators: without the default rule, which makes modules of torch.nn and torch.ao.nn leaves, "
       "except Sequential"},
      {"--max-depth N", kLeaves, kOperatorsOnly, kInteger, &TraceOptions::max_depth,
       "keep modules N levels below the root as leaves"},
      {"--wrap GLOB", kLeaves, kOperatorsOnly, kRule, &TraceOptions::wrap_rules,
       "keep calls of matching script functions as one call_function, as is the default for those of "
       "torch.nn.functional and torch.functional. Repeatable"},
      {"--no-wrap GLOB", kLeaves, kOperatorsOnly, kRule, &TraceOptions::wrap_rules,
       "trace into matching functions"},
      {"--hooks run|skip", kWhatIsTraced, kOperatorsOnly, kChoice, &TraceOptions::hooks,
       "trace forward hooks (default), or skip them"},
      {"--concrete NAME=VALUE", kWhatIsTraced, "", kJsonByName, &TraceOptions::concrete,
       "fix an input of the root: VALUE is JSON, or @FILE to read it from a file; each \"$PH\" in it remains "
       "an input, named by its place: x_key_0. Repeatable",
       "inputs and their values"},
      {"--input-names A,B", kWhatIsTraced, "", kNames, &TraceOptions::input_names,
       "only these inputs of the root remain; the others take their defaults, or None"},
      {"--input NAME=SPEC", kShapes, "", kByName, &TraceOptions::inputs,
       "a dummy input of the root, for shapes: 'x=float32[1,batch,224]', whose sizes are numbers, names or "
       "expressions of names, followed by @cuda:0 for a device; for an integer input just a size: n=seq. "
       "NAME is a path (past.0.k); without it, inputs are matched by position. Repeatable",
       "inputs and their specs"},
      {"--dim NAME=LO..HI", kShapes, "", kByName, &TraceOptions::dimensions,
       "the range of a named dimension: 1..64, 1.., ..64 or 8; default 0... For an exported program, narrows "
       "an existing dimension. Repeatable",
       "dimensions and their ranges"},
      {"--defaults needed|never", kWhatIsTraced, "", kChoice, &TraceOptions::defaults,
       "an input that control flow depends on, and that no option mentions, takes its default (needed, the "
       "default), or fails the module that depends on it (never)"},
      {"--control-flow fail|subgraph", kWhatIsTraced, kOperatorsOnly, kChoice, &TraceOptions::control_flow,
       "the effect of an `if` or a loop that depends on data: its module fails and becomes a leaf (default), "
       "or it becomes a node higher_order.cond or higher_order.while_loop with subgraphs"},
      {"--param-shapes-constant", kShapes, "", kFlag, &TraceOptions::param_shapes_constant,
       "treat sizes of parameters and buffers as plain values"},
      {"--op-library LIB", kOperators, "", kLibraries, &TraceOptions::op_libraries,
       "load a library that registers operators. Repeatable"},
      {"--op-schema SCHEMA", kOperators, "", kRepeatable, &TraceOptions::op_schemas,
       "declare an operator without loading it: 'my::op(Tensor x, int n) -> Tensor'. Repeatable", "",
       Limit::kOther, check_schema},
      {"--cost NS::OP=EXPR", kOperators, "convert", kByName, &TraceOptions::custom_costs,
       "the MACs of an operator, for costs: 'my::op=numel(out)*in0.size(-1)', Python over its arguments in0, in1, ... and "
       "its results out, out0, ...; EXPR knows numel(x), x.size(i), x.shape[i], len(x), min, max and integers. "
       "Repeatable",
       "operators and their costs"},
      {"--config FILE", kWhatIsTraced, "", kConfigFile, std::monostate(),
       "any of these options from a JSON file, rules with conditions among them; options of the command line "
       "come after those of the file"},
      {"--strict", kWhatIsTraced, "", kFlag, &Config::strict,
       "fail for what could not be done, with the rest written: exit with code 4 if any module failed to trace, or "
       "if an in-place write remains that a pass should have removed; and with 2 if a rule or --concrete does "
       "nothing"},
      {"--max-iterations N", kLimits, "", kInteger, &Limits::iterations,
       "loop iterations and function calls in one call of a module", "", Limit::kIterations},
      {"--max-nodes N", kLimits, "", kInteger, &Limits::nodes, "nodes and module calls in one graph", "",
       Limit::kNodes},
      {"--max-call-depth N", kLimits, "", kInteger, &Limits::call_depth,
       "nested calls of modules, methods and functions", "", Limit::kCallDepth},
      {"--pass NAME", kPasses, "why summary", kRepeatable, &Config::passes,
       "run a graph pass; --list-passes lists them. Repeatable", "", Limit::kOther, check_pass},
  };
  for (OptionRow& row : rows) {
    if (row.limit != Limit::kOther) row.help += "; default " + texts_of(row, {}).front();
  }
  return rows;
}

}  // namespace

OptionRow::OptionRow(std::string_view text, OptionGroup in, std::string_view without, OptionKind form,
                     OptionMember place, std::string about, const char* of, Limit most,
                     void (*its_check)(const std::string&))
    : name(text.substr(0, text.find_first_of(", "))),
      group(in),
      not_for(without),
      kind(form),
      member(place),
      help(std::move(about)),
      items(of),
      limit(most),
      check(its_check),
      least(most == Limit::kOther ? 0 : 1),
      given(text.find("--no-") == std::string_view::npos) {
  const std::size_t comma = text.find(", ");
  if (comma != std::string_view::npos) other_name = text.substr(comma + 2);
  if (comma == std::string_view::npos && name.size() < text.size()) type = text.substr(name.size() + 1);
  if (kind == OptionKind::kChoice) choices = split(type, '|');
  if (kind != OptionKind::kConfigFile)
    key = (other_name.empty() ? name : other_name)
              .substr(kind == OptionKind::kRules            ? 0
                      : kind == OptionKind::kFlag && !given ? 5
                                                            : 2);
  std::ranges::replace(key, '-', '_');
  if (kind == OptionKind::kRules) name.clear();
}

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = make_table();
  return table;
}

std::vector<std::string> texts_of(const OptionRow& row, const Config& config) {
  Texts all;
  with_value(row, config, [&](const auto& value) { all = texts(value, row); });
  return all;
}

torchscript::FunctionSchema parse_op_schema(const std::string& schema,
                                            const torchscript::ResolveClass& resolve) {
  try {
    return torchscript::parse_function_schema(schema, resolve);
  } catch (const Error& error) {
    throw usage_error("--op-schema: invalid operator schema " + shell_quoted(schema) + ": " + error.what(),
                      {"a schema looks like 'pkg::op(Tensor x, int n=1, *, bool flag=False) -> Tensor'"});
  }
}

std::string naming_option(const std::string& message, Limit limit) {
  const auto row = std::ranges::find(option_table(), limit, &OptionRow::limit);
  return limit == Limit::kOther ? message : message + " (" + row->name + ")";
}

void set_option(const OptionRow& row, const std::string& text, OptionSource& source, Config& config) {
  with_value(row, config, [&](auto& value) { read(text, {row, source}, value); });
}

void set_option(std::string_view name, const std::string& text, Config& config) {
  OptionSource source;
  for (const OptionRow& row : option_table()) {
    if (row.name == name) set_option(row, text, source, config);
  }
}

void read_option(const OptionRow& row, const JsonValue& value, OptionSource& source, Config& config) {
  const auto read = [&](const std::string& text) { set_option(row, text, source, config); };
  switch (row.kind) {
    case OptionKind::kFlag:
      return read(read_boolean(value) ? "true" : "false");
    case OptionKind::kInteger:
      return read(std::to_string(read_integer(value, row.least)));
    case OptionKind::kChoice:
      return read(read_choice(value, row.choices));
    case OptionKind::kText:
      return read(read_string(value));
    case OptionKind::kNames: {
      Texts names;
      for_each_string(value, [&](auto, const std::string& name) { names.push_back(name); });
      return read(joined(names, {}, ","));
    }
    case OptionKind::kRepeatable:
    case OptionKind::kLibraries:
    case OptionKind::kRule:
      return for_each_string(
          value, [&](JsonValue item, const std::string& text) { at_place_of(item, [&] { read(text); }); });
    case OptionKind::kByName:
    case OptionKind::kJsonByName:
      for (const JsonValue field : object_fields(value, std::string("an object: ") + row.items)) {
        const std::string name(field.key());
        if (name.find('=') != std::string::npos) field.fail_at_key("a name has no '='");
        const std::string text =
            row.kind == OptionKind::kByName
                ? read_string(field)
                : json_text(JsonLayout::kCompact, [&](JsonEmitter& json) { field.write(json); });
        at_place_of(field, [&] { read(name + "=" + text); });
      }
      return;
    case OptionKind::kRules:
      for (const JsonValue rule : array_items(value, "an array of rules")) read_rule(rule, config.options);
      return;
    case OptionKind::kConfigFile:
      return;
  }
}

void write_option(const OptionRow& row, const Config& config, JsonEmitter& json) {
  if (row.kind == OptionKind::kRules) return write_rules(config.options, row.key.c_str(), json);
  const Texts texts = texts_of(row, config);
  if (row.key.empty() || row.kind == OptionKind::kRule || texts == texts_of(row, {})) return;
  switch (row.kind) {
    case OptionKind::kFlag:
    case OptionKind::kInteger:
      return json.key(row.key).raw(texts.front());
    case OptionKind::kNames:
      return json.field(row.key, split(texts.front(), ','));
    case OptionKind::kRepeatable:
    case OptionKind::kLibraries:
    case OptionKind::kRule:
      return json.field(row.key, texts);
    case OptionKind::kByName:
    case OptionKind::kJsonByName:
      return json.key(row.key).object([&] {
        // A repeated name is written once, at its first position and with its last value.
        std::map<std::string, std::string> values;
        for (const std::string& text : texts) values[text.substr(0, text.find('='))] = text;
        for (const std::string& text : texts) {
          const auto value = values.extract(text.substr(0, text.find('=')));
          if (value.empty()) continue;
          const std::string last = value.mapped().substr(value.key().size() + 1);
          row.kind == OptionKind::kByName ? json.key(value.key()).string(last)
                                          : json.key(value.key()).raw(last);
        }
      });
    default:
      return json.field(row.key, texts.front());
  }
}

}  // namespace fxtrace::internal
