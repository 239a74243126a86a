#include "trace/options/option_table.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "costs/custom_costs.h"
#include "support/error.h"
#include "support/text/glob.h"
#include "support/text/shell_word.h"
#include "trace/options/config_values.h"
#include "trace/options/input_spec.h"
#include "trace/options/rule_json.h"
#include "trace/tracer/leaf_rules.h"

namespace fxtrace {
namespace {

using OptionKind = OptionValue::Kind;

// --- options that are one member ---

template <class C, class T>
auto& get(C& config, T Config::* member) {
  return config.*member;
}
template <class C, class T>
auto& get(C& config, T TraceOptions::* member) {
  return config.options.*member;
}
template <class C, class T>
auto& get(C& config, T Limits::* member) {
  return config.options.limits.*member;
}

template <class Member, class Shown = std::identity>
auto write_unless_default(Member member, const Shown& shown = {}) {
  return [member, shown](const Config& config, const char* name, JsonEmitter& json) {
    const Config defaults;
    if (get(config, member) != get(defaults, member)) json.field(name, shown(get(config, member)));
  };
}

template <class Member, class FromText, class FromJson, class Shown = std::identity>
OptionValue single(OptionKind kind, Member member, const FromText& from_text, const FromJson& from_json,
                   const Shown& shown = {}) {
  return {.kind = kind,
          .from_text = [=](Config& config, const std::string& text,
                           auto&) { get(config, member) = from_text(text); },
          .from_json = [=](Config& config, const JsonValue& value,
                           auto&) { get(config, member) = from_json(value); },
          .to_json = write_unless_default(member, shown)};
}

// `given` is the value that the flag sets on the command line.
template <class Member>
OptionValue flag(Member member, bool given = true) {
  return single(OptionKind::kFlag, member, [=](const std::string&) { return given; }, read_boolean);
}

template <class Member>
OptionValue integer(std::int64_t least, Member member) {
  OptionValue value = single(
      OptionKind::kInteger, member, [](const std::string& text) { return std::stoll(text); },
      [=](const JsonValue& json) { return read_integer(json, least); });
  value.least = least;
  return value;
}

template <class Member>
OptionValue text(Member member) {
  return single(OptionKind::kText, member, [](const std::string& text) { return text; }, read_string);
}

// `choices` are the words for the enumerators, in their order; the first is the default.
template <class Enum>
OptionValue choice(const std::vector<std::string>& choices, Enum TraceOptions::* member) {
  const auto of_word = [=](const std::string& word) {
    return static_cast<Enum>(std::find(choices.begin(), choices.end(), word) - choices.begin());
  };
  OptionValue value = single(
      OptionKind::kChoice, member, of_word,
      [=](const JsonValue& json) { return of_word(read_choice(json, choices)); },
      [=](Enum enumerator) { return choices[static_cast<std::size_t>(enumerator)]; });
  value.choices = choices;
  return value;
}

// Splits "x,y" at commas.
std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    if (comma > start) names.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return names;
}

std::vector<std::string> read_strings(const JsonValue& value) {
  std::vector<std::string> strings;
  for_each_string(value, [&](auto, const std::string& text) { strings.push_back(text); });
  return strings;
}

// --- lists of texts ---

// add(config, text, source) may throw Error.
template <class Add, class ToJson = std::nullptr_t>
OptionValue texts(Add add, ToJson to_json = {}) {
  return {.kind = OptionKind::kRepeatable,
          .from_text = add,
          .from_json =
              [=](Config& config, const JsonValue& value, const OptionSource& source) {
                for_each_string(value, [&](JsonValue item, const std::string& text) {
                  at_place_of(item, [&] { add(config, text, source); });
                });
              },
          .to_json = to_json};
}

OptionValue leaf_rules(bool leaf) {
  return texts([=](Config& config, const std::string& text, auto&) {
    config.options.leaf_rules.push_back(parse_leaf_rule(text, leaf));
  });
}

OptionValue wrap_rules(bool wrap) {
  return texts([=](Config& config, const std::string& text, auto&) {
    Glob check(text);
    config.options.wrap_rules.push_back({text, wrap});
  });
}

OptionValue op_schemas() {
  return texts(
      [](Config& config, const std::string& text, auto&) { config.options.op_schemas.push_back(text); },
      write_unless_default(&TraceOptions::op_schemas));
}

OptionValue pass_names() {
  return texts([](Config& config, const std::string& name, auto&) { config.passes.push_back(name); },
               write_unless_default(&Config::passes));
}

// Returns the path of a library: a relative name is searched for in `folder`, then where the system searches.
std::string library_path(const std::string& name, const std::filesystem::path& folder) {
  std::error_code failed;
  const std::filesystem::path path(name);
  if (path.is_absolute()) return name;
  const auto here = folder / path;
  if (!std::filesystem::exists(here, failed)) return name;
  return here.has_parent_path() ? here.string() : "./" + here.string();
}

OptionValue op_libraries() {
  return texts(
      [](Config& config, const std::string& name, const OptionSource& source) {
        config.options.op_libraries.push_back(library_path(name, source.folder));
      },
      [](const Config& config, const char* name, JsonEmitter& json) {
        const auto& libraries = config.options.op_libraries;
        if (libraries.empty()) return;
        json.key(name).list(libraries, [&](const std::string& library) {
          json.string(library.substr(library.find_last_of('/') + 1));  // the whole text when it has no folder
        });
      });
}

// --- rules with conditions, only in configuration files ---

OptionValue rules() {
  return {.from_json =
              [](Config& config, const JsonValue& value, auto&) {
                for (const JsonValue item : array_items(value, "an array of rules")) {
                  read_rule(item, config.options);
                }
              },
          .to_json = [](const Config& config, const char* name,
                        JsonEmitter& json) { write_rules(config.options, name, json); }};
}

// --- values by name: NAME=VALUE on the command line, an object in a file ---

// `what` names the object in messages; add(config, field) adds one field of it, items(config) returns all
// items, and write(item, json) writes the value of one.
template <class FromText, class Add, class Items, class Write>
OptionValue by_name(FromText from_text, const std::string& what, Add add, Items items, Write write) {
  return {.kind = OptionKind::kRepeatable,
          .from_text = from_text,
          .from_json =
              [=](Config& config, const JsonValue& value, auto&) {
                for (const JsonValue field : object_fields(value, what)) add(config, field);
              },
          .to_json =
              [=](const Config& config, const char* name, JsonEmitter& json) {
                const auto all = items(config);
                if (all.empty()) return;
                json.key(name).object([&] {
                  // A repeated name is written once, at its first position and with its last value.
                  std::unordered_map<std::string_view, std::size_t> last;
                  for (std::size_t i = 0; i < all.size(); ++i) last[all[i].name] = i;
                  for (const auto& item : all) {
                    const auto value = last.extract(item.name);
                    if (value.empty()) continue;
                    json.key(item.name);
                    write(all[value.mapped()], json);
                  }
                });
              }};
}

// Reads "flag=true" or "state=@state.json".
ConcreteArg read_concrete(const std::string& text, const OptionSource& source) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw usage_error("--concrete: expected NAME=VALUE, got '" + text + "'",
                      {"VALUE is JSON: --concrete training=false --concrete 'mode=\"fast\"'"});
  }
  ConcreteArg concrete{text.substr(0, equals), {}};
  std::string value = text.substr(equals + 1);
  if (value.starts_with("@")) value = source.read_file(value.substr(1));
  concrete.value = parse_concrete(value, "--concrete " + shell_word(concrete.name));
  return concrete;
}

OptionValue concrete() {
  return by_name([](Config& config, const std::string& text,
                    OptionSource& source) { config.options.concrete.push_back(read_concrete(text, source)); },
                 "an object: inputs and their values",
                 [](Config& config, const JsonValue& field) {
                   config.options.concrete.push_back({std::string(field.key()), read_argument(field)});
                 },
                 [](const Config& config) { return config.options.concrete; },
                 [](const ConcreteArg& concrete, JsonEmitter& json) { write_value(concrete.value, json); });
}

OptionValue inputs() {
  return by_name(
      [](Config& config, const std::string& text, OptionSource& source) {
        config.options.inputs.push_back(read_input_spec(text, source.inputs_by_position));
        if (text.find('=') == std::string::npos) ++source.inputs_by_position;
      },
      "an object: inputs and their specs",
      [](Config& config, const JsonValue& field) {
        const std::string spec = read_string(field);
        at_place_of(field, [&] { config.options.inputs.push_back(make_input_spec(field.key(), spec)); });
      },
      [](const Config& config) { return config.options.inputs; },
      [](const InputSpec& input, JsonEmitter& json) { json.string(input.text); });
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

OptionValue dimensions() {
  return by_name([](Config& config, const std::string& text,
                    auto&) { config.options.dimensions.push_back(read_dimension_range(text)); },
                 "an object: dimensions and their ranges",
                 [](Config& config, const JsonValue& field) {
                   const std::string range = read_string(field);
                   at_place_of(field, [&] {
                     config.options.dimensions.push_back(make_dimension_range(field.key(), range));
                   });
                 },
                 [](const Config& config) { return merged(config.options.dimensions); },
                 [](const DimensionRange& range, JsonEmitter& json) { json.string(range_text(range)); });
}

OptionValue custom_costs() {
  return by_name([](Config& config, const std::string& text,
                    auto&) { config.options.custom_costs.push_back(read_custom_cost(text)); },
                 "an object: operators and their costs",
                 [](Config& config, const JsonValue& field) {
                   const std::string cost = read_string(field);
                   at_place_of(field, [&] {
                     config.options.custom_costs.push_back(make_custom_cost(field.key(), cost));
                   });
                 },
                 [](const Config& config) { return config.options.custom_costs; },
                 [](const CustomCost& cost, JsonEmitter& json) { json.string(cost.text); });
}

// --- the table ---

std::string with_default(const std::string& help, std::int64_t Limits::* limit) {
  return help + "; default " + std::to_string(Limits().*limit);
}

std::vector<OptionRow> make_table() {
  return {
      {"method", "--method", "NAME", kWhatIsTraced, "the method of the root to trace; default forward",
       text(&TraceOptions::method)},
      {"model", "--model", "NAME", kWhatIsTraced,
       "the model to trace, in an archive of several exported programs", text(&TraceOptions::model)},

      {"rules", nullptr, nullptr, kLeaves, "", rules()},
      {"leaf", "--leaf", "RULE", kLeaves,
       "keep matching modules as leaves; RULE is TYPE, @PATH or TYPE@PATH, globs over the module's type (or "
       "its public alias) and path: * matches within one dotted part, ** across parts. Repeatable; the last "
       "rule that matches a module decides",
       leaf_rules(true), "rules"},
      {"no_leaf", "--no-leaf", "RULE", kLeaves, "trace into matching modules", leaf_rules(false), "rules"},
      {"default_leaves", "--no-default-leaves", nullptr, kLeaves,
       "drop the default rule, which makes modules of torch.nn and torch.ao.nn leaves, except Sequential",
       flag(&TraceOptions::default_leaves, false)},
      {"max_depth", "--max-depth", "N", kLeaves, "keep modules N levels below the root as leaves",
       integer(0, &TraceOptions::max_depth)},
      {"wrap", "--wrap", "GLOB", kLeaves,
       "keep calls of matching script functions as one call_function, as is the default for those of "
       "torch.nn.functional and torch.functional. Repeatable",
       wrap_rules(true), "rules"},
      {"no_wrap", "--no-wrap", "GLOB", kLeaves, "trace into matching functions", wrap_rules(false), "rules"},

      {"hooks", "--hooks", "run|skip", kWhatIsTraced, "trace forward hooks (default), or skip them",
       choice({"run", "skip"}, &TraceOptions::hooks)},
      {"concrete", "--concrete", "NAME=VALUE", kWhatIsTraced,
       "fix an input of the root: VALUE is JSON, or @FILE to read it from a file; each \"$PH\" in it remains "
       "an input, named by its place: x_key_0. Repeatable",
       concrete()},
      {"input_names", "--input-names", "A,B", kWhatIsTraced,
       "only these inputs of the root remain; the others take their defaults, or None",
       single(OptionKind::kText, &TraceOptions::input_names, split_names, read_strings)},
      {"input", "--input", "NAME=SPEC", kShapes,
       "a dummy input of the root, for shapes: 'x=float32[1,batch,224]', whose sizes are numbers, names or "
       "expressions of names, followed by @cuda:0 for a device; for an integer input just a size: n=seq. "
       "NAME is a path (past.0.k); without it, inputs are matched by position. Repeatable",
       inputs()},
      {"dim", "--dim", "NAME=LO..HI", kShapes,
       "the range of a named dimension: 1..64, 1.., ..64 or 8; default 0... For an exported program, narrows "
       "an existing dimension. Repeatable",
       dimensions()},
      {"defaults", "--defaults", "needed|never", kWhatIsTraced,
       "an input that control flow depends on, and that no option mentions, takes its default (needed, the "
       "default), or fails the module that depends on it (never)",
       choice({"needed", "never"}, &TraceOptions::defaults)},
      {"control_flow", "--control-flow", "fail|subgraph", kWhatIsTraced,
       "the effect of an `if` or a loop that depends on data: its module fails and becomes a leaf (default), "
       "or it becomes a node higher_order.cond or higher_order.while_loop with subgraphs",
       choice({"fail", "subgraph"}, &TraceOptions::control_flow)},
      {"param_shapes_constant", "--param-shapes-constant", nullptr, kShapes,
       "treat sizes of parameters and buffers as plain values", flag(&TraceOptions::param_shapes_constant)},

      {"op_library", "--op-library", "LIB", kOperators, "load a library that registers operators. Repeatable",
       op_libraries()},
      {"op_schema", "--op-schema", "SCHEMA", kOperators,
       "declare an operator without loading it: 'my::op(Tensor x, int n) -> Tensor'. Repeatable",
       op_schemas()},

      {"cost", "--cost", "NS::OP=EXPR", kOperators,
       "the MACs of an operator, for costs: 'my::op=numel(out)*in0.size(-1)', Python over its arguments in0, in1, ... and "
       "its results out, out0, ...; EXPR knows numel(x), x.size(i), x.shape[i], len(x), min, max and integers. "
       "Repeatable",
       custom_costs()},

      {nullptr,
       "--config",
       "FILE",
       kWhatIsTraced,
       "any of these options from a JSON file, rules with conditions among them; options of the command line "
       "come after those of the file",
       {.kind = OptionKind::kConfigFile}},
      {"strict", "--strict", nullptr, kWhatIsTraced,
       "exit with code 4 if any module failed to trace, or if an in-place write remains that a pass should have "
       "removed (the output is written all the same), and with 2 if a rule or --concrete does nothing",
       flag(&Config::strict)},

      {"max_iterations", "--max-iterations", "N", kLimits,
       with_default("loop iterations and function calls in one call of a module", &Limits::iterations),
       integer(1, &Limits::iterations)},
      {"max_nodes", "--max-nodes", "N", kLimits,
       with_default("nodes and module calls in one graph", &Limits::nodes), integer(1, &Limits::nodes)},
      {"max_call_depth", "--max-call-depth", "N", kLimits,
       with_default("nested calls of modules, methods and functions", &Limits::call_depth),
       integer(1, &Limits::call_depth)},

      {"pass", "--pass", "NAME", kPasses, "run a graph pass; --list-passes lists them. Repeatable",
       pass_names()},
  };
}

}  // namespace

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = make_table();
  return table;
}

}  // namespace fxtrace
