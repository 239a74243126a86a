#include "compare/pairing/inlined_methods.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/analysis/call_order.h"
#include "graph/each_graph.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// Returns, by call, the call of the forward that makes it.
std::vector<std::size_t> find_callers(const CallOrder& calls) {
  std::vector<std::size_t> callers;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    while (open.size() > 1 && !QualifiedName(calls[i].module).is_below(calls[open.back()].module))
      open.pop_back();
    callers.push_back(open.empty() ? 0 : open.back());
    if (calls[i].method.empty()) open.push_back(i);
  }
  return callers;
}

}  // namespace

bool has_method_calls(const GraphCollection& collection) {
  return std::ranges::any_of(collection.graphs, [](const ModuleGraph& graph) {
    return graph.execution && !graph.execution->method_calls.empty();
  });
}

GraphCollection with_methods_inlined(GraphCollection collection) {
  std::unordered_map<std::string_view, ModuleRecord*> records;
  for (ModuleRecord& record : collection.modules) records.emplace(record.path, &record);
  std::unordered_set<std::string_view> roots;
  for (const ModuleGraph& graph : collection.graphs) roots.insert(graph.module);
  for (ModuleGraph& root : collection.graphs) {
    if (!root.execution || root.execution->method_calls.empty()) continue;
    const Execution execution = *root.execution;
    const CallOrder calls(execution);
    const std::vector<std::size_t> callers = find_callers(calls);
    for_each_graph(root, [&](ModuleGraph& graph) {
      for (const NodeId id : graph.graph.order()) {
        const Shared<Scope> scope = graph.graph.node(id).scope;
        const auto call = scope->method.empty() ? std::nullopt : calls.find_calls(*scope);
        if (!call) continue;
        const OrderedCall& caller = calls[callers[*call]];
        const std::string& type = records.at(caller.module)->type;
        const bool has_type = !caller.module.empty() && !type.empty();
        graph.graph.set_scope(id, Scope{std::string(caller.module),
                                        has_type ? std::optional(type) : std::nullopt, caller.number});
      }
    });
    for (const Execution::MethodCall& call : execution.method_calls) {
      ModuleRecord& record = *records.at(call.module);
      if (record.status == ModuleStatus::kTraced && record.calls == 0 && !roots.contains(record.path))
        record.status = ModuleStatus::kUnvisited;
    }
    root.execution->method_calls.clear();
    std::erase_if(root.execution->call_values, [](const auto& call) { return !call.method.empty(); });
  }
  return collection;
}

}  // namespace fxtrace::internal
