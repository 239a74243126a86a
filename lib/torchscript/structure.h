// Values of the interpreter as containers with leaves: what branches and loops hand on part by part.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fxtrace {

// What a leaf is to control flow of torch.
enum class LeafKind { kTensor, kInt, kFloat, kBool, kOther };
LeafKind leaf_kind(const c10::Type& type);

// A variable that no way of the code so far has set, and that nobody reads.
bool is_uninitialized(const at::IValue& value);

// One object, one node, or plain values that are equal and cannot be changed in place.
bool is_same(const at::IValue& first, const at::IValue& second);

// A list, a tuple or a dict.
bool has_parts(const at::IValue& value);

// The parts of two lists, tuples or dicts that have the same form, pairwise; nothing of other values.
std::optional<std::vector<std::pair<at::IValue, at::IValue>>> matching_parts(const at::IValue& first,
                                                                             const at::IValue& second);
// A new container of the same form; `parts` as matching_parts() has them.
at::IValue with_parts(const at::IValue& container, std::vector<at::IValue> parts);
// A list or dict with the same items.
at::IValue copy_of(const at::IValue& container);
// With f(leaf) in the place of each leaf, in order.
at::IValue map_leaves(const at::IValue& value, const std::function<at::IValue(const at::IValue&)>& f);

// For messages: "None", "a list of 2", "Tensor".
std::string kind_text(const at::IValue& value);
// What the code calls the value: "`y`"; "a value" where it has no name.
std::string name_of(const torch::jit::Value* value);

}  // namespace fxtrace
