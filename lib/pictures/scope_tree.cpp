#include "pictures/scope_tree.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace fxtrace {
namespace {

// A parent has a smaller index than its children.
std::size_t common_scope(const std::vector<ScopeTree::Scope>& scopes, std::size_t a, std::size_t b) {
  while (a != b) (a > b ? a : b) = scopes[std::max(a, b)].parent;
  return a;
}

void place_subgraphs(ScopeTree& tree, const ModuleGraph& graph) {
  if (graph.subgraphs.empty()) return;
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < graph.subgraphs.size(); ++i) by_name.emplace(graph.subgraphs[i].name, i);
  std::vector<std::optional<std::size_t>> place(graph.subgraphs.size());
  for (std::size_t i = 0; i < tree.order.size(); ++i) {
    for_each_of<Argument::GraphRef>(graph.graph.node(tree.order[i]), [&](const auto& ref) {
      const auto subgraph = by_name.find(ref.name);
      if (subgraph == by_name.end()) return;
      tree.runs[i].push_back(subgraph->second);
      const std::size_t here = tree.scope_of[i] == ScopeTree::kNowhere ? 0 : tree.scope_of[i];
      auto& scope = place[subgraph->second];
      scope = common_scope(tree.scopes, scope.value_or(here), here);
    });
  }
  for (std::size_t i = 0; i < place.size(); ++i) tree.scopes[place[i].value_or(0)].subgraphs.push_back(i);
}

}  // namespace

std::vector<std::string> ScopeTree::modules_around(std::size_t scope) const {
  std::vector<std::string> modules = around;
  for (; scope != 0; scope = scopes[scope].parent) modules.push_back(scopes[scope].path);
  return modules;
}

std::size_t ScopeTrees::PartHash::operator()(const Part& part) const {
  return std::hash<std::string>()(part.name) ^ (part.inside * 0x9E37'79B9'7F4A'7C15);
}

template <class F>
void ScopeTrees::walk(std::string_view path, const F& f) {
  Module module = 0;
  for (std::size_t start = 0, end = 0; end < path.size() || start == 0; start = end + 1) {
    end = std::min(path.find('.', start), path.size());
    Part part{module, std::string(path.substr(start, end - start))};
    const auto [found, is_new] = parts_.try_emplace(std::move(part), records_.size());
    if (is_new) records_.push_back(nullptr);
    module = found->second;
    f(module, path.substr(0, end));
  }
}

ScopeTrees::ScopeTrees(const GraphCollection& collection) {
  for (const ModuleRecord& record : collection.modules) {
    walk(record.path, [&](Module module, std::string_view path) {
      if (path == record.path && records_[module] == nullptr) records_[module] = &record;
    });
  }
}

ScopeTree ScopeTrees::tree(const ModuleGraph& graph, const std::function<bool(const Node&)>& shows,
                           std::vector<std::string> around) {
  ScopeTree tree;
  tree.order = graph.graph.order();
  tree.scope_of.assign(tree.order.size(), ScopeTree::kNowhere);
  tree.around = std::move(around);
  tree.scopes.push_back({.path = graph.module, .type = graph.type});

  std::unordered_set<Module> outside;
  walk(graph.module, [&](Module module, auto) { outside.insert(module); });
  for (const std::string& whole : tree.around) {
    walk(whole, [&](Module module, std::string_view path) {
      if (path.size() == whole.size()) outside.insert(module);
    });
  }
  std::unordered_map<Module, std::size_t> scope_at;
  for (std::size_t i = 0; i < tree.order.size(); ++i) {
    const Node& node = graph.graph.node(tree.order[i]);
    if (!shows(node)) continue;
    const std::string& whole = node.scope->module_path;
    const bool is_call = node.op == Opcode::kCallModule;
    std::size_t at = 0;
    const auto enter = [&](Module module, std::string_view path) {
      const bool is_whole = path.size() == whole.size();
      if (outside.contains(module) || (is_whole && is_call)) return;
      const ModuleRecord* record = records_[module];
      if (record == nullptr && !(is_whole && node.scope->module_type)) return;
      const auto [found, is_new] = scope_at.emplace(module, tree.scopes.size());
      if (is_new) {
        tree.scopes[at].children.push_back(tree.scopes.size());
        tree.scopes.push_back({.path = std::string(path),
                               .type = record != nullptr ? record->type : *node.scope->module_type,
                               .parent = at});
      }
      at = found->second;
    };
    if (!whole.empty()) walk(whole, enter);
    ScopeTree::Scope& scope = tree.scopes[at];
    scope.nodes.push_back(i);
    if (!is_call && scope.path == whole) scope.calls = std::max(scope.calls, node.scope->call);
    tree.scope_of[i] = at;
  }
  place_subgraphs(tree, graph);
  return tree;
}

}  // namespace fxtrace
