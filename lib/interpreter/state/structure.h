// Treats values of the interpreter as trees of containers with leaves, which branches and loops carry leaf by
// leaf.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/program/names.h"

namespace fxtrace::internal::interpreter {

// The kind of a leaf, as torch's control flow tells kinds apart.
enum class LeafKind { kTensor, kInt, kFloat, kBool, kOther };
LeafKind leaf_kind(const Type& type);

// Returns whether both are the same object or node, or equal plain values that are immutable.
bool is_same(const Value& first, const Value& second);

// Returns whether the value is a list, a tuple or a dict.
bool has_parts(const Value& value);

// Returns the parts of two lists, tuples or dicts of the same form, pairwise; nothing for other values.
std::optional<std::vector<std::pair<Value, Value>>> matching_parts(const Value& first, const Value& second);
// Returns a new container of the same form with `parts`, in the order of matching_parts().
Value with_parts(const Value& container, std::vector<Value> parts);
// Returns a shallow copy of a list or dict.
Value copy_of(const Value& container);
// Replaces the items of `container` by those of `content`; both are lists or both dicts.
void set_content(const Value& container, const Value& content);
// Returns the value with each leaf replaced by f(leaf), in order.
Value map_leaves(const Value& value, const std::function<Value(const Value&)>& f);

// Describes the kind of a value for messages: "None", "a list of 2", "Tensor".
std::string kind_text(const Value& value);
// Returns the value's name in the code: "`y`"; "a value" when it has none.
std::string name_of(const IrValue* value);

}  // namespace fxtrace::internal::interpreter
