// An `if` that depends on data, as a node higher_order.cond with a subgraph for each way.
#include <algorithm>
#include <array>

#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {
namespace {

bool is_mutable(const Value& value) { return value.is_list() || value.is_dict() || value.is_object(); }

// Everything that can be reached from the values and can be changed in place.
std::unordered_set<const void*> mutable_values(std::vector<Value> pending) {
  std::unordered_set<const void*> found;
  while (!pending.empty()) {
    const Value value = std::move(pending.back());
    pending.pop_back();
    if (is_mutable(value) && !found.insert(value.identity()).second) continue;
    const auto add = [&](const Value& part) {
      if (is_mutable(part) || part.is_tuple()) pending.push_back(part);
    };
    if (value.is_list()) {
      for (const Value& item : value.items()) add(item);
    } else if (value.is_tuple()) {
      std::ranges::for_each(value.items(), add);
    } else if (value.is_dict()) {
      for (const auto& entry : value.to_dict().entries()) add(entry.value);
    } else if (value.is_object()) {
      std::ranges::for_each(value.to_object().slots, add);
    }
  }
  return found;
}

bool has_nodes(const Graph& graph) {
  return graph.last().valid() && graph.node(graph.last()).op != Opcode::kPlaceholder;
}

}  // namespace

// What is assumed and found out inside holds nowhere else; but names of sizes are not given twice.
GraphTracer::OpenSubgraph Interpreter::record_subgraph(const std::string& name, const IrBlock& block,
                                                       const std::vector<NodeId>& operands,
                                                       const std::function<void()>& run) {
  std::vector<NodeRef> captured;
  captured.reserve(operands.size());
  for (const NodeId operand : operands) captured.push_back(run_.tracer->ref(operand));
  run_.tracer->begin_subgraph(name);
  for (const NodeRef& operand : captured) run_.tracer->use(operand);
  bodies_.push_back({block.owning_node(), run_.frames.size() - 1, {}, std::nullopt, {}});
  const Restore restore([this, stretch = run_.changes.begin_stretch(run_.changes.mark()),
                         known = run_.dimensions, assumed = run_.conditions.assumed()]() mutable {
    bodies_.pop_back();
    run_.changes.begin_stretch(stretch);
    run_.conditions.set_assumed(std::move(assumed));
    const auto before = known.ranges();
    for (const auto& [dimension, range] : run_.dimensions.ranges()) {
      if (!std::ranges::binary_search(before, dimension, {}, &std::pair<std::string, Range>::first)) {
        known.narrow(dimension, range);
      }
    }
    run_.dimensions = std::move(known);
  });
  run();
  return run_.tracer->suspend_subgraph();
}

bool Interpreter::is_from_around(const Value& container) {
  if (bodies_.empty()) return false;
  Body& body = bodies_.back();
  if (!body.around) {
    Values around = run_.frames.values_around(body.node, body.frame);
    around.insert(around.end(), body.handed_in.begin(), body.handed_in.end());
    body.around = mutable_values(std::move(around));
  }
  return body.around->contains(container.identity());
}

void Interpreter::check_change(const Value& container, const std::string& what, const IrNode* node) {
  if (may_be_other_.contains(container.identity())) {
    run_.frames.fail(FailureKind::kDataDependentControlFlow,
                     what + ", which is one or another as an `if` or a loop has it that depends on an input",
                     node);
  }
  if (is_from_around(container)) {
    run_.frames.fail(FailureKind::kDataDependentControlFlow,
                     what + " inside an `if` or a loop that depends on an input", node);
  }
}

void Interpreter::note_change(const Value& container, const std::string& name, const IrNode* node) {
  if (!is_from_around(container)) return check_change(container, name + " is changed", node);
  auto& changed = bodies_.back().changed;
  if (std::ranges::any_of(changed, [&](const auto& known) { return known.container.is(container); })) return;
  changed.push_back({name, container, copy_of(container), {}});
}

void Interpreter::change(const Value& container, const Value& content, const std::string& name,
                         const IrNode* node) {
  note_change(container, name, node);
  run_.changes.remember(container);
  set_content(container, content);
}

std::vector<Interpreter::ChangedContainer> Interpreter::take_changes() {
  std::vector<ChangedContainer> changed = std::move(bodies_.back().changed);
  for (ChangedContainer& change : changed) {
    change.after = copy_of(change.container);
    set_content(change.container, change.before);
  }
  return changed;
}

// Where one of `others` can be seen from elsewhere, neither it nor the container may change from now on.
void Interpreter::may_be_another(const Value& container, const Values& others, const IrNode* node) {
  const auto around = mutable_values(run_.frames.values_around(node, run_.frames.size() - 1));
  const auto add = [&](const Value& value) {
    const void* identity = value.identity();
    if (!may_be_other_.emplace(identity, value).second) return;
    run_.changes.add([this, identity] { may_be_other_.erase(identity); });
  };
  for (const Value& other : others) {
    if (!around.contains(other.identity())) continue;
    add(other);
    add(container);
  }
}

Argument Interpreter::unread_value(const TypePtr& type, const AbstractValue& known) {
  switch (leaf_kind(*type)) {
    case LeafKind::kInt:
      return 0;
    case LeafKind::kBool:
      return false;
    case LeafKind::kFloat:
      return 0.0;
    default:
      break;
  }
  const TensorInfo* info = known.tensor();
  const bool is_known = info != nullptr && info->is_static() && info->dtype;
  Argument::List sizes;
  Kwargs kwargs;
  if (is_known) {
    for (const SymInt& size : info->sizes) sizes.items.emplace_back(*size.number());
    kwargs.emplace_back("dtype", Argument::Dtype{dtype_name(*info->dtype)});
  } else {
    sizes.items.emplace_back(0);
  }
  return run_.tracer->call_function("aten.zeros.default", {std::move(sizes)}, std::move(kwargs),
                                    meta_of(tensor_type(), is_known ? known : AbstractValue{}), std::nullopt);
}

Argument Interpreter::subgraph_result(const Value& value, const TypePtr& type, const AbstractValue& known,
                                      const IrNode* node) {
  if (is_uninitialized(value)) return unread_value(type, known);
  Argument result = run_.recording.argument(value, node);
  const auto* id = result.get_if<NodeId>();
  if (id == nullptr || leaf_kind(*type) != LeafKind::kTensor) return result;
  const fxtrace::Node& given = run_.tracer->graph().node(*id);
  if (given.op != Opcode::kPlaceholder && given.op != Opcode::kGetAttr) return result;
  return run_.tracer->call_function("aten.clone.default", {*id}, {}, given.meta, std::nullopt);
}

Value Interpreter::combined(const Value& first, const Value& second, const std::string& name,
                            const IrNode* node,
                            const std::function<Value(const Value&, const Value&)>& on_difference) {
  if (is_same(first, second)) return first;
  run_.recording.measure(first, node);
  run_.recording.measure(second, node);
  const bool is_first_missing = is_uninitialized(first);
  if (is_first_missing || is_uninitialized(second)) {
    const Value& there = is_first_missing ? second : first;
    if (is_plain(there)) return there;
    const Value missing = Value::uninitialized();
    return map_leaves(there, [&](const Value& leaf) {
      return is_plain(leaf)     ? leaf
             : is_first_missing ? on_difference(missing, leaf)
                                : on_difference(leaf, missing);
    });
  }
  const auto refuse = [&] {
    run_.frames.fail(FailureKind::kDataDependentControlFlow,
                     "an `if` depends on an input: " + run_.recording.describe(run_.frames.input(node, 0)) +
                         ", and " + name + " is " + kind_text(first) + " or " + kind_text(second) +
                         " after it: only tensors and numbers can differ",
                     node);
  };
  auto parts = matching_parts(first, second);
  if (parts) {
    Values items;
    items.reserve(parts->size());
    for (const auto& [one, other] : *parts) items.push_back(combined(one, other, name, node, on_difference));
    Value result = with_parts(first, std::move(items));
    if (is_mutable(result)) may_be_another(result, {first, second}, node);
    return result;
  }
  const LeafKind kind = leaf_kind(*dynamic_type(first));
  if (kind == LeafKind::kOther || kind != leaf_kind(*dynamic_type(second))) refuse();
  return on_difference(first, second);
}

// A tensor where the question is one of a tensor, which compilers prefer to a bool of Python's.
Argument Interpreter::predicate(const IrNode* node, const Value& condition) {
  const NodeId asked = run_.tracer->use(find_proxy(condition)->ref);
  const fxtrace::Node& question = run_.tracer->graph().node(asked);
  const bool is_question =
      question.target == "builtins.bool" && question.args.size() == 1 && question.args[0].is<NodeId>();
  if (!is_question || !question.users.empty() || node->input(0)->uses().size() != 1) return asked;
  const NodeId tensor = *question.args[0].get_if<NodeId>();
  const fxtrace::Node& made_by = run_.tracer->graph().node(tensor);
  const bool gives_bool =
      made_by.op == Opcode::kCallFunction &&
      fxtrace::has_trait(fxtrace::find_operator(parse_target(made_by.target)), traits::kGivesBool);
  if (!gives_bool && made_by.meta->dtype != "bool") return asked;
  run_.tracer->erase(asked);
  return tensor;
}

void Interpreter::record_branches(const IrNode* node, const Value& condition) {
  const Attempt attempt = run_.begin_attempt();
  const std::array<std::string, 2> names{run_.tracer->next_subgraph("true"),
                                         run_.tracer->next_subgraph("false")};
  std::array<Values, 2> results;
  std::array<std::vector<ChangedContainer>, 2> changes;
  std::vector<GraphTracer::OpenSubgraph> bodies;
  std::optional<std::unordered_set<const void*>> around;  // the same for both
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool branch = i == 0;
    const IrBlock& block = *node->blocks()[i];
    try {
      bodies.push_back(
          record_subgraph(names[i], block, branch ? std::vector<NodeId>{} : bodies[0]->captured(), [&] {
            run_.conditions.expect(condition, branch);
            bodies_.back().around = std::move(around);
            run_block(block);
            results[i] = run_.frames.outputs(block);
            changes[i] = take_changes();
            around = std::move(bodies_.back().around);
          }));
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      // Whatever comes after the `if` has taken the other way.
      run_.undo(attempt);
      run_.conditions.assume(node, condition, !branch);
      return choose(node, !branch);
    }
  }

  struct Difference {
    std::array<Value, 2> values;
    TypePtr type;
    AbstractValue known;
  };
  std::vector<Difference> differences;
  bool gives_condition = false;
  const auto is_condition = [&](const Value& first, const Value& second) {
    return first.is_bool() && second.is_bool();
  };
  // Containers that either way changes, with what each leaves in them.
  std::vector<ChangedContainer> containers = std::move(changes[0]);
  for (ChangedContainer& container : containers)
    container.before = std::exchange(container.after, container.before);
  for (ChangedContainer& change : changes[1]) {
    const auto known = std::ranges::find_if(
        containers, [&](const auto& container) { return container.container.is(change.container); });
    (known == containers.end() ? containers.emplace_back(change) : *known).after = change.after;
  }
  const auto for_each_result = [&](bool is_final, const auto& on_difference) {
    for (const ChangedContainer& container : containers) {
      const Value content = combined(container.before, container.after, container.name, node, on_difference);
      if (is_final) change(container.container, content, container.name, node);
    }
    for (std::size_t i = 0; i < node->outputs().size(); ++i) {
      const IrValue* output = node->outputs()[i];
      if (!output->has_uses()) continue;
      run_.frames.set(output, combined(results[0][i], results[1][i], name_of(output), node, on_difference));
    }
  };
  for_each_result(false, [&](const Value& first, const Value& second) {
    if (is_condition(first, second)) {
      gives_condition = true;
    } else {
      differences.push_back({{first, second}, dynamic_type(is_uninitialized(first) ? second : first), {}});
      if (!run_.shapes) return Value();
      AbstractValue& known = differences.back().known;
      known = is_uninitialized(first)    ? known_of_value(second)
              : is_uninitialized(second) ? known_of_value(first)
                                         : merged(first, second);
      forget_contents(known);
    }
    return Value();
  });
  const auto condition_as = [&](bool when_true) {
    if (when_true) return condition;
    return run_.recording.apply("operator.not_", {condition}, bool_type(), node);
  };
  const bool is_empty =
      std::ranges::none_of(bodies, [](const auto& body) { return has_nodes(body->graph()); });
  if (is_empty && differences.empty()) {
    run_.undo(attempt);
    for_each_result(true, [&](const Value& first, const Value&) { return condition_as(first.to_bool()); });
    return;
  }

  for (std::size_t i = 0; i < bodies.size(); ++i) {
    run_.tracer->resume_subgraph(bodies[i]);
    Argument::Tuple items;
    for (const Difference& difference : differences) {
      items.items.push_back(subgraph_result(difference.values[i], difference.type, difference.known, node));
    }
    run_.tracer->output(std::move(items), Meta{});
    bodies[i] = run_.tracer->suspend_subgraph();
  }
  const std::vector<NodeId> operands = run_.tracer->end_subgraphs(bodies);
  const Argument asked =
      gives_condition ? run_.recording.argument(condition, node) : predicate(node, condition);
  Argument::List given;
  for (const NodeId operand : operands) given.items.emplace_back(operand);
  std::vector<TypePtr> types;
  for (const Difference& difference : differences) types.push_back(difference.type);
  const NodeId cond = run_.tracer->call_with_subgraphs(
      "higher_order.cond",
      {asked, Argument::GraphRef{names[0]}, Argument::GraphRef{names[1]}, std::move(given)}, {},
      meta_of(tuple_type(types)), run_.frames.location(node), "", operands);
  std::size_t next = 0;
  for_each_result(true, [&](const Value& first, const Value& second) {
    if (is_condition(first, second)) return condition_as(first.to_bool());
    const Difference& difference = differences[next];
    return run_.recording.call("operator.getitem", {cond, static_cast<std::int64_t>(next++)}, difference.type,
                               node, difference.known);
  });
}

}  // namespace fxtrace::torchscript
