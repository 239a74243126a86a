#include "exported/modules/call_graph.h"

#include <algorithm>
#include <utility>

namespace fxtrace {
CallIndex::CallIndex(const ProgramGraph& graph, const Hierarchy& hierarchy)
    : hierarchy_(hierarchy), operations_(hierarchy.calls().size()), children_(hierarchy.calls().size()) {
  const auto& calls = hierarchy.calls();
  for (CallId call = 1; call < calls.size(); ++call) {
    children_[calls[call].parent].push_back(call);
    first_calls_.emplace(calls[call].module.index, call);
  }
  add(graph);
}

void CallIndex::add(const ProgramGraph& graph) {
  const std::size_t index = graphs_.size();
  graphs_.push_back({&graph, count_uses(graph), origins(graph), LocalSizes(graph, graph)});
  for (std::uint32_t i = 0; i < graph.operations.size(); ++i) {
    const Operation& operation = graph.operations[i];
    if (operation.has_stack) operations_[operation.call].push_back({index, i});
    for (const ProgramSubgraph& subgraph : operation.subgraphs) add(subgraph.graph);
  }
}

std::optional<CallId> CallIndex::first_call(ModuleId module) const {
  const auto found = first_calls_.find(module.index);
  if (found == first_calls_.end()) return std::nullopt;
  return found->second;
}

CallGraph CallIndex::cut_out(CallId call, const std::function<bool(NodeId)>& is_own) const {
  // A call may continue in the subgraph of an operator; it is cut out of the graph in which it begins.
  std::vector<Place> places;
  std::vector<CallId> pending{call};
  while (!pending.empty()) {
    const CallId current = pending.back();
    pending.pop_back();
    places.insert(places.end(), operations_[current].begin(), operations_[current].end());
    pending.insert(pending.end(), children_[current].begin(), children_[current].end());
  }
  std::size_t in = SIZE_MAX;
  for (const Place& place : places) in = std::min(in, place.graph);
  std::vector<std::uint32_t> operations;
  for (const Place& place : places) {
    if (place.graph == in) operations.push_back(place.operation);
  }
  std::sort(operations.begin(), operations.end());

  CallGraph result;
  if (operations.empty()) return result;
  const Graph& source = graphs_[in];
  const bool in_program = in == 0;
  const auto own = [&](NodeId value) { return in_program && is_own(source.origin[value.index]); };
  const Boundary boundary = source.sizes.settle(
      operations, [&](const auto& inside) { return boundary_of(*source.graph, inside, source.uses, own); },
      [&](const Operation& operation) { return hierarchy_.is_run_by_caller_of(operation, call); });
  std::unordered_map<std::uint32_t, NodeId> numbers;
  const auto number = [&](NodeId value) -> NodeId {
    const NodeId next{static_cast<std::uint32_t>(result.graph.values.size())};
    const auto [found, is_new] = numbers.emplace(value.index, next);
    if (is_new) {
      result.graph.values.push_back(source.graph->values[value.index]);
      result.origin.push_back(in_program ? source.origin[value.index] : NodeId{});
    }
    return found->second;
  };
  for (const NodeId value : boundary.entering) result.graph.inputs.push_back({number(value), std::nullopt});
  for (const auto index : operations) {
    Operation operation = source.graph->operations[index];
    for (auto& argument : operation.args) argument = map_references(argument, number);
    for (auto& [name, argument] : operation.kwargs) argument = map_references(argument, number);
    for (auto& output : operation.outputs) output.value = number(output.value);
    result.graph.operations.push_back(std::move(operation));
  }
  for (const NodeId value : boundary.leaving) result.graph.outputs.emplace_back(number(value));
  result.graph.single_output = boundary.leaving.size() == 1;
  return result;
}

std::vector<std::vector<NodeId>> outputs_of_calls(const ProgramGraph& graph, const Hierarchy& hierarchy) {
  constexpr CallId kNobody = UINT32_MAX;
  const std::vector<Hierarchy::Call>& calls = hierarchy.calls();
  std::vector<CallId> maker(graph.values.size(), kNobody);
  std::vector<CallId> left(graph.values.size(), kNobody);  // the outermost call that the value has left
  std::vector<std::vector<NodeId>> given(calls.size());
  const auto use = [&](NodeId value, CallId user) {
    CallId call = maker[value.index];
    if (call == kNobody) return;
    const CallId common = hierarchy.common_call(call, user);
    if (left[value.index] != kNobody) {
      // The calls up to `left` have the value already.
      if (calls[left[value.index]].depth <= calls[common].depth + 1) return;
      call = calls[left[value.index]].parent;
    }
    for (; call != common; call = calls[call].parent) {
      given[call].push_back(value);
      left[value.index] = call;
    }
  };
  for (const Operation& operation : graph.operations) {
    if (!operation.has_stack) continue;
    for_each_input(operation, [&](NodeId value) { use(value, operation.call); });
    for (const auto& output : operation.outputs) maker[output.value.index] = operation.call;
  }
  for (const Argument& output : graph.outputs) {
    for_each_reference(output, [&](NodeId value) { use(value, kRootCall); });
  }
  for (std::vector<NodeId>& values : given) std::ranges::sort(values);
  return given;
}

}  // namespace fxtrace
