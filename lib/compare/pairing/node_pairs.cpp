#include "compare/pairing/node_pairs.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "support/hashes.h"

namespace fxtrace::internal {
namespace {

using Key = std::pair<std::uint64_t, Place>;

// Calls f(items of a, items of b) for each key that both have.  Sorts both.
template <class F>
void for_equal_keys(std::vector<Key>& a, std::vector<Key>& b, F&& f) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  const auto end_of = [](const std::vector<Key>& keys, std::size_t begin) {
    std::size_t end = begin;
    while (end < keys.size() && keys[end].first == keys[begin].first) ++end;
    return end;
  };
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::size_t i_end = end_of(a, i);
    const std::size_t j_end = end_of(b, j);
    if (a[i].first == b[j].first) f(std::span(a).subspan(i, i_end - i), std::span(b).subspan(j, j_end - j));
    const bool first_is_less = a[i].first <= b[j].first;
    if (a[i].first >= b[j].first) j = j_end;
    if (first_is_less) i = i_end;
  }
}

}  // namespace

NodePairs::NodePairs(const ComparedGraph& before, const ComparedGraph& after)
    : before_(before), after_(after), in_after_(before.size(), kNoPlace), in_before_(after.size(), kNoPlace) {
  join_ports();
  Keys labels = keys([](const ComparedGraph& graph, Place node) { return graph.label(node); });
  for (Place i = 0; i < before.size(); ++i) {  // paired inputs count as equal, whatever their names
    if (in_after_[i] != kNoPlace) labels.after[in_after_[i]] = labels.before[i];
  }
  const Keys operations = keys([](const ComparedGraph& graph, Place node) { return graph.operation(node); });
  const Keys scopes = keys([](const ComparedGraph& graph, Place node) { return graph.scope(node); });
  const Keys modules = keys([](const ComparedGraph& graph, Place node) { return graph.module(node); });
  behind_ = behind(labels);
  const Keys all_ahead = ahead(labels);
  const Keys labels_here = with(scopes, labels);

  join_equal(with(scopes, behind_), Join::kAll);
  join_equal(with(scopes, all_ahead), Join::kAll);
  spread(labels_here);
  constexpr int kRadius = 3;
  std::vector<Keys> neighbourhoods;
  for (int i = 0; i < kRadius; ++i) neighbourhoods.push_back(near(i == 0 ? labels : neighbourhoods.back()));
  for (const Keys& neighbourhood : std::ranges::reverse_view(neighbourhoods)) {
    join_equal(with(scopes, neighbourhood), Join::kOne);
    spread(labels_here);
  }
  join_in_order(scopes, labels);
  spread(labels_here);
  join_equal(labels_here, Join::kNear);
  // Nodes with other constants, or in another call of the module.
  const Keys operations_here = with(scopes, operations);
  spread(operations_here);
  join_replaced();
  join_in_order(scopes, operations);
  join_equal(operations_here, Join::kNear);
  const Keys labels_in_module = with(modules, labels);
  spread(labels_in_module);
  join_in_order(modules, labels);
  join_equal(labels_in_module, Join::kNear);
  // Nodes in another module.
  join_equal(behind_, Join::kOne);
  join_equal(all_ahead, Join::kOne);
  spread(labels);
  join_replaced();
}

template <class F>
NodePairs::Keys NodePairs::keys(F&& key) const {
  Keys keys;
  keys.before.reserve(before_.size());
  keys.after.reserve(after_.size());
  for (Place i = 0; i < before_.size(); ++i) keys.before.push_back(key(before_, i));
  for (Place i = 0; i < after_.size(); ++i) keys.after.push_back(key(after_, i));
  return keys;
}

NodePairs::Keys NodePairs::with(const Keys& where, const Keys& what) const {
  Keys keys = what;
  for (Place i = 0; i < before_.size(); ++i) keys.before[i] = mix(where.before[i], what.before[i]);
  for (Place i = 0; i < after_.size(); ++i) keys.after[i] = mix(where.after[i], what.after[i]);
  return keys;
}

// Returns the labels mixed with all that the nodes are computed from.
NodePairs::Keys NodePairs::behind(const Keys& labels) const {
  Keys keys = labels;
  const auto add = [](const ComparedGraph& graph, std::vector<std::uint64_t>& hashes) {
    for (Place i = 0; i < graph.size(); ++i) {
      for (const auto& feed : graph.feeds(i)) hashes[i] = mix(hashes[i], mix(feed.slot, hashes[feed.node]));
    }
  };
  add(before_, keys.before);
  add(after_, keys.after);
  return keys;
}

// Returns the labels mixed with all that is computed from the nodes, in any order of users.
NodePairs::Keys NodePairs::ahead(const Keys& labels) const {
  Keys keys = labels;
  const auto add = [](const ComparedGraph& graph, std::vector<std::uint64_t>& hashes) {
    for (Place i = graph.size(); i-- > 0;) {
      std::uint64_t sum = 0;
      for (const auto& user : graph.users(i)) sum += mix(user.slot, hashes[user.node]);
      hashes[i] = mix(hashes[i], sum);
    }
  };
  add(before_, keys.before);
  add(after_, keys.after);
  return keys;
}

// Returns the labels mixed with those of feeds and users.
NodePairs::Keys NodePairs::near(const Keys& labels) const {
  Keys keys = labels;
  const auto add = [](const ComparedGraph& graph, const std::vector<std::uint64_t>& from,
                      std::vector<std::uint64_t>& hashes) {
    for (Place i = 0; i < graph.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& feed : graph.feeds(i)) sum += mix(feed.slot, from[feed.node]);
      for (const auto& user : graph.users(i)) sum += scramble(mix(user.slot, from[user.node]));
      hashes[i] = mix(hashes[i], sum);
    }
  };
  add(before_, labels.before, keys.before);
  add(after_, labels.after, keys.after);
  return keys;
}

void NodePairs::join(Place before, Place after) {
  in_after_[before] = after;
  in_before_[after] = before;
}

// Returns whether the feeds of both nodes, or the users of both, are paired, and none of them with one of the
// other's.
bool NodePairs::is_elsewhere(Place before, Place after) const {
  bool is_near = false;
  const auto known = [](std::span<const ComparedGraph::Feed> around, const std::vector<Place>& others,
                        bool is_before) {
    std::vector<Key> keys;
    for (const auto& [slot, node] : around) {
      if (others[node] != kNoPlace) keys.emplace_back(slot, is_before ? others[node] : node);
    }
    std::ranges::sort(keys);
    return keys;
  };
  const auto differ = [&](std::span<const ComparedGraph::Feed> first,
                          std::span<const ComparedGraph::Feed> second) {
    const std::vector<Key> a = known(first, in_after_, true);
    const std::vector<Key> b = known(second, in_before_, false);
    std::vector<Key> common;
    std::ranges::set_intersection(a, b, std::back_inserter(common));
    is_near = is_near || !common.empty();
    return !a.empty() && !b.empty();
  };
  const bool feeds_differ = differ(before_.feeds(before), after_.feeds(after));
  const bool users_differ = differ(before_.users(before), after_.users(after));
  return !is_near && (feeds_differ || users_differ);
}

// Pairs inputs of one name, then the others in order if equally many are left; and the outputs.
void NodePairs::join_ports() {
  std::unordered_map<std::string_view, Place> inputs;
  for (Place i = 0; i < after_.size(); ++i) {
    if (after_[i].op == Opcode::kPlaceholder) inputs.emplace(*after_[i].target, i);
  }
  for (Place i = 0; i < before_.size(); ++i) {
    if (before_[i].op != Opcode::kPlaceholder) continue;
    const auto found = inputs.find(*before_[i].target);
    if (found != inputs.end() && in_before_[found->second] == kNoPlace) join(i, found->second);
  }
  const auto left = [](const ComparedGraph& graph, const std::vector<Place>& others, Opcode op) {
    std::vector<Place> places;
    for (Place i = 0; i < graph.size(); ++i) {
      if (graph[i].op == op && others[i] == kNoPlace) places.push_back(i);
    }
    return places;
  };
  for (const Opcode op : {Opcode::kPlaceholder, Opcode::kOutput}) {
    const std::vector<Place> a = left(before_, in_after_, op);
    const std::vector<Place> b = left(after_, in_before_, op);
    for (std::size_t k = 0; a.size() == b.size() && k < a.size(); ++k) join(a[k], b[k]);
  }
}

// Pairs nodes with one key that are left, if both sides have equally many.
void NodePairs::join_equal(const Keys& keys, Join which) {
  std::vector<Key> a;
  std::vector<Key> b;
  for (Place i = 0; i < before_.size(); ++i) {
    if (in_after_[i] == kNoPlace) a.emplace_back(keys.before[i], i);
  }
  for (Place i = 0; i < after_.size(); ++i) {
    if (in_before_[i] == kNoPlace) b.emplace_back(keys.after[i], i);
  }
  for_equal_keys(a, b, [&](std::span<const Key> first, std::span<const Key> second) {
    if (first.size() != second.size() || (which == Join::kOne && first.size() > 1)) return;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (which != Join::kAll && is_elsewhere(first[i].second, second[i].second)) continue;
      join(first[i].second, second[i].second);
    }
  });
}

// Pairs nodes of each place (a module, or a call of it) in order, between pairs that are in the same order on
// both sides.
void NodePairs::join_in_order(const Keys& places, const Keys& keys) {
  std::unordered_map<std::uint64_t, std::pair<std::vector<Place>, std::vector<Place>>> by_place;
  for (Place i = 0; i < before_.size(); ++i) by_place[places.before[i]].first.push_back(i);
  for (Place i = 0; i < after_.size(); ++i) by_place[places.after[i]].second.push_back(i);
  for (const auto& [place, nodes] : by_place) {
    const auto& [first, second] = nodes;
    std::vector<Place> anchors;  // pairs of the place: the node of the first graph
    std::vector<Place> numbers;
    for (const Place i : first) {
      const Place j = in_after_[i];
      if (j == kNoPlace || places.after[j] != place) continue;
      anchors.push_back(i);
      numbers.push_back(j);
    }
    const std::vector<bool> stays = longest_increasing(numbers);
    std::size_t x = 0;
    std::size_t y = 0;
    const auto join_before = [&](Place end, Place end_after) {
      std::vector<Place> a;
      std::vector<Place> b;
      for (; x < first.size() && first[x] < end; ++x) {
        if (in_after_[first[x]] == kNoPlace) a.push_back(first[x]);
      }
      for (; y < second.size() && second[y] < end_after; ++y) {
        if (in_before_[second[y]] == kNoPlace) b.push_back(second[y]);
      }
      if (a.empty() || b.empty()) return;
      const auto hashes = [](const std::vector<Place>& some, const std::vector<std::uint64_t>& all) {
        std::vector<std::uint64_t> result;
        for (const Place node : some) result.push_back(all[node]);
        return result;
      };
      for (const auto& [i, j] : align(hashes(a, keys.before), hashes(b, keys.after))) {
        if (!is_elsewhere(a[i], b[j])) join(a[i], b[j]);
      }
    };
    for (std::size_t i = 0; i < anchors.size(); ++i) {
      if (stays[i]) join_before(anchors[i], numbers[i]);
    }
    join_before(before_.size(), after_.size());
  }
}

// Follows the edges of all pairs as long as labels are equal.
void NodePairs::spread(const Keys& labels) {
  pending_.clear();
  for (Place i = before_.size(); i-- > 0;) {
    if (in_after_[i] != kNoPlace) pending_.emplace_back(i, in_after_[i]);
  }
  while (!pending_.empty()) {
    const auto [i, j] = pending_.back();
    pending_.pop_back();
    spread_from(i, j, labels);
  }
}

void NodePairs::spread_from(Place before, Place after, const Keys& labels) {
  const auto left = [&](std::span<const ComparedGraph::Feed> around, const std::vector<Place>& others,
                        const std::vector<std::uint64_t>& label) {
    std::vector<Key> keys;
    for (const auto& [slot, node] : around) {
      if (others[node] == kNoPlace) keys.emplace_back(mix(slot, label[node]), node);
    }
    return keys;
  };
  const auto spread_along = [&](std::span<const ComparedGraph::Feed> a,
                                std::span<const ComparedGraph::Feed> b) {
    std::vector<Key> first = left(a, in_after_, labels.before);
    if (first.empty()) return;
    std::vector<Key> second = left(b, in_before_, labels.after);
    for_equal_keys(first, second, [&](std::span<const Key> i, std::span<const Key> j) {
      if (i.size() != j.size()) return;
      for (std::size_t k = 0; k < i.size(); ++k) {
        if (in_after_[i[k].second] != kNoPlace || in_before_[j[k].second] != kNoPlace) continue;
        join(i[k].second, j[k].second);
        pending_.emplace_back(i[k].second, j[k].second);
      }
    });
  };
  spread_along(before_.feeds(before), after_.feeds(after));
  spread_along(before_.users(before), after_.users(after));
}

// Pairs a node that takes the place of another one: each is the only one left in its call of a module that
// takes the same value and feeds the same user.
void NodePairs::join_replaced() {
  // Keys of a feed and a user, by their places in the first graph.
  std::vector<Key> a;
  std::vector<Key> b;
  const auto collect = [&](const ComparedGraph& graph, const std::vector<Place>& others, bool is_before,
                           std::vector<Key>& keys) {
    for (Place i = 0; i < graph.size(); ++i) {
      const Node& node = graph[i];
      if (others[i] != kNoPlace || node.op == Opcode::kPlaceholder) continue;
      Place feed = kNoPlace;
      Place user = kNoPlace;
      const auto of_before = [&](Place at) {
        return others[at] == kNoPlace ? kNoPlace : is_before ? at : others[at];
      };
      for (const auto& next : graph.feeds(i)) {
        if (feed = of_before(next.node); feed != kNoPlace) break;
      }
      for (const auto& next : graph.users(i)) {
        if (user = of_before(next.node); user != kNoPlace) break;
      }
      if (user == kNoPlace || (feed == kNoPlace && !graph.feeds(i).empty())) continue;
      const std::uint64_t kind = node.op == Opcode::kGetAttr ? 1 : 2;
      keys.emplace_back(mix(mix(graph.scope(i), kind), mix(feed, user)), i);
    }
  };
  collect(before_, in_after_, true, a);
  collect(after_, in_before_, false, b);
  for_equal_keys(a, b, [&](std::span<const Key> first, std::span<const Key> second) {
    if (first.size() == 1 && second.size() == 1) join(first.front().second, second.front().second);
  });
}

}  // namespace fxtrace::internal
