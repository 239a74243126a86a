#include "graph/graph.h"

#include <algorithm>
#include <unordered_set>

#include "support/error.h"

namespace fxtrace {

const char* to_string(GuardReason reason) {
  // In the order of the enumerators.
  static constexpr std::array kNames{"input", "dim", "concrete", "default", "exported", "assert"};
  return kNames.at(static_cast<std::size_t>(reason));
}

const char* to_string(SignatureRole role) {
  // In the order of the enumerators.
  static constexpr const char* kNames[internal::kSignatureRoles] = {"user_input",
                                                                    "parameter",
                                                                    "buffer",
                                                                    "constant_tensor",
                                                                    "custom_obj",
                                                                    "token",
                                                                    "user_output",
                                                                    "loss_output",
                                                                    "buffer_mutation",
                                                                    "parameter_mutation",
                                                                    "gradient_to_parameter",
                                                                    "gradient_to_user_input",
                                                                    "user_input_mutation"};
  return kNames[static_cast<std::size_t>(role)];
}

}  // namespace fxtrace

namespace fxtrace::internal {
namespace {

constexpr std::uint64_t kRankGap = std::uint64_t{1} << 24;

// Shares equal values of two nodes.
template <class T>
void share(Shared<T>& own, const Shared<T>& other) {
  if (own == other) own = other;
}

Error defect(const std::string& message) { return {ErrorKind::kInternal, message}; }

}  // namespace

void Graph::fail_for(NodeId id) { throw defect("node " + std::to_string(id.index) + " is not in the graph"); }

const Node* Graph::find(std::string_view name) const {
  for (NodeId id = first(); id.valid(); id = next(id)) {
    if (node(id).name == name) return &node(id);
  }
  return nullptr;
}

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> ids;
  ids.reserve(size());
  for (NodeId id = first_; id.valid(); id = next(id)) ids.push_back(id);
  return ids;
}

// --- making nodes ---

void Graph::check_arguments(const NodeSpec& spec) const {
  for_each_input(spec, [&](NodeId input) {
    if (contains(input)) return;
    throw defect("an argument of " + std::string(to_string(spec.op)) + "[" + *spec.target +
                 "] is not a node of the graph");
  });
}

void Graph::reserve(std::size_t nodes) {
  nodes_.reserve(nodes);
  links_.reserve(nodes);
  place_of_.reserve(nodes);
  names_.reserve(nodes);
}

NodeId Graph::append(NodeSpec spec) { return make(std::move(spec), last_, {}); }

NodeId Graph::insert_before(NodeId position, NodeSpec spec) {
  inserted_.push_back(make(std::move(spec), previous(position), position));
  return inserted_.back();
}

NodeId Graph::make(NodeSpec spec, NodeId previous, NodeId next) {
  check_arguments(spec);
  const NodeId id{static_cast<std::uint32_t>(place_of_.size())};
  const std::string& target = *spec.target;
  std::string name;
  if (!spec.name.empty()) {
    name = names_.create(spec.name);
  } else if (spec.model_function) {
    name = names_.create(name_candidate(function_parts(target).name, false));
  } else {
    name = names_.create(name_candidate(target, spec.op == Opcode::kCallFunction));
  }
  if (spec.op == Opcode::kCallFunction) {
    spec.target = targets_.try_emplace(target, spec.target).first->second;
  } else if (spec.op == Opcode::kPlaceholder && target.empty()) {
    spec.target = name;
  }
  spec.name = std::move(name);
  Node node{std::move(spec), id, {}};
  if (previous.valid()) {  // often a node of the same module and line
    const Node& neighbour = own(previous);
    share(node.scope, neighbour.scope);
    share(node.meta, neighbour.meta);
    share(node.source, neighbour.source);
  }
  if (free_.empty()) {
    place_of_.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back(std::move(node));
    links_.emplace_back();
  } else {
    place_of_.push_back(free_.back());
    nodes_[free_.back()] = std::move(node);
    free_.pop_back();
  }
  link(id, previous, next);
  for_each_input(own(id), [&](NodeId input) { add_user(input, id); });
  return id;
}

void Graph::link(NodeId id, NodeId previous, NodeId next) {
  Link& link = links_[place(id)];
  link.previous = previous;
  link.next = next;
  (previous.valid() ? links_[place(previous)].next : first_) = id;
  (next.valid() ? links_[place(next)].previous : last_) = id;
  const std::uint64_t low = previous.valid() ? rank(previous) : 0;
  const std::uint64_t high = next.valid() ? rank(next) : low + 2 * kRankGap;
  link.rank = low + (high - low) / 2;
  if (link.rank == low) make_room(id);
}

// Gives new ranks to the nodes around, to as many as needed to have room again.  Costs O(log n) for each
// insertion, on average: Bender et al., Two Simplified Algorithms for Maintaining Order in a List, ESA 2002.
void Graph::make_room(NodeId id) {
  constexpr double kGrowth = 1.4;  // the factor by which the nodes in a range may grow when the range doubles
  const std::uint64_t middle = rank(id);
  NodeId left = id, right = id;
  std::uint64_t count = 1;
  double capacity = 1;
  for (unsigned bits = 1; bits < 63; ++bits) {
    const std::uint64_t width = std::uint64_t{1} << bits;
    const std::uint64_t low = middle / width * width;
    for (NodeId at = previous(left); at.valid() && rank(at) >= low; at = previous(left), ++count) left = at;
    for (NodeId at = next(right); at.valid() && rank(at) - low < width; at = next(right), ++count) right = at;
    capacity *= kGrowth;
    if (static_cast<double>(count) >= capacity) continue;
    const std::uint64_t step = width / count;
    std::uint64_t next_rank = low;
    for (NodeId at = left; count > 0; at = next(at), --count, next_rank += step)
      links_[place(at)].rank = next_rank;
    return;
  }
}

// --- users, in execution order ---

void Graph::add_user(NodeId input, NodeId user) {
  auto& users = own(input).users;
  if (users.empty() || is_before(users.back(), user)) {
    users.push_back(user);
    return;
  }
  const auto place =
      std::lower_bound(users.begin(), users.end(), user, [&](NodeId a, NodeId b) { return is_before(a, b); });
  if (place == users.end() || *place != user) users.insert(place, user);
}

// A node that uses another one twice is one user; it is removed with the first of the two uses.
void Graph::remove_user(NodeId input, NodeId user) {
  auto& users = own(input).users;
  if (!users.empty() && users.back() == user) {
    users.pop_back();
    return;
  }
  const auto place =
      std::lower_bound(users.begin(), users.end(), user, [&](NodeId a, NodeId b) { return is_before(a, b); });
  if (place != users.end() && *place == user) users.erase(place);
}

void Graph::set_args(NodeId id, std::vector<Argument> args, Kwargs kwargs) {
  Node& node = own(id);
  NodeSpec spec;
  spec.op = node.op;
  spec.target = node.target;
  spec.args = std::move(args);
  spec.kwargs = std::move(kwargs);
  check_arguments(spec);
  for_each_input(node, [&](NodeId input) { remove_user(input, id); });
  node.args = std::move(spec.args);
  node.kwargs = std::move(spec.kwargs);
  for_each_input(node, [&](NodeId input) { add_user(input, id); });
}

void Graph::replace_all_uses(NodeId from, NodeId to, const std::function<bool(NodeId)>& where) {
  Node& replaced = own(from);
  Node& replacement = own(to);
  if (from == to) return;
  const auto replace = [&](NodeId used) -> Argument { return used == from ? to : used; };
  std::vector<NodeId> moved, kept;
  for (const NodeId user : replaced.users) {
    const bool takes = user != to && (!where || where(user));
    (takes ? moved : kept).push_back(user);
    if (!takes) continue;
    Node& node = own(user);
    for (Argument& arg : node.args) arg = map_references(arg, replace);
    for (auto& [name, arg] : node.kwargs) arg = map_references(arg, replace);
  }
  replaced.users = std::move(kept);
  if (!assignments_.empty() && (!where || where(last_)))
    map_assignments([&](const Argument& value) { return map_references(value, replace); });
  if (moved.empty()) return;
  // Both lists are in order; users behind the first of `moved` must make room.
  const auto before = [&](NodeId a, NodeId b) { return is_before(a, b); };
  auto& users = replacement.users;
  const auto first = std::lower_bound(users.begin(), users.end(), moved.front(), before);
  std::vector<NodeId> behind(first, users.end()), merged;
  std::set_union(behind.begin(), behind.end(), moved.begin(), moved.end(), std::back_inserter(merged),
                 before);
  users.erase(first, users.end());
  users.insert(users.end(), merged.begin(), merged.end());
}

void Graph::assign(Assignment assignment) {
  for_each_reference(assignment.value, [&](NodeId id) { place(id); });
  assignments_.push_back(std::move(assignment));
}

void Graph::map_assignments(const std::function<Argument(const Argument&)>& f) {
  for (Assignment& assignment : assignments_) assignment.value = f(assignment.value);
}

bool Graph::is_assigned(NodeId id) const {
  bool found = false;
  for (const Assignment& assignment : assignments_)
    for_each_reference(assignment.value, [&](NodeId named) { found = found || named == id; });
  return found;
}

void Graph::move_before(NodeId position, NodeId id) {
  const Node& node = own(id);
  for_each_input(node, [&](NodeId) { throw defect("cannot move " + node.name + ", which has arguments"); });
  if (position == id) return;
  unlink(id);
  link(id, previous(position), position);
  for (const NodeId user : node.users) {
    if (is_before(user, id)) throw defect("cannot move " + node.name + " behind its user");
  }
}

// --- removing nodes ---

void Graph::unlink(NodeId id) {
  const Link& link = links_[place(id)];
  (link.previous.valid() ? links_[place(link.previous)].next : first_) = link.next;
  (link.next.valid() ? links_[place(link.next)].previous : last_) = link.previous;
}

// The name stays taken, as in torch.fx.
void Graph::release(NodeId id) {
  unlink(id);
  const std::uint32_t place = place_of_[id.index];
  place_of_[id.index] = kNoPlace;
  if (place + 1 == nodes_.size()) {
    nodes_.pop_back();
    links_.pop_back();
  } else {
    nodes_[place] = {};
    free_.push_back(place);
  }
}

void Graph::erase(NodeId id) {
  const Node& node = own(id);
  if (!node.users.empty()) {
    throw defect("cannot erase " + node.name + ": it is used by " + this->node(node.users.front()).name);
  }
  if (is_assigned(id)) throw defect("cannot erase " + node.name + ": it is assigned to an attribute");
  for_each_input(node, [&](NodeId input) { remove_user(input, id); });
  release(id);
}

void Graph::erase(const std::vector<NodeId>& ids) {
  std::unordered_set<std::uint32_t> erased, inputs;
  for (const NodeId id : ids) erased.insert(id.index);
  const auto is_erased = [&](NodeId id) { return erased.contains(id.index); };
  for (const NodeId id : ids) {
    const Node& node = own(id);
    const auto other = std::find_if_not(node.users.begin(), node.users.end(), is_erased);
    if (other != node.users.end()) {
      throw defect("cannot erase " + node.name + ": it is used by " + this->node(*other).name);
    }
    if (is_assigned(id)) throw defect("cannot erase " + node.name + ": it is assigned to an attribute");
  }
  for (const NodeId id : ids) {
    for_each_input(own(id), [&](NodeId input) {
      if (inputs.insert(input.index).second && !is_erased(input)) {
        std::erase_if(own(input).users, is_erased);
      }
    });
  }
  for (const NodeId id : ids) {
    if (contains(id)) release(id);
  }
}

void Graph::roll_back(const Mark& mark) {
  const auto take_back = [&](NodeId id) {
    for_each_input(own(id), [&](NodeId input) { remove_user(input, id); });
    release(id);
  };
  // The newest appended node is the last one, and the last of all users.
  for (NodeId id = last_; id.valid() && id.index >= mark.ids; id = last_) take_back(id);
  for (; inserted_.size() > mark.inserted; inserted_.pop_back()) {
    if (contains(inserted_.back())) take_back(inserted_.back());
  }
  names_.roll_back(mark.names);
}

const ModuleGraph* SubgraphList::find_graph(std::string_view name) const {
  const auto place = places_.find(std::string(name));
  return place == places_.end() ? nullptr : &list_[place->second].graph;
}

ModuleGraph* SubgraphList::find_graph(std::string_view name) {
  return const_cast<ModuleGraph*>(std::as_const(*this).find_graph(name));
}

void SubgraphList::add(Subgraph subgraph) {
  places_.emplace(subgraph.name, list_.size());
  list_.push_back(std::move(subgraph));
}

Subgraph SubgraphList::take_last() {
  Subgraph last = std::move(list_.back());
  list_.pop_back();
  const auto place = places_.find(last.name);
  if (place->second == list_.size()) places_.erase(place);
  return last;
}

void SubgraphList::erase_if(const std::function<bool(const Subgraph&)>& which) {
  if (std::erase_if(list_, which) == 0) return;
  places_.clear();
  for (std::size_t i = 0; i < list_.size(); ++i) places_.emplace(list_[i].name, i);
}

}  // namespace fxtrace::internal
