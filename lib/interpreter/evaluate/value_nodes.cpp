#include "interpreter/evaluate/value_nodes.h"

#include <algorithm>
#include <array>

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"

namespace fxtrace::internal::interpreter {

bool ValueNodes::run(const IrNode* node) {
  static const Symbol awaitable_wait = torchscript::intern("prim::awaitable_wait");
  static const Symbol awaitable_nowait = torchscript::intern("prim::awaitable_nowait");
  switch (node->kind()) {
    case Symbol::kPrimGetAttr:
      get_attribute(node);
      break;
    case Symbol::kPrimSetAttr:
      set_attribute(node);
      break;
    case Symbol::kPrimListConstruct:
    case Symbol::kPrimTupleConstruct:
    case Symbol::kPrimDictConstruct:
    case Symbol::kPrimCreateObject:
      construct(node);
      break;
    case Symbol::kPrimTupleUnpack:
    case Symbol::kPrimListUnpack:
      unpack(node);
      break;
    case Symbol::kPrimTupleIndex:
      index_tuple(node);
      break;
    case Symbol::kPrimModuleContainerIndex:
      index_modules(node);
      break;
    case Symbol::kPrimUncheckedCast:
    case Symbol::kPrimUncheckedUnwrapOptional:
    case Symbol::kAtenUnwrapOptional:
      cast(node);
      break;
    case Symbol::kPrimIsinstance:
      is_instance(node);
      break;
    case Symbol::kAtenIs:
    case Symbol::kAtenIsnot:
      return compare_identity(node);
    case Symbol::kPrimUninitialized:
      frames_.set(node, Value::uninitialized());
      break;
    case Symbol::kAtenWait:
      frames_.set(node, frames_.input(node, 0));
      break;
    default:
      if (!node->is(awaitable_wait) && !node->is(awaitable_nowait)) return false;
      frames_.set(node, frames_.input(node, 0));
  }
  return true;
}

void ValueNodes::cast(const IrNode* node) {
  const Value& whole = frames_.input(node, 0);
  const bool is_check = node->kind() == Symbol::kAtenUnwrapOptional;
  const Proxy* proxy = find_proxy(whole);
  if (proxy == nullptr) {
    if (is_check && whole.is_none()) frames_.raise("AssertionError: Unwrapping null optional", node);
    if (frames_.is_constant(node->input(0))) frames_.note_constant(node->output());
    return frames_.set(node, whole);
  }
  if (is_check && proxy->static_type->kind() == TypeKind::kOptional) {
    recorder_.guard(Expression::comparison("is not", recorder_.condition_of(whole), Expression::none()),
                    frames_.location(node), GuardReason::kAssert);
  }
  const TypePtr& type = node->output()->type();
  const bool is_narrower = is_subtype(*type, *proxy->static_type);
  if (run_.shapes && !proxy->known) share_known(whole, std::make_shared<AbstractValue>());
  Value cast = make_proxy(proxy->ref, is_narrower ? type : proxy->static_type, proxy->meaning);
  share_known(cast, proxy->known);
  frames_.set(node, std::move(cast));
}

void ValueNodes::index_tuple(const IrNode* node) {
  const Value& tuple = frames_.input(node, 0);
  const Value given = frames_.input(node, 1);
  const auto answer = propagation_.find_answer(given);
  const Value& index = answer ? *answer : given;
  recorder_.conditions.record_query(index);
  if (!index.is_int()) frames_.refuse("a tuple is indexed by a value that depends on an input", node);
  std::int64_t i = index.to_int();
  if (!tuple.is_tuple()) {
    const auto* items = known_of(tuple).sequence();
    if (items != nullptr && i < 0) i += static_cast<std::int64_t>(items->size());
    return frames_.set(node, item(tuple, static_cast<std::size_t>(i), node->output()->type(), node));
  }
  const auto size = static_cast<std::int64_t>(tuple.items().size());
  if (i < 0) i += size;
  if (i < 0 || i >= size) frames_.raise("IndexError: Tuple index out of range", node);
  frames_.set(node, tuple.items()[static_cast<std::size_t>(i)]);
}

void ValueNodes::index_modules(const IrNode* node) {
  const Value& container = frames_.input(node, 0);
  const Value& key = frames_.input(node, 1);
  if (!container.is_object() || !(key.is_int() || key.is_string())) {
    recorder_.conditions.record_query(key);
    frames_.fail(FailureKind::kDataDependentControlFlow, "the choice of a submodule depends on an input",
                 node);
  }
  // Negative numbers do not count from the end: LibTorch looks for the name "-1" too, and raises.
  const std::string name = key.is_string() ? key.to_string() : std::to_string(key.to_int());
  const auto slot = class_of(container.to_object()).find_slot(name);
  if (!slot) frames_.raise("IndexError: no submodule " + name, node);
  frames_.set(node, container.to_object().slots.at(*slot));
}

bool ValueNodes::compare_identity(const IrNode* node) {
  const Value& left = frames_.input(node, 0);
  const Value& right = frames_.input(node, 1);
  const bool is = node->kind() == Symbol::kAtenIs;
  if (frames_.are_constants(node->inputs())) frames_.note_constant(node->output());
  if (left.is_none() && right.is_none()) {
    frames_.set(node, is);
    return true;
  }
  if (!left.is_none() && !right.is_none()) return compare_tensors(node, left, right);
  const Value& other = left.is_none() ? right : left;
  const Proxy* proxy = find_proxy(other);
  if (proxy == nullptr || !is_subtype(*none_type(), *proxy->static_type) || !known_of(other).is_unknown()) {
    frames_.set(node, known_of(other).is_none() == is);
    return true;
  }
  frames_.set(node,
              recorder_.apply(is ? "operator.is_" : "operator.is_not", {left, right}, bool_type(), node));
  return true;
}

// `query is key`: as in torch.fx, two proxies are the same when they are the same node.  The trace assumes
// that different nodes are different tensors, and a guard says so.
bool ValueNodes::compare_tensors(const IrNode* node, const Value& left, const Value& right) {
  const Proxy* first = find_proxy(left);
  const Proxy* second = find_proxy(right);
  if (first == nullptr || second == nullptr) return false;
  const bool same = left.is(right) || (first->ref.valid() && first->ref == second->ref);
  if (!same)
    recorder_.guard(
        Expression::comparison("is not", recorder_.condition_of(left), recorder_.condition_of(right)),
        frames_.location(node), GuardReason::kDefault);
  frames_.set(node, same == (node->kind() == Symbol::kAtenIs));
  return true;
}

void ValueNodes::is_instance(const IrNode* node) {
  const Value& object = frames_.input(node, 0);
  state_.measure(object, node);
  const TypePtr type = dynamic_type(object);
  bool possible = false;
  for (const auto& candidate : node->types()) {
    if (is_subtype(*type, *candidate)) return frames_.set(node, true);
    possible = possible || is_subtype(*candidate, *type);
  }
  if (possible && !is_plain(object)) {
    recorder_.conditions.record_query(object);
    frames_.fail(FailureKind::kDataDependentControlFlow,
                 "isinstance of " + recorder_.describe(object) + ", whose type " + type_name(*type) +
                     " depends on an input",
                 node);
  }
  frames_.set(node, false);
}

void ValueNodes::construct(const IrNode* node) {
  Values values = frames_.inputs(node);
  run_.budget.spend(values.size());
  const TypePtr& type = node->output()->type();
  switch (node->kind()) {
    case Symbol::kPrimListConstruct: {
      return frames_.set(node, make_list(type->as<ListType>()->element(), std::move(values)));
    }
    case Symbol::kPrimTupleConstruct: {
      const auto* tuple = type->as<TupleType>();
      const bool is_named = tuple != nullptr && tuple->is_named();
      return frames_.set(node, make_tuple(std::move(values), is_named ? type : nullptr));
    }
    case Symbol::kPrimDictConstruct: {
      const auto& dict_type = *type->as<DictType>();
      auto dict = make_counted<DictValue>(dict_type.key(), dict_type.value());
      for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
        if (!DictValue::may_be_key(values[i]) || !is_plain(values[i])) {
          recorder_.conditions.record_query(values[i]);
          frames_.refuse("a dict key depends on an input", node);
        }
        dict->set(values[i], values[i + 1]);
      }
      return frames_.set(node, dict);
    }
    default: {  // prim::CreateObject
      if (type->is_module()) frames_.refuse("a module is made while tracing", node);
      frames_.set(node, make_counted<ObjectValue>(type, type->as<ClassType>()->attributes().size()));
    }
  }
}

namespace {

// Returns whether the list has as many items as are unpacked, or else fewer, so that the last one is missing.
bool gives_as_many(const IrNode& unpacking) {
  static const auto named = [](const char* name) { return torchscript::intern(name); };
  static const std::array by_list{named("aten::split"), named("aten::split_with_sizes"),
                                  named("aten::unsafe_split_with_sizes"), named("aten::meshgrid"),
                                  named("aten::broadcast_tensors")};
  static const Symbol chunk = named("aten::chunk"), unsafe_chunk = named("aten::unsafe_chunk");
  const IrNode& maker = *unpacking.input(0)->node();
  const std::size_t count = unpacking.outputs().size();
  if (maker.is(chunk) || maker.is(unsafe_chunk))
    return count != 0 && unpacking.outputs().back()->has_uses() &&
           constant_of<std::int64_t>(*maker.input(1)) == static_cast<std::int64_t>(count);
  if (std::ranges::find(by_list, maker.kind()) == by_list.end()) return false;
  return std::ranges::any_of(maker.inputs(), [&](const IrValue* input) {
    return input->node()->is(Symbol::kPrimListConstruct) && input->node()->inputs().size() == count;
  });
}

}  // namespace

Value ValueNodes::item(const Value& sequence, std::size_t index, const TypePtr& type, const IrNode* node,
                       bool fits) {
  const auto* items = fits ? known_of(sequence).sequence() : nullptr;
  Value part = recorder_.apply("operator.getitem", {sequence, index}, type, node,
                               items != nullptr && index < items->size() ? (*items)[index] : AbstractValue{});
  return propagation_.note_part(sequence, index, std::move(part));
}

void ValueNodes::unpack(const IrNode* node) {
  const Value sequence = frames_.input(node, 0);
  const auto& results = node->outputs();
  if (find_proxy(sequence) != nullptr) {
    const auto* items = known_of(sequence).sequence();
    const bool fits = items == nullptr || items->size() == results.size();
    if (!fits) {
      recorder_.report_invalid(node, "unpacking",
                               "expected " + std::to_string(results.size()) + " elements but found " +
                                   std::to_string(items->size()));
    }
    const bool is_counted = propagation_.take_counted(node->input(0)->node());
    if (fits && !is_counted && node->is(Symbol::kPrimListUnpack) && !gives_as_many(*node))
      recorder_.assume_length(node, sequence, results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i]->has_uses()) continue;
      frames_.set(results[i], item(sequence, i, results[i]->type(), node, fits));
    }
    return;
  }
  Values items;
  if (sequence.is_tuple()) {
    items.assign(sequence.items().begin(), sequence.items().end());
  } else if (sequence.is_list()) {
    items = sequence.items();
  } else {
    frames_.raise("cannot unpack a value that is not a sequence", node);
  }
  if (items.size() != results.size()) {
    frames_.raise("ValueError: expected " + std::to_string(results.size()) + " elements but found " +
                      std::to_string(items.size()),
                  node);
  }
  for (std::size_t i = 0; i < results.size(); ++i) frames_.set(results[i], std::move(items[i]));
}

// Returns the attribute of the object that the node gets or sets.
AttributePlace ValueNodes::place_of(const Value& object, const IrNode* node) const {
  const Ref<ObjectValue> holder(&object.to_object());
  const auto slot = class_of(*holder).find_slot(node->text());
  if (!slot) frames_.raise("AttributeError: no attribute '" + node->text() + "'", node);
  return {holder, *slot, node->text(), *slot < holder->slots.size() ? holder->slots[*slot] : Value()};
}

void ValueNodes::get_attribute(const IrNode* node) {
  const Value holder = frames_.input(node, 0);
  const std::string& name = node->text();
  if (const Proxy* proxy = find_proxy(holder)) {
    const auto* class_type = proxy->static_type->as<ClassType>();
    const auto slot = class_type != nullptr ? class_type->find_slot(name) : std::nullopt;
    const auto* slots = known_of(holder).sequence();
    AbstractValue known =
        slot && slots != nullptr && *slot < slots->size() ? (*slots)[*slot] : AbstractValue{};
    Value part =
        recorder_.apply("builtins.getattr", {holder, name}, node->output()->type(), node, std::move(known));
    return frames_.set(node, propagation_.note_part(holder, slot, std::move(part)));
  }
  if (!holder.is_object()) frames_.raise("AttributeError: no attribute '" + name + "'", node);
  frames_.set(node, code_.attribute(place_of(holder, node), node->output()->type(), node));
}

void ValueNodes::set_attribute(const IrNode* node) {
  const Value holder = frames_.input(node, 0);
  const std::string& name = node->text();
  if (!holder.is_object()) {
    frames_.refuse("attribute '" + name + "' of a value that depends on an input is set", node);
  }
  code_.set_attribute(place_of(holder, node), frames_.input(node, 1), node);
}

}  // namespace fxtrace::internal::interpreter
