// The rules are those of PyTorch's aten/src/ATen/core/type.cpp (BSD-3-Clause, see NOTICE).
#include "torchscript/language/type_relations.h"

#include <algorithm>

#include "support/scope_guard.h"
#include "torchscript/language/function_schema.h"

namespace fxtrace::internal::torchscript {

// --- equality ---

namespace {

bool equal_parts(const Type& a, const Type& b) {
  return std::equal(a.contained_types().begin(), a.contained_types().end(), b.contained_types().begin(),
                    b.contained_types().end(), [](const TypePtr& x, const TypePtr& y) { return *x == *y; });
}

bool is_subtype_schema(const FunctionSchema& schema, const FunctionSchema& wanted, bool as_method,
                       std::string* why_not) {
  const std::size_t first = as_method ? 1 : 0;
  const auto fail = [&](const std::string& reason) {
    if (why_not != nullptr) *why_not += reason;
    return false;
  };
  if (schema.arguments.size() != wanted.arguments.size() || schema.is_variadic != wanted.is_variadic ||
      schema.has_variadic_results != wanted.has_variadic_results ||
      schema.results.size() != wanted.results.size())
    return fail("the numbers of arguments or results differ\n");
  for (std::size_t i = first; i < schema.arguments.size(); ++i) {
    const FunctionArgument& mine = schema.arguments[i];
    const FunctionArgument& theirs = wanted.arguments[i];
    if (mine.name != theirs.name) return fail("argument " + std::to_string(i) + " has another name\n");
    if (theirs.default_value && !mine.default_value)
      return fail("argument '" + mine.name + "' has no default\n");
    if (!is_subtype(*theirs.type, *mine.type, why_not)) return false;
  }
  for (std::size_t i = 0; i < schema.results.size(); ++i) {
    if (!is_subtype(*schema.results[i], *wanted.results[i], why_not)) return false;
  }
  return true;
}

// Limits the recursion: interfaces may name each other in their methods.
constexpr int kMaxInterfaces = 8;
thread_local int open_interfaces = 0;

bool is_sub_interface(const InterfaceType& type, const InterfaceType& wanted, std::string* why_not) {
  if (&type == &wanted || type.name() == wanted.name()) return true;
  const Restore close([] { --open_interfaces; });
  if (++open_interfaces > kMaxInterfaces) return false;
  if (!type.is_module_interface() && wanted.is_module_interface()) {
    if (why_not != nullptr)
      *why_not += "Interface '" + type.repr_str() + "' is not a subtype of the module interface '" +
                  wanted.repr_str() + "'.\n";
    return false;
  }
  for (const auto& method : wanted.methods()) {
    const FunctionSchema* mine = type.find_method(method->name);
    if (mine == nullptr || !is_subtype_schema(*mine, *method, true, why_not)) {
      if (why_not != nullptr)
        *why_not += "Interface '" + type.repr_str() + "' does not have method '" + method->name +
                    "' but interface '" + wanted.repr_str() + "' does.\n";
      return false;
    }
  }
  return true;
}

}  // namespace

bool operator==(const Type& a, const Type& b) {
  if (&a == &b || a.kind() == TypeKind::kOpen || b.kind() == TypeKind::kOpen) return true;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case TypeKind::kClass:
    case TypeKind::kVar:
      return a.name() == b.name();
    case TypeKind::kFunction:
      return a.as<FunctionType>()->function() == b.as<FunctionType>()->function();
    case TypeKind::kEnum:
      return a.name() == b.name() && equal_parts(a, b);
    case TypeKind::kInterface:
      return is_sub_interface(*a.as<InterfaceType>(), *b.as<InterfaceType>(), nullptr) &&
             is_sub_interface(*b.as<InterfaceType>(), *a.as<InterfaceType>(), nullptr);
    case TypeKind::kTuple: {
      const auto& one = *a.as<TupleType>();
      const auto& other = *b.as<TupleType>();
      return one.is_named() == other.is_named() && a.name() == b.name() && one.fields() == other.fields() &&
             equal_parts(a, b);
    }
    default:
      return equal_parts(a, b);
  }
}

// --- subtypes ---

bool can_hold(const Type& type, const Type& part) {
  if (type.kind() != TypeKind::kOptional && type.kind() != TypeKind::kUnion) return false;
  if (part.kind() == TypeKind::kNumber && type.kind() == TypeKind::kUnion)
    return can_hold(type, *int_type()) && can_hold(type, *float_type()) && can_hold(type, *complex_type());
  return std::any_of(type.contained_types().begin(), type.contained_types().end(),
                     [&](const TypePtr& held) { return is_subtype(part, *held); });
}

namespace {

// Decides by rules that hold for all kinds of `type`.
bool is_subtype_of_any_kind(const Type& type, const Type& wanted, std::string* why_not) {
  if (wanted.kind() == TypeKind::kAny || type == wanted) return true;
  if (const auto* optional = wanted.as<OptionalType>())
    return is_subtype(type, *optional->element(), why_not);
  if (wanted.kind() == TypeKind::kUnion) {
    return std::any_of(wanted.contained_types().begin(), wanted.contained_types().end(),
                       [&](const TypePtr& held) { return is_subtype(type, *held, why_not); });
  }
  return false;
}

bool is_subtuple(const TupleType& type, const Type& wanted, std::string* why_not) {
  if (is_subtype_of_any_kind(type, wanted, why_not) || wanted.kind() == TypeKind::kAnyTuple) return true;
  const auto* other = wanted.as<TupleType>();
  if (other == nullptr) return false;
  if (!type.is_named() && other->is_named()) return false;
  const bool names_match = !other->is_named() || type.fields() == other->fields();
  return names_match &&
         std::equal(type.items().begin(), type.items().end(), other->items().begin(), other->items().end(),
                    [](const TypePtr& a, const TypePtr& b) { return is_subtype(*a, *b); });
}

bool is_subclass(const ClassType& type, const Type& wanted, std::string* why_not) {
  if (wanted.kind() == TypeKind::kAnyClass) return true;
  const auto* interface = wanted.as<InterfaceType>();
  if (interface == nullptr) return is_subtype_of_any_kind(type, wanted, why_not);
  if (!type.is_module() && interface->is_module_interface()) {
    if (why_not != nullptr)
      *why_not += "Class '" + type.repr_str() + "' is not a subtype of the module interface '" +
                  interface->repr_str() + "' , only ScriptModule class can be subtype of module interface.\n";
    return false;
  }
  const Restore close([] { --open_interfaces; });
  if (++open_interfaces > kMaxInterfaces) return false;
  for (const auto& method : interface->methods()) {
    Function* mine = type.find_method(method->name);
    if (mine == nullptr) {
      if (why_not != nullptr)
        *why_not += "Class '" + type.repr_str() + "' does not have method '" + method->name + "' but '" +
                    interface->repr_str() + "' does.\n";
      return false;
    }
    if (!is_subtype_schema(schema_of(*mine), *method, true, why_not)) {
      if (why_not != nullptr)
        *why_not += "Method on class '" + type.repr_str() + "' (1) is not compatible with interface '" +
                    interface->repr_str() + "' (2)\n  (1) " + to_text(schema_of(*mine)) + "\n  (2) " +
                    to_text(*method) + "\n";
      return false;
    }
  }
  return true;
}

bool is_subunion(const Type& type, const Type& wanted, std::string* why_not) {
  if (wanted.kind() == TypeKind::kAny) return true;
  std::vector<TypePtr> held;
  const auto add = [&](const Type& part, const TypePtr& shared) {
    if (part.kind() == TypeKind::kNumber) {
      held.insert(held.end(), {int_type(), float_type(), complex_type()});
    } else {
      held.push_back(shared);
    }
  };
  if (wanted.kind() == TypeKind::kUnion || wanted.kind() == TypeKind::kOptional) {
    for (const TypePtr& part : wanted.contained_types()) add(*part, part);
  } else if (wanted.kind() == TypeKind::kNumber) {
    add(wanted, nullptr);
  } else {
    return std::all_of(type.contained_types().begin(), type.contained_types().end(),
                       [&](const TypePtr& part) { return is_subtype(*part, wanted, why_not); });
  }
  return std::all_of(type.contained_types().begin(), type.contained_types().end(), [&](const TypePtr& part) {
    return std::any_of(held.begin(), held.end(),
                       [&](const TypePtr& each) { return is_subtype(*part, *each, why_not); });
  });
}

bool is_suboptional(const Type& type, const Type& wanted, std::string* why_not) {
  const TypePtr& element = type.contained_types()[0];
  if (const auto* optional = wanted.as<OptionalType>())
    return is_subtype(*element, *optional->element(), why_not);
  if (wanted.kind() == TypeKind::kUnion) {
    if (!can_hold(wanted, *none_type())) {
      if (why_not != nullptr) *why_not += wanted.repr_str() + " cannot hold None";
      return false;
    }
    if (!can_hold(wanted, *element)) {
      if (why_not != nullptr) *why_not += wanted.repr_str() + " cannot hold " + element->repr_str();
      return false;
    }
    return true;
  }
  return is_subtype_of_any_kind(type, wanted, why_not);
}

}  // namespace

bool is_subtype(const Type& type, const Type& wanted, std::string* why_not) {
  if (&type == &wanted) return true;
  switch (type.kind()) {
    case TypeKind::kOptional:
      return is_suboptional(type, wanted, why_not);
    case TypeKind::kUnion:
      return is_subunion(type, wanted, why_not);
    case TypeKind::kTuple:
      return is_subtuple(*type.as<TupleType>(), wanted, why_not);
    case TypeKind::kClass:
      return is_subclass(*type.as<ClassType>(), wanted, why_not);
    case TypeKind::kList:
      return is_subtype_of_any_kind(type, wanted, why_not) || wanted.kind() == TypeKind::kAnyList;
    case TypeKind::kEnum:
      return wanted.kind() == TypeKind::kAnyEnum || is_subtype_of_any_kind(type, wanted, why_not);
    case TypeKind::kInt:
    case TypeKind::kFloat:
    case TypeKind::kComplex:
      return wanted.kind() == TypeKind::kNumber || is_subtype_of_any_kind(type, wanted, why_not);
    case TypeKind::kNumber:
      if (wanted.kind() == TypeKind::kUnion) return can_hold(wanted, type);
      return is_subtype_of_any_kind(type, wanted, why_not);
    case TypeKind::kNone:
      if (wanted.kind() == TypeKind::kOptional) return true;
      return is_subtype_of_any_kind(type, wanted, why_not);
    case TypeKind::kFuture:
    case TypeKind::kAwait:
    case TypeKind::kRRef: {
      if (is_subtype_of_any_kind(type, wanted, why_not)) return true;
      const auto* other = wanted.as<WrapperType>();
      return other != nullptr && other->kind() == type.kind() &&
             is_subtype(*type.contained_types()[0], *other->element(), why_not);
    }
    case TypeKind::kInterface: {
      const auto* other = wanted.as<InterfaceType>();
      if (other != nullptr) return is_sub_interface(*type.as<InterfaceType>(), *other, why_not);
      return is_subtype_of_any_kind(type, wanted, why_not);
    }
    case TypeKind::kOpen:
      return true;
    default:
      return is_subtype_of_any_kind(type, wanted, why_not);
  }
}

// --- unions ---

namespace {

void flatten(const TypePtr& type, std::vector<TypePtr>& into) {
  if (type->kind() == TypeKind::kUnion || type->kind() == TypeKind::kOptional) {
    for (const TypePtr& part : type->contained_types()) flatten(part, into);
  } else if (type->kind() == TypeKind::kNumber) {
    into.insert(into.end(), {int_type(), float_type(), complex_type()});
  } else {
    into.push_back(type);
  }
}

// Replaces two alternatives by the type that unifies them, from the last to the first.
void merge_alternatives(std::vector<TypePtr>& types) {
  std::size_t last = types.size() - 1;
  for (std::size_t i = types.size() - 1; i > 0; --i) {
    for (std::size_t j = std::min(i - 1, last) + 1; j-- > 0;) {
      if ((types[i]->kind() == TypeKind::kNone) != (types[j]->kind() == TypeKind::kNone)) continue;
      TypePtr unified = unify(types[i], types[j]);
      if (unified == nullptr) continue;
      types[j] = std::move(unified);
      types[i] = types[last];
      --last;
      break;
    }
  }
  types.resize(last + 1);
}

}  // namespace

TypePtr union_type(const std::vector<TypePtr>& alternatives) {
  std::vector<TypePtr> types;
  for (const TypePtr& type : alternatives) flatten(type, types);
  if (types.empty()) return none_type();
  merge_alternatives(types);
  std::sort(types.begin(), types.end(), [](const TypePtr& a, const TypePtr& b) {
    return a->kind() != b->kind() ? a->kind() < b->kind() : a->str() < b->str();
  });
  if (types.size() == 1) return types[0];
  const auto is_none = [](const TypePtr& type) { return type->kind() == TypeKind::kNone; };
  const auto is_number = [](const TypePtr& type) {
    return type->kind() == TypeKind::kInt || type->kind() == TypeKind::kFloat ||
           type->kind() == TypeKind::kComplex;
  };
  if (std::any_of(types.begin(), types.end(), is_none)) {
    if (types.size() == 4 && std::count_if(types.begin(), types.end(), is_number) == 3)
      return optional_type(number_type());
    if (types.size() == 2) return optional_type(is_none(types[0]) ? types[1] : types[0]);
  }
  return std::make_shared<UnionType>(std::move(types));
}

TypePtr without_none(const TypePtr& type) {
  if (const auto* optional = type->as<OptionalType>()) return optional->element();
  if (type->kind() != TypeKind::kUnion) return type;
  std::vector<TypePtr> rest;
  for (const TypePtr& part : type->contained_types()) {
    if (part->kind() != TypeKind::kNone) rest.push_back(part);
  }
  return rest.size() == type->contained_types().size() ? type : union_type(rest);
}

// --- unification ---

namespace {

TypePtr unify_without_union(const TypePtr& a, const TypePtr& b, const TypePtr& hint, bool default_to_union) {
  if (b->kind() == TypeKind::kOpen) return a;
  if (is_subtype(*a, *b)) return b;
  if (is_subtype(*b, *a)) return a;
  if (hint != nullptr && is_subtype(*a, *hint) && is_subtype(*b, *hint)) return hint;
  if (a->kind() == TypeKind::kNone) return optional_type(b);
  if (b->kind() == TypeKind::kNone) return optional_type(a);
  if (const auto* optional = a->as<OptionalType>()) {
    if (TypePtr element = unify(optional->element(), b)) return optional_type(element);
  } else if (const auto* other = b->as<OptionalType>()) {
    if (TypePtr element = unify(other->element(), a)) return optional_type(element);
  }
  const auto* first = a->as<TupleType>();
  const auto* second = b->as<TupleType>();
  if (first != nullptr && second != nullptr) {
    if (first->items().size() != second->items().size()) return nullptr;
    std::vector<TypePtr> items;
    for (std::size_t i = 0; i < first->items().size(); ++i) {
      TypePtr item = unify(first->items()[i], second->items()[i], nullptr, default_to_union);
      if (item == nullptr) return nullptr;
      items.push_back(std::move(item));
    }
    return tuple_type(std::move(items));
  }
  if (a->kind() == TypeKind::kFuture && b->kind() == TypeKind::kFuture) {
    if (TypePtr element = unify(a->contained_types()[0], b->contained_types()[0]))
      return future_type(element);
  }
  if (a->kind() == TypeKind::kDict && b->kind() == TypeKind::kDict) {
    TypePtr key = unify(a->contained_types()[0], b->contained_types()[0]);
    TypePtr value = unify(a->contained_types()[1], b->contained_types()[1]);
    if (key != nullptr && value != nullptr) return dict_type(std::move(key), std::move(value));
  }
  return nullptr;
}

}  // namespace

TypePtr unify(const TypePtr& a, const TypePtr& b, const TypePtr& hint, bool default_to_union) {
  TypePtr result = unify_without_union(a, b, hint, default_to_union);
  return result == nullptr && default_to_union ? union_type({a, b}) : result;
}

TypePtr unify_all(const std::vector<TypePtr>& types, bool default_to_union) {
  TypePtr result = types.empty() ? nullptr : types[0];
  for (std::size_t i = 1; i < types.size() && result != nullptr; ++i)
    result = unify(result, types[i], nullptr, default_to_union);
  return result;
}

// --- type variables ---

namespace {

TypePtr* find_binding(TypeBindings& bindings, const std::string& name) {
  for (auto& [variable, type] : bindings) {
    if (variable == name) return &type;
  }
  return nullptr;
}

}  // namespace

std::optional<std::string> match_variables(const TypePtr& formal, const TypePtr& actual,
                                           TypeBindings& bindings) {
  if (!formal->has_free_variables()) return std::nullopt;
  const auto parts_match = [&]() -> std::optional<std::string> {
    for (std::size_t i = 0; i < formal->contained_types().size(); ++i) {
      auto reason = match_variables(formal->contained_types()[i], actual->contained_types()[i], bindings);
      if (reason) return reason;
    }
    return std::nullopt;
  };
  if (actual->kind() == TypeKind::kOpen && formal->kind() != TypeKind::kVar) {
    for (const TypePtr& part : formal->contained_types()) match_variables(part, actual, bindings);
    return std::nullopt;
  }
  const bool same_kind = formal->kind() == actual->kind();
  switch (formal->kind()) {
    case TypeKind::kVar: {
      const TypePtr* bound = find_binding(bindings, formal->name());
      if (bound == nullptr) {
        bindings.emplace_back(formal->name(), actual);
        return std::nullopt;
      }
      if (unify(*bound, actual) != nullptr) return std::nullopt;
      return "Type variable '" + formal->name() + "' previously matched to type " + (*bound)->repr_str() +
             " is matched to type " + actual->repr_str();
    }
    case TypeKind::kList: {
      if (same_kind) return parts_match();
      if (actual->kind() == TypeKind::kTuple) {
        if (TypePtr item = unify_all(actual->contained_types()))
          return match_variables(formal->contained_types()[0], item, bindings);
      }
      return "Cannot match " + formal->repr_str() + " to " + actual->repr_str();
    }
    case TypeKind::kTuple:
      if (!same_kind) return "Cannot match a tuple to " + actual->repr_str();
      if (formal->contained_types().size() != actual->contained_types().size())
        return std::string("Cannot match tuples of mismatched size");
      return parts_match();
    case TypeKind::kFuture:
    case TypeKind::kAwait:
    case TypeKind::kRRef:
    case TypeKind::kDict:
      if (same_kind) return parts_match();
      return std::string(formal->kind() == TypeKind::kFuture  ? "Cannot match a future to "
                         : formal->kind() == TypeKind::kAwait ? "Cannot match an await to "
                         : formal->kind() == TypeKind::kDict  ? "Cannot match a dict to "
                                                              : "Cannot match a rref to ") +
             actual->repr_str();
    case TypeKind::kOptional: {
      const TypePtr& element = formal->contained_types()[0];
      if (same_kind) return match_variables(element, actual->contained_types()[0], bindings);
      // None binds no variable, as it is an optional of any type.
      if (actual->kind() == TypeKind::kNone) return std::nullopt;
      return match_variables(element, actual, bindings);
    }
    default:
      return "Unhandled free variable container: " + formal->repr_str();
  }
}

TypePtr substitute(const TypePtr& type, const TypeBindings& bindings) {
  if (!type->has_free_variables()) return type;
  if (type->kind() == TypeKind::kVar) {
    for (const auto& [variable, bound] : bindings) {
      if (variable == type->name()) return bound;
    }
    return nullptr;
  }
  std::vector<TypePtr> parts;
  for (const TypePtr& part : type->contained_types()) {
    TypePtr replaced = substitute(part, bindings);
    if (replaced == nullptr) return nullptr;
    parts.push_back(std::move(replaced));
  }
  return with_contained(type, std::move(parts));
}

TypePtr with_contained(const TypePtr& type, std::vector<TypePtr> parts) {
  switch (type->kind()) {
    case TypeKind::kList:
      return list_type(std::move(parts[0]));
    case TypeKind::kOptional:
      return optional_type(std::move(parts[0]));
    case TypeKind::kDict:
      return dict_type(std::move(parts[0]), std::move(parts[1]));
    case TypeKind::kTuple: {
      const auto& tuple = *type->as<TupleType>();
      if (!tuple.is_named()) return tuple_type(std::move(parts));
      return std::make_shared<TupleType>(tuple.name(), tuple.fields(), std::move(parts), tuple.defaults());
    }
    case TypeKind::kFuture:
    case TypeKind::kAwait:
    case TypeKind::kRRef:
      return std::make_shared<WrapperType>(type->kind(), std::move(parts[0]));
    case TypeKind::kUnion:
      return union_type(parts);
    default:
      return type;
  }
}

}  // namespace fxtrace::internal::torchscript
