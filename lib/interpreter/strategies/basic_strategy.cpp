#include "interpreter/strategies/basic_strategy.h"

#include <utility>

#include "interpreter/state/abstract.h"

namespace fxtrace::interpreter {
namespace {

// The memory that a node takes, in units of the budget.
constexpr std::size_t kUnitsOfNode = 64;

// Returns whether the argument is a list or dict that the operator changes, and not tensors in a list.
bool is_changed_container(const FunctionSchema& schema, const Value& value, const Type& formal) {
  if (!value.is_list() && !value.is_dict()) return false;
  if (schema.name == "aten::remove" || schema.name == "aten::sort") return true;
  if (formal.kind() == TypeKind::kTensor) return false;
  return formal.kind() != TypeKind::kList || formal.contained_types()[0]->kind() != TypeKind::kTensor;
}

}  // namespace

const IrNode* BasicStrategy::run(const IrBlock&, const IrNode* node) {
  code_.run_node(node);
  return node;
}

void BasicStrategy::call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!follows_operators()) {
    for (const IrValue* output : node->outputs()) frames_.set(output, make_proxy(NodeRef{}, output->type()));
    return;
  }
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    if (!schema.is_written(i)) continue;
    if (values[i].is_tensor()) propagation_.constants.note_write(values[i]);
    if (is_changed_container(schema, values[i], *schema.arguments[i].type)) {
      materialize(values[i], node);
      return call_operator(node, schema, frames_.inputs(node));
    }
  }
  context_.budget.spend(kUnitsOfNode);
  set_results(node, schema, values, propagation_.infer_results(node, schema, values));
}

void BasicStrategy::materialize(const Value& container, const IrNode* node) {
  const char* target = container.is_list() ? "builtins.list" : "builtins.dict";
  frames_.replace(container, recorder().apply(target, {container}, dynamic_type(container), node));
  context_.changes.add([this, container] { frames_.take_back_replacement(container); });
}

void BasicStrategy::set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                                std::vector<AbstractValue> known) {
  const auto& results = node->outputs();
  known.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TypePtr& type = results[i]->type();
    if (results.size() == 1) {
      frames_.set(results[i], Recorder::result({}, type, std::move(known[i])));
    } else if (results[i]->has_uses()) {
      frames_.set(results[i], make_proxy(NodeRef{}, type, std::move(known[i])));
    }
  }
  propagation_.note_results(node, schema, values);
}

Value BasicStrategy::call_module(const MethodCall& call) {
  return code_.follow(call.method, call.arguments, call.node);
}

Value BasicStrategy::call_function(Function& function, const Values& arguments, const IrNode* node) {
  return code_.follow(function, arguments, node);
}

bool BasicStrategy::is_opaque(const Value& value) {
  const Proxy* proxy = find_proxy(value);
  return proxy != nullptr && !proxy->ref.valid();
}

bool BasicStrategy::is_missing(const Value& value, const Type& type) {
  return value.is_none() && !is_subtype(*none_type(), type);
}

TensorNames::Known BasicStrategy::known_of_attribute(const AttributePlace& place) const {
  if (!context_.shapes) return nullptr;
  if (place.current.is_tensor()) return context_.names.known_for(place.current.to_tensor());
  return is_opaque(place.current) ? std::make_shared<AbstractValue>(known_of_value(place.current)) : nullptr;
}

Value BasicStrategy::proxy_of(const AttributePlace& place, const TypePtr& type, NodeRef node,
                              TensorNames::Known known) {
  Value made = make_proxy(node, place.current.is_tensor() ? TypePtr(tensor_type()) : type);
  share_known(made, std::move(known));
  return made;
}

Value BasicStrategy::attribute(const AttributePlace& place, const TypePtr& type, const IrNode*) {
  const bool is_there = !is_opaque(place.current) && !is_missing(place.current, *type);
  if (!place.current.is_tensor() && is_there) return place.current;
  return proxy_of(place, type, {}, known_of_attribute(place));
}

void BasicStrategy::set_attribute(const AttributePlace& place, const Value& value, const IrNode*) {
  store(place, value, context_.changes);
}

bool BasicStrategy::join_conditions(const IrNode* node, const Value&, bool) {
  frames_.set(node, Value::uninitialized());
  return true;
}

void BasicStrategy::branch(const IrNode* node, const Value& condition) { fail("an `if`", condition, node); }

void BasicStrategy::loop(const IrNode* node, const std::string& what, const Value& value,
                         const std::shared_ptr<Attempt>&) {
  fail(what, value, node);
}

}  // namespace fxtrace::interpreter
