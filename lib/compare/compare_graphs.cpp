// Compares the graphs of two collections, with their bodies of control flow and assignments.
#include "compare/comparer.h"

#include <functional>

#include "graph/analysis/text_form.h"

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

}  // namespace fxtrace::internal
