#include "compare/comparison.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compare/comparer.h"
#include "compare/pairing/common_form.h"
#include "graph/analysis/execution_order.h"
#include "graph/graph_collection.h"
#include "graph/rewrite.h"
#include "support/error.h"
#include "support/repeated.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {

const char* to_string(DifferenceKind kind) {
  constexpr std::array<const char*, kDifferenceKinds> kNames = {"modules",   "parameters", "weights", "nodes",
                                                                "arguments", "shapes",     "order",   "costs",
                                                                "guards",    "names",      "sources"};
  return kNames[static_cast<std::size_t>(kind)];
}

DifferenceKind difference_kind(std::string_view name) {
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    if (name == to_string(static_cast<DifferenceKind>(i))) return static_cast<DifferenceKind>(i);
  }
  throw usage_error("there is no kind of difference '" + std::string(name) + "'");
}

const char* to_string(Change change) {
  constexpr std::array<const char*, kChanges> kNames = {"added", "removed", "moved", "changed"};
  return kNames[static_cast<std::size_t>(change)];
}

DifferenceKinds DifferenceKinds::usual() {
  DifferenceKinds kinds = all();
  kinds.remove(DifferenceKind::kNames);
  kinds.remove(DifferenceKind::kSources);
  return kinds;
}

std::int64_t ModelComparison::count(DifferenceKind kind) const {
  std::int64_t sum = 0;
  for (const std::int64_t number : counts[static_cast<std::size_t>(kind)]) sum += number;
  return sum;
}

bool ModelComparison::has_any(DifferenceKinds kinds) const {
  for (std::size_t i = 0; i < kDifferenceKinds; ++i) {
    const auto kind = static_cast<DifferenceKind>(i);
    if (kinds.has(kind) && count(kind) > 0) return true;
  }
  return false;
}

void leave_out(ModelComparison& comparison, DifferenceKind kind) {
  for (ModuleDifferences& module : comparison.modules)
    std::erase_if(module.differences, [&](const Difference& difference) { return difference.kind == kind; });
  std::erase_if(comparison.modules,
                [](const ModuleDifferences& module) { return module.differences.empty(); });
}

ModelComparison compare(const GraphCollection& before, const GraphCollection& after,
                        const CompareOptions& options) {
  if (!are_of_two_kinds(before, after))
    return Comparer(before, before.graphs, after, after.graphs, options).run();
  if (has_method_calls(before)) return compare(with_methods_inlined(before), after, options);
  if (has_method_calls(after)) return compare(before, with_methods_inlined(after), options);
  return Comparer(before, common_form(before), after, common_form(after), options).run();
}

// Folds modules whose paths differ in numbers alone and whose differences have the same texts.

namespace {

// Returns the name of a node without the suffix that makes it unique: "add" for add_1.
std::string common_name(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool is_counted =
      end != std::string_view::npos && end > 0 && end + 1 < name.size() && name[end] == '_';
  return without_numbers(is_counted ? name.substr(0, end) : name);
}

// Returns a text of a module without its own path and without numbers in names, so that it is equal for
// similar modules.  A path that is a number is left out in targets only.
std::string common_text(std::string_view text, std::string_view path) {
  const bool has_letter = path.find_first_not_of("0123456789.") != std::string_view::npos;
  const auto is_path = [&](std::size_t at) {
    constexpr std::size_t kLongest = 500;  // of a path that is looked for everywhere
    if (path.empty() || path.size() > kLongest || text.compare(at, path.size(), path) != 0) return false;
    return has_letter || (at > 0 && text[at - 1] == '[' && text.substr(at + path.size()).starts_with("]("));
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (is_path(at)) {
      result += '@';
      at += path.size();
    } else if (text[at] == '%') {
      const auto is_part = [](char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      };
      std::size_t end = at + 1;
      while (end < text.size() && is_part(text[end])) ++end;
      result += common_name(text.substr(at, end - at));
      at = end;
    } else {
      result += text[at++];
    }
  }
  return result;
}

// Returns the part of the key without the differences, which may take megabytes.
std::string head_of_key(const ModuleDifferences& module) {
  std::string text = without_numbers(module.path) + "\n" + without_numbers(module.other.value_or("")) + "\n" +
                     module.type + "\n";
  for (const std::int64_t count : {module.modules, module.parameters, module.nodes})
    text += std::to_string(count) + " ";
  return text + "\n";
}

std::string module_key(const ModuleDifferences& module, std::string text) {
  for (const Difference& difference : module.differences) {
    if (difference.within) continue;  // the counts of that module cover it
    const bool has_names =
        difference.kind == DifferenceKind::kNames || difference.kind == DifferenceKind::kOrder;
    const auto common = [&](const std::string& part) {
      return has_names ? common_name(common_text(part, module.path)) : common_text(part, module.path);
    };
    const bool is_node = !difference.text.empty() || has_names;
    const std::string subject = difference.kind == DifferenceKind::kParameters
                                    ? std::string(QualifiedName(difference.subject).below(module.path))
                                    : difference.subject;
    text += std::to_string(static_cast<int>(difference.kind)) + to_string(difference.change);
    const bool is_name = is_node || difference.kind == DifferenceKind::kModules;
    text += "\n" + (is_name ? common_name(subject) : common_text(subject, module.path));
    text +=
        "\n" + common_name(difference.other.empty() ? subject : difference.other) + "\n" + difference.field;
    text += "\n" + common(difference.before.value_or("-")) + "\n" + common(difference.after.value_or("-"));
    text += "\n" + common_text(difference.text, module.path) + "\n" + without_numbers(*difference.graph);
    text += "\n" + without_numbers(difference.within.value_or("-")) + (difference.follows ? "f" : "") + "\n";
  }
  return text;
}

}  // namespace

void fold_equal_modules(ModelComparison& comparison) {
  std::unordered_map<std::string, std::size_t> heads;
  for (const ModuleDifferences& module : comparison.modules) ++heads[head_of_key(module)];
  fold_by_key(comparison.modules, [&](const ModuleDifferences& module) {
    std::string head = head_of_key(module);
    return heads.at(head) == 1 ? head : module_key(module, std::move(head));
  });
}

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
    // Modules that have others with differences in them, or with other weights.
    std::unordered_set<std::string_view> around, around_weights;
    const auto add_around = [](const std::string& path, std::unordered_set<std::string_view>& modules) {
      QualifiedName(QualifiedName(path).parent()).for_each_prefix([&](std::string_view module) {
        modules.insert(module);
      });
    };
    for (const auto& [path, mark] : module_marks_) add_around(path, around);
    for (const std::string& path : weights_) add_around(path, around_weights);
    for (const ModuleRecord& module : result_.collection.modules) {
      const auto mark = module_marks_.find(module.path);
      if (mark != module_marks_.end()) {
        result_.modules.emplace(module.path, mark->second);
      } else if (module.status == ModuleStatus::kLeaf && around.contains(module.path)) {
        result_.modules.emplace(module.path, Change::kChanged);  // its children have no boxes
      } else if (weights_.contains(module.path) ||
                 (module.status == ModuleStatus::kLeaf && around_weights.contains(module.path))) {
        result_.weights.insert(module.path);
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
      const bool is_of_module = difference.kind == DifferenceKind::kModules ||
                                difference.kind == DifferenceKind::kParameters ||
                                difference.kind == DifferenceKind::kArguments;
      const std::string path = module.other.value_or(path_after(module.path));
      if (is_marked && difference.kind == DifferenceKind::kWeights) weights_.insert(path);
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
  std::unordered_set<std::string> weights_;  // paths of modules with other weights
};

}  // namespace

MergedCollection merge(const GraphCollection& before, const GraphCollection& after,
                       const ModelComparison& comparison, DifferenceKinds marked) {
  return Merger(before, after, comparison, marked).run();
}

namespace {

// Returns, by call, the call of the forward that makes it.
std::vector<std::size_t> find_callers(const CallOrder& calls) {
  std::vector<std::size_t> callers;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    while (open.size() > 1 && !QualifiedName(calls[i].module).is_below(calls[open.back()].module))
      open.pop_back();
    callers.push_back(open.empty() ? 0 : open.back());
    if (calls[i].method.empty()) open.push_back(i);
  }
  return callers;
}

}  // namespace

bool has_method_calls(const GraphCollection& collection) {
  return std::ranges::any_of(collection.graphs, [](const ModuleGraph& graph) {
    return graph.execution && !graph.execution->method_calls.empty();
  });
}

GraphCollection with_methods_inlined(GraphCollection collection) {
  std::unordered_map<std::string_view, ModuleRecord*> records;
  for (ModuleRecord& record : collection.modules) records.emplace(record.path, &record);
  std::unordered_set<std::string_view> roots;
  for (const ModuleGraph& graph : collection.graphs) roots.insert(graph.module);
  for (ModuleGraph& root : collection.graphs) {
    if (!root.execution || root.execution->method_calls.empty()) continue;
    const Execution execution = *root.execution;
    const CallOrder calls(execution);
    const std::vector<std::size_t> callers = find_callers(calls);
    for_each_graph(root, [&](ModuleGraph& graph) {
      for (const NodeId id : graph.graph.order()) {
        const Shared<Scope> scope = graph.graph.node(id).scope;
        const auto call = scope->method.empty() ? std::nullopt : calls.find_calls(*scope);
        if (!call) continue;
        const OrderedCall& caller = calls[callers[*call]];
        const std::string& type = records.at(caller.module)->type;
        const bool has_type = !caller.module.empty() && !type.empty();
        graph.graph.set_scope(id, Scope{std::string(caller.module),
                                        has_type ? std::optional(type) : std::nullopt, caller.number});
      }
    });
    for (const Execution::MethodCall& call : execution.method_calls) {
      ModuleRecord& record = *records.at(call.module);
      if (record.status == ModuleStatus::kTraced && record.calls == 0 && !roots.contains(record.path))
        record.status = ModuleStatus::kUnvisited;
    }
    root.execution->method_calls.clear();
    std::erase_if(root.execution->call_values, [](const auto& call) { return !call.method.empty(); });
  }
  return collection;
}

}  // namespace fxtrace::internal
