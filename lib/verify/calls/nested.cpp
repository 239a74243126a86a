#include "verify/calls/nested.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace fxtrace::internal::verify {

RunValue nested(const Engine& engine, const std::vector<NestedItem>& parts, std::size_t depth) {
  if (parts.empty()) return engine.none();
  if (parts.size() == 1 && parts[0].path->size() == depth) return parts[0].value;
  std::vector<bool> seen(parts.size());
  std::vector<std::pair<Argument, RunValue>> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (seen[i] || parts[i].path->size() <= depth) continue;
    const Argument& key = (*parts[i].path)[depth];
    std::vector<NestedItem> below;
    for (std::size_t j = i; j < parts.size(); ++j) {
      if (parts[j].path->size() <= depth || (*parts[j].path)[depth] != key) continue;
      seen[j] = true;
      below.push_back(parts[j]);
    }
    found.emplace_back(key, nested(engine, below, depth + 1));
  }
  const bool by_position =
      std::ranges::all_of(found, [](const auto& part) { return part.first.template is<std::int64_t>(); });
  std::vector<RunValue> items;
  if (!by_position) {
    std::vector<RunValue> keys;
    for (const auto& [key, value] : found) {
      keys.push_back(engine.constant(key));
      items.push_back(value);
    }
    return engine.dict(keys, items);
  }
  constexpr std::int64_t kMost = 100'000;
  for (const auto& [key, value] : found) {
    const std::int64_t at = *key.get_if<std::int64_t>();
    if (at < 0 || at > kMost) throw RunError("a value has no such place");
    if (items.size() <= static_cast<std::size_t>(at))
      items.resize(static_cast<std::size_t>(at) + 1, engine.none());
    items[static_cast<std::size_t>(at)] = value;
  }
  return engine.tuple(items);
}

std::vector<std::pair<std::string, RunValue>> arguments_of_forward(const Engine& engine,
                                                                   const ModuleGraph& graph,
                                                                   const std::vector<RunValue>& inputs) {
  if (!graph.signature) return {};
  std::unordered_map<std::uint32_t, RunValue> given;
  std::size_t next = 0;
  for (NodeId id = graph.graph.first(); id.valid() && next < inputs.size(); id = graph.graph.next(id)) {
    if (graph.graph.node(id).op == Opcode::kPlaceholder) given.emplace(id.index, inputs[next++]);
  }
  std::vector<std::pair<std::string, std::vector<NestedItem>>> parts;  // parts, by argument
  for (const GraphSignature::Entry& entry : graph.signature->inputs) {
    const std::string* name = entry.path.empty() ? nullptr : entry.path[0].get_if<std::string>();
    const auto value = given.find(entry.node.index);
    if (name == nullptr || (value == given.end() && !entry.value)) continue;
    if (parts.empty() || parts.back().first != *name) parts.emplace_back(*name, std::vector<NestedItem>());
    parts.back().second.push_back(
        {&entry.path, value == given.end() ? engine.constant(*entry.value) : value->second});
  }
  std::vector<std::pair<std::string, RunValue>> arguments;
  for (const auto& [name, of] : parts) arguments.emplace_back(name, nested(engine, of, 1));
  return arguments;
}

}  // namespace fxtrace::internal::verify
