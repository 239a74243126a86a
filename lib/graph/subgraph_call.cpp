#include "graph/subgraph_call.h"

#include <algorithm>
#include <utility>

#include "graph/rewrite.h"
#include "operators/target.h"

namespace fxtrace::internal {
std::vector<NodeId> inputs_of(const Graph& graph) {
  std::vector<NodeId> inputs;
  for (NodeId id = graph.first(); id.valid() && graph.node(id).op == Opcode::kPlaceholder;
       id = graph.next(id)) {
    inputs.push_back(id);
  }
  return inputs;
}

const std::vector<Argument>* outputs_of(const Graph& graph) {
  if (!graph.last().valid()) return nullptr;
  const Node& output = graph.node(graph.last());
  if (output.op != Opcode::kOutput || output.args.size() != 1) return nullptr;
  return items_of(output.args.front());
}

namespace {

template <class T>
std::vector<T> filtered(const std::vector<T>& items, const std::vector<bool>& keep, std::size_t first = 0) {
  std::vector<T> kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (keep[first + i]) kept.push_back(items[i]);
  }
  return kept;
}

void keep_outputs(Graph& graph, const std::vector<bool>& keep) {
  const Node& output = graph.node(graph.last());
  Argument kept;
  if (const auto* tuple = output.args.front().get_if<Argument::Tuple>()) {
    kept = Argument::Tuple{filtered(tuple->items, keep)};
  } else {
    kept = Argument::List{filtered(*outputs_of(graph), keep)};
  }
  graph.set_args(graph.last(), {std::move(kept)}, {});
}

bool all(const std::vector<bool>& flags) { return std::ranges::find(flags, false) == flags.end(); }
bool none(const std::vector<bool>& flags) { return std::ranges::find(flags, true) == flags.end(); }

}  // namespace

SubgraphIndex::SubgraphIndex(ModuleGraph& graph) : graph_(&graph) {
  if (graph.subgraphs.empty()) return;
  for (Subgraph& subgraph : graph.subgraphs) entries_.emplace(subgraph.name, Entry{&subgraph, 0});
  for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
    for (const Subgraph* subgraph : find_subgraphs(id)) ++entries_.at(subgraph->name).uses;
  }
}

std::vector<Subgraph*> SubgraphIndex::find_subgraphs(NodeId call) const {
  std::vector<Subgraph*> found;
  if (entries_.empty()) return found;
  for_each_of<Argument::GraphRef>(graph_->graph.node(call), [&](const Argument::GraphRef& reference) {
    const auto entry = entries_.find(reference.name);
    if (entry != entries_.end()) found.push_back(entry->second.subgraph);
  });
  return found;
}

std::optional<SubgraphCall> SubgraphCall::read(const SubgraphIndex& index, NodeId call) {
  ModuleGraph& graph = index.graph();
  const Node& node = graph.graph.node(call);
  const TargetParts parts = parse_target(node.target);
  if (parts.kind != TargetKind::kHigherOrder || node.args.size() != 4 || !node.kwargs.empty())
    return std::nullopt;
  std::vector<std::size_t> lists;
  if (parts.name == "cond") {
    lists = {3};
  } else if (parts.name == "while_loop") {
    lists = {2, 3};
  } else {
    return std::nullopt;
  }
  std::vector<ModuleGraph*> subgraphs;
  for (Subgraph* subgraph : index.find_subgraphs(call)) {
    if (index.is_shared(*subgraph)) return std::nullopt;
    subgraphs.push_back(&subgraph->graph);
  }
  if (subgraphs.size() != 2) return std::nullopt;
  std::size_t operands = 0;
  for (const std::size_t list : lists) {
    const auto* items = node.args[list].get_if<Argument::List>();
    if (items == nullptr) return std::nullopt;
    operands += items->items.size();
  }
  // Both subgraphs take all operands; those of cond return the same number of results, the body of a loop
  // returns its carried values.
  for (const ModuleGraph* subgraph : subgraphs) {
    if (inputs_of(subgraph->graph).size() != operands) return std::nullopt;
  }
  const auto* outputs = outputs_of(subgraphs[1]->graph);
  const auto* others =
      lists.size() == 2 ? &node.args[2].get_if<Argument::List>()->items : outputs_of(subgraphs[0]->graph);
  if (outputs == nullptr || others == nullptr || outputs->size() != others->size()) return std::nullopt;
  return SubgraphCall(graph, call, std::move(subgraphs), std::move(lists));
}

const Argument::List& SubgraphCall::operands(std::size_t list) const {
  return *graph_->graph.node(call_).args[list].get_if<Argument::List>();
}

std::vector<bool> SubgraphCall::used_results() const {
  std::vector<bool> used(outputs_of(subgraphs_[1]->graph)->size(), false);
  for (const NodeId user : graph_->graph.node(call_).users) {
    const auto index = item_index(graph_->graph.node(user));
    if (!index || *index >= used.size()) return std::vector<bool>(used.size(), true);
    used[*index] = true;
  }
  return used;
}

void SubgraphCall::drop_results(const std::vector<bool>& keep) const {
  const std::vector<NodeId> users = graph_->graph.node(call_).users;
  for (const NodeId user : users) {
    const auto index = static_cast<std::ptrdiff_t>(*item_index(graph_->graph.node(user)));
    const auto place = static_cast<std::int64_t>(std::count(keep.begin(), keep.begin() + index, true));
    graph_->graph.set_args(user, {call_, place}, {});
  }
}

void SubgraphCall::drop_operands(const std::vector<bool>& keep) const {
  std::vector<Argument> args = graph_->graph.node(call_).args;
  std::size_t first = 0;
  for (const std::size_t list : lists_) {
    const std::size_t count = operands(list).items.size();
    args[list] = Argument::List{filtered(operands(list).items, keep, first)};
    first += count;
  }
  graph_->graph.set_args(call_, std::move(args), {});
  for (ModuleGraph* subgraph : subgraphs_) {
    const std::vector<NodeId> inputs = inputs_of(subgraph->graph);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!keep[i]) subgraph->graph.erase(inputs[i]);
    }
  }
}

bool SubgraphCall::drop_unused_results() const {
  if (is_loop()) return false;
  const std::vector<bool> used = used_results();
  if (all(used) || none(used)) return false;
  for (ModuleGraph* subgraph : subgraphs_) keep_outputs(subgraph->graph, used);
  drop_results(used);
  return true;
}

bool SubgraphCall::drop_unused_operands() const {
  std::size_t carried = is_loop() ? operands(lists_[0]).items.size() : 0;
  std::vector<bool> keep(inputs_of(subgraphs_[0]->graph).size(), false);
  std::fill_n(keep.begin(), carried, true);
  for (const ModuleGraph* subgraph : subgraphs_) {
    const std::vector<NodeId> inputs = inputs_of(subgraph->graph);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      keep[i] = keep[i] || !subgraph->graph.node(inputs[i]).users.empty();
    }
  }
  if (all(keep)) return false;
  drop_operands(keep);
  return true;
}

bool SubgraphCall::drop_unused_carried() const {
  if (!is_loop()) return false;
  const std::vector<NodeId> asked = inputs_of(subgraphs_[0]->graph);
  const Graph& body = subgraphs_[1]->graph;
  const std::vector<NodeId> inputs = inputs_of(body);
  std::vector<bool> results = used_results();
  std::vector<bool> keep(inputs.size(), true);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& users = body.node(inputs[i]).users;
    bool becomes_itself = users.empty();
    if (users.size() == 1 && users.front() == body.last()) {
      std::size_t uses = 0;
      for_each_input(body.node(body.last()), [&](NodeId used) { uses += used == inputs[i] ? 1 : 0; });
      becomes_itself = uses == 1 && (*outputs_of(body))[i] == Argument(inputs[i]);
    }
    results[i] = results[i] || !becomes_itself || !subgraphs_[0]->graph.node(asked[i]).users.empty();
    keep[i] = results[i];
  }
  if (all(results) || none(results)) return false;
  keep_outputs(subgraphs_[1]->graph, results);
  drop_results(results);
  drop_operands(keep);
  return true;
}

}  // namespace fxtrace::internal
