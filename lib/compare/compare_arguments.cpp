// Compares the arguments of two nodes that are paired.
#include "compare/comparer.h"

#include <algorithm>
#include <span>

#include "graph/analysis/text_form.h"
#include "support/text/words.h"

namespace fxtrace::internal {

void Comparer::compare_arguments(Current& now, Place i, Place j) {
  using NamedArgument = ComparedGraph::NamedArgument;
  const auto a = now.before.arguments(i);
  const auto b = now.after.arguments(j);
  if (std::ranges::equal(a, b, [](const NamedArgument& x, const NamedArgument& y) { return x.is_same(y); })) {
    for (std::size_t k = 0; k < a.size(); ++k) compare_argument(now, i, j, &a[k], &b[k]);
    return;
  }
  const auto sorted = [](std::span<const NamedArgument> arguments) {
    std::vector<const NamedArgument*> pointers;
    for (const NamedArgument& argument : arguments) pointers.push_back(&argument);
    std::ranges::stable_sort(pointers, {}, [](const auto* x) { return std::pair(x->position, x->name); });
    return pointers;
  };
  const auto first = sorted(a);
  const auto second = sorted(b);
  const auto key = [](const NamedArgument* x) { return std::pair(x->position, x->name); };
  for (std::size_t x = 0, y = 0; x < first.size() || y < second.size();) {
    if (y == second.size() || (x < first.size() && key(first[x]) < key(second[y]))) {
      compare_argument(now, i, j, first[x++], nullptr);
    } else if (x == first.size() || key(second[y]) < key(first[x])) {
      compare_argument(now, i, j, nullptr, second[y++]);
    } else {
      compare_argument(now, i, j, first[x++], second[y++]);
    }
  }
}

void Comparer::compare_values(Current& now, Place i, Place j) {
  const auto a = now.before.arguments(i);
  const auto b = now.after.arguments(j);
  bool same = a.size() == b.size();
  for (std::size_t k = 0; same && k < a.size(); ++k) same = is_same_value(now, *a[k].value, *b[k].value);
  if (same) return;
  if (!lists(DifferenceKind::kArguments))
    return add_node_change(now, i, j, DifferenceKind::kArguments, "", {}, {});
  const auto text = [&](const ComparedGraph& graph, std::span<const ComparedGraph::NamedArgument> arguments) {
    const auto print = [&](const auto& argument) {
      return print_argument(graph.graph().graph, *argument.value, kMostText);
    };
    return "(" + joined(arguments, print) + ")";
  };
  std::string before = text(now.before, a);
  std::string after = text(now.after, b);
  if (before == after) {
    for (const auto& argument : a) before += other_names(now, *argument.value, false);
    for (const auto& argument : b) after += other_names(now, *argument.value, true);
  }
  add_node_change(now, i, j, DifferenceKind::kArguments, "arguments", std::move(before), std::move(after));
}

void Comparer::compare_argument(Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                                const ComparedGraph::NamedArgument* b) {
  if (a != nullptr && b != nullptr && is_same_value(now, *a->value, *b->value)) return;
  if ((a == nullptr || b == nullptr) && (is_gone_node(now, a, b) || is_not_written(now, i, j, a, b))) return;
  if (!lists(DifferenceKind::kArguments))
    return add_node_change(now, i, j, DifferenceKind::kArguments, "", {}, {});
  const auto text = [](const ComparedGraph& graph, const ComparedGraph::NamedArgument* argument) {
    return argument == nullptr
               ? std::nullopt
               : std::optional(print_argument(graph.graph().graph, *argument->value, kMostText));
  };
  auto before = text(now.before, a);
  auto after = text(now.after, b);
  if (before && before == after) {
    *before += other_names(now, *a->value, false);
    *after += other_names(now, *b->value, true);
  }
  add_node_change(now, i, j, DifferenceKind::kArguments, (a != nullptr ? a : b)->text(), std::move(before),
                  std::move(after));
}

std::string Comparer::other_names(const Current& now, const Argument& argument, bool is_after) {
  const ComparedGraph& graph = is_after ? now.after : now.before;
  const ComparedGraph& other = is_after ? now.before : now.after;
  std::vector<std::string> names;
  std::unordered_set<Place> told;
  std::size_t left = kMostText;
  for_each_reference(argument, [&](NodeId id) {
    const Place here = graph.place(id);
    if (left == 0 || !told.insert(here).second) return;
    const Place there = is_after ? now.nodes.in_before(here) : now.nodes.in_after(here);
    const std::string name = argument.is<NodeId>() ? "" : "%" + graph[here].name + " ";
    if (there == kNoPlace) {
      names.push_back(name + (is_after ? "is new" : "is gone"));
    } else if (graph[here].name != other[there].name) {
      names.push_back(name + (is_after ? "was %" : "is now %") + other[there].name);
      left -= std::min(left, names.back().size());
    }
  });
  return names.empty() ? "" : " (" + joined(names) + ")";
}

bool Comparer::is_gone_node(const Current& now, const ComparedGraph::NamedArgument* a,
                            const ComparedGraph::NamedArgument* b) {
  const auto* id = (a != nullptr ? a : b)->value->get_if<NodeId>();
  if (id == nullptr) return false;
  return a != nullptr ? now.nodes.in_after(now.before.place(*id)) == kNoPlace
                      : now.nodes.in_before(now.after.place(*id)) == kNoPlace;
}

bool Comparer::is_not_written(const Current& now, Place i, Place j, const ComparedGraph::NamedArgument* a,
                              const ComparedGraph::NamedArgument* b) const {
  if (!two_kinds_ || now.before[i].op != Opcode::kCallModule) return false;
  bool is_plain = true;
  for_each_reference(*(a != nullptr ? a : b)->value, [&](NodeId) { is_plain = false; });
  const auto* id = (a != nullptr ? a : b)->value->get_if<NodeId>();
  if (is_plain || id == nullptr) return is_plain;
  return a != nullptr ? std::ranges::any_of(now.after.feeds(j),
                                            [&](const auto& feed) {
                                              return now.nodes.in_before(feed.node) == now.before.place(*id);
                                            })
                      : std::ranges::any_of(now.before.feeds(i), [&](const auto& feed) {
                          return now.nodes.in_after(feed.node) == now.after.place(*id);
                        });
}

bool Comparer::is_same_value(Current& now, const Argument& a, const Argument& b) {
  if (a.value.index() != b.value.index()) return false;
  const auto all = [&](const std::vector<Argument>& x, const std::vector<Argument>& y) {
    if (x.size() != y.size()) return false;
    bool same = true;  // every item is compared, for the bodies among them
    for (std::size_t k = 0; k < x.size(); ++k) same = is_same_value(now, x[k], y[k]) && same;
    return same;
  };
  if (const auto* id = a.get_if<NodeId>()) return is_same_node(now, *id, *b.get_if<NodeId>());
  if (const auto* body = a.get_if<Argument::GraphRef>()) {
    now.bodies.emplace_back(body->name, b.get_if<Argument::GraphRef>()->name);
    return true;
  }
  if (const auto* list = a.get_if<Argument::List>())
    return all(list->items, b.get_if<Argument::List>()->items);
  if (const auto* tuple = a.get_if<Argument::Tuple>()) {
    const auto& other = *b.get_if<Argument::Tuple>();
    // A class may be registered by another name when a program is exported.
    const auto* names = tuple->names.get();
    const auto* others = other.names.get();
    const bool same_names =
        names == others || (names != nullptr && others != nullptr && names->fields == others->fields &&
                            (two_kinds_ || names->type == others->type));
    return all(tuple->items, other.items) && same_names;
  }
  if (const auto* slice = a.get_if<Argument::Slice>())
    return all(slice->parts, b.get_if<Argument::Slice>()->parts);
  if (const auto* dict = a.get_if<Argument::Dict>()) {
    const auto& other = b.get_if<Argument::Dict>()->items;
    if (dict->items.size() != other.size()) return false;
    bool same = true;
    for (std::size_t k = 0; k < other.size(); ++k) {
      same = is_same_value(now, dict->items[k].key, other[k].key) && same;
      same = is_same_value(now, dict->items[k].value, other[k].value) && same;
    }
    return same;
  }
  return is_same_plain(a, b);
}

bool Comparer::is_same_node(const Current& now, NodeId a, NodeId b) {
  const Place i = now.before.place(a);
  const Place j = now.after.place(b);
  if (now.nodes.in_after(i) == j || now.nodes.in_before(j) == kNoPlace) return true;
  if (now.nodes.in_after(i) != kNoPlace) return false;
  // The node was removed: an equal one is there, or its feed feeds its user now.
  if (now.nodes.is_same_value(i, j)) return true;
  int steps = 64;
  std::vector<Place> pending{i};
  while (!pending.empty()) {
    const Place at = pending.back();
    pending.pop_back();
    for (const auto& feed : now.before.feeds(at)) {
      if (steps-- == 0) return false;
      if (now.nodes.in_after(feed.node) == j) return true;
      if (now.nodes.in_after(feed.node) == kNoPlace) pending.push_back(feed.node);
    }
  }
  return false;
}

}  // namespace fxtrace::internal
