#include "pipelines/passes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "archive/model_file.h"
#include "costs/custom_costs.h"
#include "costs/graph_costs.h"
#include "graph/analysis/collection_summary.h"
#include "graph/analysis/text_form.h"
#include "operators/target.h"
#include "opinfo/operator_entry.h"
#include "opinfo/rules/shape_rules.h"
#include "rules/check.h"
#include "support/error.h"
#include "support/json_document.h"
#include "support/json_emitter.h"
#include "support/text/did_you_mean.h"
#include "support/text/words.h"
#include "trace/options/option_json.h"
#include "trace/options/option_table.h"

namespace fxtrace::internal {
namespace {

bool has_costs(const GraphCollection& collection) {
  return std::ranges::any_of(collection.graphs, [](const auto& graph) { return graph.cost.has_value(); });
}

std::string text_of(const Declined& declined) {
  std::string text = declined.node;
  if (!declined.graph.empty()) text += " of " + declined.graph;
  if (const auto& source = declined.source; source && !source->file.empty()) {
    text += " (" + place_text(*source) + ")";
  }
  return text + " as it was: " + declined.reason;
}

void tell(const PassReport& report, const Listener& listener) {
  listener.progress("pass " + report.pass + ": " + std::to_string(report.nodes_before) + " nodes before, " +
                    std::to_string(report.nodes_after) + " after, " + std::to_string(report.declined.size()) +
                    " left as they were, in " + report.time);
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < report.declined.size(); ++i) {
    const std::string line = report.pass + " left " + text_of(report.declined[i]);
    if (i < kShown) {
      listener.note(line);
    } else {
      listener.progress(line);
    }
  }
  if (report.declined.size() > kShown) {
    listener.note(report.pass + " left " + std::to_string(report.declined.size() - kShown) +
                  " more nodes as they were, which -v lists");
  }
}

}  // namespace

void check_passes(const std::vector<std::string>& names) {
  Config unused;
  for (const std::string& name : names) set_option("--pass", name, unused);
}

std::vector<PassReport> run_passes(const std::vector<std::string>& names, GraphCollection& collection,
                                   const Listener& listener) {
  std::vector<PassReport> reports;
  for (const std::string& name : names)
    std::ranges::move(run_pass(*find_pass(name), collection), std::back_inserter(reports));
  for (const PassReport& report : reports) tell(report, listener);
  // The costs of leaves are unknown in a collection that an earlier fxtrace wrote.
  if (!names.empty() && has_costs(collection)) add_costs(collection);
  return reports;
}

GraphCollection extract_part(const GraphCollection& collection, const ExtractRequest& part) {
  GraphCollection extracted = extract(collection, part);
  if (has_costs(collection)) add_costs(extracted);
  return extracted;
}

void add_to_options(const std::vector<std::string>& names, GraphCollection& collection) {
  if (names.empty()) return;
  const JsonDocument document(collection.options_json, "options");
  const JsonValue options = document.root();
  std::vector<std::string> all;
  if (const auto earlier = options.find("pass"))
    for_each_string(*earlier, [&](auto, const std::string& name) { all.push_back(name); });
  all.insert(all.end(), names.begin(), names.end());
  collection.options_json = json_text(JsonLayout::kCompact, [&](JsonEmitter& json) {
    json.object([&] {
      for (const JsonValue option : options.fields()) {
        if (option.key() == "pass") continue;
        json.key(option.key());
        option.write(json);
      }
      json.field("pass", all);
    });
  });
}

std::optional<std::string> strict_failure(const std::vector<std::string>& passes,
                                          const GraphCollection& collection) {
  std::vector<std::string> failures;
  if (const std::size_t failed = count_failed(collection); failed > 0) {
    const auto modules = std::ranges::count_if(collection.modules, [](const auto& m) { return !m.alias_of; });
    failures.push_back(std::to_string(failed) + " of " + std::to_string(modules) +
                       " modules failed to trace");
  }
  const auto removes_writes = [](const std::string& name) {
    return name == "remove-inplace" || name == "functional";
  };
  if (std::ranges::any_of(passes, removes_writes)) {
    const std::size_t writes = count_writes_that_stay(collection);
    if (writes > 0)
      failures.push_back(std::to_string(writes) +
                         (writes == 1 ? " in-place write remains" : " in-place writes remain"));
  }
  if (failures.empty()) return std::nullopt;
  return joined(failures, [](const std::string& text) { return text; }, ", and ");
}

void check_strict(const Config& config, const GraphCollection& collection, const ModelFile& file, Run& run) {
  if (!config.strict) return;
  if (const auto failure = strict_failure(config.passes, collection))
    run.fail_strict(input_error(*failure).at(file.path()));
}

namespace {

// Returns the operators that the graphs call, and those of unknown cost inside of what the nodes call.
std::set<std::string> called_operators(const GraphCollection& collection) {
  std::set<std::string> names;
  const auto add = [&](const ModuleGraph& graph, const auto& self) -> void {
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      if (node.op == Opcode::kCallFunction) names.insert(*node.target);
      if (*node.cost) {
        for (const auto& [name, calls] : (*node.cost)->unknown) names.insert(name);
      }
    }
    for (const Subgraph& subgraph : graph.subgraphs) self(subgraph.graph, self);
  };
  for (const ModuleGraph& graph : collection.graphs) add(graph, add);
  return names;
}

// Checks that every argument that a cost rule names exists in the calls of its operator.  Throws
// Error(kUsage).
void check_names(const ModuleGraph& graph, const CustomCosts& costs) {
  for (const NodeId id : graph.graph.order()) {
    const Node& node = graph.graph.node(id);
    const CustomCosts::Rule* rule =
        node.op == Opcode::kCallFunction ? costs.find_rule(*node.target) : nullptr;
    if (rule == nullptr) continue;
    const TargetParts target = parse_target(*node.target);
    const Operator* op = target.kind == TargetKind::kOperator ? find_operator(target) : nullptr;
    const std::optional<Schema> schema = op == nullptr ? std::nullopt : std::optional(entry_of(*op).schema);
    std::vector<std::string> names;
    for (const auto& [name, value] : node.kwargs) names.push_back(name);
    if (schema) {
      for (const SchemaArgument& argument : schema->arguments) names.emplace_back(argument.name);
    }
    std::size_t results = 1;
    if (schema) results = schema->results.size();
    for (const NodeId user : node.users) {
      if (const auto index = item_index(graph.graph.node(user)))
        results = std::max(results, static_cast<std::size_t>(*index) + 1);
    }
    const std::size_t arguments = std::max(node.args.size(), schema ? schema->arguments.size() : 0);
    const auto missing = CustomCosts::names_without_value(*rule, arguments, names, results);
    if (missing.empty()) continue;
    for (std::size_t i = 0; i < arguments; ++i) names.push_back("in" + std::to_string(i));
    names.emplace_back("out");
    throw usage_error("--cost " + shell_word(parse_target(rule->name).base_name()) +
                          ": a call of the operator has no argument '" + missing.front() + "'" +
                          did_you_mean(missing.front(), names),
                      {"the names are " + joined(names)});
  }
  for (const Subgraph& subgraph : graph.subgraphs) check_names(subgraph.graph, costs);
}

// Adds the given cost rules to a collection; one that was traced with them has them already.
void add_custom_costs(const Config& config, GraphCollection& collection) {
  const auto& given = config.options.custom_costs;
  if (given == collection.custom_costs || given.empty()) return;
  collection.custom_costs.insert(collection.custom_costs.end(), given.begin(), given.end());
  add_costs(collection);
}

void check_custom_costs(const std::vector<const GraphCollection*>& collections, const Listener& listener) {
  const CustomCosts costs(collections.front()->custom_costs);
  if (costs.empty()) return;
  std::set<std::string> called;
  for (const GraphCollection* collection : collections) {
    called.merge(called_operators(*collection));
    for (const ModuleGraph& graph : collection->graphs) check_names(graph, costs);
  }
  for (const CustomCosts::Rule& rule : costs.rules()) {
    if (std::ranges::any_of(called, [&](const std::string& target) { return costs.matches(rule, target); }))
      continue;
    std::vector<std::string> names;
    for (const std::string& target : called) names.push_back(parse_target(target).base_name());
    const std::string name = parse_target(rule.name).base_name();
    const std::string near = did_you_mean(name, names);
    if (!near.empty()) throw usage_error("--cost: the model does not call '" + name + "'" + near);
    listener.warning("--cost " + shell_word(name) + ": the model does not call this operator");
  }
}

void note_ranges(const GraphCollection& collection, const std::map<std::string, std::int64_t>& numbers,
                 const Listener& listener) {
  ShapeEnv dimensions;
  add_guards(collection, dimensions);
  for (const auto& [name, number] : numbers) {
    const Range range = dimensions.range(name);
    if ((range.low && number < *range.low) || (range.high && number > *range.high)) {
      listener.note("the range of the model excludes " + name + "=" + std::to_string(number) +
                    ": costs are those of its graph at that size");
    }
  }
}

}  // namespace

void apply_costs(const Config& config, const std::vector<GivenSizes>& at, GraphCollection& collection,
                 const Listener& listener) {
  add_custom_costs(config, collection);
  check_custom_costs({&collection}, listener);
  if (!at.empty()) note_ranges(collection, set_sizes(collection, at), listener);
}

void apply_costs(const Config& config, const std::vector<GivenSizes>& at, GraphCollection& first,
                 GraphCollection& second, const Listener& listener) {
  add_custom_costs(config, first);
  add_custom_costs(config, second);
  check_custom_costs({&first, &second}, listener);
  std::vector<GivenSizes> of_first, of_second;
  for (const GivenSizes& given : at) {
    const bool is_in_first = has_sizes(first, given), is_in_second = has_sizes(second, given);
    if (is_in_first || !is_in_second) of_first.push_back(given);
    if (is_in_second) of_second.push_back(given);
  }
  if (!of_first.empty()) note_ranges(first, set_sizes(first, of_first), listener);
  if (!of_second.empty()) note_ranges(second, set_sizes(second, of_second), listener);
}

}  // namespace fxtrace::internal
