// Values of the interpreter as containers with leaves: what branches and loops hand on part by part.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "torchscript/names.h"

namespace fxtrace::torchscript {

// What a leaf is to control flow of torch.
enum class LeafKind { kTensor, kInt, kFloat, kBool, kOther };
LeafKind leaf_kind(const Type& type);

// A variable that no way of the code so far has set, and that nobody reads.
bool is_uninitialized(const Value& value);

// One object, one node, or plain values that are equal and cannot be changed in place.
bool is_same(const Value& first, const Value& second);

// A list, a tuple or a dict.
bool has_parts(const Value& value);

// The parts of two lists, tuples or dicts that have the same form, pairwise; nothing of other values.
std::optional<std::vector<std::pair<Value, Value>>> matching_parts(const Value& first, const Value& second);
// A new container of the same form; `parts` as matching_parts() has them.
Value with_parts(const Value& container, std::vector<Value> parts);
// A list or dict with the same items.
Value copy_of(const Value& container);
// Puts the items of one list or dict in the place of another's.
void set_content(const Value& container, const Value& content);
// With f(leaf) in the place of each leaf, in order.
Value map_leaves(const Value& value, const std::function<Value(const Value&)>& f);

// For messages: "None", "a list of 2", "Tensor".
std::string kind_text(const Value& value);
// What the code calls the value: "`y`"; "a value" where it has no name.
std::string name_of(const IrValue* value);

}  // namespace fxtrace::torchscript
