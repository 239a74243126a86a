#include "graph/lint.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "operators/target.h"
#include "support/error.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

using Used = std::unordered_map<std::string_view, bool>;  // by name: whether a node uses it

Error lint_error(const std::string& message) { return {ErrorKind::kInternal, message}; }

class CollectionLint {
 public:
  explicit CollectionLint(const GraphCollection& collection) : collection_(collection) {
    for (const ModuleRecord& module : collection.modules) {
      if (!modules_.emplace(module.path, &module).second) {
        throw lint_error("two modules are named '" + module.path + "'");
      }
    }
    for (const ParameterRecord& parameter : collection.parameters) {
      if (!parameters_.emplace(parameter.name, &parameter).second) {
        throw lint_error("two parameters are named '" + parameter.name + "'");
      }
    }
  }

  void run() const {
    for (const ModuleRecord& module : collection_.modules) {
      if (module.alias_of) check_alias(modules_, module.path, *module.alias_of);
      if (module.failure.has_value() != (module.status == ModuleStatus::kFailed)) {
        throw lint_error("module '" + module.path + "' is " + to_string(module.status) +
                         (module.failure ? " with" : " without") + " a failure");
      }
    }
    for (const ParameterRecord& parameter : collection_.parameters) {
      if (parameter.alias_of) check_alias(parameters_, parameter.name, *parameter.alias_of);
    }
    for (const std::string& name : collection_.unused_parameters) check_parameter(name, "unused_parameters");
    std::unordered_set<std::string_view> roots;
    for (const ModuleGraph& graph : collection_.graphs) {
      const std::string place = "the graph of '" + graph.module + "'";
      if (!roots.insert(graph.module).second) throw lint_error("found twice: " + place);
      if (!graph.execution) throw lint_error(place + " has no order of execution");
      check_graph(graph, place);
    }
  }

 private:
  template <class Table>
  static void check_alias(const Table& table, const std::string& name, const std::string& first) {
    const auto found = table.find(first);
    if (found == table.end() || found->second->alias_of) {
      throw lint_error("'" + name + "' is an alias of '" + first + "', which is not a first name");
    }
  }
  void check_module(const std::string& path, const std::string& place) const {
    if (!modules_.contains(path)) throw lint_error(place + " refers to an unknown module: '" + path + "'");
  }
  void check_parameter(const std::string& name, const std::string& place) const {
    if (!parameters_.contains(name))
      throw lint_error(place + " refers to an unknown parameter: '" + name + "'");
  }

  void check_graph(const ModuleGraph& graph, const std::string& place) const {
    try {
      lint(graph.graph);
    } catch (Error& error) {
      throw error.at(place);
    }
    check_module(graph.module, place);
    Used constants, subgraphs;
    for (const auto& [name, constant] : graph.constants) {
      if (!constants.emplace(name, false).second)
        throw lint_error(place + " has two constants '" + name + "'");
      check_constant(name, constant, place);
    }
    for (const Subgraph& subgraph : graph.subgraphs) {
      if (!subgraphs.emplace(subgraph.name, false).second) {
        throw lint_error(place + " has two subgraphs '" + subgraph.name + "'");
      }
    }
    const NodeId last = graph.graph.last();
    if (!last.valid() || graph.graph.node(last).op != Opcode::kOutput)
      throw lint_error(place + " has no output");
    for (const NodeId id : graph.graph.order()) {
      const Node& node = graph.graph.node(id);
      const std::string here = place + ": " + node.name;
      check_scope(node.scope, here);
      check_target(node, constants, here);
      check_subgraphs(node, subgraphs, here);
    }
    for (const Assignment& assignment : graph.graph.assignments()) {
      const std::string here = place + ": the assignment to '" + assignment.target + "'";
      if (!graph.execution) throw lint_error(here + " is in a body of control flow");
      check_module(std::string(QualifiedName(assignment.target).parent()), here);
      for_each_reference(assignment.value, [&](NodeId id) {
        if (!graph.graph.contains(id)) throw lint_error(here + " refers to a node that is not in the graph");
      });
    }
    check_all_used(constants, "constant", place);
    check_all_used(subgraphs, "subgraph", place);
    if (graph.signature) check_signature(*graph.signature, graph.graph, place);
    if (graph.execution) check_execution(*graph.execution, place);
    for (const Subgraph& subgraph : graph.subgraphs) {
      const std::string inner = place + " > " + subgraph.name;
      if (subgraph.graph.execution) throw lint_error(inner + " has an order of execution");
      check_graph(subgraph.graph, inner);
    }
  }

  static void check_constant(const std::string& name, const Constant& constant, const std::string& place) {
    if (!constant.data) return;
    std::int64_t elements = 1;
    for (const std::int64_t size : constant.shape) elements *= size;
    if (elements != static_cast<std::int64_t>(constant.data->size())) {
      throw lint_error(place + ": constant " + name + " has " + std::to_string(constant.data->size()) +
                       " elements, not " + std::to_string(elements));
    }
  }

  void check_scope(const Scope& scope, const std::string& here) const {
    check_module(scope.module_path, here);
    const std::string& type = modules_.at(scope.module_path)->type;
    if (scope.module_type && *scope.module_type != type) {
      throw lint_error(here + " is in the scope of a " + *scope.module_type + ", but '" + scope.module_path +
                       "' is a " + type);
    }
    if (scope.call < 1) throw lint_error(here + " has a call number below 1");
    if (scope.method == "forward")
      throw lint_error(here + " gives the method forward, which must be omitted");
  }

  void check_target(const Node& node, Used& constants, const std::string& here) const {
    if (node.model_function && (node.op != Opcode::kCallFunction || is_reserved_target(*node.target))) {
      throw lint_error(here + " is not a call of a function of the model: '" + *node.target + "'");
    }
    if (node.is_recorded && !node.model_function)
      throw lint_error(here + " is marked as a recorded call, but does not call a function of the model");
    if (node.op == Opcode::kCallModule) return check_call(node, here);
    if (node.op == Opcode::kGetAttr) {
      const auto constant = constants.find(node.target);
      if (constant != constants.end()) {
        constant->second = true;
      } else if (!parameters_.contains(node.target) && !modules_.contains(node.target) &&
                 !is_below_alias(node.target)) {
        // Other attributes must belong to a module.
        check_module(std::string(QualifiedName(*node.target).parent()), here);
      }
      return;
    }
    if (node.target->empty()) throw lint_error(here + " has no target");
    if (node.op == Opcode::kCallMethod && node.args.empty())
      throw lint_error(here + " calls a method without an object");
    if (node.op == Opcode::kOutput && node.args.size() != 1)
      throw lint_error(here + " does not have exactly one argument");
  }

  // The scope of a call is the called module, under its first name; the target is one of its names.
  void check_call(const Node& node, const std::string& here) const {
    check_module(called_module(node), here);
    const auto named = modules_.find(*node.target);
    const bool is_name = named == modules_.end()
                             ? is_below_alias(node.target)
                             : named->second->alias_of.value_or(named->second->path) == called_module(node);
    if (!is_name) throw lint_error(here + " calls an unknown module: '" + *node.target + "'");
  }
  bool is_below_alias(const std::string& name) const {
    bool is_below = false;
    QualifiedName(name).for_each_prefix([&](std::string_view path) {
      const auto module = modules_.find(path);
      is_below = is_below || (module != modules_.end() && module->second->alias_of);
    });
    return is_below;
  }

  static void check_subgraphs(const Node& node, Used& subgraphs, const std::string& here) {
    std::vector<std::string_view> names;
    for_each_of<Argument::GraphRef>(node, [&](const auto& graph) { names.push_back(graph.name); });
    for (const std::string_view name : names) {
      const auto found = subgraphs.find(name);
      if (found == subgraphs.end())
        throw lint_error(here + " refers to an unknown subgraph: '" + std::string(name) + "'");
      found->second = true;
    }
    const bool runs_any =
        node.op == Opcode::kCallFunction && parse_target(node.target).kind == TargetKind::kHigherOrder;
    if (!names.empty() && !runs_any)
      throw lint_error(here + " has a subgraph but is not a higher-order operator");
  }

  static void check_all_used(const Used& used, const char* what, const std::string& place) {
    std::vector<std::string_view> unused;
    for (const auto& [name, is_used] : used) {
      if (!is_used) unused.push_back(name);
    }
    if (unused.empty()) return;
    const std::string first(*std::min_element(unused.begin(), unused.end()));
    throw lint_error(place + " has a " + what + " that nothing uses: '" + first + "'");
  }

  static void check_signature(const GraphSignature& signature, const Graph& graph, const std::string& place) {
    for (const auto* entries : {&signature.inputs, &signature.outputs}) {
      for (const auto& entry : *entries) {
        if (entry.node.valid() && !graph.contains(entry.node)) {
          throw lint_error(place + ": " + entry.name + " of the signature is not a node of the graph");
        }
      }
    }
  }

  void check_execution(const Execution& execution, const std::string& place) const {
    for (const std::string& module : execution.module_forward_order) check_module(module, place);
    std::size_t position = 0;
    for (const auto& call : execution.method_calls) {
      check_module(call.module, place);
      if (call.position < position || call.position > execution.module_forward_order.size())
        throw lint_error(place + " calls " + call.module + "." + call.method + " out of order");
      position = call.position;
    }
    for (const auto& call : execution.call_values) check_module(call.module, place);
    for (const std::string& name : execution.param_forward_order) check_parameter(name, place);
    for (const auto& uses : execution.module_param_usage) {
      check_module(uses.module, place);
      for (const auto& use : uses.uses) {
        check_module(use.module, place);
        for (const std::string& name : use.params) check_parameter(name, place);
      }
    }
  }

  const GraphCollection& collection_;
  std::unordered_map<std::string_view, const ModuleRecord*> modules_;
  std::unordered_map<std::string_view, const ParameterRecord*> parameters_;
};

}  // namespace

void lint(const Graph& graph) {
  const auto order = graph.order();
  if (order.size() != graph.size()) {
    throw lint_error(std::to_string(order.size()) + " of " + std::to_string(graph.size()) +
                     " nodes are in the order");
  }
  std::unordered_map<std::uint32_t, std::vector<NodeId>> users;  // users of the nodes so far
  std::unordered_set<std::string_view> names;
  bool placeholders_are_over = false;
  NodeId previous;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (node.name.empty()) throw lint_error("a node has no name");
    if (!names.insert(node.name).second) throw lint_error("the name " + node.name + " is used twice");
    if (graph.previous(id) != previous || (previous.valid() && !graph.is_before(previous, id))) {
      throw lint_error(node.name + " is not in its place");
    }
    for_each_input(node, [&](NodeId input) {
      if (node.op == Opcode::kPlaceholder || node.op == Opcode::kGetAttr)
        throw lint_error(std::string(to_string(node.op)) + " " + node.name + " uses a node");
      const auto found = users.find(input.index);
      if (found == users.end()) throw lint_error(node.name + " uses a node that is not defined before it");
      if (found->second.empty() || found->second.back() != id) found->second.push_back(id);
    });
    if (node.op == Opcode::kPlaceholder) {
      if (placeholders_are_over) throw lint_error("placeholder " + node.name + " comes after other nodes");
    } else {
      placeholders_are_over = true;
    }
    if (node.op == Opcode::kOutput && id != order.back()) {
      throw lint_error("output " + node.name + " is not the last node");
    }
    users.emplace(id.index, std::vector<NodeId>());
    previous = id;
  }
  for (const NodeId id : order) {
    if (graph.node(id).users != users.at(id.index)) {
      throw lint_error("the users of " + graph.node(id).name + " do not match the arguments");
    }
  }
}

void lint(const GraphCollection& collection) { CollectionLint(collection).run(); }

}  // namespace fxtrace::internal
