// How types compare, by LibTorch's rules.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "script/types.h"

namespace fxtrace::script {

// LibTorch's: structure, with names for classes, NamedTuples and the like.
bool operator==(const Type& a, const Type& b);

// Whether a value of type `type` may stand where `wanted` is expected.  `why_not` gets the reason in words
// where LibTorch has one.
bool is_subtype(const Type& type, const Type& wanted, std::string* why_not = nullptr);

// The one type of a value that is either; null when there is none.
TypePtr unify(const TypePtr& a, const TypePtr& b, const TypePtr& hint = nullptr,
              bool default_to_union = false);
TypePtr unify_all(const std::vector<TypePtr>& types, std::string* why_not, bool default_to_union = false,
                  const TypePtr& hint = nullptr);

// Flattened and simplified as LibTorch does, so it may be an optional or no union at all.
TypePtr union_type(const std::vector<TypePtr>& alternatives);
// Whether `type`, an optional or a union, may hold a `part`; false for other types.
bool can_hold(const Type& type, const Type& part);
// `type` without None; `type` itself when it holds none.
TypePtr without_none(const TypePtr& type);

// Binds the variables of `formal` (t, tVal) to parts of `actual`; a reason when they do not match.
using TypeBindings = std::vector<std::pair<std::string, TypePtr>>;
std::optional<std::string> match_variables(const TypePtr& formal, const TypePtr& actual,
                                           TypeBindings& bindings);
// `type` with its variables replaced; null when one has no binding.
TypePtr substitute(const TypePtr& type, const TypeBindings& bindings);
// `type` of other parts.
TypePtr with_contained(const TypePtr& type, std::vector<TypePtr> parts);

}  // namespace fxtrace::script
