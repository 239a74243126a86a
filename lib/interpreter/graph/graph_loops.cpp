#include "interpreter/graph/graph_loops.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "support/scope_guard.h"

namespace fxtrace::internal::interpreter {
namespace {

bool has_limit(const IrNode& loop) {
  return constant_of<std::int64_t>(*loop.input(0)) != std::numeric_limits<std::int64_t>::max();
}

// Returns the variable's name as the name of a node.
std::string input_name(std::string name) {
  std::erase(name, '`');
  return name.find(' ') == std::string::npos ? name : "carried";
}

// Weakens what is known of a tensor in all iterations by an iteration that hands on `other`.  Returns whether
// less is known now.
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

// Returns those of the values that the nodes of the condition and its result use.  To copy all values would
// take too long where many loops follow many values.
std::unordered_map<const IrValue*, Value> values_used_by(
    const LoopCondition& condition, const IrValue& result,
    const std::unordered_map<const IrValue*, Value>& all) {
  std::unordered_map<const IrValue*, Value> used;
  const auto use = [&](const IrValue* value) {
    if (const auto found = all.find(value); found != all.end()) used.insert(*found);
  };
  std::vector<const IrNode*> open = condition.nodes;
  while (!open.empty()) {
    const IrNode* node = open.back();
    open.pop_back();
    std::ranges::for_each(node->inputs(), use);
    for (const IrBlock* block : node->blocks()) {
      std::ranges::for_each(block->outputs(), use);
      for (const IrNode* inner : block->nodes()) open.push_back(inner);
    }
  }
  use(&result);
  return used;
}

}  // namespace

Value condition_after(const IrNode* node, const LoopCondition& condition, const Values& results,
                      Frames& frames, Evaluator& code) {
  const IrBlock& body = *node->blocks()[0];
  frames.push({frames.top().function, values_used_by(condition, *body.outputs()[0], frames.top().values)});
  const Restore restore([&] { frames.pop(); });
  for (std::size_t i = 0; i < results.size(); ++i) frames.set(body.outputs()[i + 1], results[i]);
  for (const IrNode* part : condition.nodes) code.run_node(part);
  return frames.value(body.outputs()[0]);
}

RecordedLoop::RecordedLoop(const EvaluatorPart& around, Subgraphs& subgraphs, const IrNode* node,
                           const LoopCondition* condition)
    : RecordingPart(around),
      subgraphs_(subgraphs),
      node_(node),
      body_(*node->blocks()[0]),
      condition_(condition) {
  has_count_ = has_limit(*node) || body_.inputs()[0]->has_uses();
  if (has_count_) variables_.push_back(make_variable(name_of(body_.inputs()[0]), std::int64_t{0}, true));
  const Value test = frames_.input(node, 1);
  const bool is_always =
      test.is_bool() && test.to_bool() && constant_of<bool>(*body_.outputs()[0]).value_or(false);
  has_condition_ = condition == nullptr && !is_always;
  if (has_condition_) variables_.push_back(make_variable("the condition", test, true));
  for (std::size_t i = 2; i < node->inputs().size(); ++i) {
    const IrValue* name = body_.inputs()[i - 1];
    const Value before = frames_.input(node, i);
    const bool changes = !has_parts(before) && body_.outputs()[i - 1] != name;
    variables_.push_back(make_variable(name_of(name), before, changes));
  }
}

// `changes` says that leaves are guessed to be carried where their kind allows it.
RecordedLoop::Variable RecordedLoop::make_variable(std::string name, const Value& before, bool changes) {
  state_.measure(before, nullptr);
  Variable result{std::move(name), before};
  map_leaves(before, [&](const Value& value) {
    Leaf leaf{value, false, false, dynamic_type(value)};
    if (changes && !value.is_uninitialized() && leaf_kind(*leaf.type) != LeafKind::kOther) {
      leaf.is_carried = leaf.is_guess = true;
      if (run_.shapes) leaf.known = known_of_value(value);
    }
    result.leaves.push_back(std::move(leaf));
    return value;
  });
  return result;
}

// Makes the inputs of a subgraph for the carried leaves, and adds the variables as the code sees them there.
// Returns the nodes that only convert an input to such a value.
std::vector<NodeId> RecordedLoop::enter_turn(Values& variables) {
  std::vector<NodeId> inputs, made;
  for (const Variable& variable : variables_) {
    for (const Leaf& leaf : variable.leaves) {
      if (!leaf.is_carried) continue;
      const AbstractValue known = carried_knowledge(*leaf.type, leaf.known, run_.shapes);
      inputs.push_back(
          tracer_.subgraph_input(input_name(variable.name), meta_of(carried_type(leaf.type), known)));
    }
  }
  auto input = inputs.begin();
  for (const Variable& variable : variables_) {
    auto leaf = variable.leaves.begin();
    const bool is_carried = std::ranges::any_of(variable.leaves, &Leaf::is_carried);
    const Value value = map_leaves(variable.before, [&](const Value& part) {
      const Leaf& own = *leaf++;
      if (!own.is_carried) return part;
      Value inside = subgraphs_.carried_value(*input++, own.type, own.known, nullptr);
      propagation_.note_choice(inside, {part});
      if (is_converted(*own.type)) made.push_back(find_proxy(inside)->ref.node);
      return inside;
    });
    if (!variable.container.is_none()) subgraphs_.change(variable.container, value, variable.name, nullptr);
    variables.push_back(is_carried ? value : variable.before);
  }
  return made;
}

void RecordedLoop::leave_turn(Argument result, const std::vector<NodeId>& made) {
  tracer_.output(std::move(result), Meta{});
  for (const NodeId id : made) {
    if (tracer_.graph().node(id).users.empty()) tracer_.erase(id);
  }
}

Argument RecordedLoop::test_of_turn(const Values& variables) {
  Value test = true;
  if (has_limit(*node_)) {
    test = recorder_.apply("operator.lt", {variables[0], frames_.input(node_, 0)}, bool_type(), node_);
  }
  Value other = true;
  if (has_condition_) {
    other = variables[first_of_code() - 1];
  } else if (condition_ != nullptr) {
    const auto first = variables.begin() + static_cast<std::ptrdiff_t>(first_of_code());
    const auto last = first + static_cast<std::ptrdiff_t>(node_->outputs().size());
    other = condition_after(node_, *condition_, {first, last}, frames_, code_);
  }
  if (other.is_bool() && other.to_bool()) return recorder_.argument(test, node_);
  if (test.is_bool()) return recorder_.argument(other, node_);
  return recorder_.argument(recorder_.apply("operator.and_", {test, other}, bool_type(), node_), node_);
}

// Runs the body.  Returns the variables that the next iteration begins with, without containers.
Values RecordedLoop::run_turn(const Values& variables) {
  subgraphs_.innermost().handed_in = variables;
  state_.count_step(node_);
  if (has_count_) frames_.set(body_.inputs()[0], variables[0]);
  for (std::size_t i = 1; i < body_.inputs().size(); ++i)
    frames_.set(body_.inputs()[i], variables[first_of_code() + i - 1]);
  code_.run_block(
      body_, condition_ != nullptr ? condition_->only_for_condition : std::unordered_set<const IrNode*>{});
  Values results;
  if (has_count_) {
    results.push_back(
        recorder_.call("operator.add", {recorder_.argument(variables[0], node_), 1}, int_type(), node_));
  }
  for (std::size_t i = has_condition_ ? 0 : 1; i < body_.outputs().size(); ++i)
    results.push_back(frames_.value(body_.outputs()[i]));
  return results;
}

// Adds the content that the iteration leaves in containers.  Returns false when it changes a container that
// is not among the variables yet; then it is added to them.
bool RecordedLoop::add_containers(Values& results) {
  const std::vector<ChangedContainer> changed = subgraphs_.take_changes();
  const std::size_t known = variables_.size();
  for (const ChangedContainer& change : changed) {
    const auto is_it = [&](const Variable& variable) {
      return !variable.container.is_none() && variable.container.is(change.container);
    };
    if (std::ranges::any_of(variables_, is_it)) continue;
    variables_.push_back(make_variable(change.name, change.before, false));
    variables_.back().container = change.container;
  }
  for (std::size_t i = 0; i < known; ++i) {
    if (variables_[i].container.is_none()) continue;
    const auto is_it = [&](const auto& change) { return change.container.is(variables_[i].container); };
    results.push_back(std::ranges::find_if(changed, is_it)->after);
  }
  return variables_.size() == known;
}

void RecordedLoop::refuse(const Variable& variable, const Value& before, const Value& after) const {
  frames_.fail(FailureKind::kDataDependentControlFlow,
               "a loop depends on an input, and " + variable.name + " is " + kind_text(before) +
                   " before an iteration and " + kind_text(after) +
                   " after it: only tensors and numbers can be carried",
               node_);
}

void RecordedLoop::compare(const Variable& variable, Leaf& leaf, const Value& after, bool& settled) {
  if (after.is_uninitialized()) return;
  const LeafKind kind = leaf_kind(*dynamic_type(after));
  if (!leaf.is_carried) {
    if (is_same(leaf.before, after)) return;
    const bool is_missing = leaf.before.is_uninitialized();
    if ((!is_missing && kind != leaf_kind(*leaf.type)) || kind == LeafKind::kOther)
      refuse(variable, leaf.before, after);
    leaf.is_carried = true;
    leaf.is_guess = false;
    leaf.type = dynamic_type(after);
    if (run_.shapes) leaf.known = known_of_value(is_missing ? after : leaf.before);
    settled = false;
    return;
  }
  if (kind != leaf_kind(*leaf.type)) refuse(variable, leaf.before, after);
  if (leaf.is_guess && is_plain(leaf.before) && is_same(leaf.before, after)) {
    leaf.is_carried = leaf.is_guess = settled = false;
    return;
  }
  if (kind == LeafKind::kTensor && widen(leaf.known, leaf.varies, known_of_value(after))) settled = false;
}

// Compares the values that an iteration hands on with the assumptions, and weakens these.  Returns whether
// all hold.
bool RecordedLoop::settles(const Values& results) {
  bool settled = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    Variable& variable = variables_[i];
    if (results[i].is_uninitialized()) continue;
    if (variable.before.is_uninitialized() && has_parts(results[i])) {
      // The variable has no value before the loop; its form is known from now on.
      const Value form = map_leaves(results[i], [](const Value&) { return Value::uninitialized(); });
      variable = make_variable(variable.name, form, false);
      settled = false;
      continue;
    }
    auto leaf = variable.leaves.begin();
    const std::function<void(const Value&, const Value&)> match = [&](const Value& before,
                                                                      const Value& after) {
      if (!has_parts(before) && !has_parts(after)) return compare(variable, *leaf++, after, settled);
      const auto parts = matching_parts(before, after);
      if (!parts) refuse(variable, before, after);
      for (const auto& [one, other] : *parts) match(one, other);
    };
    match(variable.before, results[i]);
  }
  return settled;
}

// Gives fresh symbols to what differs between iterations: sizes that vary, and the integer of a carried leaf.
void RecordedLoop::make_sizes_fresh(const Leaf& leaf, AbstractValue& known) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) {
    for (std::size_t i = 0; i < leaf.varies.size(); ++i) {
      if (leaf.varies[i]) info->sizes[i] = state_.dimensions.fresh();
    }
  } else if (run_.shapes && leaf_kind(*leaf.type) == LeafKind::kInt) {
    known.value = state_.dimensions.fresh({std::nullopt, std::nullopt});
  } else {
    known = {};
  }
}

Argument RecordedLoop::handed_on(const Values& results) {
  Argument::Tuple handed_on;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto leaf = variables_[i].leaves.begin();
    const bool is_missing = results[i].is_uninitialized();
    map_leaves(is_missing ? variables_[i].before : results[i], [&](const Value& part) {
      const Leaf& own = *leaf++;
      if (own.is_carried)
        handed_on.items.push_back(
            subgraphs_.carried_argument(is_missing ? results[i] : part, own.type, own.known, node_));
      return part;
    });
  }
  return handed_on;
}

bool RecordedLoop::record() {
  const std::string condition_name = tracer_.next_subgraph("while_loop_cond");
  const std::string body_name = tracer_.next_subgraph("while_loop_body");
  for (Variable& variable : variables_) {
    for (Leaf& leaf : variable.leaves) {
      if (!leaf.is_carried || !run_.shapes) continue;
      forget_contents(leaf.known);
      make_sizes_fresh(leaf, leaf.known);
    }
  }
  std::vector<GraphTracer::OpenSubgraph> parts;
  parts.push_back(subgraphs_.record(condition_name, body_, {}, [&] {
    Values variables;
    const std::vector<NodeId> made = enter_turn(variables);
    Argument test = test_of_turn(variables);
    subgraphs_.take_changes();
    leave_turn(std::move(test), made);
  }));
  bool settled = false;
  parts.push_back(subgraphs_.record(body_name, body_, parts[0]->captured(), [&] {
    Values variables;
    const std::vector<NodeId> made = enter_turn(variables);
    Values results = run_turn(variables);
    const bool are_known = add_containers(results);
    settled = settles(results) && are_known;
    if (settled) leave_turn(handed_on(results), made);
  }));
  if (settled) set_results(call_loop(condition_name, body_name, tracer_.end_subgraphs(parts)));
  return settled;
}

NodeId RecordedLoop::call_loop(const std::string& condition_name, const std::string& body_name,
                               const std::vector<NodeId>& operands) {
  Argument::List carried, extras;
  std::vector<TypePtr> types;
  for (const Variable& variable : variables_) {
    for (const Leaf& leaf : variable.leaves) {
      if (!leaf.is_carried) continue;
      const bool is_given = leaf_kind(*leaf.type) == LeafKind::kTensor && !leaf.before.is_uninitialized();
      carried.items.push_back(is_given
                                  ? recorder_.argument(leaf.before, node_)
                                  : subgraphs_.carried_argument(leaf.before, leaf.type, leaf.known, node_));
      types.push_back(carried_type(leaf.type));
    }
  }
  for (const NodeId operand : operands) extras.items.emplace_back(operand);
  return tracer_.call_with_subgraphs("higher_order.while_loop",
                                     {Argument::GraphRef{condition_name}, Argument::GraphRef{body_name},
                                      std::move(carried), std::move(extras)},
                                     {}, meta_of(tuple_type(types)), frames_.location(node_), "", operands);
}

void RecordedLoop::set_results(NodeId loop) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const Variable& variable = variables_[i];
    const bool is_container = !variable.container.is_none();
    const IrValue* output =
        is_container || i < first_of_code() ? nullptr : node_->output(i - first_of_code());
    const bool is_used = is_container || (output != nullptr && output->has_uses());
    auto leaf = variable.leaves.begin();
    bool is_changed = false;
    const Value after = map_leaves(variable.before, [&](const Value& part) {
      const Leaf& own = *leaf++;
      if (!own.is_carried) return part;
      is_changed = true;
      const std::int64_t index = place++;
      if (!is_used) return part;
      AbstractValue known = own.known;
      make_sizes_fresh(own, known);
      Value result = subgraphs_.carried_result(loop, index, own.type, std::move(known), node_);
      propagation_.note_choice(result, {part});
      return result;
    });
    if (!is_used) continue;
    if (is_container) {
      subgraphs_.change(variable.container, after, variable.name, node_);
      continue;
    }
    if (is_changed && (variable.before.is_list() || variable.before.is_dict()))
      subgraphs_.may_be_another(after, {variable.before}, node_);
    frames_.set(output, is_changed ? after : variable.before);
  }
}

void GraphLoops::note_starts(const IrBlock& block, const IrNode* node) {
  const auto [place, is_new] = starts_.try_emplace(&block);
  if (is_new) {
    for (const IrNode* loop : block.nodes()) {
      if (loop->kind() != Symbol::kPrimLoop) continue;
      const auto& condition = conditions_.emplace(loop, find_loop_condition(*loop)).first->second;
      if (condition && condition->start != nullptr) place->second[condition->start].push_back(loop);
    }
  }
  const auto loops = place->second.find(node);
  if (loops == place->second.end()) return;
  const auto attempt = std::make_shared<Checkpoint>(recorder_.checkpoint());
  for (const IrNode* loop : loops->second) frames_.top().loop_starts[loop] = attempt;
}

const LoopCondition* GraphLoops::rotated_condition(const IrNode* node) {
  const auto found = conditions_.find(node);
  if (found == conditions_.end() || !found->second) return nullptr;
  const LoopCondition& condition = *found->second;
  const auto& starts = frames_.top().loop_starts;
  const auto start = starts.find(node);
  if (condition.start != nullptr && start == starts.end()) return nullptr;
  const auto pure_from =
      static_cast<std::uint32_t>(condition.start != nullptr ? start->second->recorded->first_node
                                                            : std::numeric_limits<std::uint32_t>::max());

  const Value before = frames_.input(node, 1);
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(frames_.input(node, i));
  bool same = false;
  {
    Checkpoint now = recorder_.checkpoint();
    const Restore restore([&] { recorder_.back_to(std::move(now)); });
    try {
      tracer_.look_at([&] {
        const Value again = condition_after(node, condition, carried, frames_, code_);
        const Proxy* one = find_proxy(before);
        const Proxy* other = find_proxy(again);
        same = is_same(before, again);
        if (same || one == nullptr || other == nullptr) return;
        const NodeId first = tracer_.use(one->ref);
        same = tracer_.is_same_value(first, tracer_.use(other->ref), pure_from);
      });
    } catch (const TraceFailure&) {
      return nullptr;
    }
  }
  if (!same) return nullptr;
  if (condition.start != nullptr) {
    const std::shared_ptr<Checkpoint> attempt = start->second;
    recorder_.back_to(*attempt);
    for (const IrNode* part = condition.start; part != node; part = part->next()) {
      if (!condition.only_for_condition.contains(part)) code_.run_node(part);
    }
  }
  return &condition;
}

void GraphLoops::record(const IrNode* node) {
  const LoopCondition* condition = rotated_condition(node);
  RecordedLoop loop(*this, subgraphs_, node, condition);
  for (;;) {
    const Checkpoint attempt = recorder_.checkpoint();
    const std::int64_t before = tracer_.nodes_made();
    try {
      if (loop.record()) return;
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      recorder_.back_to(attempt);
      // An iteration raises, but the loop need not run one.
      frames_.fail(FailureKind::kDataDependentControlFlow,
                   "a loop depends on an input, and an iteration of it raises: " + thrown.failure.message,
                   node);
    }
    recorder_.back_to(attempt);
    // The attempts of loops within loops multiply.
    nodes_in_vain_ += tracer_.nodes_made() - before + 1;
    if (nodes_in_vain_ > run_.options.limits.nodes) {
      frames_.fail(FailureKind::kLimit,
                   "more than " + std::to_string(run_.options.limits.nodes) +
                       " nodes are made to record loops that depend on an input",
                   node, Limit::kNodes);
    }
  }
}

}  // namespace fxtrace::internal::interpreter
