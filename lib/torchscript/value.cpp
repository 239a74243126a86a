#include "torchscript/value.h"

#include <stdexcept>

namespace fxtrace {

at::IValue make_proxy(NodeRef value, c10::TypePtr type, NumberMeaning meaning) {
  return at::IValue::make_capsule(c10::make_intrusive<Proxy>(value, std::move(type), meaning));
}

at::IValue make_proxy(NodeRef value, c10::TypePtr type, AbstractValue known) {
  auto proxy = c10::make_intrusive<Proxy>(value, std::move(type));
  if (!known.is_unknown()) proxy->known = std::make_shared<AbstractValue>(std::move(known));
  return at::IValue::make_capsule(std::move(proxy));
}

const AbstractValue& known_of(const at::IValue& value) {
  static const AbstractValue unknown;
  const Proxy* proxy = find_proxy(value);
  return proxy != nullptr && proxy->known ? *proxy->known : unknown;
}

const Proxy* find_proxy(const at::IValue& value) {
  // Bare capsules are made here only: LibTorch keeps its own inside objects.
  if (!value.isCapsule()) return nullptr;
  return static_cast<const Proxy*>(value.toCapsule().get());
}

bool is_plain(const at::IValue& value) {
  if (value.isTensor() || value.isCapsule() || value.isObject() || value.isFuture()) return false;
  if (value.isList()) {
    const auto items = value.toListRef();
    if (!items.empty() && items[0].isInt()) {
      // Long lists of numbers are common: no recursion for them.
      for (const auto& item : items) {
        if (!item.isInt()) return false;
      }
      return true;
    }
    for (const auto& item : items) {
      if (!is_plain(item)) return false;
    }
  } else if (value.isTuple()) {
    for (const auto& item : value.toTupleRef().elements()) {
      if (!is_plain(item)) return false;
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (!is_plain(entry.key()) || !is_plain(entry.value())) return false;
    }
  }
  return true;
}

c10::TypePtr dynamic_type(const at::IValue& value) {
  if (const Proxy* proxy = find_proxy(value)) return proxy->type;
  if (value.isTuple()) {
    std::vector<c10::TypePtr> types;
    for (const auto& item : value.toTupleRef().elements()) types.push_back(dynamic_type(item));
    return c10::TupleType::create(std::move(types));
  }
  return value.type();
}

}  // namespace fxtrace
