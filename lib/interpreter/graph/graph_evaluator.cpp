#include "interpreter/graph/graph_evaluator.h"

#include "interpreter/program/convert.h"
#include "interpreter/state/abstract.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal::interpreter {

Value GraphEvaluator::run_root(Function& function, Values arguments) {
  stacks_.begin();
  Value output = calls_.run_root(function, std::move(arguments));
  if (run_.shapes) tracer_.module_gives(run_.root, tensors_in(known_of_value(output)));
  assignments_.finish(output);
  return output;
}

const IrNode* GraphEvaluator::run_from(const IrBlock& block, const IrNode* node) {
  if (makes_subgraphs()) loops_.note_starts(block, node);
  if (const IrNode* last = calls_.run_hooked(node)) return last;
  if (!stacks_.are_kept()) return Evaluator::run_from(block, node);
  const std::size_t first = tracer_.graph().mark().ids;
  run_node(node);
  stacks_.note(node, first);
  return node;
}

void GraphEvaluator::note_change(const Value& value, const std::string& name, const IrNode* node) {
  if (makes_subgraphs()) subgraphs_.note_change(value, name, node);
}

void GraphEvaluator::materialize(const Value& container, const IrNode* node) {
  if (makes_subgraphs())
    subgraphs_.check_change(container, container.is_list() ? "a list is changed" : "a dict is changed", node);
  Evaluator::materialize(container, node);
}

void GraphEvaluator::set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) {
  if (makes_subgraphs())
    subgraphs_.check_change(Value(place.object), "attribute '" + place.name + "' is set", node);
  assignments_.set(place, value, node);
}

void GraphEvaluator::loop(const IrNode* node, const std::string& what, const Value& value,
                          const std::optional<Checkpoint>& start) {
  recorder_.conditions.record_query(value);
  if (!makes_subgraphs()) return Evaluator::loop(node, what, value, start);
  if (start) recorder_.back_to(*start);
  loops_.record(node);
}

Value GraphEvaluator::attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) {
  const auto& [object, slot, name, current] = place;
  const auto module = run_.program.find_module(object.get());
  // An attribute that the code sets may have another value than in the file: after a leaf that sets it, or in
  // a later call.
  const bool may_change =
      module && !current.is_object() && run_.program.is_set_by_code(class_of(*object), name);
  const bool is_open = may_change && assignments_.is_open(*object, slot);
  const bool is_live = may_change && ((is_open && current.is_tensor()) || tracer_.runs_in_leaf(*module) ||
                                      assignments_.is_set_by_leaf(*module, class_of(*object), name));
  if (may_change && current.is_tensor()) state_.assigned.note_read({object.get(), slot});
  const bool is_there = !is_opaque(current) && !is_missing(current, *type);
  if (!current.is_tensor() && !is_live && !is_open && is_there) {
    if (may_change && find_proxy(current) == nullptr) state_.assigned.note_read({object.get(), slot});
    return current;
  }
  if (is_live && tracer_.in_subgraph()) {
    frames_.refuse(
        "attribute '" + name +
            "', which a leaf may have set, is read inside an `if` or a loop that depends on an input",
        node);
  }
  const std::string* path = run_.program.find_path(object.get());
  if (path == nullptr || !module) {  // tensors of a script object have no path, unlike those of modules
    if (current.is_tensor()) return current;
    frames_.refuse("the value of attribute '" + name + "' is not known", node);
  }
  std::string target = (path->empty() ? "" : *path + ".") + part_of_name(name);
  if (const auto& declared = class_of(*object).attributes()[slot];
      current.is_tensor() && !declared.is_parameter && !declared.is_buffer) {
    target = run_.program.first_name(current.to_tensor(), target);
  }
  const bool is_unknown = is_live && current.is_tensor();
  TensorNames::KnownValue shared = is_unknown ? nullptr : known_of_attribute(place);
  Meta known = meta_of(type);
  if (current.is_tensor()) known.type = "Tensor";
  if (current.is_tensor() && !is_live) {
    if (shared && state_.names.has_changed()) {
      known = meta_of(tensor_type(), *shared);
    } else {
      known.dtype = current.to_tensor().dtype;
      known.shape.emplace(current.to_tensor().sizes.begin(), current.to_tensor().sizes.end());
    }
  }
  const auto source = frames_.location(node);
  const NodeId id = is_live   ? tracer_.get_attr_again(target, std::move(known), source)
                    : is_open ? tracer_.get_state(target, std::move(known), source)
                              : tracer_.get_attr(target, std::move(known), source);
  return proxy_of(place, type, tracer_.ref(id), std::move(shared));
}

}  // namespace fxtrace::internal::interpreter
