#include "exported/modules/leaf_call.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "exported/program/exported_program.h"

namespace fxtrace::internal {

LeafCall plain_call(const Boundary& boundary) {
  LeafCall call;
  for (const NodeId value : boundary.entering) call.args.emplace_back(value);
  for (std::size_t i = 0; i < boundary.leaving.size(); ++i) {
    std::vector<Argument> path;
    if (boundary.leaving.size() > 1) path.emplace_back(static_cast<std::int64_t>(i));
    call.results.push_back({boundary.leaving[i], std::move(path)});
  }
  call.handed_on = boundary.handed_on;
  return call;
}

std::optional<LeafCall> recorded_call(const LeafOperations& leaf, const CallSignature& signature,
                                      const std::function<bool(NodeId)>& is_there) {
  const auto all_among = [](const std::vector<NodeId>& values, const std::vector<Argument>& arguments) {
    std::unordered_set<std::uint32_t> known;
    for (const auto& argument : arguments) {
      if (const auto* value = argument.get_if<NodeId>()) known.insert(value->index);
    }
    return std::all_of(values.begin(), values.end(),
                       [&](NodeId value) { return known.count(value.index) != 0; });
  };
  if (!all_among(leaf.boundary.entering, signature.inputs)) return std::nullopt;
  if (!all_among(leaf.boundary.leaving, signature.outputs)) return std::nullopt;
  std::unordered_set<std::uint32_t> made;
  for (const NodeId operation : leaf.operations)
    leaf.graph.for_each_result(operation, [&](NodeId value) { made.insert(value.index); });
  for (const auto& input : signature.inputs) {
    const auto* value = input.get_if<NodeId>();
    if (value != nullptr && (made.count(value->index) != 0 || !is_there(*value))) return std::nullopt;
  }
  const auto& keys = signature.in_spec.children[1].keys;
  const bool are_names =
      std::all_of(keys.begin(), keys.end(), [](const Argument& key) { return key.is<std::string>(); });
  if (!are_names) return std::nullopt;

  LeafCall call;
  const Argument both = signature.in_spec.unflatten(signature.inputs);
  const auto& parts = both.get_if<Argument::Tuple>()->items;
  if (const auto* tuple = parts[0].get_if<Argument::Tuple>()) call.args = tuple->items;
  for (const auto& [key, argument] : parts[1].get_if<Argument::Dict>()->items) {
    call.kwargs.emplace_back(*key.get_if<std::string>(), argument);
  }
  const auto paths = signature.out_spec.paths();
  std::unordered_map<std::uint32_t, std::size_t> position;
  for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
    if (const auto* value = signature.outputs[i].get_if<NodeId>()) position.emplace(value->index, i);
  }
  for (const NodeId value : leaf.boundary.leaving) {
    call.results.push_back({value, paths[position.at(value.index)]});
  }
  call.handed_on = leaf.boundary.handed_on;
  return call;
}

}  // namespace fxtrace::internal
