#include "summaries/quantization.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/node.h"
#include "operators/operators.h"
#include "operators/target.h"
#include "support/integers.h"
#include "support/text/words.h"

namespace fxtrace::internal {
namespace {

// Returns whether the node calls "NAME_..." of one of the libraries of such operators.
bool calls(const Node& node, std::string_view name) {
  if (node.op != Opcode::kCallFunction) return false;
  const std::string_view target = *node.target;
  return std::ranges::any_of(
      std::to_array<std::string_view>({"quantized_decomposed.", "torchao."}), [&](std::string_view space) {
        return target.starts_with(space) && target.substr(space.size()).starts_with(name);
      });
}
bool quantizes(const Node& node) { return calls(node, "quantize_"); }
bool dequantizes(const Node& node) { return calls(node, "dequantize_"); }

bool is_call(const Node& node) {
  return node.op == Opcode::kCallFunction || node.op == Opcode::kCallModule || node.op == Opcode::kCallMethod;
}
bool has_macs(const Node& node) {
  const auto& cost = *node.cost;
  return is_call(node) && cost && cost->macs && !(cost->macs->number() == std::int64_t{0});
}
// Returns whether a value may go through the node to a quantize: an activation, a normalization, a view.
bool passes(const Node& node) {
  return is_call(node) && !has_macs(node) && !quantizes(node) && !dequantizes(node);
}

// Returns the integer that a dequantize gives for a parameter of its schema.
std::optional<std::int64_t> integer_of(const Node& node, std::string_view name) {
  const TargetParts target = parse_target(*node.target);
  const Operator* op = target.kind == TargetKind::kOperator ? find_operator(target) : nullptr;
  if (op == nullptr) return std::nullopt;
  const auto place = op->schema().find_argument(name);
  const auto* number =
      place && *place < node.args.size() ? node.args[*place].get_if<std::int64_t>() : nullptr;
  return number == nullptr ? std::nullopt : std::optional(*number);
}

// Returns "int8 (4 bits)" for a dequantize of a tensor "int8" whose elements have 16 values.
std::string stored_as(const std::string& dtype, const Node& dequantize) {
  const auto least = integer_of(dequantize, "quant_min"), most = integer_of(dequantize, "quant_max");
  if (!least || !most || *least >= *most || *least < INT32_MIN || *most > INT32_MAX) return dtype;
  const int bits = std::bit_width(static_cast<std::uint64_t>(*most - *least));
  return dtype.ends_with(std::to_string(bits)) ? dtype : dtype + " (" + std::to_string(bits) + " bits)";
}

}  // namespace

std::string to_string(const QuantizedCompute& compute) {
  if (compute.calls == 0) return {};
  const std::string calls = std::to_string(compute.quantized) + "/" + std::to_string(compute.calls);
  return compute.weights.empty() ? calls : joined(compute.weights) + " " + calls;
}

void for_each_compute(const Graph& graph,
                      const std::function<void(const Node&, const QuantizedCompute&)>& f) {
  const std::vector<NodeId> order = graph.order();
  std::unordered_map<std::uint32_t, std::string>
      constant;  // nodes that depend on no input, as they are stored
  std::unordered_set<std::uint32_t> dequantized, to_quantize;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const std::string dtype = node.meta->dtype_text().value_or("?");
    bool is_constant = true, is_dequantized = true, has_constant = false, has_other = false;
    std::string stored = dtype;
    for_each_input(node, [&](NodeId input) {
      const auto found = constant.find(input.index);
      if (found == constant.end()) {
        is_constant = false;
        has_other = true;
        is_dequantized = is_dequantized && dequantized.contains(input.index);
      } else if (!std::exchange(has_constant, true)) {
        stored = dequantizes(node) ? stored_as(found->second, node) : found->second;
      }
    });
    if (node.op == Opcode::kGetAttr || (is_call(node) && is_constant && has_constant))
      constant.emplace(id.index, stored);
    if (dequantizes(node) || (passes(node) && has_other && is_dequantized)) dequantized.insert(id.index);
  }
  for (const NodeId id : std::ranges::reverse_view(order)) {
    const auto& users = graph.node(id).users;
    const bool all = !users.empty() && std::ranges::all_of(users, [&](NodeId user) {
      return quantizes(graph.node(user)) || (passes(graph.node(user)) && to_quantize.contains(user.index));
    });
    if (all) to_quantize.insert(id.index);
  }
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!has_macs(node)) continue;
    QuantizedCompute compute{.weights = {}, .calls = 1};
    bool takes_dequantized = true;
    for_each_input(node, [&](NodeId input) {
      const Node& taken = graph.node(input);
      const auto found = constant.find(input.index);
      if (found == constant.end()) {
        takes_dequantized = takes_dequantized && dequantized.contains(input.index);
      } else if (taken.meta->shape && taken.meta->shape->size() > 1) {  // no bias
        compute.weights.insert(found->second);
      }
    });
    const bool is_kernel = node.target->starts_with("quantized.");  // of quantized tensors
    compute.quantized = is_kernel || (takes_dequantized && to_quantize.contains(id.index)) ? 1 : 0;
    f(node, compute);
  }
}

}  // namespace fxtrace::internal

namespace fxtrace {

void QuantizedCompute::add(const QuantizedCompute& other) {
  weights.insert(other.weights.begin(), other.weights.end());
  internal::add_saturated(calls, other.calls);
  internal::add_saturated(quantized, other.quantized);
}

}  // namespace fxtrace
