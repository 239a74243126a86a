#include "exported/modules/module_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "exported/modules/bound_exported_program.h"
#include "exported/modules/call_costs.h"
#include "exported/modules/call_graph.h"
#include "exported/modules/kept_functions.h"
#include "exported/modules/leaf_call.h"
#include "exported/modules/program_guards.h"
#include "exported/modules/schedule.h"
#include "exported/program/nested_inputs.h"
#include "exported/program/stack_trace.h"
#include "graph/analysis/fold_numbers.h"
#include "graph/analysis/text_form.h"
#include "support/error.h"
#include "support/text/qualified_name.h"
#include "support/text/shell_word.h"
#include "trace/options/input_choice.h"
#include "trace/tracer/guard_expression.h"

namespace fxtrace {
namespace {

constexpr CallId kUnknown = UINT32_MAX;
constexpr CallId kNoLeaf = UINT32_MAX - 1;

// The state of a graph that is being recorded: the program's, or that of a subgraph.
struct Environment {
  // `said_graph`: see LocalSizes.
  Environment(const ProgramGraph& g, const ProgramGraph& said_graph, const CustomCosts& custom)
      : graph(g),
        said(said_graph),
        nodes(g.values.size()),
        uses(count_uses(g)),
        costs(g, uses, custom),
        origin(origins(g)),
        sizes(g, said_graph) {
    for (const auto& [name, value] : g.objects) objects.emplace(value.index, name);
    for (std::uint32_t i = 0; i < g.values.size(); ++i) {
      if (g.values[i].fixed) fixed.emplace(i, *g.values[i].fixed);
    }
  }

  const ProgramGraph& graph;
  const ProgramGraph& said;
  std::vector<NodeId> nodes;        // by value: the node that has it; invalid without one
  std::vector<std::uint32_t> uses;  // by value
  OperationCosts costs;             // of leaves
  std::vector<NodeId> origin;       // by value: see origins()
  LocalSizes sizes;
  std::unordered_map<std::uint32_t, const LiftedInput*> lifted;
  std::unordered_map<std::uint32_t, std::string> objects;
  std::unordered_map<std::uint32_t, Argument> fixed;    // values that are plain numbers, known
  std::unordered_map<std::uint32_t, NodeId> own_nodes;  // get_attr nodes, by lifted value
  std::unordered_map<std::string_view, const ProgramGraph*> subgraphs;
  // Kept calls of functions.  Step::leaf of function i is the number of all module calls plus i.
  std::vector<KeptCall> functions;
};

template <class Key>
using Items = std::vector<std::pair<std::vector<Key>, NodeId>>;

class ModuleGraphBuilder {
 public:
  ModuleGraphBuilder(const BoundExportedProgram& bound, GraphTracer& tracer)
      : bound_(bound),
        program_(bound.program()),
        calls_(program_.hierarchy().calls()),
        tracer_(tracer),
        leaf_of_(calls_.size(), kUnknown),
        entered_(calls_.size()) {
    if (tracer.rules().has_function_rules()) functions_.emplace(tracer.rules(), program_);
  }

  void record_model(bool is_leaf) {
    const ProgramGraph& graph = bound_.graph();
    Environment env(graph, program_.graph(), bound_.custom_costs());
    for (const auto& input : graph.inputs) {
      if (const auto* lifted = program_.find_lifted(input.value))
        env.lifted.emplace(input.value.index, lifted);
    }
    GraphSignature signature = program_.signature();
    std::vector<Argument> placeholders = record_user_inputs(env, signature);
    for (auto& guard : program_guards(bound_, input_names_))
      tracer_.guard(std::move(guard), std::nullopt, GuardReason::kExported);
    if (is_leaf) {
      tracer_.output(tracer_.call_root(std::move(placeholders), {}), {});
      return finish(env, signature);
    }
    note_outputs(graph);
    const auto steps = steps_of(env);
    const auto changed = mutable_inputs(signature);
    const auto absorbed = absorbed_mutations(env, steps, signature, changed);
    for (const Step& step : steps) record(env, step);
    go_to(kRootCall);
    record_mutations(env, signature, changed, absorbed);
    record_output(env, signature);
    finish(env, signature);
    if (!functions_) return;
    tracer_.cannot_keep(functions_->followed());
    if (!functions_->are_told()) {
      tracer_.rules().cannot_tell_functions(
          {"--wrap keeps nothing: the file does not name the functions of its operations, as it does with "
           "torch.export.export(..., strict=True)"});
    }
  }

  // Records the first call of a module as a graph of its own.
  void record_call(ModuleId module, bool is_leaf) {
    const auto call = bound_.calls().first_call(module);
    if (!call) {
      tracer_.output(tracer_.call_root({}, {}), {});
      return;
    }
    base_ = *call;
    const auto is_own = [&](NodeId origin) { return program_.find_lifted(origin) != nullptr; };
    const auto [graph, origin] = bound_.calls().cut_out(base_, is_own);
    Environment env(graph, graph, bound_.custom_costs());
    for (std::uint32_t i = 0; i < graph.values.size(); ++i) {
      const auto* lifted = origin[i].valid() ? program_.find_lifted(origin[i]) : nullptr;
      if (lifted != nullptr) env.lifted.emplace(i, lifted);
    }
    std::vector<Argument> placeholders = record_inputs(env);
    if (is_leaf) {
      const NodeId node = tracer_.call_root(std::move(placeholders), {});
      tracer_.set_program(node, whole(graph));
      tracer_.output(node, {});
      return;
    }
    record_all(env);
    go_to(base_);
    record_outputs(env);
  }

 private:
  // --- calls ---

  // Returns the outermost leaf among `call` and the calls that contain it; kNoLeaf without one.
  CallId leaf_of(CallId call) {
    std::vector<CallId> pending;
    while (leaf_of_[call] == kUnknown) {
      if (call == base_ || call == kRootCall) {
        leaf_of_[call] = kNoLeaf;
        break;
      }
      pending.push_back(call);
      call = calls_[call].parent;
    }
    CallId leaf = leaf_of_[call];
    for (; !pending.empty(); pending.pop_back()) {
      const CallId inner = pending.back();
      if (leaf == kNoLeaf && tracer_.is_leaf(calls_[inner].module)) leaf = inner;
      leaf_of_[inner] = leaf;
    }
    return leaf;
  }

  // Enters and leaves calls so that `call` is the one whose forward records nodes.
  void go_to(CallId call) {
    if (call == (open_.empty() ? base_ : open_.back())) return;
    std::vector<CallId> chain;
    for (CallId at = call; at != base_ && at != kRootCall; at = calls_[at].parent) chain.push_back(at);
    std::reverse(chain.begin(), chain.end());
    std::size_t shared = 0;
    while (shared < chain.size() && shared < open_.size() && chain[shared] == open_[shared]) ++shared;
    for (; open_.size() > shared; open_.pop_back()) tracer_.leave_call();
    for (; shared < chain.size(); ++shared) {
      const CallId next = chain[shared];
      std::int64_t& number = entered_[next];
      if (number != 0) {
        tracer_.resume_call(calls_[next].module, number);
      } else {
        number = tracer_.enter_call(calls_[next].module);
      }
      open_.push_back(next);
    }
  }

  // --- values ---

  // Returns whether the value is a parameter, buffer or constant of the model, which modules access directly.
  static bool is_models_own(const Environment& env, NodeId value) {
    const std::uint32_t origin = env.origin[value.index].index;
    return env.lifted.count(origin) != 0 || env.objects.count(origin) != 0;
  }

  NodeId node_of(Environment& env, NodeId value) {
    if (env.nodes[value.index].valid()) return env.nodes[value.index];
    const NodeId origin = env.origin[value.index];
    if (env.nodes[origin.index].valid()) return env.nodes[origin.index];
    const Meta& meta = env.graph.values[origin.index].meta;
    const auto object = env.objects.find(origin.index);
    if (object != env.objects.end()) return tracer_.get_attr(object->second, meta, std::nullopt);
    const auto lifted = env.lifted.find(origin.index);
    if (lifted == env.lifted.end()) {
      Found found;
      if (can_compute(env, value, found)) return compute(env, value);
      throw Error(ErrorKind::kInternal,
                  "nothing holds the value '" + env.graph.values[value.index].name + "'");
    }
    const LiftedInput& input = *lifted->second;
    const NodeId node =
        input.constant ? tracer_.named_constant(
                             input.target, [&] { return constant(input, env.graph.values[origin.index]); })
                       : tracer_.get_attr(input.target, meta, std::nullopt);
    env.own_nodes.emplace(origin.index, node);
    return node;
  }

  // --- sizes that a leaf has computed ---

  // The answers of can_compute() in one search, by value, so that each value is examined once.
  using Found = std::unordered_map<std::uint32_t, bool>;

  bool is_there(const Environment& env, NodeId value, Found& found, int depth) const {
    return env.nodes[value.index].valid() || env.nodes[env.origin[value.index].index].valid() ||
           env.fixed.count(value.index) != 0 || is_models_own(env, value) ||
           can_compute(env, value, found, depth);
  }
  bool can_compute(const Environment& env, NodeId value, Found& found, int depth = 0) const {
    constexpr int kMaxDepth = 64;
    if (!env.sizes.is_size(value) || depth > kMaxDepth) return false;
    if (const auto known = found.find(value.index); known != found.end()) return known->second;
    const bool result = can_repeat(env, value, found, depth) || find_tensor(env, value) != nullptr;
    return found.emplace(value.index, result).first->second;
  }
  bool can_repeat(const Environment& env, NodeId value, Found& found, int depth = 0) const {
    const Operation* maker = env.sizes.find_maker(value);
    bool all = maker != nullptr;
    if (all) {
      for_each_input(*maker, [&](NodeId used) { all = all && is_there(env, used, found, depth + 1); });
    }
    return all;
  }
  // Returns a tensor with a node that has the size as a dimension; null without one.
  static const std::pair<NodeId, std::size_t>* find_tensor(const Environment& env, NodeId size) {
    const auto& tensors = env.sizes.tensors_with(size);
    const auto found =
        std::ranges::find_if(tensors, [&](const auto& item) { return env.nodes[item.first.index].valid(); });
    return found == tensors.end() ? nullptr : &*found;
  }
  // Records nodes that compute a size outside of the leaf that has computed it.
  NodeId compute(Environment& env, NodeId value) {
    const ProgramValue& size = env.graph.values[value.index];
    NodeId& node = env.nodes[value.index];
    Found found;
    if (!can_repeat(env, value, found)) {
      const auto [tensor, dim] = *find_tensor(env, value);
      const Argument place(static_cast<std::int64_t>(dim));
      node = tracer_.call_function("aten.sym_size.int", {env.nodes[tensor.index], place}, {}, size.meta,
                                   std::nullopt, size.name);
      return node;
    }
    const Operation& maker = *env.sizes.find_maker(value);
    auto [args, kwargs] = arguments_of(env, maker);
    node = tracer_.call_function(maker.target.text(), std::move(args), std::move(kwargs), size.meta,
                                 innermost_frame(maker.stack_trace.view()), maker.name);
    return node;
  }

  Constant constant(const LiftedInput& input, const ProgramValue& value) const {
    if (!input.constant->record.empty()) return program_.archive().read_constant(*input.constant);
    Constant unknown;  // the archive has no record for it
    unknown.dtype = value.meta.dtype_text().value_or("");
    unknown.shape = fixed_shape(value);
    return unknown;
  }

  // Returns the operand with values replaced by their nodes, or by their constants where they are known.
  Argument with_nodes(Environment& env, const Argument& operand) {
    return map_references(operand, [&](NodeId value) -> Argument {
      const auto fixed = env.fixed.find(value.index);
      if (fixed != env.fixed.end()) return fixed->second;
      return node_of(env, value);
    });
  }

  template <class Call>
  std::pair<std::vector<Argument>, Kwargs> arguments_of(Environment& env, const Call& call) {
    std::pair<std::vector<Argument>, Kwargs> result;
    for (const auto& argument : call.args) result.first.push_back(with_nodes(env, argument));
    for (const auto& [name, argument] : call.kwargs)
      result.second.emplace_back(name, with_nodes(env, argument));
    return result;
  }

  // Records node[path[0]][path[1]]...; `made` has the nodes for prefixes of earlier paths of the same node.
  template <class Key>
  NodeId item(NodeId node, const std::vector<Key>& path, Items<Key>& made, const Meta& meta,
              const std::optional<SourceLocation>& source, const std::string& name) {
    for (std::size_t depth = 1; depth <= path.size(); ++depth) {
      const bool is_last = depth == path.size();
      const std::vector<Key> prefix(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth));
      const auto known = is_last ? made.end()
                                 : std::find_if(made.begin(), made.end(),
                                                [&](const auto& entry) { return entry.first == prefix; });
      if (known != made.end()) {
        node = known->second;
        continue;
      }
      node = tracer_.call_function("operator.getitem", {node, prefix.back()}, {}, is_last ? meta : Meta{},
                                   source, is_last ? name : "");
      if (!is_last) made.emplace_back(prefix, node);
    }
    return node;
  }

  // --- steps ---

  // Returns whether the value is a constant of a function's code.  Parameters are not: a function gets them
  // as arguments.
  static bool is_functions_own(const Environment& env, NodeId value) {
    const auto lifted = env.lifted.find(env.origin[value.index].index);
    if (lifted == env.lifted.end() || !lifted->second->constant) return false;
    const std::string_view name = QualifiedName(lifted->second->target).last();
    return name.starts_with("lifted_tensor_") || name.starts_with("_tensor_constant");
  }

  std::vector<Step> steps_of(Environment& env) {
    std::unordered_map<std::uint32_t, CallId> of_function;  // by operation
    if (functions_) {
      const auto leaf = [&](const Operation& operation) {
        const CallId outermost = leaf_of(operation.call);
        return outermost == kNoLeaf ? kRootCall : outermost;
      };
      const auto is_own = [&](NodeId value) { return is_functions_own(env, value); };
      env.functions = functions_->find_calls(env.graph, env.uses, leaf, is_own);
      for (std::size_t i = 0; i < env.functions.size(); ++i) {
        for (const auto index : env.functions[i].operations)
          of_function.emplace(index, static_cast<CallId>(calls_.size() + i));
      }
    }
    return schedule(env.graph, [&](const Operation& operation) -> std::optional<CallId> {
      const auto function =
          of_function.find(static_cast<std::uint32_t>(&operation - env.graph.operations.data()));
      if (function != of_function.end()) return function->second;
      if (!operation.has_stack) return std::nullopt;
      const CallId leaf = leaf_of(operation.call);
      if (leaf == kNoLeaf) return std::nullopt;
      return leaf;
    });
  }

  void record_all(Environment& env) {
    for (const Step& step : steps_of(env)) record(env, step);
  }

  // Records the placeholders of a graph that is not the program's own.
  std::vector<Argument> record_inputs(Environment& env) {
    std::vector<Argument> placeholders;
    for (std::size_t i = 0; i < env.graph.inputs.size(); ++i) {
      const NodeId value = env.graph.inputs[i].value;
      const ProgramValue& input = env.graph.values[value.index];
      const NodeId node = tracer_.placeholder(input_name(input.name, i), {}, input.meta);
      env.nodes[value.index] = node;
      const auto lifted = env.lifted.find(value.index);
      if (lifted != env.lifted.end()) tracer_.stands_for_parameter(node, lifted->second->target);
      placeholders.emplace_back(node);
    }
    return placeholders;
  }
  void record_outputs(Environment& env) {
    std::vector<Argument> outputs;
    for (const Argument& output : env.graph.outputs) outputs.push_back(with_nodes(env, output));
    const bool is_single = env.graph.single_output;
    tracer_.output(is_single ? outputs.front() : Argument(Argument::Tuple{std::move(outputs)}), {});
  }

  void record(Environment& env, const Step& step) {
    if (step.leaf && *step.leaf >= calls_.size()) {
      record_function(env, env.functions[*step.leaf - calls_.size()]);
    } else if (step.leaf) {
      record_leaf(env, *step.leaf, step.operations);
    } else {
      for (const auto index : step.operations) record_operation(env, env.graph.operations[index]);
    }
  }

  void record_operation(Environment& env, const Operation& operation) {
    // An operation that belongs to no module stays in the call of the operation before it.
    if (operation.has_stack) go_to(operation.call);
    record_here(env, operation);
  }
  void record_here(Environment& env, const Operation& operation) {
    if (is_decided(env, operation)) return;
    auto [args, kwargs] = arguments_of(env, operation);
    // An operation on plain values only is evaluated.
    if (operation.outputs.size() == 1 && kwargs.empty()) {
      if (auto result = fold(operation.target.text(), args)) {
        env.fixed.emplace(operation.outputs[0].value.index, std::move(*result));
        return;
      }
    }
    if (operation.target == "aten._assert_scalar.default" && !args.empty() && args[0] == Argument(true))
      return;
    const auto source = innermost_frame(operation.stack_trace.view());
    const Expression* condition = asserted_condition(operation, env.graph);
    if (condition != nullptr && !bound_.dimensions().implies(*condition))
      tracer_.guard(*condition, source, GuardReason::kAssert);
    for (const ProgramSubgraph& subgraph : operation.subgraphs) record_subgraph(env, operation, subgraph);
    std::vector<NodeId> for_subgraphs;
    for (const ProgramSubgraph& subgraph : operation.subgraphs) {
      for_each_lasting_operand(operation, subgraph.graph, [&](NodeId, const Argument& operand) {
        const auto* value = operand.get_if<NodeId>();
        if (value != nullptr && env.nodes[value->index].valid())
          for_subgraphs.push_back(env.nodes[value->index]);
        if (value != nullptr && is_models_own(env, *value)) for_subgraphs.push_back(node_of(env, *value));
      });
    }

    // With a token, the program's name is that of with_effects, which called the operator.
    const bool has_other_name = operation.has_effect && operation.subgraphs.empty();
    const std::string name = has_other_name ? "" : operation.name;
    const NodeId node =
        tracer_.call_with_subgraphs(operation.target.text(), std::move(args), std::move(kwargs),
                                    meta_of_results(env, operation), source, name, for_subgraphs);
    Items<std::int64_t> made;
    for (const auto& [value, path] : operation.outputs) {
      if (path.empty()) {
        env.nodes[value.index] = node;
      } else if (env.uses[value.index] > 0 && env.fixed.count(value.index) == 0) {
        const ProgramValue& made_value = env.graph.values[value.index];
        env.nodes[value.index] = item(node, path, made, made_value.meta, source, made_value.name);
      }
    }
  }

  static Meta meta_of_results(const Environment& env, const Operation& operation) {
    Meta meta;
    for (const auto& [value, path] : operation.outputs) {
      Meta* place = &meta;
      for (const std::int64_t index : path) {
        auto& items = place->items ? *place->items : place->items.emplace();
        const auto at = static_cast<std::size_t>(index);
        items.resize(std::max(items.size(), at + 1));
        place = &items[at];
      }
      *place = env.graph.values[value.index].meta;
    }
    return meta;
  }

  // Returns whether the ranges of the dimensions decide the operation: its results are known, or its check
  // holds.
  static bool is_decided(const Environment& env, const Operation& operation) {
    if (operation.holds) return true;
    const Effect effect = effect_of(operation);
    if (operation.outputs.empty() || (effect != Effect::kSymbolic && effect != Effect::kPure)) return false;
    return std::all_of(operation.outputs.begin(), operation.outputs.end(), [&](const auto& output) {
      return env.graph.values[output.value.index].fixed.has_value();
    });
  }

  void record_subgraph(Environment& outer, const Operation& operation, const ProgramSubgraph& subgraph) {
    const CallId call = open_.empty() ? base_ : open_.back();
    const ProgramGraph& graph = subgraph.graph;
    // Several operators may use one subgraph, which the program then repeats.
    const auto [known, is_new] = outer.subgraphs.emplace(subgraph.name, &graph);
    if (!is_new) {
      const ProgramGraph& same = *known->second;
      if (same.operations.size() == graph.operations.size() && same.values.size() == graph.values.size())
        return;
      throw input_error("two different subgraphs are named '" + subgraph.name + "'");
    }
    tracer_.begin_subgraph(subgraph.name);
    const auto place = static_cast<std::size_t>(&operation - outer.graph.operations.data());
    const auto& said = outer.said.operations[place].subgraphs;
    const auto same = std::ranges::find(said, subgraph.name, &ProgramSubgraph::name);
    Environment env(graph, same == said.end() ? graph : same->graph, bound_.custom_costs());
    bind_inputs(outer, operation, env);
    record_inputs(env);
    record_all(env);
    go_to(call);
    record_outputs(env);
    tracer_.end_subgraph();
  }

  // Notes the inputs of a subgraph that are parameters, buffers or constants of the model in every run of it.
  static void bind_inputs(const Environment& outer, const Operation& operation, Environment& subgraph) {
    for_each_lasting_operand(operation, subgraph.graph, [&](NodeId input, const Argument& operand) {
      const auto* value = operand.get_if<NodeId>();
      if (value == nullptr) return;
      const auto lifted = outer.lifted.find(outer.origin[value->index].index);
      if (lifted != outer.lifted.end()) subgraph.lifted.emplace(input.index, lifted->second);
    });
  }

  // Tells the tracer which tensors the calls of each module return; it keeps those of the first call.
  void note_outputs(const ProgramGraph& graph) {
    const auto note = [&](ModuleId module, const std::vector<NodeId>& values) {
      std::vector<Meta> outputs;
      for (const NodeId value : values) {
        const Meta& meta = graph.values[value.index].meta;
        if (meta.kind() == ValueKind::kTensor) outputs.push_back(meta);
      }
      tracer_.module_gives(module, std::move(outputs));
    };
    const auto given = outputs_of_calls(graph, program_.hierarchy());
    for (CallId call = 1; call < calls_.size(); ++call) note(calls_[call].module, given[call]);
    std::vector<NodeId> results;
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const auto* value = graph.outputs[i].get_if<NodeId>();
      if (value != nullptr && is_result(program_.signature().outputs[i].role)) results.push_back(*value);
    }
    note(ModuleId{0}, results);
  }

  // --- leaves ---

  void record_leaf(Environment& env, CallId leaf, const std::vector<std::uint32_t>& all) {
    std::vector<std::uint32_t> operations = all;
    go_to(calls_[leaf].parent);
    const auto reached = reached_modules(env.graph, operations, leaf);
    const auto is_own = [&](NodeId value) { return is_leafs_own(env, value, reached); };
    const Operation& first = env.graph.operations[all.front()];
    const Boundary boundary = env.sizes.settle(
        operations, [&](const auto& inside) { return boundary_of(env.graph, inside, env.uses, is_own); },
        [&](const Operation& operation) {
          return program_.hierarchy().is_run_by_caller_of(operation, leaf);
        });
    auto source = calling_frame(first.stack_trace.view(), calls_[leaf].depth, calls_[first.call].depth + 1);
    if (!source) source = innermost_frame(first.stack_trace.view());

    const LeafOperations inside{env.graph, operations, boundary};
    std::optional<LeafCall> call;
    if (&env.graph == &bound_.graph()) {
      const CallSignature* signature = program_.find_signature(calls_[leaf]);
      const auto is_known = [&](NodeId value) {
        Found found;
        return is_there(env, value, found, 0);
      };
      if (signature != nullptr) call = recorded_call(inside, *signature, is_known);
    }
    if (!call) {
      const auto name_of_own = [&](NodeId value) -> std::string_view {
        const auto lifted = env.lifted.find(env.origin[value.index].index);
        return lifted != env.lifted.end() ? std::string_view(lifted->second->target) : std::string_view();
      };
      const auto path_of_call = [&](const Operation& operation) -> std::string_view {
        return program_.modules()[calls_[operation.call].module.index].path;
      };
      const ModuleInfo& module = program_.modules()[calls_[leaf].module.index];
      call = torch_nn_call(inside, module.type, {name_of_own, path_of_call});
    }
    const bool is_plain = !call;
    if (is_plain) call = plain_call(boundary);

    auto [args, kwargs] = arguments_of(env, *call);
    const NodeId node = tracer_.call_leaf(calls_[leaf].module, std::move(args), std::move(kwargs),
                                          meta_of_result(env, *call), source);
    if (is_plain && call->args.size() > 1) tracer_.set_in_order_of_use(node);
    stands_for(env, node, operations, *call, source);
    for (const std::uint32_t index : all) {  // checks that are not the leaf's
      const Operation& check = env.graph.operations[index];
      if (check.outputs.empty() && !std::ranges::binary_search(operations, index)) record_here(env, check);
    }
  }

  static Meta meta_of_result(const Environment& env, const LeafCall& call) {
    const bool is_single = call.results.size() == 1 && call.results[0].path.empty();
    return is_single ? env.graph.values[call.results[0].value.index].meta : Meta{};
  }

  // Records the operations that a call stands for and their cost, and the nodes for the parts of its result.
  void stands_for(Environment& env, NodeId node, const std::vector<std::uint32_t>& operations,
                  const LeafCall& call, const std::optional<SourceLocation>& source) {
    tracer_.set_program(node, part_of(env.graph, operations, call));
    tracer_.set_cost(node, env.costs.cost_of(operations));
    Items<Argument> made;
    for (const auto& [value, path] : call.results) {
      if (env.fixed.count(value.index) != 0) continue;
      const Meta& meta = env.graph.values[value.index].meta;
      env.nodes[value.index] = path.empty() ? node : item(node, path, made, meta, source, "");
    }
    for (const auto& [value, same] : call.handed_on) env.nodes[value.index] = env.nodes[same.index];
  }

  static ProgramPart part_of(const ProgramGraph& graph, const std::vector<std::uint32_t>& operations,
                             const LeafCall& call) {
    ProgramPart part;
    for (const auto index : operations) part.nodes.push_back(name_of_node(graph, graph.operations[index]));
    std::vector<Argument> path;
    const auto add = [&](const Argument& operand, const auto& self) -> void {
      const auto below = [&](const Argument& key, const Argument& item) {
        path.push_back(key);
        self(item, self);
        path.pop_back();
      };
      if (const auto* value = operand.get_if<NodeId>()) {
        part.inputs.push_back({graph.values[value->index].name, path});
      } else if (const auto* items = items_of(operand)) {
        for (std::size_t i = 0; i < items->size(); ++i) below(static_cast<std::int64_t>(i), (*items)[i]);
      } else if (const auto* dict = operand.get_if<Argument::Dict>()) {
        for (const auto& [key, item] : dict->items) below(constant_argument(key), item);
      }
    };
    for (std::size_t i = 0; i < call.args.size(); ++i) {
      path = {static_cast<std::int64_t>(i)};
      add(call.args[i], add);
    }
    for (const auto& [name, argument] : call.kwargs) {
      path = {name};
      add(argument, add);
    }
    for (const auto& [value, where] : call.results)
      part.results.push_back({graph.values[value.index].name, where});
    return part;
  }

  // Returns a whole graph as a part, with its inputs as positional arguments.
  static ProgramPart whole(const ProgramGraph& graph) {
    Boundary boundary;
    for (const auto& input : graph.inputs) boundary.entering.push_back(input.value);
    for (const Argument& output : graph.outputs) {
      if (const auto* value = output.get_if<NodeId>()) boundary.leaving.push_back(*value);
    }
    std::vector<std::uint32_t> all(graph.operations.size());
    std::iota(all.begin(), all.end(), 0U);
    return part_of(graph, all, plain_call(boundary));
  }

  void record_function(Environment& env, const KeptCall& kept) {
    go_to(env.graph.operations[kept.operations.front()].call);
    const LeafCall call = plain_call(kept.boundary);
    auto [args, kwargs] = arguments_of(env, call);
    const NodeId node = tracer_.call_model_function(kept.function, std::move(args), std::move(kwargs),
                                                    meta_of_result(env, call), kept.caller, true);
    stands_for(env, node, kept.operations, call, kept.caller);
  }

  // Returns the leaf's module and the modules that run within its call.
  std::vector<ModuleId> reached_modules(const ProgramGraph& graph,
                                        const std::vector<std::uint32_t>& operations, CallId leaf) const {
    std::vector<ModuleId> reached{calls_[leaf].module};
    std::unordered_set<CallId> seen{leaf};
    const auto look = [&](const Operation& operation, const auto& self) -> void {
      for (CallId call = operation.call; operation.has_stack && call != kRootCall && seen.insert(call).second;
           call = calls_[call].parent) {
        reached.push_back(calls_[call].module);
      }
      for (const ProgramSubgraph& inner : operation.subgraphs) {
        for (const Operation& in_subgraph : inner.graph.operations) self(in_subgraph, self);
      }
    };
    for (const auto index : operations) look(graph.operations[index], look);
    return reached;
  }

  // Returns whether the leaf accesses the value without it being an argument: the parameters and buffers of
  // its modules, constants and objects.
  bool is_leafs_own(const Environment& env, NodeId value, const std::vector<ModuleId>& reached) const {
    const std::uint32_t origin = env.origin[value.index].index;
    const auto lifted = env.lifted.find(origin);
    if (lifted == env.lifted.end()) return env.objects.count(origin) != 0;
    if (lifted->second->constant || lifted->second->kind == ParameterKind::kCustomObject) return true;
    const auto is_below = [&](ModuleId module) {
      const std::string prefix = program_.modules()[module.index].path + ".";
      const auto& names = lifted->second->names;
      return std::any_of(names.begin(), names.end(),
                         [&](const auto& name) { return name.starts_with(prefix); });
    };
    return std::any_of(reached.begin(), reached.end(), is_below);
  }

  // --- inputs and outputs of the program ---

  // Records a placeholder for each user input that no option fixes; the values of the others go into the
  // signature.  Returns the arguments of a call of the root.
  std::vector<Argument> record_user_inputs(Environment& env, GraphSignature& signature) {
    const InputChoice choice = input_choice();
    const auto& inputs = env.graph.inputs;
    std::vector<Argument> placeholders;
    input_names_.assign(inputs.size(), {});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (env.lifted.count(inputs[i].value.index) != 0) continue;
      const auto& entry = signature.inputs[i];
      if (fix_input(env, choice, inputs[i].value, entry)) {
        placeholders.emplace_back(env.fixed.at(inputs[i].value.index));
        signature.inputs[i].value = placeholders.back();
        continue;
      }
      const std::string name = input_name(entry.name, i);
      // The value that the program was exported with is no default: torch refuses a call without it.
      const NodeId node = tracer_.placeholder(name, {}, env.graph.values[inputs[i].value.index].meta);
      env.nodes[inputs[i].value.index] = node;
      placeholders.emplace_back(node);
      input_names_[i] = name;
      if (entry.value) guard_value(name, *entry.value, GuardReason::kExported);
    }
    return placeholders;
  }

  // Records the guard that an input has the value to which it is fixed.
  void guard_value(const std::string& name, const Argument& value, GuardReason reason) {
    Expression input = Expression::variable(name);
    const auto* number = value.get_if<double>();
    if (number != nullptr && std::isnan(*number)) {
      Expression is_nan = Expression::attribute(Expression::variable("math"), "isnan");
      return tracer_.guard(Expression::call(std::move(is_nan), {std::move(input)}), std::nullopt, reason);
    }
    Expression fixed = guard_expression(Graph(), value);
    tracer_.guard(
        Expression::comparison(value.is<Argument::None>() ? "is" : "==", std::move(input), std::move(fixed)),
        std::nullopt, reason);
  }

  // Applies --concrete and --input-names; returns whether the input is fixed, so that it has no placeholder.
  bool fix_input(Environment& env, const InputChoice& choice, NodeId value,
                 const GraphSignature::Entry& entry) {
    const auto decision = choice.decide(entry.name);
    using Kind = InputChoice::Decision::Kind;
    if (decision.kind == Kind::kRemains) return false;
    if (decision.kind == Kind::kFixed) {
      const Meta& meta = env.graph.values[value.index].meta;
      check_concrete(entry, meta, *decision.value);
      const auto* number = decision.value->get_if<std::int64_t>();
      if (meta.value && !meta.value->number() && number != nullptr) {
        tracer_.guard(Expression::comparison(Relation::kEqual, *meta.value, *number), std::nullopt,
                      GuardReason::kConcrete);
      } else if (entry.value || !meta.value) {  // else the dimension has its guard
        guard_value(entry.name, *decision.value, GuardReason::kConcrete);
      }
      env.fixed.emplace(value.index, *decision.value);
      return true;
    }
    if (!entry.value) fail_inputs(InputChoice::no_default(entry.name));
    guard_value(entry.name, *entry.value, GuardReason::kExported);
    env.fixed.emplace(value.index, *entry.value);
    return true;
  }

  void check_concrete(const GraphSignature::Entry& entry, const Meta& meta, const Argument& value) const {
    if (entry.value) {
      if (value != *entry.value) fail_inputs("'" + entry.name + "' is fixed to another value in the program");
      return;
    }
    const ValueKind kind = meta.kind();
    const bool fits = (kind == ValueKind::kInt && value.is<std::int64_t>()) ||
                      (kind == ValueKind::kBool && value.is<bool>()) ||
                      (kind == ValueKind::kFloat && value.is<double>());
    if (fits) return;
    fail_inputs("'" + entry.name + "': expected " + meta.type.value_or("Tensor") + ", got " +
                print_argument(value));
  }

  InputChoice input_choice() const {
    std::vector<std::string> names;
    for (const auto& entry : program_.signature().inputs) {
      if (!entry.target) names.push_back(entry.name);
    }
    return {bound_.options(), names, [this](const std::string& what) { fail_inputs(what); }};
  }

  [[noreturn]] void fail_inputs(const std::string& what) const {
    std::string inputs;
    for (std::size_t i = 0; i < program_.signature().inputs.size(); ++i) {
      const auto& entry = program_.signature().inputs[i];
      if (entry.target || inputs.size() > 400) continue;
      const Meta& meta = bound_.graph().values[bound_.graph().inputs[i].value.index].meta;
      inputs += (inputs.empty() ? "" : ", ") + shell_word(entry.name);
      inputs += entry.value ? " (fixed)" : ": " + meta.type.value_or("Tensor");
    }
    throw usage_error(what, {inputs.empty() ? "the program has no inputs" : "the inputs are " + inputs});
  }

  static bool is_mutation(const GraphSignature::Entry& entry) {
    return entry.role == SignatureRole::kBufferMutation || entry.role == SignatureRole::kParameterMutation ||
           entry.role == SignatureRole::kUserInputMutation;
  }

  // Returns the inputs of the graph by qualified name or input name; nothing when there are no mutations.
  std::unordered_map<std::string, NodeId> mutable_inputs(const GraphSignature& signature) const {
    std::unordered_map<std::string, NodeId> found;
    if (std::none_of(signature.outputs.begin(), signature.outputs.end(), is_mutation)) return found;
    const auto& inputs = bound_.graph().inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& entry = signature.inputs[i];
      found.emplace(entry.target ? *entry.target : entry.name, inputs[i].value);
    }
    return found;
  }

  // Returns the outputs, by index, whose mutation of a buffer stays within a leaf: the new value is made
  // there and used nowhere else, and nothing reads the old value afterwards.
  std::unordered_set<std::size_t> absorbed_mutations(Environment& env, const std::vector<Step>& steps,
                                                     const GraphSignature& signature,
                                                     const std::unordered_map<std::string, NodeId>& inputs) {
    std::unordered_set<std::size_t> absorbed;
    if (inputs.empty()) return absorbed;
    constexpr std::size_t kNever = SIZE_MAX;
    std::vector<std::size_t> made_in(env.graph.values.size(), kNever);
    std::vector<std::size_t> last_use(env.graph.values.size(), 0);
    std::vector<std::uint32_t> uses_in_maker(env.graph.values.size(), 0);
    for (std::size_t at = 0; at < steps.size(); ++at) {
      for (const auto index : steps[at].operations) {
        const Operation& operation = env.graph.operations[index];
        for_each_input(operation, [&](NodeId value) {
          last_use[value.index] = at;
          if (made_in[value.index] == at) ++uses_in_maker[value.index];
        });
        for (const auto& output : operation.outputs) made_in[output.value.index] = at;
      }
    }
    for (const Argument& output : env.graph.outputs) {
      for_each_reference(output, [&](NodeId value) { last_use[value.index] = kNever; });
    }
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const auto& entry = signature.outputs[i];
      const auto* value = env.graph.outputs[i].get_if<NodeId>();
      const auto changed = entry.target ? inputs.find(*entry.target) : inputs.end();
      if (entry.role != SignatureRole::kBufferMutation || value == nullptr || changed == inputs.end())
        continue;
      const std::size_t maker = made_in[value->index];
      if (maker == kNever || !steps[maker].leaf || *steps[maker].leaf >= calls_.size()) continue;
      if (env.uses[value->index] != uses_in_maker[value->index] + 1) continue;
      if (last_use[changed->second.index] > maker) continue;
      --env.uses[value->index];
      absorbed.insert(i);
    }
    return absorbed;
  }

  void record_mutations(Environment& env, const GraphSignature& signature,
                        const std::unordered_map<std::string, NodeId>& inputs,
                        const std::unordered_set<std::size_t>& absorbed) {
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const auto& entry = signature.outputs[i];
      if (!is_mutation(entry) || absorbed.count(i) != 0 || !entry.target) continue;
      const auto changed = inputs.find(*entry.target);
      if (changed == inputs.end()) {
        throw input_error("the program changes '" + *entry.target + "', which is not one of its inputs");
      }
      const NodeId target = node_of(env, changed->second);
      tracer_.call_function("aten.copy_.default", {target, with_nodes(env, env.graph.outputs[i])}, {},
                            env.graph.values[changed->second.index].meta, std::nullopt);
    }
  }

  void record_output(Environment& env, const GraphSignature& signature) {
    std::vector<Argument> leaves;
    const auto& spec = program_.out_spec();
    Meta meta;
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      if (!is_result(signature.outputs[i].role)) continue;
      const Argument& output = env.graph.outputs[i];
      leaves.push_back(with_nodes(env, output));
      const auto* value = output.get_if<NodeId>();
      if (value != nullptr && spec && spec->kind == TreeSpec::Kind::kLeaf)
        meta = env.graph.values[value->index].meta;
    }
    tracer_.output(spec ? spec->unflatten(leaves) : Argument(Argument::Tuple{std::move(leaves)}),
                   std::move(meta));
  }

  void finish(Environment& env, GraphSignature& signature) {
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const NodeId value = env.graph.inputs[i].value;
      const auto own = env.own_nodes.find(value.index);
      signature.inputs[i].node = own != env.own_nodes.end() ? own->second : env.nodes[value.index];
    }
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const auto* value = env.graph.outputs[i].get_if<NodeId>();
      if (value == nullptr) continue;
      signature.outputs[i].node = env.nodes[value->index];
      const auto fixed = env.fixed.find(value->index);
      if (fixed != env.fixed.end()) signature.outputs[i].value = fixed->second;
    }
    add_arguments_without_parts(signature);
    tracer_.set_signature(std::move(signature));
  }

  // Adds entries for empty lists and dicts: they are not inputs of the program, but arguments of a call.
  void add_arguments_without_parts(GraphSignature& signature) const {
    const std::vector<NestedArgument> arguments = nested_arguments(program_);
    for (const NestedArgument& argument : std::views::reverse(arguments)) {
      if (argument.spec->leaves != 0) continue;
      std::size_t before = argument.first;
      auto place = signature.inputs.begin();
      for (; place != signature.inputs.end(); ++place) {
        if (place->role == SignatureRole::kUserInput && before-- == 0) break;
      }
      GraphSignature::Entry entry;
      entry.name = argument.name;
      entry.path = {argument.name};
      entry.value = argument.spec->unflatten({});
      signature.inputs.insert(place, std::move(entry));
    }
  }

  const BoundExportedProgram& bound_;
  const ExportedProgram& program_;
  const std::vector<Hierarchy::Call>& calls_;
  GraphTracer& tracer_;
  std::optional<KeptFunctions> functions_;  // if rules keep any
  std::vector<std::string> input_names_;    // by input of the program: the placeholder's name, or empty
  CallId base_ = kRootCall;
  std::vector<CallId> leaf_of_;  // by call: kUnknown until it is asked
  std::vector<std::int64_t>
      entered_;               // by call: its number among those of its module; 0 before it is entered
  std::vector<CallId> open_;  // calls below base_ whose forward records nodes, outermost first
};

}  // namespace

void build_module_graph(const BoundExportedProgram& program, ModuleId root, bool root_is_leaf,
                        GraphTracer& tracer) {
  ModuleGraphBuilder builder(program, tracer);
  if (root.index == 0) {
    builder.record_model(root_is_leaf);
  } else {
    builder.record_call(root, root_is_leaf);
  }
}

}  // namespace fxtrace
