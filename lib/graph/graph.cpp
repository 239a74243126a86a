#include "graph/graph.h"

#include <algorithm>
#include <unordered_set>

#include "support/error.h"

namespace fxtrace {
namespace {

template <class F>
void for_each_input(const std::vector<Argument>& args, const Kwargs& kwargs, F&& f) {
  for (const auto& arg : args) for_each_node(arg, f);
  for (const auto& [name, arg] : kwargs) for_each_node(arg, f);
}

template <class F>
void for_each_input(const Node& node, F&& f) {
  for_each_input(node.args, node.kwargs, f);
}

Error defect(const std::string& message) { return {ErrorKind::kInternal, message}; }

}  // namespace

NodeId Graph::append(NodeSpec spec) {
  for_each_input(spec.args, spec.kwargs, [&](NodeId input) {
    if (input.index >= nodes_.size() || erased_[input.index]) {
      throw defect("an argument of " + std::string(to_string(spec.op)) + "[" + spec.target +
                   "] is no node of the graph");
    }
  });
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  Node node;
  node.id = id;
  node.name =
      names_.create(spec.name_hint.empty() ? name_candidate(spec.target, spec.op == Opcode::kCallFunction)
                                           : spec.name_hint);
  node.op = spec.op;
  node.target = std::move(spec.target);
  node.args = std::move(spec.args);
  node.kwargs = std::move(spec.kwargs);
  node.scope = std::move(spec.scope);
  node.meta = std::move(spec.meta);
  node.source = std::move(spec.source);
  nodes_.push_back(std::move(node));
  erased_.push_back(false);
  ++count_;
  add_users(id);
  return id;
}

void Graph::add_users(NodeId id) {
  // Of all users this one is the newest, so a second use by it finds it at the end.
  for_each_input(nodes_[id.index], [&](NodeId input) {
    auto& users = nodes_[input.index].users;
    if (users.empty() || users.back() != id) users.push_back(id);
  });
}

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> ids;
  ids.reserve(count_);
  for (const auto& node : nodes_) {
    if (!erased_[node.id.index]) ids.push_back(node.id);
  }
  return ids;
}

void Graph::erase(NodeId id) {
  if (id.index >= nodes_.size() || erased_[id.index]) throw defect("the node to erase is not in the graph");
  Node& node = nodes_[id.index];
  if (!node.users.empty()) {
    throw defect("cannot erase " + node.name + ": it is used by " + nodes_[node.users.front().index].name);
  }
  for_each_input(node, [&](NodeId input) { std::erase(nodes_[input.index].users, id); });
  // The hole keeps its name, as a name is not given twice in torch.fx either, but not what it held.
  node.args.clear();
  node.kwargs.clear();
  node.source.reset();
  erased_[id.index] = true;
  --count_;
}

void Graph::roll_back(const Mark& mark) {
  while (nodes_.size() > mark.nodes) {
    const Node& node = nodes_.back();
    for_each_input(node, [&](NodeId input) {
      // Users are in order of appending, so the last node's use is the last; a repeated one is gone already.
      auto& users = nodes_[input.index].users;
      if (!users.empty() && users.back() == node.id) users.pop_back();
    });
    if (!erased_.back()) --count_;
    erased_.pop_back();
    nodes_.pop_back();
  }
  names_.roll_back(mark.names);
}

void lint(const Graph& graph) {
  const auto order = graph.order();
  std::size_t slots = 0;
  for (const NodeId id : order) slots = std::max<std::size_t>(slots, id.index + std::size_t{1});

  std::vector<std::vector<NodeId>> users(slots);
  std::vector<bool> defined(slots, false);
  std::unordered_set<std::string_view> names;
  bool placeholders_are_over = false;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (node.name.empty()) throw defect("lint: a node has no name");
    if (!names.insert(node.name).second) throw defect("lint: the name " + node.name + " is used twice");
    for_each_input(node, [&](NodeId input) {
      if (input.index >= slots || !defined[input.index]) {
        throw defect("lint: " + node.name + " uses a node that is not defined before it");
      }
      auto& found = users[input.index];
      if (found.empty() || found.back() != id) found.push_back(id);
    });
    if (node.op == Opcode::kPlaceholder) {
      if (placeholders_are_over) throw defect("lint: placeholder " + node.name + " comes after other nodes");
    } else {
      placeholders_are_over = true;
    }
    if (node.op == Opcode::kOutput && id != order.back()) {
      throw defect("lint: output " + node.name + " is not the last node");
    }
    defined[id.index] = true;
  }
  for (const NodeId id : order) {
    auto recorded = graph.node(id).users;
    std::sort(recorded.begin(), recorded.end());
    if (recorded != users[id.index]) {
      throw defect("lint: the users of " + graph.node(id).name + " do not match the arguments");
    }
  }
}

}  // namespace fxtrace
