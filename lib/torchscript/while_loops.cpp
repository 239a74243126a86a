// A loop that depends on data, as a node higher_order.while_loop with subgraphs for its condition and its
// body.

#include <algorithm>
#include <iterator>
#include <limits>

#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {
namespace {

bool has_limit(const IrNode& loop) {
  return constant_int(loop.input(0)) != std::numeric_limits<std::int64_t>::max();
}

bool is_constant_true(const IrValue* value) { return constant_bool(value).value_or(false); }

}  // namespace

void Interpreter::note_loop_starts(const IrBlock& block, const IrNode* node) {
  const auto [place, is_new] = loop_starts_.try_emplace(&block);
  if (is_new) {
    for (const IrNode* loop : block.nodes()) {
      if (loop->kind() != Symbol::kPrimLoop) continue;
      const auto& condition = loop_conditions_.emplace(loop, find_loop_condition(*loop)).first->second;
      if (condition && condition->start != nullptr) place->second[condition->start].push_back(loop);
    }
  }
  const auto loops = place->second.find(node);
  if (loops == place->second.end()) return;
  const auto attempt = std::make_shared<Attempt>(run_.begin_attempt());
  for (const IrNode* loop : loops->second) run_.frames.top().loop_starts[loop] = attempt;
}

// The condition for what a turn hands on.  It is worked out apart from the frame, whose values stay.
Value Interpreter::condition_after(const IrNode* node, const LoopCondition& condition,
                                   const Values& results) {
  const IrBlock& body = *node->blocks()[0];
  run_.frames.push({run_.frames.top().function, run_.frames.top().values});
  const Restore restore([&] { run_.frames.pop(); });
  for (std::size_t i = 0; i < results.size(); ++i) run_.frames.set(body.outputs()[i + 1], results[i]);
  for (const IrNode* part : condition.nodes) run_node(part);
  return run_.frames.value(body.outputs()[0]);
}

const LoopCondition* Interpreter::rotated_condition(const IrNode* node) {
  const auto found = loop_conditions_.find(node);
  if (found == loop_conditions_.end() || !found->second) return nullptr;
  const LoopCondition& condition = *found->second;
  const auto& starts = run_.frames.top().loop_starts;
  const auto start = starts.find(node);
  if (condition.start != nullptr && start == starts.end()) return nullptr;
  const auto pure_from = static_cast<std::uint32_t>(
      condition.start != nullptr ? start->second->first_node : std::numeric_limits<std::uint32_t>::max());

  const Value before = run_.frames.input(node, 1);
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(run_.frames.input(node, i));
  bool same = false;
  {
    Checkpoint now = run_.checkpoint();
    const Restore restore([&] { run_.back_to(std::move(now)); });
    try {
      run_.tracer->look_at([&] {
        const Value again = condition_after(node, condition, carried);
        const Proxy* one = find_proxy(before);
        const Proxy* other = find_proxy(again);
        same = is_same(before, again);
        if (same || one == nullptr || other == nullptr) return;
        const NodeId first = run_.tracer->use(one->ref);
        same = run_.tracer->is_same_value(first, run_.tracer->use(other->ref), pure_from);
      });
    } catch (const TraceFailure&) {
      return nullptr;
    }
  }
  if (!same) return nullptr;
  if (condition.start != nullptr) {
    const std::shared_ptr<Attempt> attempt = start->second;
    run_.undo(*attempt);
    for (const IrNode* part = condition.start; part != node; part = part->next()) {
      if (!condition.only_for_condition.contains(part)) run_node(part);
    }
  }
  return &condition;
}

// `changes`: it is taken to be carried, as far as it can be.
Interpreter::LoopState::Variable Interpreter::loop_variable(std::string name, const Value& before,
                                                            bool changes) {
  run_.recording.measure(before, nullptr);
  LoopState::Variable result{std::move(name), before, {}, {}};
  map_leaves(before, [&](const Value& leaf) {
    LoopState::Leaf state{leaf, false, false, dynamic_type(leaf), {}, {}};
    if (changes && !is_uninitialized(leaf) && leaf_kind(*state.type) != LeafKind::kOther) {
      state.is_carried = state.is_guess = true;
      if (run_.shapes) state.known = known_of_value(leaf);
    }
    result.leaves.push_back(std::move(state));
    return leaf;
  });
  return result;
}

Interpreter::LoopState Interpreter::loop_state(const IrNode* node, bool has_condition) {
  const IrBlock& body = *node->blocks()[0];
  LoopState state;
  state.has_count = has_limit(*node) || body.inputs()[0]->has_uses();
  if (state.has_count)
    state.variables.push_back(loop_variable(name_of(body.inputs()[0]), std::int64_t{0}, true));
  const Value condition = run_.frames.input(node, 1);
  const bool is_always = condition.is_bool() && condition.to_bool() && is_constant_true(body.outputs()[0]);
  state.has_condition = !has_condition && !is_always;
  if (state.has_condition) state.variables.push_back(loop_variable("the condition", condition, true));
  for (std::size_t i = 2; i < node->inputs().size(); ++i) {
    const IrValue* name = body.inputs()[i - 1];
    const Value before = run_.frames.input(node, i);
    const bool changes = !has_parts(before) && body.outputs()[i - 1] != name;
    state.variables.push_back(loop_variable(name_of(name), before, changes));
  }
  return state;
}

namespace {

bool is_converted(const Type& type) {
  return leaf_kind(type) == LeafKind::kBool || leaf_kind(type) == LeafKind::kFloat;
}

// What is carried in the place of a value of that type.
TypePtr carried_type(const TypePtr& type) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      return int_type();
    case LeafKind::kFloat:
      return tensor_type();
    default:
      return type;
  }
}

// The variable's name as a node's.
std::string input_name(std::string name) {
  std::erase(name, '`');
  return name.find(' ') == std::string::npos ? name : "carried";
}

}  // namespace

// Makes the inputs of a subgraph for what is carried, and gives the variables as the code there sees them.
// The nodes are those that only make such values.
std::vector<NodeId> Interpreter::enter_turn(const LoopState& state, Values& variables) {
  std::vector<NodeId> inputs, made;
  for (const auto& [name, before, leaves, container] : state.variables) {
    for (const auto& leaf : leaves) {
      if (!leaf.is_carried) continue;
      const AbstractValue known = is_converted(*leaf.type) ? AbstractValue{} : leaf.known;
      inputs.push_back(
          run_.tracer->subgraph_input(input_name(name), meta_of(carried_type(leaf.type), known)));
    }
  }
  auto input = inputs.begin();
  for (const auto& [name, before, leaves, container] : state.variables) {
    auto leaf = leaves.begin();
    const bool is_carried = std::ranges::any_of(leaves, &LoopState::Leaf::is_carried);
    const Value value = map_leaves(before, [&](const Value& part) {
      const LoopState::Leaf& own = *leaf++;
      if (!own.is_carried) return part;
      Value inside = carried_value(*input++, own.type, own.known, nullptr);
      if (is_converted(*own.type)) made.push_back(find_proxy(inside)->ref.node);
      return inside;
    });
    if (!container.is_none()) change(container, value, name, nullptr);
    variables.push_back(is_carried ? value : before);
  }
  return made;
}

// Control flow of torch carries tensors and integers: floats are tensors of float64, bools are integers.
Argument Interpreter::carried_argument(const Value& value, const LoopState::Leaf& leaf, const IrNode* node) {
  switch (leaf_kind(*leaf.type)) {
    case LeafKind::kBool:
      if (value.is_bool()) return std::int64_t{value.to_bool()};
      if (is_uninitialized(value)) return 0;
      return run_.recording.argument(run_.recording.apply("builtins.int", {value}, int_type(), node), node);
    case LeafKind::kFloat:
      return run_.recording.argument(
          run_.recording.call("aten.scalar_tensor.default",
                              {subgraph_result(value, leaf.type, leaf.known, node)}, tensor_type(), node, {},
                              {{"dtype", Argument::Dtype{"float64"}}}),
          node);
    default:
      return subgraph_result(value, leaf.type, leaf.known, node);
  }
}

Value Interpreter::carried_value(NodeId carried, const TypePtr& type, AbstractValue known,
                                 const IrNode* node) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      return run_.recording.call("builtins.bool", {carried}, type, node);
    case LeafKind::kFloat:
      return run_.recording.call("aten.item.default", {carried}, type, node);
    default:
      return make_proxy(run_.ref(carried), type, std::move(known));
  }
}

Argument Interpreter::test_of_turn(const IrNode* node, const LoopCondition* condition, const LoopState& state,
                                   const Values& variables) {
  Value test = true;
  if (has_limit(*node)) {
    test = run_.recording.apply("operator.lt", {variables[0], run_.frames.input(node, 0)}, bool_type(), node);
  }
  Value other = true;
  if (state.has_condition) {
    other = variables[state.first_of_code() - 1];
  } else if (condition != nullptr) {
    const auto first = variables.begin() + static_cast<std::ptrdiff_t>(state.first_of_code());
    other = condition_after(node, *condition,
                            {first, first + static_cast<std::ptrdiff_t>(node->outputs().size())});
  }
  if (other.is_bool() && other.to_bool()) return run_.recording.argument(test, node);
  if (test.is_bool()) return run_.recording.argument(other, node);
  return run_.recording.argument(run_.recording.apply("operator.and_", {test, other}, bool_type(), node),
                                 node);
}

namespace {

// What holds of a tensor in all turns, the one among them that hands on `other`.  True when that is less than
// before.
bool widen(AbstractValue& known, std::vector<bool>& varies, const AbstractValue& other) {
  auto* info = std::get_if<TensorInfo>(&known.value);
  if (info == nullptr) return false;
  const TensorInfo* next = other.tensor();
  if (next == nullptr || next->dim() != info->dim() || !(next->device == info->device) ||
      next->sparse_dim != info->sparse_dim) {
    known = {};
    return true;
  }
  bool changed = false;
  const auto keep = [&](auto& own, const auto& others) {
    if (!own || own == others) return;
    own.reset();
    changed = true;
  };
  keep(info->dtype, next->dtype);
  keep(info->requires_grad, next->requires_grad);
  keep(info->contiguous, next->contiguous);
  varies.resize(info->sizes.size());
  for (std::size_t i = 0; i < info->sizes.size(); ++i) {
    if (varies[i] || info->sizes[i] == next->sizes[i]) continue;
    varies[i] = true;
    changed = true;
  }
  return changed;
}

}  // namespace

// Compares what a turn hands on with what it was taken for.  False when that has to be changed.
bool Interpreter::settles(const IrNode* node, LoopState& state, const Values& results) {
  bool settled = true;
  const auto refuse = [&](const LoopState::Variable& variable, const Value& before, const Value& after) {
    run_.frames.fail(FailureKind::kDataDependentControlFlow,
                     "a loop depends on an input, and " + variable.name + " is " + kind_text(before) +
                         " before a turn and " + kind_text(after) +
                         " after it: only tensors and numbers can be carried",
                     node);
  };
  const auto compare = [&](LoopState::Variable& variable, LoopState::Leaf& leaf, const Value& after) {
    if (is_uninitialized(after)) return;
    const LeafKind kind = leaf_kind(*dynamic_type(after));
    if (!leaf.is_carried) {
      if (is_same(leaf.before, after)) return;
      if (!is_uninitialized(leaf.before) && kind != leaf_kind(*leaf.type))
        refuse(variable, leaf.before, after);
      if (kind == LeafKind::kOther) refuse(variable, leaf.before, after);
      leaf.is_carried = true;
      leaf.is_guess = false;
      leaf.type = dynamic_type(after);
      if (run_.shapes) leaf.known = known_of_value(is_uninitialized(leaf.before) ? after : leaf.before);
      settled = false;
      return;
    }
    if (kind != leaf_kind(*leaf.type)) refuse(variable, leaf.before, after);
    if (leaf.is_guess && is_plain(leaf.before) && is_same(leaf.before, after)) {
      leaf.is_carried = leaf.is_guess = settled = false;
      return;
    }
    if (kind == LeafKind::kTensor && widen(leaf.known, leaf.varies, known_of_value(after))) settled = false;
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    LoopState::Variable& variable = state.variables[i];
    if (is_uninitialized(results[i])) continue;
    if (is_uninitialized(variable.before) && has_parts(results[i])) {
      // Its form is known now.
      const Value form = map_leaves(results[i], [](const Value&) { return Value::uninitialized(); });
      variable = loop_variable(variable.name, form, false);
      settled = false;
      continue;
    }
    auto leaf = variable.leaves.begin();
    const std::function<void(const Value&, const Value&)> match = [&](const Value& before,
                                                                      const Value& after) {
      if (!has_parts(before) && !has_parts(after)) return compare(variable, *leaf++, after);
      const auto parts = matching_parts(before, after);
      if (!parts) refuse(variable, before, after);
      for (const auto& [one, other] : *parts) match(one, other);
    };
    match(variable.before, results[i]);
  }
  return settled;
}

// Names for what differs from turn to turn: sizes, and integers.
void Interpreter::make_sizes_fresh(const LoopState::Leaf& leaf, AbstractValue& known) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) {
    for (std::size_t i = 0; i < leaf.varies.size(); ++i) {
      if (leaf.varies[i]) info->sizes[i] = run_.dimensions.fresh();
    }
  } else if (run_.shapes && leaf_kind(*leaf.type) == LeafKind::kInt) {
    known.value = run_.dimensions.fresh({std::nullopt, std::nullopt});
  } else {
    known = {};
  }
}

// Records the condition and one turn.  False when the turn shows that the state is to be changed first.
bool Interpreter::record_turn(const IrNode* node, const LoopCondition* condition, LoopState& state) {
  const IrBlock& body = *node->blocks()[0];
  const std::string condition_name = run_.tracer->next_subgraph("while_loop_cond");
  const std::string body_name = run_.tracer->next_subgraph("while_loop_body");
  for (LoopState::Variable& variable : state.variables) {
    for (LoopState::Leaf& leaf : variable.leaves) {
      if (!leaf.is_carried || !run_.shapes) continue;
      forget_contents(leaf.known);
      make_sizes_fresh(leaf, leaf.known);
    }
  }

  std::vector<GraphTracer::OpenSubgraph> parts;
  const auto drop_unused = [&](const std::vector<NodeId>& made) {
    for (const NodeId id : made) {
      if (run_.tracer->graph().node(id).users.empty()) run_.tracer->erase(id);
    }
  };
  parts.push_back(record_subgraph(condition_name, body, {}, [&] {
    Values variables;
    const std::vector<NodeId> made = enter_turn(state, variables);
    Argument test = test_of_turn(node, condition, state, variables);
    take_changes();
    run_.tracer->output(std::move(test), Meta{});
    drop_unused(made);
  }));
  bool settled = false;
  parts.push_back(record_subgraph(body_name, body, parts[0]->captured(), [&] {
    Values variables;
    const std::vector<NodeId> made = enter_turn(state, variables);
    bodies_.back().handed_in = variables;
    run_.count_step(node);
    if (state.has_count) run_.frames.set(body.inputs()[0], variables[0]);
    const std::size_t first = state.first_of_code();
    for (std::size_t i = 1; i < body.inputs().size(); ++i)
      run_.frames.set(body.inputs()[i], variables[first + i - 1]);
    run_block(body,
              condition != nullptr ? condition->only_for_condition : std::unordered_set<const IrNode*>{});
    Values results;
    if (state.has_count) {
      results.push_back(run_.recording.apply("operator.add", {variables[0], 1}, int_type(), node));
    }
    for (std::size_t i = state.has_condition ? 0 : 1; i < body.outputs().size(); ++i) {
      results.push_back(run_.frames.value(body.outputs()[i]));
    }
    const std::vector<ChangedContainer> changed = take_changes();
    std::vector<LoopState::Variable> found;
    for (const ChangedContainer& change : changed) {
      const auto is_it = [&](const auto& variable) {
        return !variable.container.is_none() && variable.container.is(change.container);
      };
      if (std::ranges::any_of(state.variables, is_it)) continue;
      found.push_back(loop_variable(change.name, change.before, false));
      found.back().container = change.container;
    }
    for (const auto& variable : state.variables) {
      if (variable.container.is_none()) continue;
      const auto change = std::ranges::find_if(
          changed, [&](const auto& known) { return known.container.is(variable.container); });
      results.push_back(change->after);
    }
    settled = settles(node, state, results) && found.empty();
    std::ranges::move(found, std::back_inserter(state.variables));
    if (!settled) return;
    Argument::Tuple handed_on;
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto leaf = state.variables[i].leaves.begin();
      const bool is_missing = is_uninitialized(results[i]);
      map_leaves(is_missing ? state.variables[i].before : results[i], [&](const Value& part) {
        const LoopState::Leaf& carried = *leaf++;
        if (carried.is_carried) {
          handed_on.items.push_back(carried_argument(is_missing ? results[i] : part, carried, node));
        }
        return part;
      });
    }
    run_.tracer->output(std::move(handed_on), Meta{});
    drop_unused(made);
  }));
  if (!settled) return false;

  const std::vector<NodeId> operands = run_.tracer->end_subgraphs(parts);
  Argument::List carried, extras;
  std::vector<TypePtr> types;
  for (const auto& [name, before, leaves, container] : state.variables) {
    for (const auto& leaf : leaves) {
      if (!leaf.is_carried) continue;
      const bool is_given = leaf_kind(*leaf.type) == LeafKind::kTensor && !is_uninitialized(leaf.before);
      carried.items.push_back(is_given ? run_.recording.argument(leaf.before, node)
                                       : carried_argument(leaf.before, leaf, node));
      types.push_back(carried_type(leaf.type));
    }
  }
  for (const NodeId operand : operands) extras.items.emplace_back(operand);
  const NodeId loop = run_.tracer->call_with_subgraphs(
      "higher_order.while_loop",
      {Argument::GraphRef{condition_name}, Argument::GraphRef{body_name}, std::move(carried),
       std::move(extras)},
      {}, meta_of(tuple_type(types)), run_.frames.location(node), "", operands);

  std::int64_t place = 0;
  for (std::size_t i = 0; i < state.variables.size(); ++i) {
    const auto& [variable, before, leaves, container] = state.variables[i];
    const std::size_t first = state.first_of_code();
    const bool is_container = !container.is_none();
    const bool is_used = is_container || (i >= first && node->outputs()[i - first]->has_uses());
    auto leaf = leaves.begin();
    bool is_changed = false;
    const Value after = map_leaves(before, [&](const Value& part) {
      const LoopState::Leaf& own = *leaf++;
      if (!own.is_carried) return part;
      is_changed = true;
      const std::int64_t index = place++;
      if (!is_used) return part;
      AbstractValue known = own.known;
      make_sizes_fresh(own, known);
      const Value item = run_.recording.call("operator.getitem", {loop, index}, carried_type(own.type), node,
                                             is_converted(*own.type) ? AbstractValue{} : known);
      return carried_value(find_proxy(item)->ref.node, own.type, std::move(known), node);
    });
    if (!is_used) continue;
    if (is_container) {
      change(container, after, variable, node);
      continue;
    }
    if (is_changed && (before.is_list() || before.is_dict())) may_be_another(after, {before}, node);
    run_.frames.set(node->outputs()[i - first], is_changed ? after : before);
  }
  return true;
}

void Interpreter::record_while(const IrNode* node) {
  const LoopCondition* condition = rotated_condition(node);
  LoopState state = loop_state(node, condition != nullptr);
  for (;;) {
    const Attempt attempt = run_.begin_attempt();
    const std::int64_t before = run_.tracer->nodes_made();
    try {
      if (record_turn(node, condition, state)) return;
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      run_.undo(attempt);
      // That is certain of a turn, and not of the loop.
      run_.frames.fail(FailureKind::kDataDependentControlFlow,
                       "a loop depends on an input, and a turn of it raises: " + thrown.failure.message,
                       node);
    }
    run_.undo(attempt);
    // Loops in loops multiply.
    nodes_in_vain_ += run_.tracer->nodes_made() - before + 1;
    if (nodes_in_vain_ > run_.options.limits.nodes) {
      run_.frames.fail(FailureKind::kLimit,
                       "more than " + std::to_string(run_.options.limits.nodes) +
                           " nodes to find out what loops that depend on an input change (--max-nodes)",
                       node);
    }
  }
}

}  // namespace fxtrace::torchscript
