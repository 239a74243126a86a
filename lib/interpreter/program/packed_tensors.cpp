#include "interpreter/program/packed_tensors.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "interpreter/program/convert.h"
#include "interpreter/program/same_modules.h"
#include "interpreter/program/symbolic_value.h"

namespace fxtrace::internal::interpreter {
namespace {

constexpr int kMaxObjects = 4;          // nested in one another
constexpr int kMaxLists = 4;            // nested in one another
constexpr std::size_t kMaxLeaves = 64;  // tensors and objects of one object

TypePtr type_of_object(const Value& value) {
  if (value.is_object()) return value.to_object().type;
  const Proxy* proxy = find_proxy(value);
  return proxy == nullptr ? nullptr : proxy->static_type;
}

// The names of the tensors of recurrent cells in torch, by index.
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
    if (const Values* arguments = made_.find_tensors(object)) {
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

  std::vector<PackedTensor> take_result() { return std::move(found_); }

 private:
  // Adds the tensors, objects and None values in a value, lists item by item.
  static void find_leaves(const Value& value, Values& leaves, int depth) {
    if (leaves.size() == kMaxLeaves || depth == kMaxLists) return;
    if (value.is_tensor() || value.is_none() || type_of_object(value) != nullptr) leaves.push_back(value);
    if (value.is_tuple()) {
      for (const Value& item : value.items()) find_leaves(item, leaves, depth + 1);
    } else if (value.is_list()) {
      for (const Value& item : value.to_list().items) find_leaves(item, leaves, depth + 1);
    }
  }

  // Weight and bias come first, after None values and, in the state ("2", [numbers, weight], [bias]) of a
  // convolution, after the tensor of its stride, padding and the like.
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

const Values* MadeObjects::find_tensors(const Value& object) const {
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

namespace {

std::optional<std::vector<std::int64_t>> integers_of(const Value& value) {
  if (!value.is_list()) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const Value& item : value.to_list().items) {
    if (!item.is_int()) return std::nullopt;
    result.push_back(item.to_int());
  }
  return result;
}

// conv2d_prepack(weight, bias, stride, padding, dilation, groups); a transposed one has output_padding before
// the dilation.
std::optional<PackedParameters::Convolution> convolution_of_call(const Values& arguments) {
  constexpr std::size_t kArguments = 6;
  if (arguments.size() < kArguments || !arguments.back().is_int()) return std::nullopt;
  PackedParameters::Convolution result;
  result.is_transposed = arguments.size() > kArguments;
  std::vector<std::vector<std::int64_t>*> lists{&result.stride, &result.padding};
  if (result.is_transposed) lists.push_back(&result.output_padding);
  lists.push_back(&result.dilation);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto numbers = integers_of(arguments[2 + i]);
    if (!numbers) return std::nullopt;
    *lists[i] = std::move(*numbers);
  }
  result.groups = arguments.back().to_int();
  return result;
}

}  // namespace

std::optional<PackedParameters::Convolution> convolution_of_state(const Value& state) {
  const bool has_numbers = state.is_tuple() && state.items().size() == 3 && state.items()[0].is_string() &&
                           state.items()[0].to_string() == "2" && state.items()[1].is_list();
  if (!has_numbers) return std::nullopt;
  const auto& tensors = state.items()[1].to_list().items;
  if (tensors.empty() || !tensors[0].is_tensor()) return std::nullopt;
  const TensorValue& numbers = tensors[0].to_tensor();
  if (!numbers.elements || numbers.dtype != ScalarType::kInt16 || numbers.dim() != 1 || numbers.numel() < 7)
    return std::nullopt;
  const auto number = [&](std::int64_t place) {
    return std::get<std::int64_t>(numbers.elements->elements.at(static_cast<std::size_t>(place)));
  };
  const std::int64_t dims = number(0);
  if (dims < 1 || dims > 3 || numbers.numel() != 3 + 4 * dims) return std::nullopt;
  const auto part = [&](std::int64_t place) {
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < dims; ++i) result.push_back(number(1 + place * dims + i));
    return result;
  };
  PackedParameters::Convolution result;
  result.stride = part(0);
  result.padding = part(1);
  result.dilation = part(2);
  result.output_padding = part(3);
  result.groups = number(1 + 4 * dims);
  result.is_transposed = number(2 + 4 * dims) != 0;
  return result;
}

std::optional<PackedParameters::Convolution> packed_convolution(const Value& object,
                                                                const MadeObjects& made) {
  if (const Values* arguments = made.find_tensors(object)) return convolution_of_call(*arguments);
  return object.is_object() ? convolution_of_state(object.to_object().state) : std::nullopt;
}

std::optional<PackedPart::Quantization> quantization_of(
    const TensorValue& tensor, const std::function<Constant(const TensorValue&)>& constant) {
  if (!tensor.quantization) return std::nullopt;
  const auto& [scheme, scale, zero_point, axis] = *tensor.quantization;
  PackedPart::Quantization result{scale, zero_point, axis};
  for (const TensorRef& numbers : tensor.scales_and_zeros)
    result.scales_and_zero_points.push_back(constant(*numbers));
  return result;
}

std::vector<PackedTensor> packed_tensors(const Value& object, const MadeObjects& made) {
  Collector collector(made);
  collector.add(object, "", 0);
  return collector.take_result();
}

}  // namespace fxtrace::internal::interpreter
