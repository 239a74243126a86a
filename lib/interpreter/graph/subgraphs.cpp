#include "interpreter/graph/subgraphs.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/state/abstract.h"
#include "interpreter/state/structure.h"
#include "support/restore.h"

namespace fxtrace::internal::interpreter {

bool is_converted(const Type& type) {
  return leaf_kind(type) == LeafKind::kBool || leaf_kind(type) == LeafKind::kFloat;
}

AbstractValue carried_knowledge(const Type& type, const AbstractValue& known, bool shapes) {
  if (!is_converted(type)) return known;
  const bool is_scalar = shapes && leaf_kind(type) == LeafKind::kFloat;
  return is_scalar ? AbstractValue{TensorInfo{{}, ScalarType::kFloat64}} : AbstractValue{};
}

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

namespace {

bool is_mutable(const Value& value) { return value.is_list() || value.is_dict() || value.is_object(); }

// Returns the identities of all values that can be reached from these and changed in place.
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

}  // namespace

GraphTracer::OpenSubgraph Subgraphs::record(const std::string& name, const IrBlock& block,
                                            const std::vector<NodeId>& operands,
                                            const std::function<void()>& run) {
  std::vector<NodeRef> captured;
  captured.reserve(operands.size());
  for (const NodeId operand : operands) captured.push_back(tracer_.ref(operand));
  tracer_.begin_subgraph(name);
  for (const NodeRef& operand : captured) tracer_.use(operand);
  bodies_.push_back({block.owning_node(), frames_.size() - 1});
  const Restore restore([this, stretch = state_.changes.begin_stretch(state_.changes.mark()),
                         known = state_.dimensions, assumed = recorder_.conditions.assumed()]() mutable {
    bodies_.pop_back();
    state_.changes.begin_stretch(stretch);
    recorder_.conditions.set_assumed(std::move(assumed));
    // Symbols that were made inside stay declared: none is given twice.
    const auto before = known.ranges();
    for (const auto& [dimension, range] : state_.dimensions.ranges()) {
      if (!std::ranges::binary_search(before, dimension, {}, &std::pair<std::string, Range>::first)) {
        known.narrow(dimension, range);
      }
    }
    state_.dimensions = std::move(known);
  });
  run();
  return tracer_.suspend_subgraph();
}

bool Subgraphs::is_from_around(const Value& container) {
  if (bodies_.empty()) return false;
  Body& body = bodies_.back();
  if (!body.around) {
    // Most often it is a variable of the same function.  All values of callers and modules take longer to
    // search.
    if (is_mutable(container) && frames_.holds_around(container, body.node, body.frame)) return true;
    Values around = frames_.values_around(body.node, body.frame);
    around.insert(around.end(), body.handed_in.begin(), body.handed_in.end());
    body.around = mutable_values(std::move(around));
  }
  return body.around->contains(container.identity());
}

void Subgraphs::check_choice(const Value& container, const std::string& what, const IrNode* node) {
  if (may_be_other_.contains(container.identity())) {
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 what + ", and an `if` or a loop that depends on an input decides which one it is", node);
  }
}

void Subgraphs::check_change(const Value& container, const std::string& what, const IrNode* node) {
  check_choice(container, what, node);
  if (is_from_around(container)) {
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 what + " inside an `if` or a loop that depends on an input", node);
  }
}

void Subgraphs::note_change(const Value& container, const std::string& name, const IrNode* node) {
  if (!is_from_around(container)) return check_change(container, name + " is changed", node);
  auto& changed = bodies_.back().changed;
  if (std::ranges::any_of(changed, [&](const auto& known) { return known.container.is(container); })) return;
  changed.push_back({name, container, copy_of(container), {}});
}

void Subgraphs::change(const Value& container, const Value& content, const std::string& name,
                       const IrNode* node) {
  note_change(container, name, node);
  state_.changes.remember(container);
  set_content(container, content);
}

std::vector<ChangedContainer> Subgraphs::take_changes() {
  std::vector<ChangedContainer> changed = std::move(bodies_.back().changed);
  for (ChangedContainer& change : changed) {
    change.after = copy_of(change.container);
    set_content(change.container, change.before);
  }
  return changed;
}

void Subgraphs::may_be_another(const Value& container, const Values& others, const IrNode* node) {
  const auto around = mutable_values(frames_.values_around(node, frames_.size() - 1));
  const auto add = [&](const Value& value) {
    const void* identity = value.identity();
    if (!may_be_other_.emplace(identity, value).second) return;
    state_.changes.add([this, identity] { may_be_other_.erase(identity); });
  };
  for (const Value& other : others) {
    if (!around.contains(other.identity())) continue;
    add(other);
    add(container);
  }
}

Argument Subgraphs::unread_value(const TypePtr& type, const AbstractValue& known) {
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
  return tracer_.call_function("aten.zeros.default", {std::move(sizes)}, std::move(kwargs),
                               meta_of(tensor_type(), is_known ? known : AbstractValue{}), std::nullopt);
}

Argument Subgraphs::result(const Value& value, const TypePtr& type, const AbstractValue& known,
                           const IrNode* node) {
  if (value.is_uninitialized()) return unread_value(type, known);
  Argument result = recorder_.argument(value, node);
  const auto* id = result.get_if<NodeId>();
  if (id == nullptr || leaf_kind(*type) != LeafKind::kTensor) return result;
  const internal::Node& given = tracer_.graph().node(*id);
  if (given.op != Opcode::kPlaceholder && given.op != Opcode::kGetAttr) return result;
  return tracer_.call_function("aten.clone.default", {*id}, {}, given.meta, std::nullopt);
}

Argument Subgraphs::carried_argument(const Value& value, const TypePtr& type, const AbstractValue& known,
                                     const IrNode* node) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      if (value.is_bool()) return std::int64_t{value.to_bool()};
      if (value.is_uninitialized()) return 0;
      return recorder_.argument(recorder_.apply("builtins.int", {value}, int_type(), node), node);
    case LeafKind::kFloat:
      return recorder_.argument(
          recorder_.call("aten.scalar_tensor.default", {result(value, type, known, node)}, tensor_type(),
                         node, carried_knowledge(*type, {}, run_.shapes),
                         {{"dtype", Argument::Dtype{"float64"}}}),
          node);
    default:
      return result(value, type, known, node);
  }
}

Value Subgraphs::carried_value(NodeId carried, const TypePtr& type, AbstractValue known, const IrNode* node) {
  switch (leaf_kind(*type)) {
    case LeafKind::kBool:
      return recorder_.call("builtins.bool", {carried}, type, node);
    case LeafKind::kFloat:
      return recorder_.call("aten.item.default", {carried}, type, node);
    default:
      return make_proxy(tracer_.ref(carried), type, std::move(known));
  }
}

Value Subgraphs::carried_result(NodeId control_flow, std::int64_t index, const TypePtr& type,
                                AbstractValue known, const IrNode* node) {
  const Value item = recorder_.call("operator.getitem", {control_flow, index}, carried_type(type), node,
                                    carried_knowledge(*type, known, run_.shapes));
  return carried_value(find_proxy(item)->ref.node, type, std::move(known), node);
}

}  // namespace fxtrace::internal::interpreter
