#include "extract/extract.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/graph_part.h"
#include "graph/analysis/execution_order.h"
#include "graph/graph_collection.h"
#include "graph/rewrite.h"
#include "graph/subgraph_call.h"
#include "operators/operators.h"
#include "opinfo/python_spelling.h"
#include "opinfo/traits.h"
#include "support/error.h"
#include "support/text/did_you_mean.h"
#include "support/text/identifier.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

bool is_within(std::string_view path, std::string_view module) {
  return path == module || QualifiedName(path).is_below(module);
}

Error no_such(const std::string& what, const std::string& name, const std::vector<std::string>& names,
              std::vector<std::string> hints = {}) {
  const std::string nearest = find_nearest(name, names);
  if (!nearest.empty()) hints.insert(hints.begin(), "did you mean " + shell_word(nearest) + "?");
  return usage_error("there is no " + what + " '" + name + "'", std::move(hints));
}

// Appends a copy of a node of another graph, with the given scope.
NodeId copy_node(const Node& old, Scope scope, Graph& graph, Copies& made) {
  Graph::NodeSpec spec = copy_of(old, made);
  spec.scope = std::move(scope);
  const NodeId copy = graph.append(std::move(spec));
  made.emplace(old.id.index, copy);
  return copy;
}

// The part that is taken, and the graph that it is taken from.
struct Taken {
  const ModuleGraph* graph = nullptr;
  std::unique_ptr<GraphPart> nodes;   // null: the whole collection
  std::optional<std::string> module;  // the module whose parameters are all kept
  bool has_all_inputs = false;
  const Execution::CallValues* values = nullptr;  // the module's names for its inputs; null: unknown
};

// Finds the nodes of the part.
class Finder {
 public:
  Finder(const GraphCollection& collection, const ExtractRequest& part)
      : collection_(collection), part_(part) {}

  Taken find() {
    if (part_.module) return find_module(*part_.module);
    Taken taken = start(graph_of(part_.graph));
    if (!part_.run.empty()) {
      for (const NodeId id : part_.run) taken.nodes->add(taken.nodes->position(id));
      taken.nodes->close_run();
      return taken;
    }
    add_paths(*taken.nodes);
    taken.nodes->close();
    return taken;
  }

 private:
  const ModuleGraph* find_graph(const std::string& module) const {
    const auto found = std::ranges::find(collection_.graphs, module, &ModuleGraph::module);
    return found == collection_.graphs.end() ? nullptr : &*found;
  }
  const ModuleGraph& graph_of(const std::string& module) const {
    if (const ModuleGraph* graph = find_graph(module)) return *graph;
    std::vector<std::string> names;
    for (const ModuleGraph& graph : collection_.graphs) names.push_back(graph.module);
    throw no_such("graph of a module", module, names);
  }

  Taken start(const ModuleGraph& graph) const {
    return {&graph, std::make_unique<GraphPart>(collection_, graph), {}, false};
  }

  Taken find_module(const std::string& given) const {
    const auto record = std::ranges::find(collection_.modules, internal::find_module(collection_, given),
                                          &ModuleRecord::path);
    const std::string& path = record->alias_of.value_or(record->path);
    const ModuleGraph* own = part_.call ? nullptr : find_graph(path);
    if (own != nullptr && path.empty()) return {own, nullptr, {}, true};
    if (own != nullptr) return whole_graph(*own);
    const ModuleGraph& graph = graph_of(part_.graph);
    const CallOrder calls(*graph.execution);
    const std::vector<std::size_t> of_module = calls_of(calls, path);
    if (of_module.empty()) throw not_called(path);
    const std::int64_t number = part_.call.value_or(1);
    if (number > static_cast<std::int64_t>(of_module.size())) {
      throw usage_error(path_text(path) + " has " + std::to_string(of_module.size()) + " calls, not " +
                        std::to_string(number));
    }
    const auto at = static_cast<std::size_t>(number - 1);
    return module_call(graph, calls, path, of_module[at],
                       at + 1 < of_module.size() ? of_module[at + 1] : calls.size());
  }

  // Returns the calls of the module's forward; those of other methods if forward is not called.
  static std::vector<std::size_t> calls_of(const CallOrder& calls, std::string_view path) {
    if (const auto* forward = calls.find_calls(path)) return *forward;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].module == path) others.push_back(i);
    }
    return others;
  }

  Taken whole_graph(const ModuleGraph& graph) const {
    Taken taken = start(graph);
    for (std::size_t i = 0; i < taken.nodes->order().size(); ++i) {
      if (is_computed(taken.nodes->node(i))) taken.nodes->add(i);
    }
    taken.nodes->close();
    taken.module = graph.module;
    taken.has_all_inputs = true;
    return taken;
  }

  static bool is_computed(const Node& node) {
    return node.op != Opcode::kPlaceholder && node.op != Opcode::kGetAttr;
  }

  // Takes the module's call, with the calls of its submodules up to its next call.
  Taken module_call(const ModuleGraph& graph, const CallOrder& calls, const std::string& path,
                    std::size_t begin, std::size_t end) const {
    Taken taken = start(graph);
    GraphPart& nodes = *taken.nodes;
    const auto is_in_call = [&](const Scope& scope) {
      const auto call = calls.find_calls(scope);
      return call && begin <= *call && *call < end;
    };
    bool has_any = false;
    for (std::size_t i = 0; i < nodes.order().size(); ++i) {
      const Node& node = nodes.node(i);
      const bool is_call = is_computed(node) && node.op != Opcode::kOutput;
      if (!is_call || !is_within(node.scope->module_path, path) || !is_in_call(node.scope)) continue;
      nodes.add(i);
      has_any = true;
    }
    if (!has_any) {
      throw input_error(path_text(path) + " has no node in the graph of " + path_text(graph.module),
                        {"it computes nothing, or runs only in a body of control flow: --from and --to take "
                         "the node that runs it"});
    }
    nodes.close();
    taken.module = path;
    for (const Execution::CallValues& values : graph.execution->call_values) {
      const OrderedCall& call = calls[begin];
      if (values.module == call.module && values.method == call.method && values.call == call.number)
        taken.values = &values;
    }
    return taken;
  }

  Error not_called(const std::string& path) const {
    for (const ModuleRecord& module : collection_.modules) {
      if (path == module.path || !is_within(path, module.path)) continue;
      if (module.status == ModuleStatus::kLeaf) {
        return usage_error(path + " is in " + path_text(module.path) + ", which is a leaf",
                           {"--no-leaf " + shell_quoted("@" + module.path) + " traces into a leaf"});
      }
      if (module.status == ModuleStatus::kFailed && part_.graph.empty()) {
        return usage_error(path + " is in " + path_text(module.path) + ", which failed to trace",
                           {"--graph PATH names the graph of a module in it"});
      }
    }
    return usage_error(path_text(path) + " is not called in the graph of " + path_text(part_.graph));
  }

  // Adds all nodes on paths from `from` to `to`.
  void add_paths(GraphPart& nodes) const {
    const std::size_t size = nodes.order().size();
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (std::size_t i = 0; i < size; ++i) by_name.emplace(nodes.node(i).name, i);
    const auto find = [&](const std::string& name) {
      const auto found = by_name.find(name);
      if (found != by_name.end()) return found->second;
      std::vector<std::string> names;
      for (std::size_t i = 0; i < size; ++i) names.push_back(nodes.node(i).name);
      throw no_such("node", name, names, {"names are those of fxtrace trace -f text with the same options"});
    };
    std::vector<bool> after(size, part_.from.empty()), before(size);
    std::vector<std::size_t> from, to;
    for (const std::string& name : part_.from) after[from.emplace_back(find(name))] = true;
    for (const std::string& name : part_.to) before[to.emplace_back(find(name))] = true;
    if (to.empty()) before[to.emplace_back(size - 1)] = true;
    for (std::size_t i = 0; i < size; ++i) {
      for_each_input(nodes.node(i),
                     [&](NodeId input) { after[i] = after[i] || after[nodes.position(input)]; });
    }
    for (std::size_t i = size; i-- > 0;) {
      if (!before[i]) continue;
      for_each_input(nodes.node(i), [&](NodeId input) { before[nodes.position(input)] = true; });
    }
    for (const std::size_t node : from) {
      if (!before[node])
        throw usage_error("no path leads from " + nodes.node(node).name + " to a node of --to");
    }
    for (const std::size_t node : to) {
      if (!after[node])
        throw usage_error("no path leads to " + nodes.node(node).name + " from a node of --from");
    }
    for (const std::size_t node : to) {
      if (!is_computed(nodes.node(node)))
        throw usage_error(nodes.node(node).name +
                          " is read and not computed: --to takes a call or the output");
      nodes.add(node, true);
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (after[i] && before[i] && is_computed(nodes.node(i))) nodes.add(i);
    }
  }

  const GraphCollection& collection_;
  const ExtractRequest& part_;
};

// Makes the collection of the part.
class Extraction {
 public:
  Extraction(const GraphCollection& collection, const Taken& taken)
      : old_(collection), taken_(taken), calls_(*taken.graph->execution), uses_(collection) {}

  GraphCollection build() {
    if (taken_.nodes == nullptr) return old_;
    new_.model = old_.model;
    new_.options_json = old_.options_json;
    new_.custom_costs = old_.custom_costs;
    make_graph(new_.graphs.emplace_back());
    take_other_graphs();
    find_names();
    make_execution(new_.graphs.front());
    take_parameters();
    take_modules();
    return std::move(new_);
  }

 private:
  // --- the graph ---

  void make_graph(ModuleGraph& graph) {
    const GraphPart& nodes = *taken_.nodes;
    graph.type = old_.model.type;
    graph.cost = taken_.graph->cost;  // nodes without a cost cost nothing
    number_calls();
    std::vector<NodeId> entering;
    std::unordered_set<std::uint32_t> seen;
    for (std::size_t i = 0; i < nodes.order().size(); ++i) {
      const bool is_input = nodes.node(i).op == Opcode::kPlaceholder && taken_.has_all_inputs;
      if (is_input && seen.insert(nodes.order()[i].index).second) entering.push_back(nodes.order()[i]);
      if (!nodes.is_member(i)) continue;
      for_each_input(nodes.node(i), [&](NodeId input) {
        if (!is_inside(nodes.position(input)) && seen.insert(input.index).second) entering.push_back(input);
      });
    }
    find_sizes(entering);
    std::erase_if(entering, [&](NodeId id) { return sizes_.contains(id.index); });
    for (const auto& [id, name] : name_inputs(entering)) add_input(graph, id, name);
    for (const auto& [position, id] : size_order_) add_size(graph, id);
    for (std::size_t i = 0; i < nodes.order().size(); ++i) {
      if (nodes.node(i).op != Opcode::kOutput && is_inside(i)) copy(graph, nodes.order()[i]);
    }
    add_output(graph);
    take_assignments(graph);
    take_parts(graph);
    take_guards(graph, entering);
  }

  // Returns whether the new graph computes the value or reads the attribute, so that it does not enter.
  bool is_inside(std::size_t position) const {
    const GraphPart& nodes = *taken_.nodes;
    const Node& node = nodes.node(position);
    if (node.op != Opcode::kGetAttr) return nodes.is_member(position);
    const bool is_used =
        (taken_.has_all_inputs && taken_.graph->graph.is_assigned(node.id)) ||
        std::ranges::any_of(node.users, [&](NodeId user) { return nodes.is_member(nodes.position(user)); });
    return is_used && !nodes.is_read_before(position);
  }

  // --- sizes that enter: they are computed from tensors among the inputs, if possible ---

  // A size that is computed in the part: from a dimension of an input, or by a copy of the node.
  struct Size {
    NodeId tensor;  // invalid: a copy of the node
    std::int64_t dimension = 0;
  };

  void find_sizes(const std::vector<NodeId>& entering) {
    const Graph& graph = taken_.graph->graph;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) {
      if (has_trait(find_operator(parse_target(graph.node(id).target)), traits::kChangesShape)) return;
    }
    for (const NodeId id : entering) {
      if (graph.node(id).meta->kind() == ValueKind::kTensor) tensors_.push_back(id);
    }
    for (const NodeId id : entering) can_compute(id);
  }

  bool can_compute(NodeId id) {
    const Graph& graph = taken_.graph->graph;
    const Node& node = graph.node(id);
    if (sizes_.contains(id.index)) return true;
    if (node.op != Opcode::kCallFunction || made_.contains(id.index)) return false;
    const auto found = size_of_input(node);
    if (!found && !is_copied(node)) return false;
    sizes_.emplace(id.index, found.value_or(Size{}));
    size_order_.emplace(taken_.nodes->position(id), id);
    return true;
  }

  // Returns the dimension of an input that has the node's symbolic size.
  std::optional<Size> size_of_input(const Node& node) const {
    if (node.meta->kind() != ValueKind::kInt || !node.meta->value || node.meta->value->number())
      return std::nullopt;
    for (const NodeId tensor : tensors_) {
      const auto& shape = taken_.graph->graph.node(tensor).meta->shape;
      if (!shape) continue;
      const auto dimension = std::ranges::find(*shape, *node.meta->value);
      if (dimension != shape->end()) return Size{tensor, dimension - shape->begin()};
    }
    return std::nullopt;
  }

  // Returns whether a copy of the node can compute the size: it reads sizes of an input, or calculates with
  // sizes that can be computed.
  bool is_copied(const Node& node) {
    const bool gives_size = has_trait(find_operator(parse_target(node.target)), traits::kGivesSize);
    const std::string_view target = python_function(*node.target);
    if (!gives_size && !target.starts_with("operator.") && !target.starts_with("math.") &&
        !target.starts_with("torch.sym_"))
      return false;
    bool has_all = true;
    for_each_input(node, [&](NodeId input) {
      const bool is_input = gives_size && std::ranges::find(tensors_, input) != tensors_.end();
      has_all = has_all && (is_input || can_compute(input));
    });
    return has_all;
  }

  void add_size(ModuleGraph& graph, NodeId id) {
    const Node& old = taken_.graph->graph.node(id);
    const Size& size = sizes_.at(id.index);
    if (!size.tensor.valid()) {
      check_name(graph.graph, copy_node(old, Scope(), graph.graph, made_), old);
      return;
    }
    Graph::NodeSpec spec;
    spec.op = Opcode::kCallFunction;
    spec.target = old_.model.is_torchscript() ? "aten.size.int" : "aten.sym_size.int";
    spec.name = old.name;
    spec.args = {Argument(made_.at(size.tensor.index)), Argument(size.dimension)};
    spec.meta = old.meta;
    const NodeId made = graph.graph.append(std::move(spec));
    check_name(graph.graph, made, old);
    made_.emplace(id.index, made);
  }

  // Returns the inputs with their names: first the arguments of the module's forward, in order, then others.
  std::vector<std::pair<NodeId, std::string>> name_inputs(const std::vector<NodeId>& entering) const {
    std::vector<std::pair<NodeId, std::string>> inputs;
    std::unordered_set<std::string> taken;
    for (const NodeId id : entering) {
      for (const Expression& size :
           taken_.graph->graph.node(id).meta->shape.value_or(std::vector<Expression>()))
        add_symbols(size, taken);
    }
    std::unordered_map<std::string_view, NodeId> by_name;
    for (const NodeId id : entering) by_name.emplace(name_of(id), id);
    std::unordered_set<std::uint32_t> named;
    static const Execution::CallValues none;
    for (const auto& [name, node] : (taken_.values != nullptr ? *taken_.values : none).inputs) {
      const auto found = by_name.find(node);
      if (found == by_name.end() || named.contains(found->second.index) || is_size_of_shapes(found->second))
        continue;
      const std::string& told = is_made_up(name) ? own_name(found->second) : name;
      if (!taken.insert(told).second) continue;
      named.insert(found->second.index);
      inputs.emplace_back(found->second, told);
    }
    for (const NodeId id : entering) {
      if (named.contains(id.index)) continue;
      const std::string& own = own_name(id);
      std::string name = own;
      for (int i = 1; !named.empty() && !taken.insert(name).second; ++i) name = own + "_" + std::to_string(i);
      inputs.emplace_back(id, std::move(name));
    }
    return inputs;
  }

  // Returns whether torch.jit.trace made the name up, as it knew none.
  static bool is_made_up(std::string_view name) {
    constexpr std::string_view kArgument = "argument_";
    return name.starts_with(kArgument) && std::ranges::all_of(name.substr(kArgument.size()), is_digit);
  }
  const std::string& own_name(NodeId id) const {
    const Node& node = taken_.graph->graph.node(id);
    return node.op == Opcode::kPlaceholder ? *node.target : node.name;
  }

  // Returns whether the value is a number among the inputs of the whole graph: its name occurs in shapes and
  // guards.
  bool is_size_of_shapes(NodeId id) const {
    const Node& node = taken_.graph->graph.node(id);
    return node.op == Opcode::kPlaceholder && node.meta->value.has_value();
  }

  const std::string& name_of(NodeId id) const { return taken_.graph->graph.node(id).name; }

  void add_input(ModuleGraph& graph, NodeId id, const std::string& name) {
    const Node& old = taken_.graph->graph.node(id);
    Graph::NodeSpec spec;
    spec.op = Opcode::kPlaceholder;
    spec.name = old.name;
    spec.target = name;
    if (old.op == Opcode::kPlaceholder) {
      spec.args = old.args;
      if (name != *old.target) renamed_.emplace(*old.target, name);
    }
    spec.scope = Scope();
    spec.meta = old.meta;
    const NodeId made = graph.graph.append(std::move(spec));
    check_name(graph.graph, made, old);
    if (!old_.model.is_torchscript()) graph.graph.set_program(made, ProgramPart{program_nodes(old), {}, {}});
    made_.emplace(id.index, made);
  }

  // Returns the names of the exported program's nodes that give the value: one, or for a value of a leaf all
  // of the leaf's, with the item's.
  std::vector<std::string> program_nodes(const Node& old) const {
    const Node* from = &old;
    while (item_index(*from) && from->args[0].is<NodeId>())
      from = &taken_.graph->graph.node(*from->args[0].get_if<NodeId>());
    if (from->op != Opcode::kCallModule) return {old.name};
    std::vector<std::string> nodes = from->program->nodes;
    if (from != &old && std::ranges::find(nodes, old.name) == nodes.end()) nodes.push_back(old.name);
    return nodes;
  }

  void copy(ModuleGraph& graph, NodeId id) {
    const Node& old = taken_.graph->graph.node(id);
    check_name(graph.graph, copy_node(old, scope_of(old.scope), graph.graph, made_), old);
  }

  static void check_name(const Graph& graph, NodeId made, const Node& old) {
    if (graph.node(made).name != old.name)
      throw Error(ErrorKind::kInternal, "the name " + old.name + " cannot be kept");
  }

  // Appends the output: that of the graph if the part has it; otherwise the values that leave.
  void add_output(ModuleGraph& graph) {
    const GraphPart& nodes = *taken_.nodes;
    Graph::NodeSpec spec;
    spec.op = Opcode::kOutput;
    spec.target = "output";
    spec.name = "output";
    spec.scope = Scope();
    const std::size_t last = nodes.order().size() - 1;
    if (nodes.is_member(last)) {
      const Node& output = nodes.node(last);
      spec.args = {copy_of(output.args[0], made_)};
      spec.meta = output.meta;
      spec.source = output.source;
      graph.graph.append(std::move(spec));
      return;
    }
    if (auto own = own_output(graph.graph)) {
      spec.args = {std::move(own->first)};
      spec.meta = std::move(own->second);
      graph.graph.append(std::move(spec));
      return;
    }
    Argument::Tuple values;
    Meta meta;
    std::string types;
    bool is_known = true;
    for (const NodeId id : nodes.results()) {
      values.items.emplace_back(made_.at(id.index));
      meta = *taken_.graph->graph.node(id).meta;
      is_known = is_known && meta.type;
      types += (types.empty() ? "" : ", ") + meta.type.value_or("");
    }
    if (values.items.size() == 1) {
      spec.args = {values.items[0]};
    } else {
      meta = {};
      if (is_known && !values.items.empty()) meta.type = "Tuple[" + types + "]";
      if (!values.items.empty()) spec.args = {std::move(values)};
      if (spec.args.empty()) spec.args = {Argument::None()};
    }
    spec.meta = std::move(meta);
    graph.graph.append(std::move(spec));
  }

  // Returns the named tuple or dict that the module returns, if it contains all values that leave.
  std::optional<std::pair<Argument, Meta>> own_output(const Graph& graph) const {
    if (taken_.values == nullptr || taken_.values->results.empty()) return std::nullopt;
    argument::TupleNames names{taken_.values->type, {}};
    Argument::Tuple tuple;
    Argument::Dict dict;
    std::unordered_set<std::string_view> leaving;
    for (const NodeId id : taken_.nodes->results()) leaving.insert(name_of(id));
    std::unordered_map<std::string_view, NodeId> nodes;
    for (NodeId id = graph.first(); id.valid(); id = graph.next(id)) nodes.emplace(graph.node(id).name, id);
    for (const auto& [name, node] : taken_.values->results) {
      const auto found = nodes.find(node);
      if (found == nodes.end()) return std::nullopt;
      leaving.erase(node);
      names.fields.push_back(name);
      tuple.items.emplace_back(found->second);
      dict.items.emplace_back(name, found->second);
    }
    if (!leaving.empty()) return std::nullopt;
    Meta meta;
    meta.type = names.type.empty() ? "Dict[str, Tensor]" : names.type;
    if (names.type.empty()) return std::pair(Argument(std::move(dict)), std::move(meta));
    tuple.names = std::make_shared<const argument::TupleNames>(std::move(names));
    return std::pair(Argument(std::move(tuple)), std::move(meta));
  }

  // Takes the assignments to attributes whose values the part has: for a module, those to its own attributes;
  // for a part between nodes, those of values that it computes.
  void take_assignments(ModuleGraph& graph) const {
    for (const Assignment& assignment : taken_.graph->graph.assignments()) {
      bool is_here = !taken_.module || QualifiedName(assignment.target).is_below(*taken_.module);
      bool is_computed = taken_.module.has_value();
      for_each_reference(assignment.value, [&](NodeId id) {
        is_here = is_here && made_.contains(id.index);
        is_computed = is_computed || taken_.nodes->is_member(taken_.nodes->position(id));
      });
      if (is_here && is_computed)
        graph.graph.assign({assignment.target, copy_of(assignment.value, made_), assignment.source});
    }
  }

  void take_parts(ModuleGraph& graph) const {
    graph.constants = taken_.graph->constants;
    std::unordered_set<std::string_view> named;
    for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id))
      for_each_of<Argument::GraphRef>(graph.graph.node(id),
                                      [&](const auto& body) { named.insert(body.name); });
    for (const Subgraph& subgraph : taken_.graph->subgraphs) {
      if (!named.contains(subgraph.name)) continue;
      Subgraph copy = subgraph;
      number_scopes(copy.graph);
      graph.subgraphs.add(std::move(copy));
    }
    drop_unused_parts(graph);
  }

  // Takes the guards that name only inputs of the graph that enter unchanged, and dimensions of values that
  // enter.
  void take_guards(ModuleGraph& graph, const std::vector<NodeId>& entering) const {
    const GraphPart& nodes = *taken_.nodes;
    std::unordered_set<std::string> foreign;
    for (std::size_t i = 0; i < nodes.order().size(); ++i) {
      const Node& node = nodes.node(i);
      if (node.op == Opcode::kPlaceholder) foreign.insert({node.name, *node.target});
      const Meta& meta = *node.meta;
      for (const Expression& size : meta.shape.value_or(std::vector<Expression>()))
        add_symbols(size, foreign);
      if (meta.value) add_symbols(*meta.value, foreign);
    }
    // Arguments of forward that contain inputs.
    if (const auto& signature = taken_.graph->signature) {
      for (const GraphSignature::Entry& entry : signature->inputs) {
        const auto* name = entry.path.size() > 1 ? entry.path[0].get_if<std::string>() : nullptr;
        if (name != nullptr) foreign.insert(*name);
      }
    }
    for (const NodeId id : entering) {
      const Node& node = nodes.node(nodes.position(id));
      if (node.op == Opcode::kPlaceholder && !nodes.is_changed_before(nodes.position(id))) {
        foreign.erase(node.name);
        foreign.erase(*node.target);
      }
      for (const Expression& size : node.meta->shape.value_or(std::vector<Expression>()))
        foreign.erase(size.text());
    }
    for (const Guard& guard : taken_.graph->guards) {
      if (names_any(guard.expr.text(), foreign)) continue;
      Guard& kept = graph.guards.emplace_back(guard);
      if (!renamed_.empty()) kept.expr = rename_inputs(kept.expr);
    }
  }

  Expression rename_inputs(const Expression& expression) const {
    return expression.replace([&](const Expression& part) -> std::optional<Expression> {
      const bool is_name =
          part.kind() == Expression::Kind::kSize || part.kind() == Expression::Kind::kVerbatim;
      const auto name = is_name ? renamed_.find(part.text()) : renamed_.end();
      if (name == renamed_.end()) return std::nullopt;
      return part.size() != nullptr ? Expression::name(name->second) : Expression::variable(name->second);
    });
  }

  static void add_symbols(const Expression& size, std::unordered_set<std::string>& symbols) {
    if (size.size() == nullptr) return;
    for (const std::string& symbol : size.size()->symbols()) symbols.insert(symbol);
  }

  // Returns whether a text in Python contains one of the names; attributes and strings do not count.
  static bool names_any(const std::string& text, const std::unordered_set<std::string>& names) {
    const auto is_name = [](char c) {
      return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             (c & 0x80) != 0;
    };
    char quote = 0;
    for (std::size_t i = 0; i < text.size();) {
      if (quote != 0) {
        if (text[i] == '\\')
          ++i;
        else if (text[i] == quote)
          quote = 0;
        ++i;
      } else if (text[i] == '\'' || text[i] == '"') {
        quote = text[i++];
      } else if (is_name(text[i])) {
        const std::size_t begin = i;
        while (i < text.size() && is_name(text[i])) ++i;
        if ((begin == 0 || text[begin - 1] != '.') && names.contains(text.substr(begin, i - begin)))
          return true;
      } else {
        ++i;
      }
    }
    return false;
  }

  // --- calls and the order of use ---

  // Numbers the calls that the new graph has: those of its nodes, and those around them.
  void number_calls() {
    std::set<std::size_t> kept, left_out;
    const auto add = [&](std::set<std::size_t>& calls, const Scope& scope) {
      if (const auto call = calls_.find_calls(scope)) calls.insert(*call);
    };
    const auto keep = [&](const Scope& scope) { add(kept, scope); };
    const GraphPart& nodes = *taken_.nodes;
    const auto keep_bodies = [&](const Node& node, const ModuleGraph& graph, const auto& self) -> void {
      for_each_of<Argument::GraphRef>(node, [&](const Argument::GraphRef& reference) {
        const ModuleGraph* body = graph.subgraphs.find_graph(reference.name);
        if (!bodies_.insert(body).second) return;
        for (const NodeId id : body->graph.order()) {
          keep(body->graph.node(id).scope);
          self(body->graph.node(id), *body, self);
        }
      });
    };
    for (std::size_t i = 0; i < nodes.order().size(); ++i) {
      const Opcode op = nodes.node(i).op;
      const bool is_call = op == Opcode::kCallModule || op == Opcode::kCallFunction;
      if (is_call && !is_inside(i)) add(left_out, nodes.node(i).scope);
      if (op == Opcode::kOutput || !is_inside(i)) continue;
      keep(nodes.node(i).scope);
      keep_bodies(nodes.node(i), *taken_.graph, keep_bodies);
    }
    std::vector<std::size_t> around;
    std::vector<std::size_t> open;  // calls that may be around the next one
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      while (!open.empty() && !QualifiedName(calls_[call].module).is_below(calls_[open.back()].module))
        open.pop_back();
      open.push_back(call);
      if (kept.contains(call)) around.insert(around.end(), open.begin(), open.end());
      if (left_out.contains(call)) partial_.insert(open.begin(), open.end());
    }
    kept.insert(around.begin(), around.end());
    std::map<std::pair<std::string_view, std::string_view>, std::int64_t> count;
    for (const std::size_t call : kept) {
      if (calls_[call].module.empty()) continue;  // the call of the root is that of the new graph
      kept_.push_back(call);
      number_.emplace(call, ++count[{calls_[call].module, calls_[call].method}]);
    }
  }

  Scope scope_of(const Scope& old) const {
    Scope scope = old;
    const auto call = calls_.find_calls(old);
    if (!call) return scope;
    const auto number = number_.find(*call);
    if (number != number_.end()) scope.call = number->second;
    return scope;
  }

  void number_scopes(ModuleGraph& body) const {
    for_each_graph(body, [&](ModuleGraph& graph) {
      for (const NodeId id : graph.graph.order())
        graph.graph.set_scope(id, scope_of(graph.graph.node(id).scope));
    });
  }

  // Records the order of use as the tracer does (trace/tracer/execution_log.h).
  void make_execution(ModuleGraph& graph) {
    Execution& execution = graph.execution.emplace();
    // The calls that are kept, by module, method and new number.
    std::map<std::tuple<std::string_view, std::string_view, std::int64_t>, std::size_t> calls;
    std::unordered_set<std::string_view> called;
    for (const std::size_t call : kept_) {
      calls.emplace(std::tuple(calls_[call].module, calls_[call].method, number_.at(call)), call);
      if (calls_[call].method.empty()) called.insert(calls_[call].module);
    }
    std::unordered_map<std::string_view, std::size_t> place;  // in module_param_usage
    const auto uses_of = [&](std::string_view path) -> std::vector<Execution::Use>& {
      const auto [known, is_new] = place.emplace(path, execution.module_param_usage.size());
      if (is_new) execution.module_param_usage.push_back({std::string(path), {}});
      return execution.module_param_usage[known->second].uses;
    };
    execution.module_forward_order = {""};
    uses_of("");
    std::vector<std::string_view> open;                         // calls that may be around the next one
    std::unordered_map<std::size_t, std::string_view> callers;  // of other methods
    const auto start = [&](std::size_t call) {
      const std::string_view path = calls_[call].module;
      while (!open.empty() && !QualifiedName(path).is_below(open.back())) open.pop_back();
      const std::string_view caller = open.empty() ? "" : open.back();
      if (!calls_[call].method.empty()) {
        callers.emplace(call, caller);
        execution.method_calls.push_back(
            {std::string(path), std::string(calls_[call].method), execution.module_forward_order.size()});
        return;
      }
      auto parameters = names_of(uses_.of_module(std::string(path)));
      if (!parameters.empty()) uses_of(caller).push_back({std::string(path), std::move(parameters)});
      execution.module_forward_order.emplace_back(path);
      uses_of(path).clear();
      open.push_back(path);
    };
    keep_call_values(graph, execution);
    std::size_t started = 0;
    std::unordered_set<std::size_t> seen;
    uses_.for_each(graph, [&](const Node& node, const ParameterUses::Parameters& parameters) {
      const Scope& scope = *node.scope;
      std::string_view user = scope.module_path;
      const auto call = calls.find({scope.module_path, scope.method, scope.call});
      if (call != calls.end()) {
        while (started < kept_.size() && kept_[started] <= call->second) start(kept_[started++]);
        if (!scope.method.empty()) user = callers.at(call->second);
      }
      uses_of(user).push_back({std::string(user), names_of(parameters)});
      for (const std::size_t parameter : parameters) {
        if (seen.insert(parameter).second)
          execution.param_forward_order.push_back(*names_of({parameter}).front());
      }
    });
    while (started < kept_.size()) start(kept_[started++]);
    // Drops uses in modules that are not called.
    std::erase_if(execution.module_param_usage,
                  [&](const auto& uses) { return !uses.module.empty() && !called.contains(uses.module); });
  }

  void keep_call_values(const ModuleGraph& graph, Execution& execution) const {
    std::unordered_set<std::string_view> names;
    for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id))
      names.insert(graph.graph.node(id).name);
    const auto is_gone = [&](const auto& value) { return !names.contains(value.second); };
    for (Execution::CallValues values : taken_.graph->execution->call_values) {
      const auto call = calls_.find_calls(Scope{values.module, std::nullopt, values.call, values.method});
      const auto number = call ? number_.find(*call) : number_.end();
      if (number == number_.end()) continue;
      values.call = number->second;
      std::erase_if(values.inputs, is_gone);
      if (std::ranges::any_of(values.results, is_gone)) values.results.clear();
      execution.call_values.push_back(std::move(values));
    }
  }

  // Returns the parameters that are kept, each by its first kept name.
  std::vector<Shared<std::string>> names_of(const ParameterUses::Parameters& parameters) const {
    std::vector<Shared<std::string>> names;
    for (const std::size_t parameter : parameters) {
      const auto name = first_name_.find(old_.parameters[parameter].name);
      if (name != first_name_.end()) names.push_back(name->second);
    }
    return names;
  }

  // --- modules and parameters ---

  // Takes the graphs of submodules of modules that failed to trace.
  void take_other_graphs() {
    std::unordered_set<std::string_view> failed;
    std::unordered_map<std::string_view, const ModuleRecord*> records;
    for (const ModuleRecord& module : old_.modules) records.emplace(module.path, &module);
    for_each_graph(new_.graphs.front(), [&](const ModuleGraph& graph) {
      for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
        const Node& node = graph.graph.node(id);
        if (node.op != Opcode::kCallModule) continue;
        const ModuleRecord& called = *records.at(called_module(node));
        if (called.status == ModuleStatus::kFailed) failed.insert(called.path);
      }
    });
    if (failed.empty()) return;
    for (const ModuleGraph& graph : old_.graphs) {
      std::string_view path = graph.module;
      bool is_in_failed = false;
      while (!path.empty() && !is_in_failed) {
        path = QualifiedName(path).parent();
        is_in_failed = failed.contains(path);
      }
      if (is_in_failed && &graph != taken_.graph) new_.graphs.push_back(graph);
    }
  }

  // Finds the modules, parameters and attributes that the graphs name.
  void find_names() {
    std::set<std::string_view> subtrees;  // modules that are kept with all that is below them
    if (taken_.module) subtrees.insert(*taken_.module);
    const auto name = [&](const std::string& path) { modules_.insert(path); };
    std::unordered_map<std::string_view, std::string_view> later_names;
    for (const ModuleRecord& module : old_.modules) {
      if (module.alias_of) later_names.emplace(module.path, *module.alias_of);
    }
    for (const ModuleGraph& top : new_.graphs) {
      for_each_graph(top, [&](const ModuleGraph& graph) {
        name(graph.module);
        for (NodeId id = graph.graph.first(); id.valid(); id = graph.graph.next(id)) {
          const Node& node = graph.graph.node(id);
          name(node.scope->module_path);
          if (node.op == Opcode::kCallModule) {
            subtrees.insert(called_module(node));
            name(*node.target);
          }
          if (node.op != Opcode::kGetAttr) continue;
          if (const auto first = later_names.find(*node.target); first != later_names.end())
            subtrees.insert(first->second);
          attributes_.insert(*node.target);
          subtrees.insert(*node.target);  // it may be a module
          name(std::string(QualifiedName(*node.target).parent()));
        }
      });
    }
    for (const std::size_t call : kept_) name(std::string(calls_[call].module));
    const auto is_kept = [&](std::string_view path) {
      // If a subtree contains the path, it is the last one that sorts before the path, or one around that.
      auto at = subtrees.upper_bound(path);
      while (at != subtrees.begin()) {
        --at;
        if (is_within(path, *at)) return true;
        if (!path.starts_with(at->substr(0, 1))) break;
      }
      return subtrees.contains("");
    };
    for (const ModuleRecord& module : old_.modules) {
      if (is_kept(module.path)) modules_.insert(module.path);
    }
    for (const ParameterRecord& parameter : old_.parameters) {
      if (!attributes_.contains(parameter.name) && !is_kept(parameter.name)) continue;
      parameters_.insert(parameter.name);
      modules_.insert(std::string(QualifiedName(parameter.name).parent()));
      first_name_.emplace(parameter.alias_of.value_or(parameter.name), parameter.name);
    }
    for (const std::string& path : std::vector<std::string>(modules_.begin(), modules_.end()))
      QualifiedName(path).for_each_prefix([&](std::string_view around) { modules_.emplace(around); });
    modules_.insert("");
  }

  void take_parameters() {
    for (const ParameterRecord& old : old_.parameters) {
      if (!parameters_.contains(old.name)) continue;
      ParameterRecord record = old;
      const std::string& first = first_name_.at(old.alias_of.value_or(old.name));
      record.alias_of = first == old.name ? std::nullopt : std::optional(first);
      new_.parameters.push_back(std::move(record));
    }
    std::unordered_set<std::string_view> used;
    for (ModuleGraph& graph : new_.graphs) {
      rename(graph.execution->param_forward_order);
      for (auto& [module, uses] : graph.execution->module_param_usage) {
        for (Execution::Use& use : uses) rename(use.params);
      }
      used.insert(graph.execution->param_forward_order.begin(), graph.execution->param_forward_order.end());
    }
    for (const ParameterRecord& record : new_.parameters) {
      if (record.kind == ParameterKind::kParameter && !record.alias_of && !used.contains(record.name))
        new_.unused_parameters.push_back(record.name);
    }
  }

  // Replaces first names of tied parameters that are not kept by the first kept name.  A collection that
  // contradicts itself may name parameters that no node of the part can use; these are dropped.
  template <class Name>
  void rename(std::vector<Name>& names) const {
    std::erase_if(
        names, [&](const Name& name) { return !first_name_.contains(name) && !parameters_.contains(name); });
    for (Name& name : names) {
      if (const auto first = first_name_.find(name); first != first_name_.end()) name = first->second;
    }
  }

  void take_modules() {
    std::unordered_map<std::string_view, std::int64_t> calls;
    std::unordered_set<std::string_view> entered;  // modules that are called by another method than forward
    for (const ModuleGraph& graph : new_.graphs) {
      for (const auto& call : graph.execution->method_calls) entered.insert(call.module);
      for (const std::string& path : graph.execution->module_forward_order) {
        ++calls[path];
        modules_.insert(path);
      }
      // In a collection that contradicts itself these may be modules of other graphs.
      for (const auto& [module, uses] : graph.execution->module_param_usage) {
        for (const Execution::Use& use : uses) {
          QualifiedName(use.module).for_each_prefix([&](std::string_view around) {
            modules_.emplace(around);
          });
          modules_.insert(use.module);
        }
      }
    }
    std::unordered_map<std::string_view, const ModuleRecord*> records;
    for (const ModuleRecord& module : old_.modules) records.emplace(module.path, &module);
    std::unordered_map<std::string, std::string> first_path;  // by the first path in the whole collection
    const auto is_other_name = [&](const ModuleRecord& module) {
      return module.alias_of && modules_.contains(*module.alias_of) &&
             modules_.contains(std::string(QualifiedName(module.path).parent()));
    };
    for (const ModuleRecord& old : old_.modules) {
      if (!modules_.contains(old.path) && !is_other_name(old)) continue;
      const std::string& old_first = old.alias_of.value_or(old.path);
      const std::string& first = first_path.emplace(old_first, old.path).first->second;
      ModuleRecord record = old;
      record.alias_of = first == old.path ? std::nullopt : std::optional(first);
      const auto count = calls.find(old_first);
      record.calls = record.alias_of || count == calls.end() ? 0 : count->second;
      if (count == calls.end() && !entered.contains(old_first)) {
        record.status = ModuleStatus::kUnvisited;
        record.rule.reset();
        record.failure.reset();
      }
      if (count == calls.end() || !has_first_call(old_first)) record.outputs.reset();
      if (!record.alias_of) record.attributes = records.at(old_first)->attributes;
      new_.modules.push_back(std::move(record));
    }
  }

  // Returns whether the module's first call in the old graph is kept whole: its outputs are recorded for that
  // call.
  bool has_first_call(const std::string& path) const {
    const auto* calls = calls_.find_calls(path);
    return calls == nullptr || kept_.empty() ||
           (std::ranges::binary_search(kept_, calls->front()) && !partial_.contains(calls->front()));
  }

  const GraphCollection& old_;
  const Taken& taken_;
  CallOrder calls_;
  ParameterUses uses_;
  std::vector<NodeId> tensors_;                    // tensors that enter
  std::unordered_map<std::uint32_t, Size> sizes_;  // sizes that the part computes, by node
  std::map<std::size_t, NodeId> size_order_;       // the same, by position
  GraphCollection new_;
  Copies made_;
  std::unordered_map<std::string, std::string> renamed_;  // from inputs of the graph to inputs of the part
  std::vector<std::size_t> kept_;                         // calls of the new graph, in order
  std::unordered_set<std::size_t> partial_;               // calls of which nodes are left out
  std::unordered_map<std::size_t, std::int64_t> number_;  // their numbers, by module and method from 1
  std::unordered_set<const ModuleGraph*> bodies_;
  // The paths and names that are kept; and the first kept name of each tensor, by its old first name.
  std::unordered_set<std::string> modules_, attributes_, parameters_;
  std::unordered_map<std::string, std::string> first_name_;
};

}  // namespace

void check_request(const ExtractRequest& part) {
  if (part.module && !(part.from.empty() && part.to.empty()))
    throw usage_error("a module and --from or --to exclude each other");
  if (part.call && !part.module) throw usage_error("--call needs a module: --module PATH --call N");
  if (part.call && *part.call < 1) throw usage_error("--call: calls are counted from 1");
}

GraphCollection extract(const GraphCollection& collection, const ExtractRequest& part) {
  check_request(part);
  const Taken taken = Finder(collection, part).find();
  return Extraction(collection, taken).build();
}

}  // namespace fxtrace::internal
