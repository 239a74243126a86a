#include "app/trace_options.h"

#include <algorithm>
#include <filesystem>
#include <functional>

#include <CLI/CLI.hpp>

#include "app/checks.h"
#include "app/files.h"
#include "support/error.h"
#include "support/glob.h"
#include "trace/input_spec.h"
#include "trace/leaf_rules.h"

namespace fxtrace::cli {
namespace {

// A library named without a folder is looked for here first, then where the system looks.
std::string library_path(const std::string& name, const std::filesystem::path& folder) {
  std::error_code failed;
  const std::filesystem::path path(name);
  if (path.is_absolute()) return name;
  const auto here = folder / path;
  if (!std::filesystem::exists(here, failed)) return name;
  return here.has_parent_path() ? here.string() : "./" + here.string();
}

// "flag=true", "state=@state.json".
ConcreteArg read_concrete(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw usage_error("--concrete: expected NAME=VALUE, got '" + text + "'",
                      {"VALUE is JSON: --concrete training=false --concrete 'mode=\"fast\"'"});
  }
  ConcreteArg concrete{text.substr(0, equals), {}};
  std::string value = text.substr(equals + 1);
  if (value.starts_with("@")) value = read_small_file(value.substr(1));
  concrete.value = parse_concrete(value, "--concrete " + concrete.name);
  return concrete;
}

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

}  // namespace

void TraceArguments::add_to(CLI::App& app) {
  // Options that may be repeated are taken down as they come, which keeps the order across options.
  const auto repeatable = [&](const char* name, const char* type, const char* group, const char* description,
                              const std::function<void(const std::string&)>& add) {
    app.add_option_function<std::string>(name, add, description)
        ->type_name(type)
        ->group(group)
        ->trigger_on_parse();
  };
  const auto rule = [&](const char* name, const char* type, const char* group, const char* description,
                        Rule::Kind kind) {
    repeatable(name, type, group, description,
               [this, kind](const std::string& text) { rules_.push_back({kind, text}); });
  };
  const auto single = [&](const char* name, auto& target, const char* type, const char* group,
                          const char* description) {
    return app.add_option(name, target, description)
        ->type_name(type)
        ->group(group)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  };

  const char* what = "What is traced";
  single("--method", method_, "NAME", what, "which method of the root to trace; default forward");
  single("--model", model_, "NAME", what, "which model, for an archive of several exported programs");
  single("--hooks", hooks_, "run|skip", what, "trace forward hooks (default), or skip them")
      ->check(one_of({"run", "skip"}));
  repeatable(
      "--concrete", "NAME=VALUE", what,
      "fix an input of the root: VALUE is JSON, or @FILE to read it from a file; each \"$PH\" in it remains an "
      "input, named by its place: x_key_0. Repeatable",
      [this](const std::string& text) { concrete_.push_back(text); });
  single("--input-names", input_names_, "A,B", what,
         "only these inputs of the root remain; the others take their defaults, or None");
  single(
      "--defaults", defaults_, "needed|never", what,
      "an input that control flow asks about, and of which no option speaks, takes its default (needed, the "
      "default), or makes the module fail that asks (never)")
      ->check(one_of({"needed", "never"}));
  single("--config", config_file_, "FILE", what,
         "any of these options from a JSON file, rules with conditions among them; options of the command "
         "line come "
         "after those of the file");
  app.add_flag(
         "--strict", strict_,
         "exit with code 4 if any module failed to trace (the output is written all the same), and with 2 "
         "if a rule or --concrete does nothing")
      ->group(what);

  const char* shapes = "Shapes";
  repeatable(
      "--input", "NAME=SPEC", shapes,
      "a dummy input of the root, for shapes: 'x=float32[1,batch,224]', whose sizes are numbers, names or "
      "expressions of names, followed by @cuda:0 for a device; for an integer input just a size: n=seq. NAME "
      "is a path (past.0.k); without it, inputs are matched by position. Repeatable",
      [this](const std::string& text) { inputs_.push_back(text); });
  repeatable(
      "--dim", "NAME=LO..HI", shapes,
      "the range of a named dimension: 1..64, 1.., ..64 or 8; default 0... For an exported program, narrows "
      "an existing dimension. Repeatable",
      [this](const std::string& text) { dimensions_.push_back(text); });
  app.add_flag("--param-shapes-constant", param_shapes_constant_,
               "treat sizes of parameters and buffers as plain values")
      ->group(shapes);

  const char* leaves = "Leaves (kept as a single call)";
  rule(
      "--leaf", "RULE", leaves,
      "keep matching modules as leaves; RULE is TYPE, @PATH or TYPE@PATH, globs over the module's type (or its "
      "public alias) and path: * matches within one dotted part, ** across parts. Repeatable; the last rule "
      "that matches a module decides",
      Rule::Kind::kLeaf);
  rule("--no-leaf", "RULE", leaves, "trace into matching modules", Rule::Kind::kNoLeaf);
  app.add_flag(
         "--no-default-leaves", no_default_leaves_,
         "drop the default rule, which makes modules of torch.nn and torch.ao.nn leaves, except Sequential")
      ->group(leaves);
  single("--max-depth", max_depth_, "N", leaves, "keep modules N levels below the root as leaves")
      ->check(integer_from(0));
  rule("--wrap", "GLOB", leaves,
       "keep calls of matching script functions as one call_function, as is the default for those of "
       "torch.nn.functional and torch.functional. Repeatable",
       Rule::Kind::kWrap);
  rule("--no-wrap", "GLOB", leaves, "trace into matching functions", Rule::Kind::kNoWrap);

  const char* operators = "Custom operators";
  repeatable("--op-library", "LIB", operators, "load a library that registers operators. Repeatable",
             [this](const std::string& text) { op_libraries_.push_back(text); });
  repeatable("--op-schema", "SCHEMA", operators,
             "declare an operator without loading it: 'my::op(Tensor x, int n) -> Tensor'. Repeatable",
             [this](const std::string& text) { op_schemas_.push_back(text); });

  const char* limits = "Limits (a module that exceeds one fails)";
  const Limits defaults;
  const auto limit = [&](const char* name, auto& target, const char* description, std::int64_t value) {
    single(name, target, "N", limits, (description + ("; default " + std::to_string(value))).c_str())
        ->check(integer_from(1));
  };
  limit("--max-iterations", max_iterations_, "loop iterations and function calls in one call of a module",
        defaults.iterations);
  limit("--max-nodes", max_nodes_, "nodes and module calls in one graph", defaults.nodes);
  limit("--max-call-depth", max_call_depth_, "nested calls of modules, methods and functions",
        defaults.call_depth);
}

Config TraceArguments::resolve() const {
  Config config;
  TraceOptions& options = config.options;
  if (config_file_) {
    read_config(read_small_file(*config_file_), *config_file_, config);
    const auto folder = std::filesystem::path(*config_file_).parent_path();
    for (auto& library : options.op_libraries) library = library_path(library, folder);
  }
  if (method_) options.method = *method_;
  if (model_) options.model = model_;
  for (const Rule& rule : rules_) {
    switch (rule.kind) {
      case Rule::Kind::kLeaf:
      case Rule::Kind::kNoLeaf:
        options.leaf_rules.push_back(parse_leaf_rule(rule.text, rule.kind == Rule::Kind::kLeaf));
        break;
      case Rule::Kind::kWrap:
      case Rule::Kind::kNoWrap:
        Glob check(rule.text);
        options.wrap_rules.push_back({rule.text, rule.kind == Rule::Kind::kWrap});
        break;
    }
  }
  if (no_default_leaves_) options.default_leaves = false;
  if (max_depth_) options.max_depth = max_depth_;
  if (hooks_) options.hooks = *hooks_ == "skip" ? Hooks::kSkip : Hooks::kRun;
  if (defaults_) options.defaults = *defaults_ == "never" ? Defaults::kNever : Defaults::kNeeded;
  for (const auto& text : concrete_) options.concrete.push_back(read_concrete(text));
  if (input_names_) options.input_names = split_names(*input_names_);
  std::size_t position = 0;
  for (const auto& text : inputs_) {
    options.inputs.push_back(read_input_spec(text, position));
    if (text.find('=') == std::string::npos) ++position;
  }
  for (const auto& text : dimensions_) options.dimensions.push_back(read_dimension_range(text));
  if (param_shapes_constant_) options.param_shapes_constant = true;
  for (const auto& library : op_libraries_) options.op_libraries.push_back(library_path(library, {}));
  options.op_schemas.insert(options.op_schemas.end(), op_schemas_.begin(), op_schemas_.end());
  if (max_iterations_) options.limits.iterations = *max_iterations_;
  if (max_nodes_) options.limits.nodes = *max_nodes_;
  if (max_call_depth_) options.limits.call_depth = *max_call_depth_;
  config.strict = config.strict || strict_;
  return config;
}

}  // namespace fxtrace::cli
