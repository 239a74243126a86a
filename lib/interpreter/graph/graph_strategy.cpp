#include "interpreter/graph/graph_strategy.h"

#include "interpreter/program/convert.h"
#include "interpreter/state/abstract.h"
#include "support/text/qualified_name.h"

namespace fxtrace::interpreter {

Value GraphStrategy::run_root(Function& function, Values arguments) {
  stacks_.begin();
  Value output = calls_.run_root(function, std::move(arguments));
  if (context_.shapes) tracer_.module_gives(context_.root, tensors_in(known_of_value(output)));
  assignments_.finish(output);
  return output;
}

const IrNode* GraphStrategy::run(const IrBlock& block, const IrNode* node) {
  if (part_.makes_subgraphs()) loops_.note_starts(block, node);
  if (const IrNode* last = calls_.run_hooked(node)) return last;
  if (!stacks_.are_kept()) return BasicStrategy::run(block, node);
  const std::size_t first = tracer_.graph().mark().ids;
  code_.run_node(node);
  stacks_.note(node, first);
  return node;
}

void GraphStrategy::note_change(const Value& value, const std::string& name, const IrNode* node) {
  if (part_.makes_subgraphs()) subgraphs_.note_change(value, name, node);
}

void GraphStrategy::materialize(const Value& container, const IrNode* node) {
  if (part_.makes_subgraphs())
    subgraphs_.check_change(container, container.is_list() ? "a list is changed" : "a dict is changed", node);
  BasicStrategy::materialize(container, node);
}

void GraphStrategy::set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) {
  if (part_.makes_subgraphs())
    subgraphs_.check_change(Value(place.object), "attribute '" + place.name + "' is set", node);
  assignments_.set(place, value, node);
}

void GraphStrategy::assume_length(const IrNode* node, const Value& list, std::size_t length) {
  if (!recording_.conditions.assume_length(node, list, length))
    recording_.rely_on(node, "aten::len", {list}, {SymInt(static_cast<std::int64_t>(length))}, {});
}

std::shared_ptr<Attempt> GraphStrategy::begin_loop() {
  return part_.makes_subgraphs() ? std::make_shared<Attempt>(recording_.begin_attempt()) : nullptr;
}

void GraphStrategy::loop(const IrNode* node, const std::string& what, const Value& value,
                         const std::shared_ptr<Attempt>& start) {
  recording_.record_query(value);
  if (!part_.makes_subgraphs()) return BasicStrategy::loop(node, what, value, start);
  if (start != nullptr) recording_.undo(*start);
  loops_.record(node);
}

Value GraphStrategy::attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) {
  const auto& [object, slot, name, current] = place;
  const auto module = context_.program.find_module(object.get());
  // An attribute that the code sets may have another value than in the file: after a leaf that sets it, or in
  // a later call.
  const bool may_change =
      module && !current.is_object() && context_.program.is_set_by_code(class_of(*object), name);
  const bool is_open = may_change && assignments_.is_open(*object, slot);
  const bool is_live = may_change && ((is_open && current.is_tensor()) || tracer_.runs_in_leaf(*module) ||
                                      assignments_.is_set_by_leaf(*module, class_of(*object), name));
  if (may_change && current.is_tensor()) context_.assigned.note_read({object.get(), slot});
  const bool is_there = !is_opaque(current) && !is_missing(current, *type);
  if (!current.is_tensor() && !is_live && !is_open && is_there) {
    if (may_change && find_proxy(current) == nullptr) context_.assigned.note_read({object.get(), slot});
    return current;
  }
  if (is_live && tracer_.in_subgraph()) {
    frames_.refuse(
        "attribute '" + name +
            "', which a leaf may have set, is read inside an `if` or a loop that depends on an input",
        node);
  }
  const std::string* path = context_.program.find_path(object.get());
  if (path == nullptr || !module) {  // tensors of a script object have no path, unlike those of modules
    if (current.is_tensor()) return current;
    frames_.refuse("the value of attribute '" + name + "' is not known", node);
  }
  std::string target = (path->empty() ? "" : *path + ".") + part_of_name(name);
  if (const auto& declared = class_of(*object).attributes()[slot];
      current.is_tensor() && !declared.is_parameter && !declared.is_buffer) {
    target = context_.program.first_name(current.to_tensor(), target);
  }
  const bool is_unknown = is_live && current.is_tensor();
  TensorNames::Known shared = is_unknown ? nullptr : known_of_attribute(place);
  Meta known = meta_of(type);
  if (current.is_tensor()) known.type = "Tensor";
  if (current.is_tensor() && !is_live) {
    if (shared && context_.names.has_changed()) {
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

}  // namespace fxtrace::interpreter
