// Relations between types, by LibTorch's rules.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/language/types.h"

namespace fxtrace::internal::torchscript {

// Structural equality, as in LibTorch; classes, NamedTuples and the like are compared by name.  An open type
// equals every type, and is a subtype of every type.
bool operator==(const Type& a, const Type& b);

// Returns whether `type` is a subtype of `wanted`.  `why_not` receives the reason, when LibTorch has one.
bool is_subtype(const Type& type, const Type& wanted, std::string* why_not = nullptr);

// Returns the join of both types; null when there is none.
TypePtr unify(const TypePtr& a, const TypePtr& b, const TypePtr& hint = nullptr,
              bool default_to_union = false);
TypePtr unify_all(const std::vector<TypePtr>& types, bool default_to_union = false);

// Returns the union, flattened and simplified as by LibTorch; the result may be an optional, or not a union
// at all.
TypePtr union_type(const std::vector<TypePtr>& alternatives);
// Returns whether `type`, an optional or a union, can hold a `part`; false for other types.
bool can_hold(const Type& type, const Type& part);
// Returns `type` without None.
TypePtr without_none(const TypePtr& type);

// Binds the type variables of `formal` (t, tVal) to parts of `actual`; returns a reason when they do not
// match.
using TypeBindings = std::vector<std::pair<std::string, TypePtr>>;
std::optional<std::string> match_variables(const TypePtr& formal, const TypePtr& actual,
                                           TypeBindings& bindings);
// Returns `type` with its variables replaced; null when one is unbound.
TypePtr substitute(const TypePtr& type, const TypeBindings& bindings);
// Returns `type` with other contained types.
TypePtr with_contained(const TypePtr& type, std::vector<TypePtr> parts);

}  // namespace fxtrace::internal::torchscript
