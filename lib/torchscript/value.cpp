#include "torchscript/value.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

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

namespace {

bool holds_values(const at::IValue& value) {
  return value.isTuple() || value.isList() || value.isGenericDict();
}

// Looks at containers in one another.
class Measure {
 public:
  Extent of(const at::IValue& value) {
    if (!holds_values(value)) return of_single(value);
    if (++depth_ > kMaxDepth) {
      --depth_;
      return {false, Extent::kEndless, 1};
    }
    Extent whole = value.isList()    ? of_all(value.internalToPointer(), value.toListRef())
                   : value.isTuple() ? of_all(value.internalToPointer(), value.toTupleRef().elements())
                                     : of_dict(value);
    --depth_;
    return whole;
  }

 private:
  // Deeper ones would use up the stack of whoever walks them.
  static constexpr std::size_t kMaxDepth = 500;

  static Extent of_single(const at::IValue& value) {
    if (value.isString()) return {true, 1 + value.toStringRef().size() / kCharacters, 1};
    const bool other = value.isTensor() || value.isCapsule() || value.isObject() || value.isFuture();
    return {!other, 1, 1};
  }

  static void add(Extent& whole, const Extent& part) {
    whole.is_plain = whole.is_plain && part.is_plain;
    whole.size = std::min(Extent::kEndless, whole.size + part.size);
    whole.looked += part.looked;
  }

  // What has no containers inside need not be remembered.
  template <class Items>
  Extent of_all(const void* identity, const Items& items) {
    Extent whole;
    bool nested = false;
    for (const at::IValue& item : items) {
      if (holds_values(item)) {
        nested = true;
      } else {
        add(whole, of_single(item));
      }
    }
    return nested ? remembered(identity, whole,
                               [&](Extent& found) {
                                 for (const at::IValue& item : items) {
                                   if (holds_values(item)) add(found, of(item));
                                 }
                               })
                  : whole;
  }

  Extent of_dict(const at::IValue& value) {
    return remembered(value.internalToPointer(), {}, [&](Extent& found) {
      for (const auto& entry : value.toGenericDict()) {
        add(found, of(entry.key()));
        add(found, of(entry.value()));
      }
    });
  }

  template <class F>
  Extent remembered(const void* identity, Extent whole, const F& add_parts) {
    // Endless until it is known: it may hold itself.
    const auto [place, is_new] = known_.try_emplace(identity, Extent{false, Extent::kEndless, 1});
    if (!is_new) return place->second;
    add_parts(whole);
    Extent again = whole;
    again.looked = 1;
    known_[identity] = again;
    return whole;
  }

  static constexpr std::size_t kCharacters = 16;
  std::unordered_map<const void*, Extent> known_;
  std::size_t depth_ = 0;
};

}  // namespace

Extent extent_of(const at::IValue& value) {
  Measure measure;
  return measure.of(value);
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
