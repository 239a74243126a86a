#include "interpreter/state/structure.h"

#include <algorithm>

#include "interpreter/program/convert.h"
#include "interpreter/program/symbolic_value.h"

namespace fxtrace::internal::interpreter {
namespace {

using Parts = std::vector<Value>;

std::optional<Parts> parts_of(const Value& value) {
  if (value.is_tuple()) return Parts(value.items().begin(), value.items().end());
  if (value.is_list()) return value.items();
  if (!value.is_dict()) return std::nullopt;
  Parts parts;
  for (const auto& entry : value.to_dict().entries()) parts.push_back(entry.value);
  return parts;
}

bool have_same_keys(const Value& first, const Value& second) {
  return std::ranges::equal(first.to_dict().entries(), second.to_dict().entries(),
                            [](const auto& a, const auto& b) { return are_equal(a.key, b.key); });
}

}  // namespace

LeafKind leaf_kind(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kTensor:
      return LeafKind::kTensor;
    case TypeKind::kInt:
      return LeafKind::kInt;
    case TypeKind::kFloat:
      return LeafKind::kFloat;
    case TypeKind::kBool:
      return LeafKind::kBool;
    default:
      return LeafKind::kOther;
  }
}

bool has_parts(const Value& value) { return value.is_tuple() || value.is_list() || value.is_dict(); }

bool is_same(const Value& first, const Value& second) {
  if (first.is(second) || (first.is_uninitialized() && second.is_uninitialized())) return true;
  const Proxy* one = find_proxy(first);
  const Proxy* other = find_proxy(second);
  if (one != nullptr && other != nullptr) return one->ref.valid() && one->ref == other->ref;
  if (has_parts(first) || has_parts(second)) return false;
  return is_plain(first) && is_plain(second) && !first.is_uninitialized() && !second.is_uninitialized() &&
         are_equal(first, second);
}

std::optional<std::vector<std::pair<Value, Value>>> matching_parts(const Value& first, const Value& second) {
  const auto one = parts_of(first);
  const auto other = parts_of(second);
  if (!one || !other || first.kind() != second.kind() || one->size() != other->size()) return std::nullopt;
  if (first.is_dict() && !have_same_keys(first, second)) return std::nullopt;
  std::vector<std::pair<Value, Value>> pairs;
  for (std::size_t i = 0; i < one->size(); ++i) pairs.emplace_back((*one)[i], (*other)[i]);
  return pairs;
}

Value with_parts(const Value& container, std::vector<Value> parts) {
  if (container.is_tuple()) return make_tuple(std::move(parts), container.to_tuple().type);
  if (container.is_list()) return make_list(container.to_list().element_type, std::move(parts));
  const DictValue& entries = container.to_dict();
  auto dict = make_counted<DictValue>(entries.key_type, entries.value_type);
  std::size_t next = 0;
  for (const auto& entry : entries.entries()) dict->set(entry.key, std::move(parts[next++]));
  return dict;
}

Value copy_of(const Value& container) {
  if (container.is_list()) return make_list(container.to_list().element_type, container.items());
  return container.to_dict().copy();
}

void set_content(const Value& container, const Value& content) {
  if (container.is_list()) {
    container.to_list().items = content.items();
  } else {
    DictValue& dict = container.to_dict();
    dict.clear();
    for (const auto& entry : content.to_dict().entries()) dict.set(entry.key, entry.value);
  }
}

Value map_leaves(const Value& value, const std::function<Value(const Value&)>& f) {
  auto parts = parts_of(value);
  if (!parts) return f(value);
  for (Value& part : *parts) part = map_leaves(part, f);
  return with_parts(value, std::move(*parts));
}

std::string kind_text(const Value& value) {
  if (value.is_none()) return "None";
  if (const Proxy* proxy = find_proxy(value)) return type_name(*proxy->static_type);
  if (const auto parts = parts_of(value)) {
    const char* what = value.is_tuple() ? "a tuple of " : value.is_list() ? "a list of " : "a dict of ";
    return what + std::to_string(parts->size());
  }
  if (value.is_string()) return "'" + value.to_string() + "'";
  return type_name(*dynamic_type(value));
}

std::string name_of(const IrValue* value) {
  return value->has_name() ? "`" + value->name() + "`" : "a value";
}

}  // namespace fxtrace::internal::interpreter
