#include "torchscript/packed_tensors.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "torchscript/convert.h"
#include "torchscript/same_modules.h"
#include "torchscript/symbolic_value.h"

namespace fxtrace::torchscript {
namespace {

constexpr int kMaxObjects = 4;          // within one another
constexpr int kMaxLists = 4;            // likewise
constexpr std::size_t kMaxLeaves = 64;  // tensors and objects of one object

TypePtr type_of_object(const Value& value) {
  if (value.is_object()) return value.to_object().type;
  const Proxy* proxy = find_proxy(value);
  return proxy == nullptr ? nullptr : proxy->static_type;
}

// How torch calls the tensors of recurrent cells, by their number.
constexpr std::array<std::string_view, 2> kBiases{"b_ih", "b_hh"};
constexpr std::array<std::string_view, 8> kStatic{
    "w_ih", "w_hh", "b_ih", "b_hh", "packed_ih", "packed_hh", "col_offsets_ih", "col_offsets_hh"};

class Collector {
 public:
  explicit Collector(const MadeObjects& made) : made_(made) {}

  void add(const Value& object, const std::string& prefix, int depth) {
    const TypePtr type = type_of_object(object);
    if (type == nullptr || !is_script_object(*type) || depth == kMaxObjects) return;
    Values leaves;
    if (const Values* arguments = made_.find(object)) {
      for (const Value& argument : *arguments) find_leaves(argument, leaves, 0);
    } else if (object.is_object()) {
      find_leaves(object.to_object().state, leaves, 0);
    }
    const std::string name = type_name(*type);
    if (name.ends_with("CellParamsBase")) return add_cell(leaves, prefix, depth);
    if (name.find("PackedParams") != std::string::npos || name.ends_with("OpContext"))
      return add_layer(object, leaves, prefix);
    std::size_t number = 0;
    for (const Value& leaf : leaves) add_leaf(leaf, prefix + std::to_string(number++), depth);
  }

  std::vector<PackedTensor> take() { return std::move(found_); }

 private:
  // Tensors, objects and None, lists item by item.
  static void find_leaves(const Value& value, Values& leaves, int depth) {
    if (leaves.size() == kMaxLeaves || depth == kMaxLists) return;
    if (value.is_tensor() || value.is_none() || type_of_object(value) != nullptr) leaves.push_back(value);
    if (value.is_tuple()) {
      for (const Value& item : value.items()) find_leaves(item, leaves, depth + 1);
    } else if (value.is_list()) {
      for (const Value& item : value.to_list().items) find_leaves(item, leaves, depth + 1);
    }
  }

  // Weight and bias stand first, behind what is None and, in the state ("2", [numbers, weight], [bias]) of a
  // convolution, behind a tensor of its stride, padding and the like.
  void add_layer(const Value& object, const Values& leaves, const std::string& prefix) {
    const Value* state = object.is_object() ? &object.to_object().state : nullptr;
    const bool has_version =
        state != nullptr && state->is_tuple() && !state->items().empty() && state->items()[0].is_string();
    std::size_t at = has_version ? 1 : 0;
    while (at < leaves.size() && leaves[at].is_none()) ++at;
    if (at < leaves.size()) add_tensor(leaves[at], prefix + "weight");
    if (at + 1 < leaves.size()) add_tensor(leaves[at + 1], prefix + "bias");
  }

  void add_cell(const Values& leaves, const std::string& prefix, int depth) {
    const auto tensors = static_cast<std::size_t>(
        std::ranges::count_if(leaves, [](const Value& leaf) { return leaf.is_tensor(); }));
    constexpr std::array<std::string_view, 2> kWeights{"w_ih", "w_hh"};
    std::size_t number = 0;
    for (const Value& leaf : leaves) {
      if (leaf.is_none() || leaf.is_tensor() || number == kWeights.size()) continue;
      add(leaf, prefix + std::string(kWeights[number++]) + ".", depth + 1);
    }
    number = 0;
    for (const Value& leaf : leaves) {
      if (!leaf.is_tensor()) continue;
      const bool is_known = number < (tensors > 2 ? kStatic.size() : kBiases.size());
      const std::string name(!is_known ? "" : tensors > 2 ? kStatic[number] : kBiases[number]);
      add_tensor(leaf, prefix + (is_known ? name : std::to_string(number)));
      ++number;
    }
  }

  void add_leaf(const Value& leaf, const std::string& name, int depth) {
    if (leaf.is_tensor()) {
      add_tensor(leaf, name);
    } else if (!leaf.is_none()) {
      add(leaf, name + ".", depth + 1);
    }
  }

  void add_tensor(const Value& value, std::string name) {
    if (!value.is_tensor() || found_.size() == kMaxLeaves) return;
    if (seen_.insert(tensor_identity(value.to_tensor())).second)
      found_.push_back({std::move(name), TensorRef(&value.to_tensor())});
  }

  const MadeObjects& made_;
  std::vector<PackedTensor> found_;
  std::set<std::string> seen_;
};

}  // namespace

void MadeObjects::add(const Value& object, Values arguments) {
  if (const Proxy* proxy = find_proxy(object)) by_object_[proxy] = {object, std::move(arguments)};
}

const Values* MadeObjects::find(const Value& object) const {
  const auto found = by_object_.find(find_proxy(object));
  return found == by_object_.end() ? nullptr : &found->second.arguments;
}

StoredPart stored_part(std::string name, const TensorValue& tensor) {
  return {std::move(name), {tensor.sizes.begin(), tensor.sizes.end()}, dtype_name(tensor.dtype)};
}

bool is_script_object(const Type& type) {
  const auto* class_type = type.as<ClassType>();
  return class_type != nullptr && class_type->is_torchbind();
}

std::vector<PackedTensor> packed_tensors(const Value& object, const MadeObjects& made) {
  Collector collector(made);
  collector.add(object, "", 0);
  return collector.take();
}

}  // namespace fxtrace::torchscript
