#include "torchscript/structure.h"

#include "torchscript/convert.h"
#include "torchscript/value.h"

namespace fxtrace {
namespace {

using Parts = std::vector<at::IValue>;

std::optional<Parts> parts_of(const at::IValue& value) {
  if (value.isTuple())
    return Parts(value.toTupleRef().elements().begin(), value.toTupleRef().elements().end());
  if (value.isList()) return value.toListRef().vec();
  if (!value.isGenericDict()) return std::nullopt;
  Parts parts;
  for (const auto& entry : value.toGenericDict()) parts.push_back(entry.value());
  return parts;
}

bool have_same_keys(const at::IValue& first, const at::IValue& second) {
  auto one = first.toGenericDict().begin();
  for (const auto& entry : second.toGenericDict()) {
    if (one == first.toGenericDict().end() || one->key() != entry.key()) return false;
    ++one;
  }
  return true;
}

}  // namespace

LeafKind leaf_kind(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return LeafKind::kTensor;
    case c10::TypeKind::IntType:
      return LeafKind::kInt;
    case c10::TypeKind::FloatType:
      return LeafKind::kFloat;
    case c10::TypeKind::BoolType:
      return LeafKind::kBool;
    default:
      return LeafKind::kOther;
  }
}

bool is_uninitialized(const at::IValue& value) {
  static const std::string tag = at::IValue::uninitialized().tagKind();
  return value.tagKind() == tag;
}

bool has_parts(const at::IValue& value) { return value.isTuple() || value.isList() || value.isGenericDict(); }

bool is_same(const at::IValue& first, const at::IValue& second) {
  if (first.is(second) || (is_uninitialized(first) && is_uninitialized(second))) return true;
  const Proxy* one = find_proxy(first);
  const Proxy* other = find_proxy(second);
  if (one != nullptr && other != nullptr) return one->ref.valid() && one->ref == other->ref;
  if (has_parts(first) || has_parts(second)) return false;
  return is_plain(first) && is_plain(second) && !is_uninitialized(first) && !is_uninitialized(second) &&
         first.tagKind() == second.tagKind() && first == second;
}

std::optional<std::vector<std::pair<at::IValue, at::IValue>>> matching_parts(const at::IValue& first,
                                                                             const at::IValue& second) {
  const auto one = parts_of(first);
  const auto other = parts_of(second);
  if (!one || !other || first.tagKind() != second.tagKind() || one->size() != other->size())
    return std::nullopt;
  if (first.isGenericDict() && !have_same_keys(first, second)) return std::nullopt;
  std::vector<std::pair<at::IValue, at::IValue>> pairs;
  for (std::size_t i = 0; i < one->size(); ++i) pairs.emplace_back((*one)[i], (*other)[i]);
  return pairs;
}

at::IValue with_parts(const at::IValue& container, std::vector<at::IValue> parts) {
  if (container.isTuple()) {
    const auto type = container.toTupleRef().type();
    return type->name() ? c10::ivalue::Tuple::createNamed(std::move(parts), type)
                        : c10::ivalue::Tuple::create(std::move(parts));
  }
  if (container.isList()) {
    c10::impl::GenericList list(container.toList().elementType());
    for (auto& part : parts) list.push_back(std::move(part));
    return list;
  }
  const auto entries = container.toGenericDict();
  c10::impl::GenericDict dict(entries.keyType(), entries.valueType());
  std::size_t next = 0;
  for (const auto& entry : entries) dict.insert(entry.key(), std::move(parts[next++]));
  return dict;
}

at::IValue copy_of(const at::IValue& container) {
  if (container.isList()) return container.toList().copy();
  return container.toGenericDict().copy();
}

at::IValue map_leaves(const at::IValue& value, const std::function<at::IValue(const at::IValue&)>& f) {
  auto parts = parts_of(value);
  if (!parts) return f(value);
  for (at::IValue& part : *parts) part = map_leaves(part, f);
  return with_parts(value, std::move(*parts));
}

std::string kind_text(const at::IValue& value) {
  if (value.isNone()) return "None";
  if (const Proxy* proxy = find_proxy(value)) return type_name(*proxy->type);
  if (const auto parts = parts_of(value)) {
    const char* what = value.isTuple() ? "a tuple of " : value.isList() ? "a list of " : "a dict of ";
    return what + std::to_string(parts->size());
  }
  if (value.isString()) return "'" + value.toStringRef() + "'";
  return type_name(*value.type());
}

std::string name_of(const torch::jit::Value* value) {
  return value->hasDebugName() ? "`" + value->debugNameBase() + "`" : "a value";
}

}  // namespace fxtrace
