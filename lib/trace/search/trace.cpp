#include "trace/search/trace.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "costs/graph_costs.h"
#include "graph/analysis/text_form.h"
#include "graph/graph_collection.h"
#include "graph/lint.h"
#include "support/log.h"
#include "support/text/did_you_mean.h"
#include "trace/search/option_trials.h"
#include "trace/tracer/alias_check.h"
#include "trace/tracer/graph_tracer.h"
#include "trace/tracer/leaf_rules.h"

namespace fxtrace::internal {
namespace {

class RecursiveTrace {
 public:
  RecursiveTrace(const Program& program, const TraceOptions& options, const SpentUnits& spent)
      : program_(program),
        options_(options),
        spent_(spent),
        rules_(options, program, [&] { return program.bind(options, spent)->attributes(); }),
        facts_(program) {}

  TraceResult run(bool described) {
    method_ = program_.method_to_trace(options_.method);
    bound_ = program_.bind(options_, spent_);
    // A module that fails in a later graph may be inlined in an earlier one, and a later graph may call a
    // module that has its own graph already: such graphs are traced again until nothing changes (trace.h,
    // 5.).
    do {
      retraced_ = false;
      walk();
    } while (retraced_);
    return finish(described);
  }

  TraceResult without_graphs() {
    bound_ = program_.bind(options_, spent_);
    TraceResult result = finish(true);
    result.unmatched_options.clear();  // nothing was traced, so no option could apply
    return result;
  }

 private:
  struct Traced {
    ModuleGraph graph;
    std::vector<ModuleId> inlined;
    std::vector<FixedInput> fixed;
    bool stub = false;
    GraphTracer::ModuleOutputs outputs;
    std::vector<Diagnostic> unwrapped_calls;
    std::size_t state_writes = 0;
  };

  // Traces the graphs level by level: the root, then the direct submodules of modules that failed in the
  // level before.
  void walk() {
    order_.clear();
    std::set<ModuleId> has_graph{ModuleId{0}};
    std::set<ModuleId> expanded;
    std::vector<ModuleId> level{ModuleId{0}};
    for (std::size_t depth = 0; !level.empty(); ++depth) {
      for (const ModuleId module : level) {
        ensure_traced(module);
        order_.push_back(module);
        const std::vector<ModuleId>& failed = failed_.order();
        for (std::size_t i = level_found_.size(); i < failed.size(); ++i)
          level_found_.emplace(failed[i], depth);
      }
      std::vector<ModuleId> newly;
      for (const ModuleId failed : failed_.order()) {
        if (level_found_.at(failed) <= depth && expanded.insert(failed).second) newly.push_back(failed);
      }
      std::sort(newly.begin(), newly.end());
      level.clear();
      for (const ModuleId failed : newly) {
        for (const ModuleId child : direct_submodules(failed)) {
          if (has_graph.insert(child).second) level.push_back(child);
        }
      }
    }
  }

  // Returns the submodules with a forward that are not below another such; containers without a forward are
  // replaced by their children.
  std::vector<ModuleId> direct_submodules(ModuleId module) const {
    std::vector<ModuleId> found;
    const auto& own = facts_.info(module).children;
    std::vector<ModuleId> pending(own.rbegin(), own.rend());
    std::unordered_set<std::uint32_t> seen;
    while (!pending.empty()) {
      const ModuleId child = facts_.first(pending.back());
      pending.pop_back();
      if (!seen.insert(child.index).second) continue;
      const ModuleInfo& info = facts_.info(child);
      if (info.has_forward) {
        found.push_back(child);
      } else {
        pending.insert(pending.end(), info.children.rbegin(), info.children.rend());
      }
    }
    return found;
  }

  bool still_valid(const Traced& traced, ModuleId root) const {
    if (traced.stub != is_stub(root) || bound_->inputs_changed(root)) return false;
    return std::none_of(traced.inlined.begin(), traced.inlined.end(),
                        [&](ModuleId module) { return failed_.contains(module); });
  }

  bool is_stub(ModuleId root) const { return failed_.contains(root) || rules_.is_leaf(root); }

  void ensure_traced(ModuleId root) {
    const auto known = traced_.find(root);
    if (known != traced_.end()) {
      if (still_valid(known->second, root)) return;
      traced_.erase(known);
    }
    retraced_ = true;
    while (!trace_graph(root)) {
    }
  }

  // Traces the graph, with the modules that are known to fail as leaves, and keeps it.  Returns false when it
  // must be traced again, because more failed modules are known now.
  bool trace_graph(ModuleId root) {
    const std::string method = root.index == 0 ? method_ : "forward";
    const bool stub = is_stub(root);
    const std::size_t failures = failed_.order().size();
    std::vector<FixedInput> fixed;
    for (;;) {
      // A stub has as many nodes as it has inputs.
      const auto limit = stub ? std::numeric_limits<std::int64_t>::max() : options_.limits.nodes;
      GraphTracer tracer(facts_, rules_, limit, failed_, root, fixed);
      try {
        bound_->run(root, method, stub, tracer);
      } catch (InputsAsked& asked) {
        failed_.resize(failures);
        fixed.insert(fixed.end(), std::make_move_iterator(asked.inputs.begin()),
                     std::make_move_iterator(asked.inputs.end()));
        continue;
      } catch (const TraceAgain&) {
        failed_.resize(failures);
        continue;
      } catch (TraceFailure& thrown) {
        if (stub) throw;
        // The graph is stale: the failure may disappear once the failed modules are leaves from the start.
        if (tracer.stale()) return false;
        if (thrown.failure.kind == FailureKind::kRaised && assume_an_input(fixed)) {
          failed_.resize(failures);
          continue;
        }
        if (thrown.failure.module.empty()) thrown.failure.module = facts_.info(root).path;
        failed_.add(root, std::move(thrown.failure));
        return false;
      }
      // The module that asked for an input may be a leaf now.
      const bool asked_in_vain = !fixed.empty() && failed_.order().size() != failures;
      if (tracer.stale() || asked_in_vain) return false;
      if (!stub && !tracer.has_inputs() && assume_an_input(fixed)) continue;
      std::vector<ModuleId> inlined = tracer.inlined();
      GraphTracer::ModuleOutputs outputs = tracer.take_module_outputs();
      std::vector<Diagnostic> unwrapped_calls = tracer.take_unwrapped_calls();
      const std::vector<StateWrite> state_writes = tracer.take_state_writes();
      ModuleGraph graph = tracer.take_result();
      if (fail_for_state(graph, state_writes) || fail_for_aliases(graph)) return false;
      traced_.emplace(root, Traced{std::move(graph), std::move(inlined), std::move(fixed), stub,
                                   std::move(outputs), std::move(unwrapped_calls), state_writes.size()});
      return true;
    }
  }

  // Assumes that the first fixed input that might be a tensor is given, and drops the others, which are asked
  // for anew.  Code that takes one of several inputs (`input_ids`, `inputs_embeds`) raises when it gets none,
  // or makes a graph without inputs.  Done at most once for a graph; returns false otherwise.
  static bool assume_an_input(std::vector<FixedInput>& fixed) {
    if (std::ranges::any_of(fixed, &FixedInput::is_given)) return false;
    const auto first = std::ranges::find_if(
        fixed, [](const FixedInput& input) { return input.may_be_tensor && input.is_default; });
    if (first == fixed.end()) return false;
    FixedInput given = *first;
    given.is_given = true;
    fixed.assign({std::move(given)});
    return true;
  }

  // Returns whether the subgraphs of control flow would compute something else than the code; the module of
  // the control flow then fails.
  bool fail_for_aliases(const ModuleGraph& graph) {
    if (options_.control_flow != ControlFlow::kSubgraph || graph.subgraphs.empty()) return false;
    return fail_for(
        find_alias_conflict(graph, semantics(), [this](const Node& node) { return may_write(node); }));
  }

  // Returns whether the graph would leave another state behind than the code; the module that assigns the
  // attribute then fails.
  bool fail_for_state(ModuleGraph& graph, const std::vector<StateWrite>& writes) {
    if (writes.empty()) return false;
    return fail_for(
        settle_state(graph, writes, semantics(), [this](const Node& node) { return may_write(node); }));
  }

  bool fail_for(std::optional<AliasConflict> conflict) {
    if (!conflict) return false;
    conflict->failure.module = conflict->module;
    failed_.add(by_path_.at(conflict->module), std::move(conflict->failure));
    return true;
  }

  bool may_write(const Node& node) const {
    return node.op != Opcode::kCallModule ||
           program_.may_write(by_path_.at(called_module(node)), node.method);
  }

  Semantics& semantics() {
    if (!semantics_) {
      described_.parameters = program_.parameters();
      described_.tensor_attributes = program_.tensor_attributes();
      for (std::uint32_t i = 0; i < facts_.size(); ++i) described_.modules.push_back(record_of(ModuleId{i}));
      for (std::uint32_t i = 0; i < facts_.size(); ++i)
        by_path_.emplace(described_.modules[i].path, ModuleId{i});
      semantics_.emplace(described_);
    }
    semantics_->forget_subgraphs();
    return *semantics_;
  }

  // Returns the record of a module as far as it is known before the trace.
  ModuleRecord record_of(ModuleId module) const {
    const ModuleInfo& info = facts_.info(module);
    const ModuleId first = facts_.first(module);
    ModuleRecord record;
    record.path = info.path;
    record.type = info.type;
    if (first != module) {
      record.alias_of = facts_.info(first).path;
      record.is_assumed = info.is_assumed;
    } else {
      record.attributes = info.attributes;
    }
    return record;
  }

  // Returns one line for each input that has its default or is given, and one for the state that forward
  // keeps.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    std::vector<std::pair<std::string, std::vector<std::string>>>
        submodules;  // text, and paths of the graphs
    for (const ModuleId root : order_) {
      for (const FixedInput& input : traced_.at(root).fixed) {
        if (!input.is_default) continue;
        const std::string text =
            input.name + (input.is_given ? " is assumed to be given: the code needs an input"
                                         : " has its default, " + input.value);
        if (root.index == 0) {
          notes.push_back(text + (input.is_given     ? "; --input-names can name another"
                                  : input.takes_spec ? "; --concrete or --input changes it"
                                                     : "; --concrete changes it"));
          continue;
        }
        auto place = std::ranges::find(submodules, text, &decltype(submodules)::value_type::first);
        if (place == submodules.end()) place = submodules.insert(place, {text, {}});
        place->second.push_back(facts_.info(root).path);
      }
    }
    std::size_t written = 0, assigned = 0;
    for (const ModuleId root : order_) {
      written += traced_.at(root).state_writes;
      assigned += traced_.at(root).graph.graph.assignments().size();
    }
    const auto count = [](std::size_t number, const std::string& what) {
      return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
    };
    if (written + assigned > 0) {
      const std::string writes =
          written > 0 ? " writes " + count(written, "tensor") + " into attributes" : std::string();
      const std::string assigns = assigned > 0 ? " assigns " + count(assigned, "plain value") : std::string();
      const char* both = written > 0 && assigned > 0 ? " and" : "";
      notes.push_back("forward keeps state: it" + writes + both + assigns);
    }
    constexpr std::size_t kShown = 3;
    for (const auto& [text, modules] : submodules) {
      std::string where;
      for (std::size_t i = 0; i < modules.size() && i < kShown; ++i)
        where += (i == 0 ? "" : ", ") + modules[i];
      if (modules.size() > kShown) where += " and " + std::to_string(modules.size() - kShown) + " more";
      notes.push_back(text + ", in the graph" + (modules.size() == 1 ? "" : "s") + " of " + where);
    }
    return notes;
  }

  BoundProgram::Leaves leaves_of(const GraphCollection& collection) const {
    std::unordered_map<std::string_view, ModuleId> ids;
    for (std::uint32_t i = 0; i < facts_.size(); ++i) ids.emplace(facts_.info(ModuleId{i}).path, ModuleId{i});
    BoundProgram::Leaves leaves;
    for (const ModuleGraph& root : collection.graphs) {
      for_each_graph(root, [&](const ModuleGraph& graph) {
        for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
          const Node& node = graph.graph.node(id);
          if (node.op == Opcode::kCallModule) leaves.emplace(ids.at(called_module(node)), *node.method);
        }
      });
    }
    return leaves;
  }

  static void add_told(BoundProgram::Attributes told, BoundProgram::Attributes& attributes) {
    for (auto& [name, value] : told) {
      if (std::ranges::find(attributes, name, [](const auto& item) { return item.first; }) ==
          attributes.end())
        attributes.emplace_back(std::move(name), std::move(value));
    }
  }

  // Returns the diagnostics of all graphs, equal ones once: a module with a graph of its own may be inlined
  // in others.
  std::vector<Diagnostic> unwrapped_calls() const {
    std::vector<Diagnostic> all;
    for (const ModuleId root : order_) {
      for (const Diagnostic& call : traced_.at(root).unwrapped_calls) {
        if (std::ranges::find(all, call) == all.end()) all.push_back(call);
      }
    }
    return all;
  }

  TraceResult finish(bool described) {
    TraceResult result;
    GraphCollection& collection = result.collection;
    collection.model.kind = program_.kind();
    collection.model.type = facts_.info(ModuleId{0}).type;
    collection.model.method = method_;
    collection.model.producer_version = program_.producer_version();
    collection.parameters = program_.parameters();
    collection.tensor_attributes = program_.tensor_attributes();
    collection.custom_costs = options_.custom_costs;

    GraphTracer::ModuleOutputs outputs;
    std::map<std::string, std::int64_t> calls;
    std::unordered_set<std::string> used_parameters;
    std::set<ModuleId> traced;
    std::unordered_set<std::string> entered;  // modules called by another method than forward
    for (const ModuleId root : order_) {
      Traced& entry = traced_.at(root);
      if (!entry.stub) traced.insert(root);
      traced.insert(entry.inlined.begin(), entry.inlined.end());
      outputs.merge(entry.outputs);
      for (const auto& path : entry.graph.execution->module_forward_order) ++calls[path];
      for (const auto& call : entry.graph.execution->method_calls) entered.insert(call.module);
      const auto& order = entry.graph.execution->param_forward_order;
      used_parameters.insert(order.begin(), order.end());
    }
    std::vector<BoundProgram::Attributes> told = bound_->attributes();
    for (std::uint32_t i = 0; i < facts_.size(); ++i) {
      const ModuleId first = facts_.first(ModuleId{i});
      const ModuleInfo& first_info = facts_.info(first);
      ModuleRecord record = record_of(ModuleId{i});
      if (first.index == i && i < told.size()) add_told(std::move(told[i]), record.attributes);
      const auto called = calls.find(first_info.path);
      const bool is_called = called != calls.end();
      if (failed_.contains(first)) {
        record.status = ModuleStatus::kFailed;
        record.failure = failed_.failure(first);
      } else if (traced.contains(first) || (!is_called && entered.contains(first_info.path))) {
        record.status = ModuleStatus::kTraced;
      } else if (is_called) {
        record.status = ModuleStatus::kLeaf;
        record.rule = rules_.rule(first);
      }
      if (is_called && first.index == i) record.calls = called->second;
      if (const auto given = outputs.find(i); is_called && given != outputs.end())
        record.outputs = std::move(given->second);
      collection.modules.push_back(std::move(record));
    }
    for (const auto& parameter : collection.parameters) {
      if (parameter.kind == ParameterKind::kParameter && !parameter.alias_of &&
          used_parameters.count(parameter.name) == 0) {
        collection.unused_parameters.push_back(parameter.name);
      }
    }
    result.notes = notes();
    const std::vector<Diagnostic> unwrapped_calls = this->unwrapped_calls();
    for (const ModuleId root : order_) collection.graphs.push_back(std::move(traced_.at(root).graph));
    result.warnings = bound_->warnings();
    result.unfollowed_options = bound_->unfollowed_options([&] { return leaves_of(collection); });
    result.unfollowed_options.insert(result.unfollowed_options.begin(), unwrapped_calls.begin(),
                                     unwrapped_calls.end());
    if (described) {
      result.description.producer = program_.producer();
      result.description.constants = program_.constants();
      for (std::uint32_t i = 0; i < facts_.size(); ++i)
        result.description.methods.push_back(bound_->methods(ModuleId{i}));
    }
    result.unmatched_options = rules_.unmatched();
    return result;
  }

  const Program& program_;
  const TraceOptions& options_;
  SpentUnits spent_;
  std::unique_ptr<BoundProgram> bound_;
  LeafRules rules_;
  ModuleFacts facts_;
  FailedModules failed_;
  std::map<ModuleId, std::size_t> level_found_;  // by failed module: the level at which it was found
  std::map<ModuleId, Traced> traced_;
  std::vector<ModuleId> order_;
  GraphCollection described_;                               // has modules and parameters only
  std::unordered_map<std::string_view, ModuleId> by_path_;  // the modules of described_
  std::optional<Semantics> semantics_;
  bool retraced_ = false;
  std::string method_;  // the method of the root that is traced
};

}  // namespace

TraceResult trace(const Program& program, const TraceOptions& options, bool described,
                  const SpentUnits& spent) {
  TraceResult result = RecursiveTrace(program, options, spent).run(described);
#ifndef NDEBUG
  lint(result.collection);
#endif
  return result;
}

TraceResult describe(const Program& program, const TraceOptions& options) {
  return RecursiveTrace(program, options, nullptr).without_graphs();
}

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
