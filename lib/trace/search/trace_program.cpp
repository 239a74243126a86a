#include "trace/search/trace_program.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "costs/graph_costs.h"
#include "graph/analysis/text_form.h"
#include "support/text/shell_word.h"
#include "support/timer.h"
#include "trace/search/hints.h"

namespace fxtrace::internal {
namespace {

// Returns the names that are assumed to be of one module though the file does not say so; empty when none
// are.
std::string assumed_names(const GraphCollection& collection) {
  constexpr std::size_t kShown = 5;
  std::string names;
  std::size_t count = 0;
  for (const ModuleRecord& module : collection.modules) {
    if (!module.is_assumed || ++count > kShown) continue;
    names += (names.empty() ? "" : ", ") + module.path + " for " +
             (module.alias_of->empty() ? "the root" : *module.alias_of);
  }
  if (count > kShown) names += " and " + std::to_string(count - kShown) + " more";
  return names;
}

// Returns the error that the model raises for the inputs of the options; empty when it raises none.  A module
// that raises is a leaf of the graph, so that nothing else would show that the inputs are wrong.
std::string refusal(const GraphCollection& collection, const TraceOptions& options) {
  if (options.inputs.empty()) return "";
  for (const ModuleRecord& module : collection.modules) {
    if (module.alias_of || !module.failure || module.failure->kind != FailureKind::kRaised) continue;
    const Failure& failure = *module.failure;
    std::string text = "with";
    for (const InputSpec& input : options.inputs)
      text += " --input " + shell_word(input.name + "=" + input.text);
    text += " " + (failure.module.empty() ? "the root" : failure.module) + " raises " + failure.message;
    return failure.source ? text + " (" + place_text(*failure.source) + ")" : text;
  }
  return "";
}

}  // namespace

void warn_of(const std::vector<Diagnostic>& warnings, const Listener& listener) {
  constexpr std::size_t kFew = 3;
  std::map<std::string_view, std::size_t> counts;
  for (const Diagnostic& warning : warnings) ++counts[warning.id];
  std::set<std::string_view> told;
  for (const Diagnostic& warning : warnings) {
    const std::string text = warning.text();
    const std::size_t count = counts[warning.id];
    if (count <= kFew) {
      listener.warning(text);
    } else if (told.insert(warning.id).second) {
      listener.warning(text + " (and " + std::to_string(count - 1) + " more like this; -v shows them)");
    } else {
      listener.progress(text);
    }
  }
}

TraceResult trace_program(std::shared_ptr<const Program> program, const TraceOptions& options,
                          const TraceRequest& wanted, const Listener& listener) {
  const bool is_method_asked_for = options.method != TraceOptions().method;
  if (wanted.graphs_if_any && !is_method_asked_for && !program->has_method(options.method)) {
    TraceResult result = describe(*program, options);
    result.program = std::move(program);
    return result;
  }
  const Timer trace_time;
  TraceResult result = trace(*program, options, wanted.description, wanted.spent);
  if (const std::string text = refusal(result.collection, options); !text.empty()) listener.warning(text);
  const Timer cost_time;
  if (wanted.costs) add_costs(result.collection);
  result.trace_time = trace_time.milliseconds();
  std::size_t nodes = 0;
  for (const auto& graph : result.collection.graphs) nodes += graph.graph.size();
  listener.progress("traced " + std::to_string(result.collection.graphs.size()) + " graphs with " +
                    std::to_string(nodes) + " nodes in " + result.trace_time + ", of which costs took " +
                    cost_time.milliseconds());
  if (const std::string names = assumed_names(result.collection); !names.empty()) {
    listener.progress("modules with the same tensors and code are taken as one, " + names +
                      ": the file does not tell them apart");
  }
  if (wanted.input_options) result.input_options = guess_input_options(*program, options);
  if (wanted.hint) result.hint = find_hint({*program, options, result.collection, wanted.spent});
  result.program = std::move(program);
  result.spent = wanted.spent;
  return result;
}

}  // namespace fxtrace::internal
