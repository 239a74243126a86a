#include "pictures/outline.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "graph/analysis/execution_order.h"
#include "operators/target.h"
#include "opinfo/traits.h"
#include "pictures/plumbing.h"
#include "support/repeated.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

using Index = Outline::Index;
using Kind = Outline::Kind;

// Numbers for modules, from a tree of the parts of their paths, so that no prefix of a path is hashed as a
// whole.
class ModuleNames {
 public:
  using Module = std::uint32_t;
  static constexpr Module kRoot = 0;

  // Returns the modules along the path, outermost first, without the root: "a.b" gives a and a.b.
  const std::vector<Module>& along(std::string_view path) {
    along_.clear();
    Module module = kRoot;
    for (const std::string_view part : QualifiedName(path).parts()) {
      const auto [found, is_new] = parts_.try_emplace(Part{module, std::string(part)}, count_);
      if (is_new) ++count_;
      module = found->second;
      along_.push_back(module);
    }
    return along_;
  }
  Module module(std::string_view path) { return path.empty() ? kRoot : along(path).back(); }

 private:
  struct Part {
    Module inside;
    std::string name;
    bool operator==(const Part&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Part& part) const {
      return std::hash<std::string>()(part.name) ^ (part.inside * 0x9E37'79B9'7F4A'7C15);
    }
  };
  std::unordered_map<Part, Module, Hash> parts_;
  std::vector<Module> along_;
  Module count_ = 1;
};
using Module = ModuleNames::Module;

// One call of a module in a graph.
struct ModuleCall {
  Module module = 0;
  std::int64_t call = 0;
  std::string_view method = {};  // like Scope::method
  bool operator==(const ModuleCall&) const = default;
};
struct ModuleCallHash {
  std::size_t operator()(const ModuleCall& call) const {
    return std::hash<std::int64_t>()(call.call * 0x9E37'79B9'7F4A'7C15 + call.module) ^
           std::hash<std::string_view>()(call.method);
  }
};

// The limit on nested regions that are drawn inline.
constexpr std::size_t kMostRegions = 64;

// The representation of a node's value: an item, an attribute, or neither.
struct Terminal {
  Index item = Outline::kNone;
  std::optional<Outline::Attribute> attribute;
};

class Builder {
 public:
  Builder(const OutlineOptions& options, Outline& outline) : options_(options), outline_(outline) {}

  void build(const GraphCollection& collection) {
    for (const ModuleRecord& record : collection.modules) outline_.modules.emplace(record.path, &record);
    for (const ParameterRecord& parameter : collection.parameters)
      outline_.parameters.emplace(parameter.name, &parameter);
    for (const ModuleGraph& graph : collection.graphs) {
      const Index item =
          add({.kind = Kind::kGraph, .graph = &graph, .path = graph.module, .type = graph.type});
      outline_.items[item].module = find_module(graph.module);
      outline_.graphs.push_back(item);
      std::unordered_set<Module> outside{ModuleNames::kRoot};
      for (const Module module : names_.along(graph.module)) outside.insert(module);
      fill(item, graph, std::move(outside), {});
    }
  }

 private:
  // The state of a graph while its nodes are put into boxes.
  struct Filling {
    Index top = Outline::kNone;  // kGraph or kBody
    const ModuleGraph* graph = nullptr;
    const ModuleGraph* around = nullptr;   // the graph of its boxes; another one for an inline region
    std::unordered_set<Module> outside;    // modules around the whole graph: their own nodes are at the top
    std::unordered_set<Module> live = {};  // modules that are called, or have nodes here
    std::unordered_map<ModuleCall, ModuleCall, ModuleCallHash> caller =
        {};                                            // by call: that of the next live module around
    std::unordered_map<Module, ModuleCall> last = {};  // the latest call by module
    std::unordered_map<ModuleCall, Index, ModuleCallHash> boxes = {};
    std::unordered_map<std::string_view, std::size_t> subgraphs = {};  // subgraphs without a box so far
    std::unordered_map<std::string_view, const Constant*> constants = {};
    std::unordered_map<std::uint32_t, Terminal> terminals = {};  // by node id
    // The results of regions that are drawn inline, by node id.
    std::unordered_map<std::uint32_t, std::vector<Terminal>> results = {};
    std::size_t level = 0;  // the number of inline regions around
  };

  Index add(Outline::Item item) {
    const auto index = static_cast<Index>(outline_.items.size());
    if (item.parent != Outline::kNone) {
      item.depth = outline_.items[item.parent].depth + 1;
      outline_.items[item.parent].children.push_back(index);
    }
    outline_.items.push_back(std::move(item));
    return index;
  }

  const ModuleRecord* find_module(std::string_view path) const {
    const auto found = outline_.modules.find(path);
    if (found == outline_.modules.end()) return nullptr;
    if (!found->second->alias_of) return found->second;
    const auto first = outline_.modules.find(*found->second->alias_of);
    return first == outline_.modules.end() ? found->second : first->second;
  }

  // Puts the nodes of a graph into boxes.  `inputs` are the values of the placeholders, by position; when it
  // is empty, the placeholders are shown.
  void fill(Index top, const ModuleGraph& graph, std::unordered_set<Module> outside,
            const std::vector<Terminal>& inputs) {
    Filling filling{.top = top, .graph = &graph, .around = &graph, .outside = std::move(outside)};
    find_live(filling, graph);
    fill_with(filling, inputs);
  }

  void fill_with(Filling& filling, const std::vector<Terminal>& inputs) {
    const ModuleGraph& graph = *filling.graph;
    const std::vector<NodeId> order = graph.graph.order();
    for (std::size_t i = 0; i < graph.subgraphs.size(); ++i)
      filling.subgraphs.emplace(graph.subgraphs[i].name, i);
    for (const auto& [name, constant] : graph.constants) filling.constants.emplace(name, &constant);
    const std::vector<Role> roles = find_roles(graph, order);
    std::size_t placeholders = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Node& node = graph.graph.node(order[i]);
      if (node.op == Opcode::kPlaceholder && placeholders < inputs.size()) {
        filling.terminals.emplace(node.id.index, inputs[placeholders++]);
      } else if (const std::vector<Terminal>* results = container_of(filling, node)) {
        const auto* at = node.args.size() > 1 ? node.args[1].get_if<std::int64_t>() : nullptr;
        const bool is_known = at != nullptr && *at >= 0 && static_cast<std::size_t>(*at) < results->size();
        filling.terminals.emplace(node.id.index,
                                  is_known ? (*results)[static_cast<std::size_t>(*at)] : Terminal{});
      } else if (filling.level > 0 && node.op == Opcode::kOutput) {
        // The users of the region take its results instead.
      } else {
        filling.terminals.emplace(node.id.index, place(filling, node, roles[i]));
      }
    }
  }

  // For a node that takes an item of an inline region's result, returns all the results; else null.
  static const std::vector<Terminal>* container_of(const Filling& filling, const Node& node) {
    if (node.target != "operator.getitem" || node.args.empty()) return nullptr;
    const auto* container = node.args[0].get_if<NodeId>();
    const auto found = container == nullptr ? filling.results.end() : filling.results.find(container->index);
    return found == filling.results.end() ? nullptr : &found->second;
  }

  // Returns the body of a region, whose nodes are drawn among the others: modes and checkpoints change how a
  // region runs, not what it computes.  Null when the node is not a region, or a box must show the inputs of
  // its body.
  static const ModuleGraph* inline_region(const ModuleGraph& graph, const Node& node) {
    if (node.op != Opcode::kCallFunction || !is_region(parse_target(*node.target))) return nullptr;
    const ModuleGraph* body = nullptr;
    std::size_t operands = 0;
    for (const Argument& argument : node.args) {
      const auto* ref = argument.get_if<Argument::GraphRef>();
      if (ref != nullptr && body == nullptr) body = graph.subgraphs.find_graph(ref->name);
      if (ref == nullptr && body != nullptr) ++operands;
    }
    if (body == nullptr) return nullptr;
    std::size_t placeholders = 0;
    for (const NodeId id : body->graph.order())
      placeholders += static_cast<std::size_t>(body->graph.node(id).op == Opcode::kPlaceholder);
    return placeholders == operands ? body : nullptr;
  }

  void find_live(Filling& filling, const ModuleGraph& graph) {
    const Execution none;
    const CallOrder calls(graph.execution ? *graph.execution : none);
    for (const OrderedCall& call : calls) filling.live.insert(names_.module(call.module));
    std::vector<std::pair<const ModuleGraph*, std::size_t>> pending{{&graph, 0}};
    while (!pending.empty()) {
      const auto [part, level] = pending.back();
      pending.pop_back();
      for (const NodeId id : part->graph.order()) {
        const Node& node = part->graph.node(id);
        if (node.op != Opcode::kCallModule) filling.live.insert(names_.module(node.scope->module_path));
        const ModuleGraph* region = level < kMostRegions ? inline_region(*part, node) : nullptr;
        if (region != nullptr) pending.emplace_back(region, level + 1);
      }
    }
    std::unordered_map<Module, ModuleCall> last;
    for (const OrderedCall& each : calls) {
      const std::vector<Module>& along = names_.along(each.module);
      if (along.empty()) continue;
      const ModuleCall call{along.back(), each.number, each.method};
      last[call.module] = call;
      ModuleCall& caller = filling.caller[call];
      for (auto around = along.rbegin() + 1; around != along.rend(); ++around) {
        if (filling.outside.contains(*around)) break;
        const auto found = last.find(*around);
        if (found == last.end() || !filling.live.contains(*around)) continue;
        caller = found->second;
        break;
      }
    }
  }

  // Returns the box for a node, and makes the boxes that its scope needs.
  Index box_of(Filling& filling, const Node& node) {
    const std::string& path = node.scope->module_path;
    const bool is_call = node.op == Opcode::kCallModule;
    const std::vector<Module> along = names_.along(path);
    if (along.empty() || filling.outside.contains(along.back())) return filling.top;
    ModuleCall call{along.back(), node.scope->call, node.scope->method};
    if (is_call) {
      // A call is in the box of its caller.
    } else if (const auto found = filling.boxes.find(call); found != filling.boxes.end()) {
      filling.last[call.module] = call;
      return found->second;
    }
    // The calls without a box so far, from the innermost outwards.
    std::vector<std::pair<std::size_t, ModuleCall>> missing;
    if (!is_call) missing.emplace_back(along.size() - 1, call);
    Index box = filling.top;
    for (std::size_t i = along.size() - 1; i-- > 0;) {
      if (filling.outside.contains(along[i])) break;
      if (!filling.live.contains(along[i])) continue;
      const auto caller = filling.caller.find(call);
      if (caller != filling.caller.end() && caller->second.module == along[i]) {
        call = caller->second;
      } else {
        const auto last = filling.last.find(along[i]);
        call = last == filling.last.end() ? ModuleCall{along[i], 1} : last->second;
      }
      if (const auto found = filling.boxes.find(call); found != filling.boxes.end()) {
        box = found->second;
        break;
      }
      missing.emplace_back(i, call);
    }
    std::vector<std::size_t> ends;  // where the parts of the path end
    if (!missing.empty())
      QualifiedName(path).for_each_prefix([&](std::string_view prefix) { ends.push_back(prefix.size()); });
    for (; !missing.empty(); missing.pop_back()) {
      const auto& [i, here] = missing.back();
      filling.last[here.module] = here;
      if (outline_.items[box].depth < Outline::kMaxNesting) {
        Outline::Item item{.kind = Kind::kModule,
                           .parent = box,
                           .graph = filling.around,
                           .path = path.substr(0, ends[i]),
                           .call = here.call,
                           .method = std::string(here.method)};
        item.module = find_module(item.path);
        item.type = item.module != nullptr            ? item.module->type
                    : item.path.size() == path.size() ? node.scope->module_type.value_or("")
                                                      : "";
        box = add(std::move(item));
      }
      filling.boxes.emplace(here, box);
    }
    return box;
  }

  Outline::Attribute attribute(const Filling& filling, const Node& node) const {
    Outline::Attribute attribute{.node = &node};
    if (const auto constant = filling.constants.find(*node.target); constant != filling.constants.end()) {
      attribute.constant = constant->second;
    } else if (const auto found = outline_.parameters.find(*node.target);
               found != outline_.parameters.end()) {
      attribute.parameter = found->second;
    }
    return attribute;
  }

  // Puts the node into the outline, unless it is omitted; returns the representation of its value.
  Terminal place(Filling& filling, const Node& node, Role role) {
    if (role == Role::kAttribute || role == Role::kConstant) {
      const bool is_shown = role == Role::kAttribute ? options_.parameters : options_.plumbing;
      if (!is_shown) {
        Outline::Attribute given = attribute(filling, node);
        given.is_made = node.op != Opcode::kGetAttr;
        for_each_input(node, [&](NodeId input) {
          const Terminal from = terminal(filling, input);
          given.is_made &= !from.attribute.has_value();
          given.of_sizes |= from.attribute ? from.attribute->of_sizes : from.item == Outline::kNone;
        });
        return {.item = Outline::kNone, .attribute = given};
      }
    } else if (!options_.plumbing) {
      if (role == Role::kPlumbing) return {};
      if (role == Role::kPass) {
        Terminal given = terminal(filling, *node.args[0].get_if<NodeId>());
        if (given.attribute && takes_stored_part(*node.target)) given.attribute->part = &node;
        return given;
      }
    }
    if (place_region(filling, node)) return filling.results.at(node.id.index).front();
    Index box = box_of(filling, node);
    std::vector<std::size_t> bodies;  // bodies that are drawn here
    for_each_of<Argument::GraphRef>(node, [&](const auto& ref) {
      const auto subgraph = filling.subgraphs.find(ref.name);
      if (subgraph == filling.subgraphs.end()) return;
      bodies.push_back(subgraph->second);
      filling.subgraphs.erase(subgraph);
    });
    if (outline_.items[box].depth + 2 >= Outline::kMaxNesting) bodies.clear();
    Outline::Item item{.kind = Kind::kNode, .graph = filling.graph, .node = &node};
    if (node.op == Opcode::kCallModule) {
      item.path = called_module(node);
      item.module = find_module(item.path);
      item.type = item.module != nullptr ? item.module->type : node.scope->module_type.value_or("");
    }
    if (bodies.empty()) {
      for_each_input(node, [&](NodeId input) { take(item, terminal(filling, input)); });
    } else {
      box = add({.kind = Kind::kOperator, .parent = box, .graph = filling.graph, .node = &node});
      place_bodies(filling, box, node, bodies, item);
    }
    item.parent = box;
    return {.item = add(std::move(item)), .attribute = {}};
  }

  // Draws the nodes of a region among the others, at its first use.  Returns false when the node is not such
  // a region.
  bool place_region(Filling& filling, const Node& node) {
    const ModuleGraph* body = filling.level < kMostRegions ? inline_region(*filling.graph, node) : nullptr;
    if (body == nullptr) return false;
    std::vector<Terminal> inputs;
    for (const Argument& argument : node.args) {
      const auto* ref = argument.get_if<Argument::GraphRef>();
      if (ref != nullptr && filling.subgraphs.erase(ref->name) == 0) return false;
      if (ref != nullptr) inputs.clear();
      const auto* id = argument.get_if<NodeId>();
      if (ref == nullptr) inputs.push_back(id == nullptr ? Terminal{} : terminal(filling, *id));
    }
    // The region shares the boxes, and has nodes of its own.
    Filling region{.top = filling.top, .graph = body, .around = filling.around, .outside = {}};
    region.level = filling.level + 1;
    const auto exchange = [&] {
      std::swap(region.outside, filling.outside);
      std::swap(region.live, filling.live);
      std::swap(region.caller, filling.caller);
      std::swap(region.last, filling.last);
      std::swap(region.boxes, filling.boxes);
    };
    exchange();
    fill_with(region, inputs);
    exchange();
    std::vector<Terminal>& results = filling.results[node.id.index];
    const NodeId last = body->graph.last();
    if (last.valid() && body->graph.node(last).op == Opcode::kOutput) {
      const Argument& given = body->graph.node(last).args.front();
      const auto* items = items_of(given);
      for (const Argument& result : items != nullptr ? *items : std::vector<Argument>{given}) {
        const auto* id = result.get_if<NodeId>();
        results.push_back(id == nullptr ? Terminal{} : terminal(region, *id));
      }
    }
    if (results.empty()) results.emplace_back();
    return true;
  }

  // Draws the bodies of an operator.  They get their inputs from the operands behind them in the arguments,
  // when these are as many.
  void place_bodies(const Filling& filling, Index box, const Node& node,
                    const std::vector<std::size_t>& bodies, Outline::Item& item) {
    std::vector<Terminal> operands;
    for_each_argument(node, [&](const Argument& argument) {
      for_each_value(argument, [&](const Argument& value) {
        if (value.is<Argument::GraphRef>()) {
          for (Terminal& operand : operands)
            take(item, operand);  // operands before a body, such as a condition
          operands.clear();
        } else if (const auto* id = value.get_if<NodeId>()) {
          operands.push_back(terminal(filling, *id));
        } else if (!value.is<Argument::List>() && !value.is<Argument::Tuple>()) {
          operands.emplace_back();
        }
      });
    });
    std::unordered_set<Module> outside = filling.outside;
    for (Index around = box; around != filling.top; around = outline_.items[around].parent) {
      if (outline_.items[around].kind == Kind::kModule)
        outside.insert(names_.module(outline_.items[around].path));
    }
    bool all_take = true;
    for (const std::size_t i : bodies) {
      const Subgraph& body = filling.graph->subgraphs[i];
      std::size_t placeholders = 0;
      for (const NodeId id : body.graph.graph.order()) {
        placeholders += static_cast<std::size_t>(body.graph.graph.node(id).op == Opcode::kPlaceholder);
      }
      const bool takes = placeholders == operands.size();
      all_take &= takes;
      const Index top = add({.kind = Kind::kBody, .parent = box, .graph = &body.graph, .name = body.name});
      fill(top, body.graph, outside, takes ? operands : std::vector<Terminal>());
      const NodeId last = body.graph.graph.last();
      const std::vector<Index>& children = outline_.items[top].children;
      if (last.valid() && !children.empty() &&
          outline_.items[children.back()].node == &body.graph.graph.node(last)) {
        item.inputs.push_back(children.back());
      }
    }
    if (all_take) return;
    for (const Terminal& operand : operands) take(item, operand);
  }

  static Terminal terminal(const Filling& filling, NodeId id) {
    const auto found = filling.terminals.find(id.index);
    return found == filling.terminals.end() ? Terminal{} : found->second;
  }

  static void take(Outline::Item& item, const Terminal& terminal) {
    if (terminal.item != Outline::kNone) item.inputs.push_back(terminal.item);
    if (terminal.attribute) item.attributes.push_back(*terminal.attribute);
  }

  const OutlineOptions& options_;
  Outline& outline_;
  ModuleNames names_;
};

}  // namespace

Index Outline::module_around(Index item) const {
  while (items[item].kind != Kind::kGraph && items[item].kind != Kind::kModule) item = items[item].parent;
  return item;
}

Outline make_outline(const GraphCollection& collection, const OutlineOptions& options) {
  Outline outline;
  Builder(options, outline).build(collection);
  for (Outline::Item& item : outline.items) {
    remove_repeated(item.inputs, [](Index input) { return input; });
    remove_repeated(item.attributes, [](const Outline::Attribute& attribute) -> std::string_view {
      return *attribute.node->target;
    });
  }
  return outline;
}

}  // namespace fxtrace::internal
