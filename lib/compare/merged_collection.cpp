#include "compare/merged_collection.h"

#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/node_spec.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// The differences of nodes of one graph, by their names.
struct NodeDifferences {
  std::unordered_map<std::string_view, std::string_view> names;  // in the second, where they differ
  std::unordered_map<std::string_view, Change> before, after;    // changes, by the name in that collection
};

class Merger {
 public:
  Merger(const GraphCollection& before, const GraphCollection& after, const ModelComparison& comparison,
         DifferenceKinds marked)
      : before_(before), comparison_(comparison), marked_(marked) {
    result_.collection = after;
    std::string& file = result_.collection.model.file;
    if (file != before.model.file) file = before.model.file + " → " + file;
  }

  MergedCollection run() {
    for (const ModuleDifferences& module : comparison_.modules) {
      if (module.other) moved_.emplace(module.path, *module.other);
    }
    for (const ModuleDifferences& module : comparison_.modules) {
      for (const Difference& difference : module.differences) note(module, difference);
    }
    add_modules();
    std::unordered_map<std::string_view, ModuleGraph*> graphs;
    for (ModuleGraph& graph : result_.collection.graphs) graphs.emplace(graph.module, &graph);
    for (const ModuleGraph& graph : before_.graphs) {
      const auto found = graphs.find(graph.module.empty() ? "" : path_after(graph.module));
      if (found != graphs.end()) add_nodes({&graph, found->second, graph.module});
    }
    // Places of records are final now.
    std::unordered_set<std::string_view> around;  // modules that have others with differences in them
    for (const auto& [path, mark] : module_marks_) {
      QualifiedName(QualifiedName(path).parent()).for_each_prefix([&](std::string_view module) {
        around.insert(module);
      });
    }
    for (const ModuleRecord& module : result_.collection.modules) {
      const auto mark = module_marks_.find(module.path);
      if (mark != module_marks_.end()) {
        result_.modules.emplace(module.path, mark->second);
      } else if (module.status == ModuleStatus::kLeaf && around.contains(module.path)) {
        result_.modules.emplace(module.path, Change::kChanged);  // its children have no boxes
      }
    }
    return std::move(result_);
  }

 private:
  // Returns the path in the second collection, also for modules below one that moved.
  std::string path_after(const std::string& path) const {
    constexpr int kMostLevels = 64;
    std::string_view above = path;
    for (int level = 0; level < kMostLevels; ++level) {
      const auto found = moved_.find(above);
      if (found != moved_.end()) {
        const std::string below(path.size() == above.size() ? "" : QualifiedName(path).below(above));
        const bool is_both = !found->second.empty() && !below.empty();
        return found->second + (is_both ? "." : "") + below;
      }
      if (above.empty()) break;
      above = QualifiedName(above).parent();
    }
    return path;
  }

  void note(const ModuleDifferences& module, const Difference& difference) {
    const bool is_marked = marked_.has(difference.kind) && !difference.follows;
    const bool is_of_node = !difference.text.empty() || difference.kind == DifferenceKind::kNames;
    if (!is_of_node) {
      const bool is_whole = difference.kind == DifferenceKind::kModules &&
                            (difference.change == Change::kAdded || difference.change == Change::kRemoved);
      // A wrapper has the path of what was in it.
      const bool is_wrapper = difference.within == difference.subject;
      if (is_whole && difference.change == Change::kRemoved && !is_wrapper)
        removed_.push_back(&difference.subject);
      const bool is_of_module =
          difference.kind == DifferenceKind::kModules || difference.kind == DifferenceKind::kParameters ||
          difference.kind == DifferenceKind::kWeights || difference.kind == DifferenceKind::kArguments;
      const std::string path = module.other.value_or(path_after(module.path));
      if (is_marked && is_of_module)
        module_marks_.emplace(path, is_whole ? difference.change : Change::kChanged);
      return;
    }
    NodeDifferences& told = told_[*difference.graph];
    if (!difference.other.empty()) told.names.emplace(difference.subject, difference.other);
    if (difference.kind == DifferenceKind::kNames || (!is_marked && difference.change == Change::kChanged))
      return;
    (difference.change == Change::kAdded ? told.after : told.before)
        .emplace(difference.subject, difference.change);
  }

  void add_modules() {
    std::unordered_map<std::string_view, const ModuleRecord*> records;
    for (const ModuleRecord& module : before_.modules) records.emplace(module.path, &module);
    for (const std::string* path : removed_) {
      const auto found = records.find(*path);
      if (found != records.end()) result_.collection.modules.push_back(*found->second);
    }
  }

  // A pair of graphs, whose bodies of control flow follow.
  struct GraphPair {
    const ModuleGraph* before = nullptr;
    ModuleGraph* after = nullptr;
    std::string name;  // as Difference::graph
  };
  void add_nodes(GraphPair first) {
    std::vector<GraphPair> pending{std::move(first)};
    while (!pending.empty()) {
      const GraphPair pair = std::move(pending.back());
      pending.pop_back();
      add_nodes(pair, pending);
    }
  }

  void add_nodes(const GraphPair& pair, std::vector<GraphPair>& pending) {
    const ModuleGraph& before = *pair.before;
    ModuleGraph& after = *pair.after;
    const NodeDifferences& told = told_[pair.name];
    std::unordered_map<std::string_view, NodeId> by_name;
    const std::vector<NodeId> order_after = after.graph.order();
    for (const NodeId id : order_after) by_name.emplace(after.graph.node(id).name, id);
    // The node of the second graph, by node of the first, if it has one.
    const std::vector<NodeId> order = before.graph.order();
    std::unordered_map<std::uint32_t, NodeId> places;
    std::vector<NodeId> next(order.size());  // the next node of the second graph that a following node has
    NodeId behind = after.graph.last();
    for (std::size_t i = order.size(); i-- > 0;) {
      next[i] = behind;
      const Node& node = before.graph.node(order[i]);
      if (is_removed(told, node)) continue;
      const auto renamed = told.names.find(node.name);
      const auto found = by_name.find(renamed == told.names.end() ? node.name : renamed->second);
      if (found == by_name.end()) continue;
      places.emplace(order[i].index, found->second);
      behind = found->second;
      add_bodies(pair, node, after.graph.node(found->second), pending);
    }
    std::vector<std::pair<NodeId, Change>> marks;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = before.graph.node(order[i]);
      const auto mark = told.before.find(node.name);
      if (mark == told.before.end()) continue;
      if (mark->second == Change::kRemoved) add_removed(node, next[i], after.graph, places);
      const auto place = places.find(order[i].index);
      if (place != places.end()) marks.emplace_back(place->second, mark->second);
    }
    for (const NodeId id : order_after) {
      const auto mark = told.after.find(after.graph.node(id).name);
      if (mark != told.after.end()) marks.emplace_back(id, mark->second);
    }
    for (const auto& [id, change] : marks) {
      const bool is_told =
          marked_.has(DifferenceKind::kNodes) || change == Change::kChanged || change == Change::kMoved;
      if (is_told) result_.nodes.emplace(&after.graph.node(id), change);
    }
  }

  static void add_bodies(const GraphPair& pair, const Node& before, const Node& after,
                         std::vector<GraphPair>& pending) {
    std::vector<std::string> others;
    for_each_of<Argument::GraphRef>(after, [&](const auto& ref) { others.push_back(ref.name); });
    std::size_t next = 0;
    for_each_of<Argument::GraphRef>(before, [&](const auto& ref) {
      if (next == others.size()) return;
      const ModuleGraph* body = pair.before->subgraphs.find_graph(ref.name);
      ModuleGraph* other = pair.after->subgraphs.find_graph(others[next++]);
      if (body != nullptr && other != nullptr) pending.push_back({body, other, pair.name + ":" + ref.name});
    });
  }

  static bool is_removed(const NodeDifferences& told, const Node& node) {
    const auto found = told.before.find(node.name);
    return found != told.before.end() && found->second == Change::kRemoved;
  }

  void add_removed(const Node& node, NodeId position, Graph& graph,
                   std::unordered_map<std::uint32_t, NodeId>& places) const {
    // Parameters and constants have no boxes.
    if (node.op == Opcode::kGetAttr || node.op == Opcode::kOutput || !position.valid()) return;
    if (!marked_.has(DifferenceKind::kNodes)) return;
    Graph::NodeSpec spec = spec_like(node);
    if (node.op == Opcode::kCallModule) spec.target = path_after(node.target);
    Scope scope = *node.scope;
    scope.module_path = path_after(scope.module_path);
    spec.scope = std::move(scope);
    bool has_body = false;
    for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef&) { has_body = true; });
    const auto mapped = [&](const Argument& argument) {
      return map_references(argument, [&](NodeId id) -> Argument {
        const auto found = places.find(id.index);
        if (found == places.end()) return Argument::None{};
        while (!graph.is_before(found->second, position) && graph.next(position).valid())
          position = graph.next(position);
        return found->second;
      });
    };
    if (!has_body) {
      for (const Argument& argument : node.args) spec.args.push_back(mapped(argument));
      for (const auto& [name, argument] : node.kwargs) spec.kwargs.emplace_back(name, mapped(argument));
    }
    places.emplace(node.id.index, graph.insert_before(position, std::move(spec)));
  }

  const GraphCollection& before_;
  const ModelComparison& comparison_;
  DifferenceKinds marked_;
  MergedCollection result_;
  std::unordered_map<std::string_view, std::string> moved_;
  std::unordered_map<std::string, NodeDifferences> told_;  // by graph
  std::vector<const std::string*> removed_;
  std::unordered_map<std::string, Change> module_marks_;
};

}  // namespace

MergedCollection merge(const GraphCollection& before, const GraphCollection& after,
                       const ModelComparison& comparison, DifferenceKinds marked) {
  return Merger(before, after, comparison, marked).run();
}

}  // namespace fxtrace::internal
