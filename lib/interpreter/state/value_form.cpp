#include "interpreter/state/value_form.h"

#include <algorithm>
#include <utility>

#include "interpreter/program/convert.h"
#include "interpreter/program/packed_tensors.h"
#include "interpreter/program/symbolic_value.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr int kMaxNesting = 16;  // objects may hold themselves
constexpr std::size_t kMaxValues = std::size_t{1} << 16;

// Thrown for a value that holds too many others; nothing is known of it.
struct TooMany {};

// Returns the values that packed parameters were packed from, as the shape rules of their operators take them
// (lib/opinfo/operators/quantized.cpp); an unknown value for other objects.  The parameters of a linear layer
// are saved as (weight, bias), those of an embedding as (1, [weight], [], []), those of a convolution as
// convolution_of_state() has it.
AbstractValue packed_from(const Value& state) {
  const auto tensor = [](const Value& value) -> AbstractValue {
    if (!value.is_tensor()) return {};
    auto info = tensor_info(value.to_tensor());
    return info ? AbstractValue{std::move(*info)} : AbstractValue{};
  };
  if (!state.is_tuple() || state.items().empty()) return {};
  const auto& items = state.items();
  if (items[0].is_tensor()) return {AbstractValue::Sequence{tensor(items[0])}};
  const bool is_table = items.size() == 4 && items[0].is_int() && items[1].is_list() &&
                        items[1].to_list().items.size() == 1 && items[1].to_list().items[0].is_tensor();
  if (is_table) return {AbstractValue::Sequence{tensor(items[1].to_list().items[0])}};
  const auto convolution = convolution_of_state(state);
  if (!convolution) return {};
  const auto& tensors = items[1].to_list().items;
  if (tensors.size() != 2) return {};
  const auto sizes = [](const std::vector<std::int64_t>& numbers) {
    AbstractValue::Sequence result;
    for (const std::int64_t number : numbers) result.push_back({SymInt(number)});
    return AbstractValue{std::move(result)};
  };
  const auto& of = *convolution;
  return {AbstractValue::Sequence{tensor(tensors[1]), sizes(of.stride), sizes(of.padding), sizes(of.dilation),
                                  sizes({of.groups}),
                                  of.is_transposed ? sizes(of.output_padding) : sizes({})}};
}

// With literals the result is an argument of a call.  Without, it is what the interpreter remembers of a
// value that depends on inputs: sizes, tensors, and the containers that they are in.
AbstractValue converted(const Value& value, bool with_literals, int depth, std::size_t& room) {
  if (room-- == 0) throw TooMany{};
  if (value.is_handle()) return known_of(value);
  if (value.is_none()) return {NoneValue{}};
  if (value.is_int()) return {SymInt(value.to_int())};
  if (value.is_device()) return {value.to_device()};
  if (value.is_tensor()) {
    auto info = tensor_info(value.to_tensor());
    return info ? AbstractValue{std::move(*info)} : AbstractValue{};
  }
  if (depth >= kMaxNesting) return {};
  const auto sequence = [&](const auto& items) {
    AbstractValue::Sequence result;
    result.reserve(items.size());
    for (const Value& item : items) result.push_back(converted(item, with_literals, depth + 1, room));
    return AbstractValue{std::move(result)};
  };
  if (value.is_tuple()) return sequence(value.items());
  if (value.is_list()) return sequence(value.items());
  if (value.is_dict()) {
    AbstractValue::Dict dict;
    for (const auto& entry : value.to_dict().entries()) {
      dict.keys.push_back(literal_value(entry.key));
      if (dict.keys.back().is_unknown()) return {};  // a tensor
      dict.values.push_back(converted(entry.value, with_literals, depth + 1, room));
    }
    return {std::move(dict)};
  }
  if (value.is_object() && class_of(value.to_object()).is_torchbind())
    return packed_from(value.to_object().state);
  if (value.is_object() && !value.to_object().type->is_module()) {
    return sequence(value.to_object().slots);
  }
  return with_literals ? literal_value(value) : AbstractValue{};
}

AbstractValue converted(const Value& value, bool with_literals) {
  std::size_t room = kMaxValues;
  try {
    return converted(value, with_literals, 0, room);
  } catch (const TooMany&) {
    return {};
  }
}

ValueType::Kind kind_of(TypeKind kind) {
  using Kind = ValueType::Kind;
  switch (kind) {
    case TypeKind::kTensor:
      return Kind::kTensor;
    case TypeKind::kInt:
      return Kind::kInt;
    case TypeKind::kFloat:
      return Kind::kFloat;
    case TypeKind::kBool:
      return Kind::kBool;
    case TypeKind::kComplex:
      return Kind::kComplex;
    default:
      return Kind::kAny;
  }
}

ValueType value_type(const Type& type) {
  const auto* list = type.as<ListType>();
  if (list == nullptr) return {kind_of(type.kind())};
  ValueType result = value_type(*list->element());
  ++result.lists;
  return result;
}

}  // namespace

AbstractValue known_of_value(const Value& value) { return converted(value, false); }

std::optional<TensorInfo> find_tensor_info(const Value& value) {
  if (const TensorInfo* info = known_of(value).tensor()) return *info;
  return value.is_tensor() ? tensor_info(value.to_tensor()) : std::nullopt;
}

ValueType InterpreterArguments::type(std::size_t i) const {
  using Kind = ValueType::Kind;
  const Value& argument = values_[i];
  if (const Proxy* proxy = find_proxy(argument)) return value_type(*proxy->static_type);
  if (argument.is_none()) return {Kind::kNone};
  if (argument.is_tensor()) return {Kind::kTensor};
  if (argument.is_int()) return {Kind::kInt};
  if (argument.is_double()) return {Kind::kFloat};
  if (argument.is_bool()) return {Kind::kBool};
  if (argument.is_complex()) return {Kind::kComplex};
  if (!argument.is_list()) return {};
  ValueType type = value_type(*argument.to_list().element_type);
  ++type.lists;
  return type;
}

bool InterpreterArguments::is_literal(std::size_t i) const { return is_plain(values_[i]); }

const AbstractValue& InterpreterArguments::value(std::size_t i) const {
  const Value& argument = values_[i];
  if (argument.is_handle()) return known_of(argument);
  if (converted_.empty()) converted_.resize(values_.size());
  std::optional<AbstractValue>& place = converted_[i];
  if (place) return *place;
  place = converted(argument, true);
  const auto read = [this](AbstractValue& known, const Value& of) {
    auto* info = of.is_tensor() && read_constant_ ? std::get_if<TensorInfo>(&known.value) : nullptr;
    if (info == nullptr) return;
    if (auto array = read_constant_(of.to_tensor()))
      info->content = std::make_shared<TensorContent>(TensorContent{std::move(array), {}});
  };
  read(*place, argument);
  auto* items = argument.is_list() ? std::get_if<AbstractValue::Sequence>(&place->value) : nullptr;
  for (std::size_t item = 0; items != nullptr && item < items->size(); ++item)
    read((*items)[item], argument.items()[item]);
  return *place;
}

namespace {

// Returns the type of an item of a list, tuple or dict.
TypePtr item_type(const TypePtr& type, std::size_t i) {
  if (const auto* optional = type->as<OptionalType>()) return item_type(optional->element(), i);
  if (const auto* list = type->as<ListType>()) return list->element();
  if (const auto* dict = type->as<DictType>()) return dict->value();
  if (const auto* tuple = type->as<TupleType>(); tuple != nullptr && i < tuple->items().size())
    return tuple->items()[i];
  return torchscript::any_type();
}

Meta meta_of_item(const TypePtr& whole, std::size_t i, const AbstractValue& known) {
  Meta meta = meta_of(item_type(whole, i), known);
  if (known.is_none()) meta.type = "NoneType";
  return meta;
}

}  // namespace

Meta meta_of(const TypePtr& type, const AbstractValue& known) {
  Meta meta;
  meta.type = type_name(*type);
  if (const TensorInfo* info = known.tensor()) {
    meta.type = "Tensor";
    meta.shape.emplace();
    for (const SymInt& size : info->sizes) meta.shape->emplace_back(size);
    meta.dtype = info->dtype;
    if (!info->device.is_cpu()) meta.device = info->device;
  } else if (const SymInt* integer = known.integer()) {
    meta.value = *integer;
  } else if (const auto* items = known.sequence()) {
    meta.items.emplace();
    for (std::size_t i = 0; i < items->size(); ++i) meta.items->push_back(meta_of_item(type, i, (*items)[i]));
  } else if (const auto* dict = known.dict()) {
    meta.items.emplace();
    for (std::size_t i = 0; i < dict->keys.size(); ++i) {
      const auto* key = dict->keys[i].get_if<std::string>();
      if (key == nullptr) {
        meta.items.reset();
        break;
      }
      meta.keys.push_back(*key);
      meta.items->push_back(meta_of_item(type, i, dict->values[i]));
    }
  }
  return meta;
}

std::vector<Meta> tensors_in(const AbstractValue& known) {
  std::vector<Meta> tensors;
  const auto add = [&](const AbstractValue& value, const auto& self) -> void {
    if (value.tensor() != nullptr) tensors.push_back(meta_of(tensor_type(), value));
    if (value.sequence() != nullptr) {
      for (const AbstractValue& item : *value.sequence()) self(item, self);
    }
    if (value.dict() != nullptr) {
      for (const AbstractValue& item : value.dict()->values) self(item, self);
    }
  };
  add(known, add);
  return tensors;
}

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
