#include "exported/modules/module_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "costs/node_costs.h"
#include "exported/modules/bound_exported_program.h"
#include "exported/modules/call_graph.h"
#include "exported/modules/gathered_calls.h"
#include "exported/modules/leaf_call.h"
#include "exported/program/stack_trace.h"
#include "graph/analysis/fold_numbers.h"
#include "graph/analysis/text_form.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/qualified_name.h"
#include "trace/options/input_spec.h"
#include "trace/tracer/guard_expression.h"

namespace fxtrace::internal {
namespace {

constexpr CallId kUnknown = UINT32_MAX;
constexpr CallId kNoLeaf = UINT32_MAX - 1;

// The state of a graph that is being recorded: the program's, or that of a subgraph.
struct Environment {
  // `without_options`: see LocalSizes.
  Environment(const ProgramView& g, const ProgramView& without_options, const CustomCosts& custom)
      : graph(g),
        plain(without_options),
        nodes(g.graph().id_count()),
        uses(count_uses(g)),
        costs(g.module_graph(), custom, &uses),
        origin(origins(g)),
        sizes(g, without_options) {
    for (const NodeId object : g.objects()) objects.emplace(object.index, *g.node(object).target);
  }

  const ProgramView graph, plain;
  std::vector<NodeId> nodes;        // by value: the node that has it; invalid without one
  std::vector<std::uint32_t> uses;  // by value
  NodeCosts costs;                  // of leaves
  std::vector<NodeId> origin;       // by value: see origins()
  LocalSizes sizes;
  std::unordered_map<std::uint32_t, const LiftedInput*> lifted;
  std::unordered_map<std::uint32_t, std::string> objects;
  std::unordered_map<std::uint32_t, Argument> fixed = graph.table().fixed;  // values that are known
  std::unordered_map<std::uint32_t, NodeId> own_nodes;                      // get_attr nodes, by lifted value
  std::unordered_set<std::string_view> subgraphs;  // names of those that are recorded
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
    const ProgramView graph = bound_.graph();
    Environment env(graph, program_.graph(), bound_.custom_costs());
    for (const NodeId input : program_.inputs()) {
      if (const auto* lifted = program_.find_lifted(input)) env.lifted.emplace(input.index, lifted);
    }
    GraphSignature signature = program_.signature();
    std::vector<Argument> placeholders = record_user_inputs(env, signature);
    const auto lines = lines_of_asserts(graph);
    for (auto& guard : program_guards(bound_, input_names_)) {
      const auto line = lines.find(guard.text());
      tracer_.guard(std::move(guard), line == lines.end() ? std::nullopt : line->second,
                    GuardReason::kExported);
    }
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
    tracer_.add_unwrapped_calls(functions_->followed());
    if (!functions_->are_known()) {
      tracer_.rules().set_functions_unknown(
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
    const CallGraph cut = bound_.calls().cut_out(base_, is_own);
    const ProgramView graph = cut.graph.view();
    Environment env(graph, graph, bound_.custom_costs());
    for (std::uint32_t i = 0; i < cut.origin.size(); ++i) {
      const auto* lifted = cut.origin[i].valid() ? program_.find_lifted(cut.origin[i]) : nullptr;
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
    const Meta& meta = env.graph.meta(origin);
    const auto lifted = env.lifted.find(origin.index);
    if (lifted == env.lifted.end()) {
      const auto object = env.objects.find(origin.index);
      if (object != env.objects.end()) return tracer_.get_attr(object->second, meta, std::nullopt);
      DecidedParts found;
      if (can_compute(env, value, found)) return compute(env, value);
      throw Error(ErrorKind::kInternal, "nothing holds the value '" + env.graph.value_name(value) + "'");
    }
    const LiftedInput& input = *lifted->second;
    const NodeId node = input.constant ? tracer_.named_constant(
                                             input.target, [&] { return constant(input, env.graph, origin); })
                                       : tracer_.get_attr(input.target, meta, std::nullopt);
    env.own_nodes.emplace(origin.index, node);
    return node;
  }

  // --- sizes that a leaf has computed ---

  // The answers of can_compute() in one search, by value, so that each value is examined once.
  using DecidedParts = std::unordered_map<std::uint32_t, bool>;

  bool is_there(const Environment& env, NodeId value, DecidedParts& found, int depth) const {
    return env.nodes[value.index].valid() || env.nodes[env.origin[value.index].index].valid() ||
           env.fixed.count(value.index) != 0 || is_models_own(env, value) ||
           can_compute(env, value, found, depth);
  }
  bool can_compute(const Environment& env, NodeId value, DecidedParts& found, int depth = 0) const {
    constexpr int kMaxDepth = 64;
    if (!env.sizes.is_size(value) || depth > kMaxDepth) return false;
    if (const auto known = found.find(value.index); known != found.end()) return known->second;
    const bool result = can_repeat(env, value, found, depth) || find_tensor(env, value) != nullptr;
    return found.emplace(value.index, result).first->second;
  }
  bool can_repeat(const Environment& env, NodeId value, DecidedParts& found, int depth = 0) const {
    bool all = env.sizes.has_maker(value);
    if (all) {
      for_each_input(env.graph.node(value),
                     [&](NodeId used) { all = all && is_there(env, used, found, depth + 1); });
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
    const Meta& meta = env.graph.meta(value);
    NodeId& node = env.nodes[value.index];
    DecidedParts found;
    if (!can_repeat(env, value, found)) {
      const auto [tensor, dim] = *find_tensor(env, value);
      const Argument place(static_cast<std::int64_t>(dim));
      node = tracer_.call_function("aten.sym_size.int", {env.nodes[tensor.index], place}, {}, meta,
                                   std::nullopt, env.graph.value_name(value));
      return node;
    }
    const Node& maker = env.graph.node(value);
    auto [args, kwargs] = arguments_of(env, maker);
    node = tracer_.call_function(*maker.target, std::move(args), std::move(kwargs), meta,
                                 innermost_frame(env.graph.facts(value).stack_trace.view()),
                                 env.graph.operation_name(value));
    return node;
  }

  Constant constant(const LiftedInput& input, const ProgramView& graph, NodeId value) const {
    if (!input.constant->record.empty()) return program_.archive().read_constant(*input.constant);
    Constant unknown;  // the archive has no record for it
    unknown.dtype = graph.meta(value).dtype_text().value_or("");
    unknown.shape = fixed_shape(graph, value);
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
      const auto leaf = [&](NodeId operation) {
        const CallId outermost = leaf_of(env.graph.facts(operation).call);
        return outermost == kNoLeaf ? kRootCall : outermost;
      };
      const auto is_own = [&](NodeId value) { return is_functions_own(env, value); };
      env.functions = functions_->find_calls(env.graph, env.uses, leaf, is_own);
      for (std::size_t i = 0; i < env.functions.size(); ++i) {
        for (const NodeId operation : env.functions[i].operations)
          of_function.emplace(operation.index, static_cast<CallId>(calls_.size() + i));
      }
    }
    return schedule(env.graph, [&](NodeId operation) -> std::optional<CallId> {
      const auto function = of_function.find(operation.index);
      if (function != of_function.end()) return function->second;
      const ProgramNode& facts = env.graph.facts(operation);
      if (!facts.has_stack) return std::nullopt;
      const CallId leaf = leaf_of(facts.call);
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
    for (const NodeId value : env.graph.inputs()) {
      const NodeId node = tracer_.placeholder(input_name(env.graph.value_name(value), placeholders.size()),
                                              {}, env.graph.meta(value));
      env.nodes[value.index] = node;
      const auto lifted = env.lifted.find(value.index);
      if (lifted != env.lifted.end()) tracer_.stands_for_parameter(node, lifted->second->target);
      placeholders.emplace_back(node);
    }
    return placeholders;
  }
  void record_outputs(Environment& env) {
    std::vector<Argument> outputs;
    for (const Argument& output : env.graph.outputs()) outputs.push_back(with_nodes(env, output));
    const bool is_single = env.graph.has_single_output();
    tracer_.output(is_single ? outputs.front() : Argument(Argument::Tuple{std::move(outputs)}), {});
  }

  void record(Environment& env, const Step& step) {
    if (step.leaf && *step.leaf >= calls_.size()) {
      record_function(env, env.functions[*step.leaf - calls_.size()]);
    } else if (step.leaf) {
      record_leaf(env, *step.leaf, step.operations);
    } else {
      for (const NodeId operation : step.operations) record_operation(env, operation);
    }
  }

  // Returns, by the text of each condition that the program asserts, the line for which torch.export did so.
  static std::map<std::string, std::optional<SourceLocation>> lines_of_asserts(const ProgramView& graph) {
    std::map<std::string, std::optional<SourceLocation>> lines;
    for (const NodeId operation : graph.operations()) {
      if (const Expression* condition = asserted_condition(graph, operation))
        lines.emplace(condition->text(), innermost_frame(graph.facts(operation).stack_trace.view()));
    }
    return lines;
  }

  void record_operation(Environment& env, NodeId operation) {
    // An operation that belongs to no module stays in the call of the operation before it.
    const ProgramNode& facts = env.graph.facts(operation);
    if (facts.has_stack) go_to(facts.call);
    record_here(env, operation);
  }
  void record_here(Environment& env, NodeId operation) {
    if (is_decided(env, operation)) return;
    const Node& program_node = env.graph.node(operation);
    const ProgramNode& facts = env.graph.facts(operation);
    auto [args, kwargs] = arguments_of(env, program_node);
    const std::vector<ProgramResult> results = env.graph.results(operation);
    // An operation on plain values only is evaluated.
    if (results.size() == 1 && kwargs.empty()) {
      if (auto result = fold(*program_node.target, args)) {
        env.fixed.emplace(results[0].value.index, std::move(*result));
        return;
      }
    }
    if (program_node.target == "aten._assert_scalar.default" && !args.empty() && args[0] == Argument(true))
      return;
    const auto source = innermost_frame(facts.stack_trace.view());
    const Expression* condition = asserted_condition(env.graph, operation);
    if (condition != nullptr && !bound_.dimensions().implies(*condition))
      tracer_.guard(*condition, source, GuardReason::kAssert);
    std::vector<NodeId> for_subgraphs;
    bool has_subgraphs = false;
    env.graph.for_each_subgraph(operation, [&](const std::string& name, const ProgramView& body) {
      has_subgraphs = true;
      record_subgraph(env, program_node, name, body);
    });
    env.graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
      for_each_lasting_operand(program_node, body, [&](NodeId, const Argument& operand) {
        const auto* value = operand.get_if<NodeId>();
        if (value != nullptr && env.nodes[value->index].valid())
          for_subgraphs.push_back(env.nodes[value->index]);
        if (value != nullptr && is_models_own(env, *value)) for_subgraphs.push_back(node_of(env, *value));
      });
    });

    // With a token, the program's name is that of with_effects, which called the operator.
    const bool has_other_name = facts.has_effect && !has_subgraphs;
    const std::string name = has_other_name ? "" : env.graph.operation_name(operation);
    const NodeId node =
        tracer_.call_with_subgraphs(*program_node.target, std::move(args), std::move(kwargs),
                                    meta_of_results(env, results), source, name, for_subgraphs);
    Items<std::int64_t> made;
    for (const auto& [value, path] : results) {
      if (path.empty()) {
        env.nodes[value.index] = node;
      } else if (env.uses[value.index] > 0 && env.fixed.count(value.index) == 0) {
        env.nodes[value.index] =
            item(node, path, made, env.graph.meta(value), source, env.graph.value_name(value));
      }
    }
  }

  static Meta meta_of_results(const Environment& env, const std::vector<ProgramResult>& results) {
    Meta meta;
    for (const auto& [value, path] : results) {
      Meta* place = &meta;
      for (const std::int64_t index : path) {
        auto& items = place->items ? *place->items : place->items.emplace();
        const auto at = static_cast<std::size_t>(index);
        items.resize(std::max(items.size(), at + 1));
        place = &items[at];
      }
      *place = env.graph.meta(value);
    }
    return meta;
  }

  // Returns whether the ranges of the dimensions decide the operation: its results are known, or its check
  // holds.
  static bool is_decided(const Environment& env, NodeId operation) {
    if (env.graph.facts(operation).holds) return true;
    if (env.graph.table().fixed.empty() || !env.graph.has_results(operation)) return false;
    const Effect effect = effect_of(env.graph, operation);
    if (effect != Effect::kSymbolic && effect != Effect::kPure) return false;
    bool all = true;
    env.graph.for_each_result(operation, [&](NodeId value) { all = all && env.graph.find_fixed(value); });
    return all;
  }

  void record_subgraph(Environment& outer, const Node& operation, const std::string& name,
                       const ProgramView& graph) {
    const CallId call = open_.empty() ? base_ : open_.back();
    if (!outer.subgraphs.insert(name).second) return;
    tracer_.begin_subgraph(name);
    Environment env(graph, outer.plain.find_subgraph(name).value_or(graph), bound_.custom_costs());
    bind_inputs(outer, operation, env);
    record_inputs(env);
    record_all(env);
    go_to(call);
    record_outputs(env);
    tracer_.end_subgraph();
  }

  // Notes the inputs of a subgraph that are parameters, buffers or constants of the model in every run of it.
  static void bind_inputs(const Environment& outer, const Node& operation, Environment& subgraph) {
    for_each_lasting_operand(operation, subgraph.graph, [&](NodeId input, const Argument& operand) {
      const auto* value = operand.get_if<NodeId>();
      if (value == nullptr) return;
      const auto lifted = outer.lifted.find(outer.origin[value->index].index);
      if (lifted != outer.lifted.end()) subgraph.lifted.emplace(input.index, lifted->second);
    });
  }

  // Tells the tracer which tensors the calls of each module return; it keeps those of the first call.
  void note_outputs(const ProgramView& graph) {
    const auto note = [&](ModuleId module, const std::vector<NodeId>& values) {
      std::vector<Meta> outputs;
      for (const NodeId value : values) {
        const Meta& meta = graph.meta(value);
        if (meta.kind() == ValueKind::kTensor) outputs.push_back(meta);
      }
      tracer_.module_gives(module, std::move(outputs));
    };
    const auto given = outputs_of_calls(graph, program_.hierarchy());
    for (CallId call = 1; call < calls_.size(); ++call) note(calls_[call].module, given[call]);
    std::vector<NodeId> results;
    const std::vector<Argument> outputs = graph.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto* value = outputs[i].get_if<NodeId>();
      if (value != nullptr && is_result(program_.signature().outputs[i].role)) results.push_back(*value);
    }
    note(ModuleId{0}, results);
  }

  // --- leaves ---

  void record_leaf(Environment& env, CallId leaf, const std::vector<NodeId>& all) {
    std::vector<NodeId> operations = all;
    go_to(calls_[leaf].parent);
    const auto reached = reached_modules(env.graph, operations, leaf);
    const auto is_own = [&](NodeId value) { return is_leafs_own(env, value, reached); };
    const ProgramNode& first = env.graph.facts(all.front());
    const Boundary boundary = env.sizes.settle(
        operations, [&](const auto& inside) { return boundary_of(env.graph, inside, env.uses, is_own); },
        [&](NodeId operation) {
          return program_.hierarchy().is_run_by_caller_of(env.graph.facts(operation), leaf);
        });
    auto source = calling_frame(first.stack_trace.view(), calls_[leaf].depth, calls_[first.call].depth + 1);
    if (!source) source = innermost_frame(first.stack_trace.view());

    const LeafOperations inside{env.graph, operations, boundary};
    std::optional<LeafCall> call;
    if (&env.graph.module_graph() == &bound_.graph().module_graph()) {
      const CallSignature* signature = program_.find_signature(calls_[leaf]);
      const auto is_known = [&](NodeId value) {
        DecidedParts found;
        return is_there(env, value, found, 0);
      };
      if (signature != nullptr) call = recorded_call(inside, *signature, is_known);
    }
    if (!call) {
      const auto name_of_own = [&](NodeId value) -> std::string_view {
        const auto lifted = env.lifted.find(env.origin[value.index].index);
        return lifted != env.lifted.end() ? std::string_view(lifted->second->target) : std::string_view();
      };
      const auto path_of_call = [&](NodeId operation) -> std::string_view {
        return program_.modules()[calls_[env.graph.facts(operation).call].module.index].path;
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
    for (const NodeId check : all) {  // checks that are not the leaf's
      if (!env.graph.has_results(check) && !std::ranges::binary_search(operations, check))
        record_here(env, check);
    }
  }

  static Meta meta_of_result(const Environment& env, const LeafCall& call) {
    const bool is_single = call.results.size() == 1 && call.results[0].path.empty();
    return is_single ? env.graph.meta(call.results[0].value) : Meta{};
  }

  // Records the operations that a call stands for and their cost, and the nodes for the parts of its result.
  void stands_for(Environment& env, NodeId node, const std::vector<NodeId>& operations, const LeafCall& call,
                  const std::optional<SourceLocation>& source) {
    tracer_.set_program(node, part_of(env.graph, operations, call));
    std::vector<NodeId> parts;
    for (const NodeId operation : operations) {
      parts.push_back(operation);
      if (env.graph.facts(operation).gives_value) continue;
      env.graph.for_each_result(operation, [&](NodeId value) { parts.push_back(value); });
    }
    tracer_.set_cost(node, env.costs.sum(parts));
    Items<Argument> made;
    for (const auto& [value, path] : call.results) {
      if (env.fixed.count(value.index) != 0) continue;
      const Meta& meta = env.graph.meta(value);
      env.nodes[value.index] = path.empty() ? node : item(node, path, made, meta, source, "");
    }
    for (const auto& [value, same] : call.handed_on) env.nodes[value.index] = env.nodes[same.index];
  }

  static ProgramPart part_of(const ProgramView& graph, const std::vector<NodeId>& operations,
                             const LeafCall& call) {
    ProgramPart part;
    for (const NodeId operation : operations) part.nodes.push_back(name_of_node(graph, operation));
    std::vector<Argument> path;
    const auto add = [&](const Argument& operand, const auto& self) -> void {
      const auto below = [&](const Argument& key, const Argument& item) {
        path.push_back(key);
        self(item, self);
        path.pop_back();
      };
      if (const auto* value = operand.get_if<NodeId>()) {
        part.inputs.push_back({graph.value_name(*value), path});
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
    for (const auto& [value, where] : call.results) part.results.push_back({graph.value_name(value), where});
    return part;
  }

  // Returns a whole graph as a part, with its inputs as positional arguments.
  static ProgramPart whole(const ProgramView& graph) {
    Boundary boundary;
    boundary.entering = graph.inputs();
    for (const Argument& output : graph.outputs()) {
      if (const auto* value = output.get_if<NodeId>()) boundary.leaving.push_back(*value);
    }
    return part_of(graph, graph.operations(), plain_call(boundary));
  }

  void record_function(Environment& env, const KeptCall& kept) {
    go_to(env.graph.facts(kept.operations.front()).call);
    const LeafCall call = plain_call(kept.boundary);
    auto [args, kwargs] = arguments_of(env, call);
    const NodeId node = tracer_.call_model_function(kept.function, std::move(args), std::move(kwargs),
                                                    meta_of_result(env, call), kept.caller, true);
    stands_for(env, node, kept.operations, call, kept.caller);
  }

  // Returns the leaf's module and the modules that run within its call.
  std::vector<ModuleId> reached_modules(const ProgramView& graph, const std::vector<NodeId>& operations,
                                        CallId leaf) const {
    std::vector<ModuleId> reached{calls_[leaf].module};
    std::unordered_set<CallId> seen{leaf};
    const auto look = [&](const ProgramView& at, NodeId operation, const auto& self) -> void {
      const ProgramNode& facts = at.facts(operation);
      for (CallId call = facts.call; facts.has_stack && call != kRootCall && seen.insert(call).second;
           call = calls_[call].parent) {
        reached.push_back(calls_[call].module);
      }
      at.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) {
        for (const NodeId inner : body.operations()) self(body, inner, self);
      });
    };
    for (const NodeId operation : operations) look(graph, operation, look);
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
    const std::vector<NodeId>& inputs = program_.inputs();
    std::vector<Argument> placeholders;
    input_names_.assign(inputs.size(), {});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (env.lifted.count(inputs[i].index) != 0) continue;
      const auto& entry = signature.inputs[i];
      if (fix_input(env, choice, inputs[i], entry)) {
        placeholders.emplace_back(env.fixed.at(inputs[i].index));
        signature.inputs[i].value = placeholders.back();
        continue;
      }
      const std::string name = input_name(entry.name, i);
      // The value that the program was exported with is no default: torch refuses a call without it.
      const NodeId node = tracer_.placeholder(name, {}, env.graph.meta(inputs[i]));
      env.nodes[inputs[i].index] = node;
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
      const Meta& meta = env.graph.meta(value);
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
      const Meta& meta = bound_.graph().meta(program_.inputs()[i]);
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
    const std::vector<NodeId>& inputs = program_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& entry = signature.inputs[i];
      found.emplace(entry.target ? *entry.target : entry.name, inputs[i]);
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
    const std::size_t count = env.graph.graph().id_count();
    std::vector<std::size_t> made_in(count, kNever);
    std::vector<std::size_t> last_use(count, 0);
    std::vector<std::uint32_t> uses_in_maker(count, 0);
    for (std::size_t at = 0; at < steps.size(); ++at) {
      for (const NodeId operation : steps[at].operations) {
        for_each_input(env.graph.node(operation), [&](NodeId value) {
          last_use[value.index] = at;
          if (made_in[value.index] == at) ++uses_in_maker[value.index];
        });
        env.graph.for_each_result(operation, [&](NodeId value) { made_in[value.index] = at; });
      }
    }
    const std::vector<Argument> outputs = env.graph.outputs();
    for (const Argument& output : outputs) {
      for_each_reference(output, [&](NodeId value) { last_use[value.index] = kNever; });
    }
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const auto& entry = signature.outputs[i];
      const auto* value = outputs[i].get_if<NodeId>();
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
    const std::vector<Argument> outputs = env.graph.outputs();
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const auto& entry = signature.outputs[i];
      if (!is_mutation(entry) || absorbed.count(i) != 0 || !entry.target) continue;
      const auto changed = inputs.find(*entry.target);
      if (changed == inputs.end()) {
        throw input_error("the program changes '" + *entry.target + "', which is not one of its inputs");
      }
      const NodeId target = node_of(env, changed->second);
      tracer_.call_function("aten.copy_.default", {target, with_nodes(env, outputs[i])}, {},
                            env.graph.meta(changed->second), std::nullopt);
    }
  }

  void record_output(Environment& env, const GraphSignature& signature) {
    std::vector<Argument> leaves;
    const auto& spec = program_.out_spec();
    Meta meta;
    const std::vector<Argument> outputs = env.graph.outputs();
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      if (!is_result(signature.outputs[i].role)) continue;
      const Argument& output = outputs[i];
      leaves.push_back(with_nodes(env, output));
      const auto* value = output.get_if<NodeId>();
      if (value != nullptr && spec && spec->kind == TreeSpec::Kind::kLeaf) meta = env.graph.meta(*value);
    }
    tracer_.output(spec ? spec->unflatten(leaves) : Argument(Argument::Tuple{std::move(leaves)}),
                   std::move(meta));
  }

  void finish(Environment& env, GraphSignature& signature) {
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const NodeId value = program_.inputs()[i];
      const auto own = env.own_nodes.find(value.index);
      signature.inputs[i].node = own != env.own_nodes.end() ? own->second : env.nodes[value.index];
    }
    const std::vector<Argument> outputs = env.graph.outputs();
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      const auto* value = outputs[i].get_if<NodeId>();
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

}  // namespace fxtrace::internal
