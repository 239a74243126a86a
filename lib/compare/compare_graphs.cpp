// Compares the graphs of two collections, with their bodies of control flow and assignments.
#include <algorithm>
#include <functional>

#include "compare/comparer.h"
#include "graph/analysis/text_form.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {

void Comparer::compare_all_graphs() {
  std::unordered_map<std::string_view, const ModuleGraph*> others;
  // The graphs of both roots are a pair, even if one root is around the other.
  for (const ModuleGraph& graph : after_.graphs)
    others.emplace(graph.module.empty() ? "" : pairs_.path_before(graph.module), &graph);
  std::unordered_set<std::string_view> seen;
  std::unordered_set<const ModuleGraph*> compared;
  for (const ModuleGraph& graph : before_.graphs) {
    if (!seen.insert(graph.module).second) continue;
    const auto found = others.find(graph.module);
    if (found == others.end()) {
      one_sided_graph(graph, Change::kRemoved);
      continue;
    }
    compare_with_bodies({&graph, found->second, graph.module});
    compare_execution(graph, *found->second);
    compared.insert(found->second);
    others.erase(found);
  }
  for (const ModuleGraph& graph : after_.graphs) {
    if (!compared.contains(&graph)) one_sided_graph(graph, Change::kAdded);
  }
}

void Comparer::one_sided_graph(const ModuleGraph& graph, Change change) {
  const CommonNames names = common_names(change == Change::kAdded);
  const ComparedGraph compared(graph, schemas_, names);
  const Shared<std::string> name = graph.module;
  for (Place i = 0; i < compared.size(); ++i) one_sided_node(compared, i, change, name, graph.module);
}

CommonNames Comparer::common_names(bool is_after) const {
  if (!is_after) {
    return {[](std::string_view path) { return path; }, [](const std::string& name) { return name; },
            !two_kinds_};
  }
  const auto module = [this](std::string_view path) {
    const std::size_t j = pairs_.after().find_module(path);
    constexpr std::string_view kWrapper("\0", 1);  // cannot be a path of the first collection
    return j != kNone && pairs_.after().is_wrapper(j) ? kWrapper : pairs_.path_before(path);
  };
  return {module, [this](const std::string& name) { return pairs_.parameter_before(name); }, !two_kinds_};
}

void Comparer::compare_with_bodies(GraphPair first) {
  std::vector<GraphPair> pending{std::move(first)};
  while (!pending.empty()) {
    const GraphPair pair = std::move(pending.back());
    pending.pop_back();
    compare_graphs(pair, pending);
  }
}

void Comparer::compare_graphs(const GraphPair& pair, std::vector<GraphPair>& pending) {
  const ComparedGraph before(*pair.before, schemas_, common_names(false));
  const ComparedGraph after(*pair.after, schemas_, common_names(true));
  const NodePairs nodes(before, after);
  Current now{before, after, nodes, pair.name, {}, std::vector<bool>(before.size(), false), {}};
  find_renames(now);
  Place next = 0;  // place in the second graph up to which new nodes have been told
  const auto tell_new = [&](Place end) {
    for (; next < end; ++next) {
      if (nodes.in_before(next) == kNoPlace)
        one_sided_node(after, next, Change::kAdded, pair.name, pair.after->module);
    }
  };
  for (Place i = 0; i < before.size(); ++i) {
    const Place j = nodes.in_after(i);
    if (j == kNoPlace) {
      one_sided_node(before, i, Change::kRemoved, pair.name, pair.before->module);
    } else {
      tell_new(j);
      compare_nodes(now, i, j);
    }
  }
  tell_new(after.size());
  compare_order(now);
  compare_assignments(now, pair.before->module);
  compare_guards(*pair.before, *pair.after, now.renames);
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& names : now.bodies) {
    if (!seen.insert(names).second) continue;
    const ModuleGraph* body = pair.before->subgraphs.find_graph(names.first);
    const ModuleGraph* other = pair.after->subgraphs.find_graph(names.second);
    if (body != nullptr && other != nullptr) pending.push_back({body, other, *pair.name + ":" + names.first});
  }
}

// Compares the texts of both sides, with the nodes of both as numbers of those of the second: names may be
// long.
void Comparer::compare_assignments(const Current& now, const std::string& module) {
  const auto text = [&](const Assignment& assignment, const auto& number_of) {
    const Argument value = map_references(
        assignment.value, [&](NodeId id) -> Argument { return Argument::GraphRef{"%" + number_of(id)}; });
    return assignment.target + " = " + print_argument(value);
  };
  const auto text_after = [&](const Assignment& each) {
    return text(each, [](NodeId id) { return std::to_string(id.index); });
  };
  std::map<std::string, std::int64_t> left;  // assignments of the second graph
  for (const Assignment& each : now.after.graph().graph.assignments()) ++left[text_after(each)];
  const auto tell = [&](const Graph& graph, const Assignment& each, Change change) {
    add(module, {.kind = DifferenceKind::kNodes,
                 .change = change,
                 .subject = each.target,
                 .text = each.target + " = " + print_argument(graph, each.value, kMostText),
                 .graph = now.name,
                 .source = each.source});
  };
  for (const Assignment& each : now.before.graph().graph.assignments()) {
    bool is_paired = true;
    const auto found = left.find(text(each, [&](NodeId id) {
      const Place other = now.nodes.in_after(now.before.place(id));
      is_paired = is_paired && other != kNoPlace;
      return other == kNoPlace ? std::string() : std::to_string(now.after[other].id.index);
    }));
    if (is_paired && found != left.end() && found->second > 0) {
      --found->second;
    } else {
      tell(now.before.graph().graph, each, Change::kRemoved);
    }
  }
  for (const Assignment& each : now.after.graph().graph.assignments()) {
    std::int64_t& count = left[text_after(each)];
    if (count-- > 0) tell(now.after.graph().graph, each, Change::kAdded);
  }
}

void Comparer::find_renames(Current& now) {
  std::map<std::string, std::set<std::string>> names;
  std::map<std::string, std::set<std::string>> back;
  for (Place i = 0; i < now.before.size(); ++i) {
    const Place j = now.nodes.in_after(i);
    if (now.before[i].op != Opcode::kPlaceholder || j == kNoPlace) continue;
    const auto& a = now.before[i].meta->shape;
    const auto& b = now.after[j].meta->shape;
    if (!a || !b || a->size() != b->size()) continue;
    for (std::size_t d = 0; d < a->size(); ++d) {
      const SymInt* first = (*a)[d].size();
      const SymInt* second = (*b)[d].size();
      const auto from = first == nullptr ? std::nullopt : first->symbol_name();
      const auto to = second == nullptr ? std::nullopt : second->symbol_name();
      if (!from || !to) continue;
      names[*from].insert(*to);
      back[*to].insert(*from);
    }
  }
  for (const auto& [from, to] : names) {
    // No exporter writes such a name, which would be in each expression and each difference.
    constexpr std::size_t kLongest = 500;
    if (from.size() > kLongest || to.begin()->size() > kLongest) continue;
    if (to.size() > 1 || back[*to.begin()].size() > 1 || *to.begin() == from) continue;
    now.renames.emplace(from, SymInt::symbol(*to.begin()));
    if (!told_renames_.emplace(from, *to.begin()).second) continue;
    add("", {.kind = DifferenceKind::kNames, .subject = from, .other = *to.begin(), .field = "dimension"});
  }
  if (renames_.empty()) renames_ = now.renames;
}

void Comparer::one_sided_node(const ComparedGraph& graph, Place place, Change change,
                              const Shared<std::string>& name, const std::string& root) {
  constexpr std::size_t kUsers = 3;
  const bool is_added = change == Change::kAdded;
  const Node& node = graph[place];
  if (is_unseen_call(node, is_added)) return;
  const std::string& path = node.scope->module_path.empty() ? root : node.scope->module_path;
  Difference difference{.kind = DifferenceKind::kNodes, .change = change, .within = cover(is_added, path)};
  if (lists(DifferenceKind::kNodes)) {
    difference.subject = node.name;
    difference.text = print_node(graph.graph().graph, node, kMostText);
    difference.graph = name;
    difference.source = *node.source;
    for (const NodeId user : node.users) {
      if (difference.users.size() == kUsers) break;
      difference.users.push_back(graph.graph().graph.node(user).name);
    }
  }
  add(is_added ? pairs_.path_before(path) : std::string_view(path), std::move(difference));
}

// Compares the order of nodes, of calls of modules and of parameters, and the guards.

std::vector<Comparer::Moved> Comparer::find_moved(const std::vector<Place>& numbers) {
  const std::vector<bool> stays = longest_increasing(numbers);
  std::vector<Moved> moved;
  if (std::ranges::all_of(stays, std::identity{})) return moved;
  std::vector<std::size_t> by_number(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) by_number[i] = i;
  std::ranges::sort(by_number, {}, [&](std::size_t i) { return numbers[i]; });
  std::vector<std::size_t> previous(numbers.size(), kNone);
  for (std::size_t k = 1; k < by_number.size(); ++k) previous[by_number[k]] = by_number[k - 1];
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!stays[i]) moved.push_back({i, i == 0 ? kNone : i - 1, previous[i]});
  }
  return moved;
}

void Comparer::compare_order(const Current& now) {
  std::unordered_map<std::uint64_t, std::vector<Place>> by_scope;  // nodes of the first graph
  std::vector<std::uint64_t> scopes;
  for (Place i = 0; i < now.before.size(); ++i) {
    const Place j = now.nodes.in_after(i);
    // The place where a parameter or a size is read, or a result is unpacked, does not matter; that of its
    // uses does.
    const Node& node = now.before[i];
    const bool is_read =
        node.op == Opcode::kGetAttr || (two_kinds_ && (node.target == "operator.getitem" || is_size(node)));
    if (j == kNoPlace || is_read) continue;
    if (now.before.scope(i) != now.after.scope(j)) continue;
    auto& nodes = by_scope[now.before.scope(i)];
    if (nodes.empty()) scopes.push_back(now.before.scope(i));
    nodes.push_back(i);
  }
  for (const std::uint64_t scope : scopes) {
    const std::vector<Place>& nodes = by_scope[scope];
    std::vector<Place> numbers;
    numbers.reserve(nodes.size());
    for (const Place i : nodes) numbers.push_back(now.nodes.in_after(i));
    for (const Moved& moved : find_moved(numbers)) {
      const Place i = nodes[moved.item];
      Difference difference = node_difference(now, i, DifferenceKind::kOrder);
      difference.change = Change::kMoved;
      if (moved.before != kNone) difference.before = now.before[nodes[moved.before]].name;
      if (moved.after != kNone) difference.after = now.after[now.nodes.in_after(nodes[moved.after])].name;
      // Another node has the name now.
      if (difference.before && difference.before == difference.after)
        difference.after = now.before[nodes[moved.after]].name;
      difference.text = short_text(now.before[i]);
      add(path_of(now, i), std::move(difference));
    }
  }
}

template <class F>
void Comparer::compare_sequences(const std::vector<std::string>& a, const std::vector<std::string_view>& b,
                                 F&& f) {
  struct Item {
    std::string_view name;
    Place number;
  };
  std::unordered_map<std::string_view, std::vector<Place>> places;
  for (Place j = 0; j < b.size(); ++j) places[b[j]].push_back(j);
  std::unordered_map<std::string_view, std::size_t> counts;
  std::vector<Item> items;
  for (const std::string& name : a) {
    const auto found = places.find(name);
    const std::size_t n = counts[name]++;
    if (found != places.end() && n < found->second.size()) items.push_back({name, found->second[n]});
  }
  std::vector<Place> numbers;
  for (const Item& item : items) numbers.push_back(item.number);
  std::unordered_set<std::string_view> told;
  for (const Moved& moved : find_moved(numbers)) {
    const std::string_view name = items[moved.item].name;
    if (!told.insert(name).second) continue;
    const auto text = [&](std::size_t item) {
      return item == kNone ? std::nullopt : std::optional(std::string(items[item].name));
    };
    f(name, text(moved.before), text(moved.after));
  }
}

void Comparer::compare_execution(const ModuleGraph& a, const ModuleGraph& b) {
  if (!a.execution || !b.execution) return;
  std::vector<std::string_view> modules;
  for (const std::string& path : b.execution->module_forward_order)
    modules.push_back(pairs_.path_before(path));
  std::set<std::string, std::less<>> moved;
  const auto is_moved = [&](std::string_view path) {
    for (std::size_t i = pairs_.before().find_module(path); i != kNone; i = pairs_.before().parents[i]) {
      if (moved.contains(pairs_.before()[i].path)) return true;
    }
    return false;
  };
  const auto tell = [&](std::string_view path, std::string_view subject, std::optional<std::string> before,
                        std::optional<std::string> after) {
    add(path, {.kind = DifferenceKind::kOrder,
               .change = Change::kMoved,
               .subject = std::string(subject),
               .before = std::move(before),
               .after = std::move(after),
               .graph = a.module});
  };
  compare_sequences(a.execution->module_forward_order, modules,
                    [&](std::string_view path, auto before, auto after) {
                      const bool is_told = is_moved(path);
                      moved.emplace(path);
                      if (!is_told)
                        tell(path, path_text(std::string(path)), std::move(before), std::move(after));
                    });
  if (two_kinds_) return;  // the kinds differ in where a module reads its parameters
  std::unordered_map<std::string_view, std::string> names;  // each once, as they may be long
  std::vector<std::string_view> parameters;
  for (const std::string& name : b.execution->param_forward_order) {
    const auto [entry, is_new] = names.try_emplace(name);
    if (is_new) entry->second = pairs_.parameter_before(name);
    parameters.push_back(entry->second);
  }
  compare_sequences(a.execution->param_forward_order, parameters,
                    [&](std::string_view name, auto before, auto after) {
                      const std::string_view path = QualifiedName(name).parent();
                      if (!is_moved(path)) tell(path, name, std::move(before), std::move(after));
                    });
}

void Comparer::compare_guards(const ModuleGraph& a, const ModuleGraph& b, const Renames& renames) {
  // Guards of TorchScript depend on this trace and its options.
  const auto is_told = [&](const ComparedSide& side) { return !two_kinds_ || !side.is_torchscript(); };
  std::map<std::string, std::int64_t> left;  // guards of the second graph
  for (const Guard& guard : b.guards) ++left[guard.expr.text()];
  const auto tell = [&](const Guard& guard, Change change) {
    add(a.module, {.kind = DifferenceKind::kGuards,
                   .change = change,
                   .subject = guard.expr.text(),
                   .graph = a.module,
                   .source = guard.source});
  };
  for (const Guard& guard : a.guards) {
    const auto found = left.find(renamed(guard.expr, renames).text());
    if (found == left.end() || found->second == 0) {
      if (is_told(before_)) tell(guard, Change::kRemoved);
    } else {
      --found->second;
    }
  }
  for (const Guard& guard : b.guards) {
    std::int64_t& count = left[guard.expr.text()];
    if (count == 0 || !is_told(after_)) continue;
    --count;
    tell(guard, Change::kAdded);
  }
}

}  // namespace fxtrace::internal
