#include "writers/pictures/model_explorer_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/analysis/execution_order.h"
#include "graph/analysis/text_form.h"
#include "summaries/model_summary.h"
#include "support/json_emitter.h"
#include "support/text/numbers.h"
#include "support/text/qualified_name.h"
#include "support/text/unicode.h"

namespace fxtrace::internal {
namespace {

constexpr const char* kFailedColour = "#fbd9d5";
constexpr std::size_t kMostAttribute = 1000;  // characters of one attribute
constexpr std::size_t kMostName = 100;        // characters of one level of a namespace, or of a label
// The deepest nesting of groups: nodes that are nested deeper stand in the innermost group.
constexpr std::size_t kMaxLevels = 64;

// Returns text of a model, cut and printable; all text of the model is written through this.
std::string shown(std::string_view text, std::size_t most = kMostAttribute) {
  return cut(printable(text), most);
}

// Returns the path, cut to the modules that have groups if it is nested too deep.
std::string_view outermost(std::string_view path) {
  std::size_t levels = 0;
  std::string_view result;
  QualifiedName(path).for_each_prefix([&](std::string_view prefix) {
    if (levels++ < kMaxLevels) result = prefix;
  });
  return result;
}

// Adds the module and its ancestors.
void add_modules(std::string_view path, std::unordered_set<std::string>& modules) {
  QualifiedName(outermost(path)).for_each_prefix([&](std::string_view module) { modules.emplace(module); });
}

// Returns the name of one level of a namespace; slashes separate levels, so that it has none.
std::string level_name(std::string_view part) {
  std::string name = name_of_part(part);
  std::ranges::replace(name, '/', '_');
  return shown(name, kMostName);
}

std::string short_name(std::string_view type) { return level_name(QualifiedName(type).last()); }

std::string amount(const SymInt& size) {
  const auto number = size.number();
  return number ? with_separators(*number) : shown(size.text());
}

// The modules of the collection, which all graphs share.
struct Models {
  std::unordered_map<std::string_view, const ModuleRecord*> modules;
  std::unordered_map<std::string_view, const SummaryRow*> rows;

  // Returns the last part of the path with the type: "linear (Linear)".
  std::string name(std::string_view path, std::string_view part) const {
    std::string name = part.empty() ? "?" : level_name(part);
    const auto module = modules.find(path);
    const std::string type = module == modules.end() ? "" : short_name(module->second->type);
    if (!type.empty()) name += " (" + type + ")";
    return name;
  }
};

// The groups of one graph: a tree, each group with its namespace.
class Groups {
 public:
  using Index = std::size_t;
  static constexpr Index kTop = 0;
  struct Group {
    std::string space;      // "stage (Stage)/first (Block)"
    std::string path = {};  // the path of the module
    std::int64_t call = 1;
    std::string method = {};  // as Scope::method
    std::size_t depth = 0;
  };

  // Modules of `outside` are around the whole graph, and have no groups in it.
  Groups(const Models& models, const ModuleGraph& graph, const std::vector<NodeId>& order,
         std::unordered_set<std::string> outside)
      : models_(models), outside_(std::move(outside)) {
    groups_.emplace_back();
    for (const NodeId id : order) {
      const Node& node = graph.graph.node(id);
      if (node.op != Opcode::kCallModule) live_.emplace(outermost(node.scope->module_path));
    }
    if (graph.execution) find_callers(*graph.execution);
  }

  const std::vector<Group>& groups() const { return groups_; }

  Index index_of(const Node& node) {
    const ModuleCall call{std::string(outermost(node.scope->module_path)), node.scope->call,
                          node.scope->method};
    // A leaf stands in the group that calls it, unless it is nested too deep.
    if (node.op == Opcode::kCallModule && call.path.size() == node.scope->module_path.size())
      return find(call, true);
    last_.insert_or_assign(call.path, call);
    const auto known = known_.find(call);
    if (known != known_.end()) return known->second;
    return known_[call] = find(call, false);
  }

 private:
  struct ModuleCall {
    std::string path;
    std::int64_t number = 1;
    std::string method = {};
    bool operator==(const ModuleCall&) const = default;
  };
  struct ModuleCallHash {
    std::size_t operator()(const ModuleCall& call) const {
      return std::hash<std::string>()(call.path) ^ std::hash<std::string>()(call.method) ^
             (static_cast<std::size_t>(call.number) * 0x9E37'79B9'7F4A'7C15);
    }
  };

  // Finds, for each call of a module, the call of the innermost module around it that is called.
  void find_callers(const Execution& execution) {
    const CallOrder calls(execution);
    for (const OrderedCall& call : calls) live_.emplace(outermost(call.module));
    std::unordered_map<std::string, ModuleCall> last;
    for (const OrderedCall& each : calls) {
      const ModuleCall call{std::string(each.module), each.number, std::string(each.method)};
      last.insert_or_assign(call.path, call);
      std::string_view around = outermost(each.module);
      if (around.size() < each.module.size()) continue;
      while (!around.empty() && !is_outside(around)) {
        around = QualifiedName(around).parent();
        const auto found = last.find(std::string(around));
        if (found == last.end()) continue;
        callers_.emplace(call, found->second);
        break;
      }
    }
  }

  bool is_outside(std::string_view path) const {
    return path.empty() || outside_.contains(std::string(path));
  }

  // Walks from the module outwards, then adds the missing groups.
  Index find(const ModuleCall& call, bool is_call) {
    std::vector<ModuleCall> levels;  // the innermost first
    std::optional<ModuleCall> caller;
    ModuleCall current = call;
    bool is_first = true;
    for (std::string_view at = call.path; !is_outside(at); at = QualifiedName(at).parent()) {
      if (!is_first) {
        const std::string here(at);
        if (caller && caller->path == at) {
          current = *caller;
        } else if (!live_.contains(here)) {
          levels.push_back({here});  // a container has one group in each call of the module around it
          continue;
        } else {
          const auto last = last_.find(here);
          current = last == last_.end() ? ModuleCall{here} : last->second;
        }
      }
      levels.push_back(current);
      is_first = false;
      const auto found = callers_.find(current);
      caller = found == callers_.end() ? std::nullopt : std::optional(found->second);
    }
    if (is_call && !levels.empty()) levels.erase(levels.begin());  // a leaf stands in the group that calls it
    Index group = kTop;
    for (; !levels.empty(); levels.pop_back()) group = inside(group, levels.back());
    return group;
  }

  Index inside(Index around, const ModuleCall& call) {
    if (groups_[around].depth == kMaxLevels) return around;
    const std::string& path = call.path;
    std::string key =
        std::to_string(around) + '\n' + std::to_string(call.number) + '\n' + call.method + '\n' + path;
    const auto known = inside_.find(key);
    if (known != inside_.end()) return known->second;
    const std::string& space = groups_[around].space;
    std::string name = (space.empty() ? "" : space + "/") +
                       models_.name(path, std::string_view(path).substr(start_of_last(path)));
    if (!call.method.empty()) name += " (" + level_name(call.method) + ")";
    if (call.number != 1) name += " (call " + std::to_string(call.number) + ")";
    while (!spaces_.insert(name).second) name += '\'';
    groups_.push_back({std::move(name), path, call.number, call.method, groups_[around].depth + 1});
    inside_.emplace(std::move(key), groups_.size() - 1);
    return groups_.size() - 1;
  }

  static std::size_t start_of_last(std::string_view path) {
    const std::size_t length = QualifiedName(path).parent().size();
    return length == 0 ? (path.starts_with('.') ? 1 : 0) : length + 1;
  }

  const Models& models_;
  std::unordered_set<std::string> outside_;
  std::unordered_set<std::string> live_;  // modules that are called, or whose nodes are here
  std::unordered_map<ModuleCall, ModuleCall, ModuleCallHash> callers_;
  std::unordered_map<std::string, ModuleCall> last_;
  std::vector<Group> groups_;
  std::unordered_map<ModuleCall, Index, ModuleCallHash> known_;
  std::unordered_map<std::string, Index> inside_;
  std::unordered_set<std::string> spaces_;  // the namespaces that are taken
};

// Returns the innermost common module: "a.b" for "a.b.c" and "a.b.d".
std::string common_module(const std::string& a, const std::string& b) {
  const auto first = QualifiedName(a).parts();
  const auto second = QualifiedName(b).parts();
  std::string path;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()) && first[i] == second[i]; ++i)
    path.append(i == 0 ? "" : ".").append(first[i]);
  return path;
}

class ModelExplorerWriter {
 public:
  ModelExplorerWriter(const GraphCollection& collection, std::ostream& out)
      : collection_(collection), summary_(summarize_model(collection)), json_(out) {
    for (const ModuleRecord& module : collection.modules) models_.modules.emplace(module.path, &module);
    for (const SummaryRow& row : summary_.rows) models_.rows.emplace(row.path, &row);
  }

  void document() {
    json_.document([&] {
      json_.field("label", shown(collection_.model.file));
      json_.key("graphs");
      json_.open_lines('[');
      bool is_first = true;
      for (const ModuleGraph& graph : collection_.graphs) {
        this->graph(graph, new_id(graph.module.empty() ? "(root)" : shown(graph.module)), {}, is_first);
        is_first = false;
      }
      json_.close(']');
    });
  }

 private:
  using Ids = std::unordered_map<std::string_view, std::string>;  // ids of subgraphs, by name

  // Writes one item of a list of attributes.
  void attribute(std::string_view key, std::string_view value) {
    json_.item();
    json_.object([&] {
      json_.field("key", key);
      json_.field("value", value);
    });
  }

  // Writes an input or output with its only attribute.
  void metadata(std::string_view id, std::string_view key, std::string_view value) {
    json_.object([&] {
      json_.field("id", id);
      json_.key("attrs");
      json_.open('[');
      attribute(key, value);
      json_.close(']');
    });
  }

  std::string new_id(std::string id) {
    while (!ids_.insert(id).second) id += '\'';
    return id;
  }

  void graph(const ModuleGraph& graph, const std::string& id, std::unordered_set<std::string> outside,
             bool is_model) {
    const std::vector<NodeId> order = graph.graph.order();
    Ids ids;
    for (const Subgraph& body : graph.subgraphs) ids.emplace(body.name, new_id(id + "/" + shown(body.name)));
    std::unordered_map<std::string_view, std::string> runners;  // by body: the module whose nodes run it
    add_modules(graph.module, outside);
    Groups groups(models_, graph, order, outside);
    json_.item();
    json_.object_lines([&] {
      json_.field("id", id);
      json_.key("nodes").list_lines(order, [&](NodeId node_id) {
        const Node& node = graph.graph.node(node_id);
        for_each_of<Argument::GraphRef>(node, [&](const auto& body) {
          const auto [runner, is_new] = runners.emplace(body.name, node.scope->module_path);
          if (!is_new) runner->second = common_module(runner->second, node.scope->module_path);
        });
        const Groups::Index group = groups.index_of(node);
        this->node(graph.graph, node, groups.groups()[group].space, ids);
      });
      json_.key("groupNodeAttributes").object_lines([&] {
        if (is_model) model();
        for (std::size_t i = Groups::kTop + 1; i < groups.groups().size(); ++i) module(groups.groups()[i]);
      });
    });
    std::unordered_set<std::string_view> written;
    for (const Subgraph& body : graph.subgraphs) {
      if (!written.insert(body.name).second) continue;
      std::unordered_set<std::string> around = outside;
      add_modules(runners[body.name], around);
      this->graph(body.graph, ids.at(body.name), std::move(around), false);
    }
  }

  void node(const Graph& graph, const Node& node, const std::string& space, const Ids& ids) {
    const bool is_call = node.op == Opcode::kCallModule;
    const auto module = models_.modules.find(node.scope->module_path);
    const bool failed =
        is_call && module != models_.modules.end() && module->second->status == ModuleStatus::kFailed;
    json_.object([&] {
      json_.field("id", node.name);
      json_.field("label", label(node));
      json_.field("namespace", space);
      std::vector<std::string_view> bodies;
      for_each_of<Argument::GraphRef>(node, [&](const auto& body) {
        const auto found = ids.find(body.name);
        if (found != ids.end()) bodies.push_back(found->second);
      });
      json_.field("subgraphIds", bodies);
      json_.key("attrs");
      json_.open('[');
      attributes(graph, node);
      if (failed && module->second->failure) attribute("failure", failure(*module->second->failure));
      json_.close(']');
      inputs(graph, node);
      json_.key("outputsMetadata");
      json_.open('[');
      if (node.meta->shape) {
        json_.item();
        metadata("0", "tensor_shape", shown(shape(*node.meta)));
      }
      json_.close(']');
      if (failed) json_.key("style").object([&] { json_.field("backgroundColor", kFailedColour); });
    });
  }

  static std::string shape(const Meta& meta) {
    Meta tensor;
    tensor.copy_dtype(meta);
    if (!tensor.has_dtype()) tensor.set_dtype("?");
    tensor.shape = meta.shape;
    return value_text(tensor);
  }

  std::string label(const Node& node) const {
    const std::vector<std::string_view> parts = QualifiedName(*node.target).parts();
    std::string label;
    if (node.op == Opcode::kCallModule) {
      label = parts.empty() ? short_name(node.scope->module_type.value_or(""))
                            : models_.name(*node.target, parts.back());
    } else if (node.op == Opcode::kGetAttr && !parts.empty()) {
      label = level_name(parts.back());
    } else {
      constexpr std::string_view kDefault = ".default";
      std::string_view target = *node.target;
      if (target.ends_with(kDefault)) target.remove_suffix(kDefault.size());
      label = shown(target, kMostName);
    }
    return label.empty() ? "(root)" : label;
  }

  void attributes(const Graph& graph, const Node& node) {
    attribute("op", to_string(node.op));
    attribute("target", shown(*node.target));
    if (!node.method->empty()) attribute("method", shown(*node.method));
    if (node.model_function) attribute("function of", "the model");
    for (std::size_t i = 0; i < node.args.size(); ++i)
      attribute("args[" + std::to_string(i) + "]", shown(print_argument(graph, node.args[i])));
    for (const auto& [name, value] : node.kwargs)
      attribute(shown(name, kMostName), shown(print_argument(graph, value)));
    const Scope& scope = *node.scope;
    if (!scope.module_path.empty()) attribute("module", shown(scope.module_path));
    if (scope.module_type && !scope.module_type->empty()) attribute("module type", shown(*scope.module_type));
    if (!scope.method.empty()) attribute("module method", shown(scope.method));
    if (scope.call != 1) attribute("module call", std::to_string(scope.call));
    if (const auto dtype = node.meta->dtype_text()) attribute("dtype", shown(*dtype));
    if (node.meta->device) attribute("device", shown(node.meta->device->text()));
    if (node.meta->value) attribute("value", shown(node.meta->value->text()));
    if (const std::optional<Cost>& cost = node.cost) {
      if (cost->macs) attribute("MACs", amount(*cost->macs));
      if (cost->activation_bytes) attribute("activation bytes", amount(*cost->activation_bytes));
      if (cost->parameter_bytes != 0) attribute("parameter bytes", with_separators(cost->parameter_bytes));
    }
    if (const std::optional<SourceLocation>& source = node.source)
      attribute("source", shown(place(*source) + (source->text.empty() ? "" : ": " + source->text)));
    if (!node.program->nodes.empty()) attribute("program nodes", program_nodes(node.program->nodes));
  }

  static std::string program_nodes(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
      text += (text.empty() ? "" : ", ") + name;
      if (text.size() > 4 * kMostAttribute) break;  // shown() cuts it
    }
    return shown(text);
  }

  static std::string place(const SourceLocation& source) {
    return source.file + (source.line > 0 ? ":" + std::to_string(source.line) : "");
  }

  static std::string failure(const Failure& failure) {
    return shown(failure.message + (failure.source ? " (" + place(*failure.source) + ")" : ""));
  }

  // Writes each use of another node, with its place among the arguments: "0", "1.2", "mask".
  void inputs(const Graph& graph, const Node& node) {
    std::vector<std::pair<std::string, NodeId>> uses;
    for (std::size_t i = 0; i < node.args.size(); ++i)
      find_uses(graph, node.args[i], std::to_string(i), uses);
    for (const auto& [name, value] : node.kwargs) find_uses(graph, value, name, uses);
    std::size_t i = 0;
    json_.key("incomingEdges").objects(uses, [&](const auto& use) {
      json_.field("sourceNodeId", graph.node(use.second).name);
      json_.field("sourceNodeOutputId", "0");
      json_.field("targetNodeInputId", std::to_string(i++));
    });
    i = 0;
    json_.key("inputsMetadata").list(uses, [&](const auto& use) {
      metadata(std::to_string(i++), "__tensor_tag", use.first);
    });
  }

  static void find_uses(const Graph& graph, const Argument& argument, const std::string& place,
                        std::vector<std::pair<std::string, NodeId>>& uses) {
    if (const auto* id = argument.get_if<NodeId>()) {
      uses.emplace_back(shown(place, kMostName), *id);
    } else if (const auto* items = items_of(argument)) {
      for (std::size_t i = 0; i < items->size(); ++i)
        find_uses(graph, (*items)[i], place + "." + std::to_string(i), uses);
    } else if (const auto* slice = argument.get_if<Argument::Slice>()) {
      constexpr const char* kParts[] = {"start", "stop", "step"};
      for (std::size_t i = 0; i < slice->parts.size() && i < std::size(kParts); ++i)
        find_uses(graph, slice->parts[i], place + "." + kParts[i], uses);
    } else if (const auto* dict = argument.get_if<Argument::Dict>()) {
      for (const auto& [key, item] : dict->items) {
        const auto* name = key.get_if<std::string>();
        find_uses(graph, item, place + "." + (name != nullptr ? *name : print_argument(graph, key)), uses);
      }
    }
  }

  // Writes the attributes of the graph, which are shown while no node is selected.
  void model() {
    json_.key("").object([&] {
      json_.field("file", shown(collection_.model.file));
      json_.field("kind", shown(collection_.model.kind));
      json_.field("type", collection_.model.type.empty() ? "?" : shown(collection_.model.type));
      json_.field("method", shown(collection_.model.method));
      json_.field("parameters", with_separators(summary_.parameters.elements));
      if (summary_.has_costs() && summary_.macs) json_.field("MACs", amount(*summary_.macs));
      for (const ModuleRecord& record : collection_.modules) {
        if (record.failure)
          json_.field("failure of " + (record.path.empty() ? "(root)" : shown(record.path)),
                      failure(*record.failure));
      }
    });
  }

  void module(const Groups::Group& group) {
    json_.key(group.space).object([&] {
      json_.field("path", shown(group.path));
      if (const auto found = models_.modules.find(group.path); found != models_.modules.end()) {
        const ModuleRecord& record = *found->second;
        json_.field("type", record.type.empty() ? "?" : shown(record.type));
        json_.field("status", to_string(record.status));
        json_.field("calls", std::to_string(record.calls));
        if (!group.method.empty()) json_.field("method", shown(group.method));
        if (group.call != 1) json_.field("call", std::to_string(group.call));
        for (const auto& [name, value] : record.attributes)
          json_.field("attribute " + shown(name, kMostName), shown(print_argument(value)));
      }
      if (const auto found = models_.rows.find(group.path); found != models_.rows.end()) {
        const SummaryRow& row = *found->second;
        json_.field("parameters", with_separators(row.parameters.elements));
        if (row.macs) json_.field("MACs", amount(*row.macs));
      }
    });
  }

  const GraphCollection& collection_;
  ModelSummary summary_;
  Models models_;
  JsonEmitter json_;
  std::unordered_set<std::string> ids_;  // the ids of graphs
};

}  // namespace

void write_model_explorer(const GraphCollection& collection, std::ostream& out) {
  ModelExplorerWriter(collection, out).document();
}

}  // namespace fxtrace::internal
