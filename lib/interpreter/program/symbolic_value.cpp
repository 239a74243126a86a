#include "interpreter/program/symbolic_value.h"

#include <utility>

namespace fxtrace::internal::interpreter {

Value make_proxy(NodeRef value, TypePtr type, NumberMeaning meaning) {
  return make_counted<Proxy>(value, std::move(type), meaning);
}

Value make_proxy(NodeRef value, TypePtr type, AbstractValue known) {
  auto proxy = make_counted<Proxy>(value, std::move(type));
  if (!known.is_unknown()) proxy->known = std::make_shared<AbstractValue>(std::move(known));
  return proxy;
}

void share_known(const Value& proxy, std::shared_ptr<AbstractValue> known) {
  static_cast<Proxy&>(proxy.to_handle()).known = std::move(known);
}

const AbstractValue& known_of(const Value& value) {
  static const AbstractValue unknown;
  const Proxy* proxy = find_proxy(value);
  return proxy != nullptr && proxy->known ? *proxy->known : unknown;
}

const Proxy* find_proxy(const Value& value) {
  // Proxies are the only handles among the values of a run.
  return value.is_handle() ? static_cast<const Proxy*>(&value.to_handle()) : nullptr;
}

}  // namespace fxtrace::internal::interpreter
