#include "exported/modules/call_graph.h"

#include <algorithm>
#include <utility>

#include "graph/node_spec.h"

namespace fxtrace::internal {
namespace {

// A copy of some operations of a graph.
class Copy {
 public:
  Copy(const ProgramView& from, ExportedGraph& to) : from_(from), to_(to) {}

  const Copies& copies() const { return made_; }

  void add_input(NodeId value) { append(value, spec_of(Opcode::kPlaceholder, {})); }

  // Adds an operation, and the values that it uses and nothing here makes: tensors and objects of the model.
  void add(NodeId operation) {
    const Node& node = from_.node(operation);
    for_each_input(node, [&](NodeId value) {
      if (!made_.contains(value.index)) append(value, spec_of(Opcode::kGetAttr, from_.node(value).target));
    });
    from_.for_each_subgraph(operation, [&](const std::string& name, const ProgramView& body) {
      if (to_.table.subgraphs.emplace(name, body.table()).second)
        to_.module_graph.subgraphs.add({name, body.module_graph()});
    });
    add_node(operation);
  }

  void add_output(const std::vector<NodeId>& values) {
    Argument::Tuple outputs;
    for (const NodeId value : values) outputs.items.emplace_back(made_.at(value.index));
    Argument output = outputs.items.size() == 1 ? outputs.items.front() : Argument(std::move(outputs));
    to_.module_graph.graph.append(spec_of(Opcode::kOutput, "output", {std::move(output)}));
  }

 private:
  NodeId append(NodeId of, Graph::NodeSpec spec) {
    spec.meta = from_.node(of).meta;
    const NodeId made = to_.append_value(std::move(spec), from_.value_name(of));
    made_.emplace(of.index, made);
    to_.name_operation(made, from_.operation_name(of));
    if (const Argument* fixed = from_.find_fixed(of)) to_.table.fixed.emplace(made.index, *fixed);
    return made;
  }

  // Adds the operation, and the nodes of its results behind it.
  void add_node(NodeId id) {
    const Node& node = from_.node(id);
    const NodeId made = append(id, copy_of(node, made_));
    to_.table.at(made) = from_.facts(id);
    if (const auto same = from_.table().given_back.find(id.index); same != from_.table().given_back.end())
      to_.table.given_back.emplace(made.index, made_.at(same->second.index));
    for (const NodeId user : node.users) {
      if (from_.facts(user).is_result && !made_.contains(user.index)) add_node(user);
    }
  }

  const ProgramView from_;
  ExportedGraph& to_;
  Copies made_;
};

}  // namespace

CallIndex::CallIndex(const ProgramView& graph, const Hierarchy& hierarchy)
    : hierarchy_(hierarchy), operations_(hierarchy.calls().size()), children_(hierarchy.calls().size()) {
  const auto& calls = hierarchy.calls();
  for (CallId call = 1; call < calls.size(); ++call) {
    children_[calls[call].parent].push_back(call);
    first_calls_.emplace(calls[call].module.index, call);
  }
  add(graph);
}

void CallIndex::add(const ProgramView& graph) {
  const std::size_t index = graphs_.size();
  graphs_.push_back({graph, count_uses(graph), origins(graph), LocalSizes(graph, graph)});
  for (const NodeId operation : graph.operations()) {
    const ProgramNode& facts = graph.facts(operation);
    if (facts.has_stack) operations_[facts.call].push_back({index, operation});
    graph.for_each_subgraph(operation, [&](const std::string&, const ProgramView& body) { add(body); });
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
  std::vector<NodeId> operations;
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
      operations, [&](const auto& inside) { return boundary_of(source.graph, inside, source.uses, own); },
      [&](NodeId operation) { return hierarchy_.is_run_by_caller_of(source.graph.facts(operation), call); });
  Copy copy(source.graph, result.graph);
  for (const NodeId value : boundary.entering) copy.add_input(value);
  for (const NodeId operation : operations) copy.add(operation);
  copy.add_output(boundary.leaving);
  result.origin.resize(result.graph.module_graph.graph.id_count());
  for (const auto& [value, made] : copy.copies()) {
    if (in_program) result.origin[made.index] = source.origin[value];
  }
  return result;
}

std::vector<std::vector<NodeId>> outputs_of_calls(const ProgramView& graph, const Hierarchy& hierarchy) {
  constexpr CallId kNobody = UINT32_MAX;
  const std::vector<Hierarchy::Call>& calls = hierarchy.calls();
  std::vector<CallId> maker(graph.graph().id_count(), kNobody);
  std::vector<CallId> left(graph.graph().id_count(), kNobody);  // the outermost call that the value has left
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
  for (const NodeId operation : graph.operations()) {
    const ProgramNode& facts = graph.facts(operation);
    if (!facts.has_stack) continue;
    for_each_input(graph.node(operation), [&](NodeId value) { use(value, facts.call); });
    graph.for_each_result(operation, [&](NodeId value) { maker[value.index] = facts.call; });
  }
  for (const Argument& output : graph.outputs()) {
    for_each_reference(output, [&](NodeId value) { use(value, kRootCall); });
  }
  for (std::vector<NodeId>& values : given) std::ranges::sort(values);
  return given;
}

}  // namespace fxtrace::internal
