#include "trace/alias_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "operators/higher_order.h"
#include "operators/target.h"
#include "passes/memory.h"

namespace fxtrace {
namespace {

// A result of a subgraph that is a copy of an input, where the code has that input itself: by their places.
using Copies = std::set<std::pair<std::size_t, std::size_t>>;

class AliasCheck {
 public:
  AliasCheck(Semantics& semantics, const MayWrite& may_write)
      : semantics_(semantics), may_write_(may_write) {}

  // `operation`: that runs the graph as a subgraph; null for a module's own.  Throws AliasConflict.
  Copies check(const ModuleGraph& graph, const Node* operation) {
    const Memory memory(graph, semantics_);
    const std::vector<NodeId> order = graph.graph.order();
    std::vector<std::pair<NodeId, NodeId>> same_in_code;  // that are copies here
    for (const NodeId id : order) {
      const Node& node = graph.graph.node(id);
      if (operation != nullptr) check_writes(graph, memory, node, *operation);
      const SubgraphRuns runs = subgraph_runs(parse_target(node.target));
      if (runs != SubgraphRuns::kOneOf && runs != SubgraphRuns::kRepeated) continue;
      for (const auto& pair : copies_of_call(graph, node, runs == SubgraphRuns::kRepeated)) {
        check_later_writes(graph, memory, order, node, pair);
        same_in_code.push_back(pair);
      }
    }
    return copies(graph, memory, order, same_in_code);
  }

 private:
  static AliasConflict conflict(const Node& operation, const Node& write, std::string message) {
    Failure failure;
    failure.kind = FailureKind::kDataDependentControlFlow;
    failure.message = std::move(message);
    failure.op = write.target;
    failure.source = write.source;
    return {operation.scope.module_path, std::move(failure)};
  }

  void check_writes(const ModuleGraph& graph, const Memory& memory, const Node& node, const Node& operation) {
    const Effects effects = semantics_.effects(graph, node);
    if (effects.is_unknown) return;  // torch runs a leaf on the operands themselves, as the code does
    for (const NodeId written : effects.written) {
      if (!memory.is_from_outside(written)) continue;
      throw conflict(operation, node,
                     "an `if` or a loop that depends on an input writes to a value from around it: " +
                         node.name + " writes to " + graph.graph.node(written).name);
    }
  }

  // Results of the call, as nodes, with the operands that they are in the code.
  std::vector<std::pair<NodeId, NodeId>> copies_of_call(const ModuleGraph& graph, const Node& call,
                                                        bool repeated) {
    std::vector<NodeId> operands;
    for (const Argument& argument : call.args) {
      const auto* list = argument.get_if<Argument::List>();
      if (list == nullptr) continue;
      for (const Argument& item : list->items) {
        const auto* id = item.get_if<NodeId>();
        operands.push_back(id == nullptr ? NodeId{} : *id);
      }
    }
    Copies found;
    for (const Argument& argument : call.args) {
      const auto* reference = argument.get_if<Argument::GraphRef>();
      if (reference == nullptr) continue;
      const auto subgraph = std::ranges::find(graph.subgraphs, reference->name, &Subgraph::name);
      if (subgraph != graph.subgraphs.end()) found.merge(check(subgraph->graph, &call));
    }
    if (repeated) found = over_all_turns(std::move(found), call);
    std::map<std::size_t, NodeId> results;
    for (const NodeId user : call.users) {
      const Node& item = graph.graph.node(user);
      if (item.target != "operator.getitem" || item.args.size() != 2) continue;
      if (const auto* index = item.args[1].get_if<std::int64_t>()) {
        results.emplace(static_cast<std::size_t>(*index), user);
      }
    }
    std::vector<std::pair<NodeId, NodeId>> pairs;
    for (const auto& [result, operand] : found) {
      const auto node = results.find(result);
      if (node == results.end() || operand >= operands.size() || !operands[operand].valid()) continue;
      pairs.emplace_back(node->second, operands[operand]);
    }
    return pairs;
  }

  // Without a turn the results are what is carried in; with more than one, what one turn hands on as it got
  // it goes on to the next.
  static Copies over_all_turns(Copies found, const Node& loop) {
    const auto* carried = loop.args.size() > 2 ? loop.args[2].get_if<Argument::List>() : nullptr;
    if (carried == nullptr) return found;
    for (std::size_t i = 0; i < carried->items.size(); ++i) found.emplace(i, i);
    for (std::size_t before = 0; before != found.size();) {
      before = found.size();
      Copies more;
      for (const auto& [result, input] : found) {
        for (const auto& [earlier, origin] : found) {
          if (earlier == input) more.emplace(result, origin);
        }
      }
      found.merge(more);
    }
    return found;
  }

  // Whether one of the two is written after the call, and the other one seen after that.
  void check_later_writes(const ModuleGraph& graph, const Memory& memory, const std::vector<NodeId>& order,
                          const Node& call, const std::pair<NodeId, NodeId>& pair) {
    const auto [result, operand] = pair;
    if (!memory.is_written_after(result, call.id) && !memory.is_written_after(operand, call.id)) return;
    // What comes from the call; both may be of one region, where one way gives a view of the operand.
    std::set<NodeId> from_call{call.id};
    const auto is_result = [&](NodeId value) {
      return memory.same_region(value, result) && from_call.contains(value);
    };
    const auto is_operand = [&](NodeId value) {
      return memory.same_region(value, operand) && !from_call.contains(value);
    };
    const Node* write = nullptr;  // the first to either
    bool sees_result = false, sees_operand = false;
    for (std::size_t i = memory.position(call.id) + 1; i < order.size(); ++i) {
      const Node& node = graph.graph.node(order[i]);
      for_each_input(node, [&](NodeId input) {
        if ((sees_result && is_result(input)) || (sees_operand && is_operand(input))) {
          throw conflict_of(graph, call, *write, operand);
        }
        if (from_call.contains(input)) from_call.insert(node.id);
      });
      const Effects effects = semantics_.effects(graph, node);
      if (effects.is_unknown && !may_write_(node)) continue;
      for (const NodeId written : effects.written) {
        const bool to_result = is_result(written);
        const bool to_operand = is_operand(written);
        if (!to_result && !to_operand) continue;
        if (write == nullptr) write = &node;
        sees_operand = sees_operand || to_result;
        sees_result = sees_result || to_operand;
        // The caller sees it, or the next call.
        if (to_result && memory.is_from_outside(operand)) throw conflict_of(graph, call, node, operand);
      }
    }
  }

  static AliasConflict conflict_of(const ModuleGraph& graph, const Node& call, const Node& write,
                                   NodeId operand) {
    return conflict(call, write,
                    "an `if` or a loop that depends on an input gives a value that may be " +
                        graph.graph.node(operand).name + " itself, and " + write.name +
                        " writes to one of the two afterwards");
  }

  // The graph's own results that are copies of its inputs.
  static Copies copies(const ModuleGraph& graph, const Memory& memory, const std::vector<NodeId>& order,
                       const std::vector<std::pair<NodeId, NodeId>>& same_in_code) {
    Copies found;
    std::map<NodeId, std::size_t> inputs;
    for (const NodeId id : order) {
      if (graph.graph.node(id).op == Opcode::kPlaceholder) inputs.emplace(id, inputs.size());
    }
    const Node& output = graph.graph.node(order.back());
    const auto* results = output.args.empty() ? nullptr : output.args[0].get_if<Argument::Tuple>();
    if (results == nullptr) return found;
    for (std::size_t i = 0; i < results->items.size(); ++i) {
      const auto* id = results->items[i].get_if<NodeId>();
      if (id == nullptr) continue;
      const Node& result = graph.graph.node(*id);
      // A copy that the code makes has a place in it.
      const bool is_copy = result.target == "aten.clone.default" && !result.source && result.args.size() == 1;
      const auto* copied = is_copy ? result.args[0].get_if<NodeId>() : nullptr;
      if (copied != nullptr && inputs.contains(*copied)) found.emplace(i, inputs.at(*copied));
      for (const auto& [value, operand] : same_in_code) {
        if (!memory.same_region(*id, value)) continue;
        for (const auto& [input, place] : inputs) {
          if (memory.same_region(input, operand)) found.emplace(i, place);
        }
      }
    }
    return found;
  }

  Semantics& semantics_;
  const MayWrite& may_write_;
};

}  // namespace

std::optional<AliasConflict> find_alias_conflict(const ModuleGraph& graph, Semantics& semantics,
                                                 const MayWrite& may_write) {
  try {
    AliasCheck(semantics, may_write).check(graph, nullptr);
    return std::nullopt;
  } catch (AliasConflict& found) {
    return std::move(found);
  }
}

}  // namespace fxtrace
