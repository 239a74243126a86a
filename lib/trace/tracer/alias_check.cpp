#include "trace/tracer/alias_check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/alias_regions.h"
#include "operators/target.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
namespace {

// The results of a subgraph that are copies of an input, where the code returns the input itself: pairs of
// the position of the result and that of the input.
using Copies = std::set<std::pair<std::size_t, std::size_t>>;

// Classes of values that may share memory in the code: a class unites regions that only copies keep apart in
// the graph.
class Classes {
 public:
  explicit Classes(const AliasRegions& memory) : memory_(memory), parent_(memory.regions()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  void unite(NodeId a, NodeId b) {
    if (memory_.has_memory(a) && memory_.has_memory(b)) {
      parent_[find(memory_.region_number(a))] = find(memory_.region_number(b));
    }
  }
  // Returns nothing for a value without memory.
  std::optional<std::size_t> class_of(NodeId value) const {
    if (!memory_.knows(value) || !memory_.has_memory(value)) return std::nullopt;
    return find(memory_.region_number(value));
  }

 private:
  std::size_t find(std::size_t region) const {
    while (parent_[region] != region) region = parent_[region] = parent_[parent_[region]];
    return region;
  }

  const AliasRegions& memory_;
  mutable std::vector<std::size_t> parent_;  // find() shortens its paths
};

// Sets of numbers as linked lists in descending order that share their tails: a new set takes memory only for
// the numbers in front of a shared tail.
class NumberSets {
 public:
  using Set = std::size_t;
  static constexpr Set kNone = 0;

  // Adds `number`, which must be larger than all numbers of the set.
  Set with(Set set, std::size_t number) {
    nodes_.push_back({number, set});
    return nodes_.size() - 1;
  }
  Set united(Set a, Set b) {
    std::vector<std::size_t> larger;
    while (a != kNone && b != kNone && a != b) {
      if (nodes_[a].number < nodes_[b].number) std::swap(a, b);
      larger.push_back(nodes_[a].number);
      if (nodes_[a].number == nodes_[b].number) b = nodes_[b].rest;
      a = nodes_[a].rest;
    }
    Set result = a == kNone ? b : a;
    for (const std::size_t number : larger | std::views::reverse) result = with(result, number);
    return result;
  }
  Set below(Set set, std::size_t limit) const {
    while (set != kNone && nodes_[set].number >= limit) set = nodes_[set].rest;
    return set;
  }
  // Returns the least number that only one of the sets has; nothing when they are equal.
  std::optional<std::size_t> first_difference(Set a, Set b) const {
    std::optional<std::size_t> found;
    while (a != b) {
      if (b != kNone && (a == kNone || nodes_[a].number < nodes_[b].number)) std::swap(a, b);
      if (b != kNone && nodes_[a].number == nodes_[b].number) {
        b = nodes_[b].rest;
      } else {
        found = nodes_[a].number;
      }
      a = nodes_[a].rest;
    }
    return found;
  }

 private:
  struct Node {
    std::size_t number = 0;
    Set rest = kNone;  // smaller numbers
  };
  std::vector<Node> nodes_{Node{}};
};

class AliasCheck {
 public:
  AliasCheck(Semantics& semantics, const MayWrite& may_write)
      : semantics_(semantics), may_write_(may_write) {}

  // `operation` is the node that runs the graph as a subgraph; null for a module's own graph.  Throws
  // AliasConflict.
  Copies check(const ModuleGraph& graph, const Node* operation) {
    const AliasRegions memory(graph, semantics_);
    const std::vector<NodeId> order = graph.graph.order();
    Classes classes(memory);
    std::vector<const Node*> calls;  // control flow with results that may be copies of operands
    std::vector<NodeId> results;     // these results, and the calls
    for (const NodeId id : order) {
      const Node& node = graph.graph.node(id);
      const SubgraphRuns runs = subgraph_runs(parse_target(node.target));
      const bool is_call = runs == SubgraphRuns::kOneOf || runs == SubgraphRuns::kRepeated;
      // Subgraphs come first, so that the innermost node that writes is reported.
      const auto pairs = is_call ? copies_of_call(graph, node, runs == SubgraphRuns::kRepeated) : Pairs{};
      if (operation != nullptr) check_writes(graph, memory, node, *operation);
      for (const auto& [result, operand] : pairs) {
        classes.unite(result, operand);
        results.push_back(result);
      }
      if (pairs.empty()) continue;
      calls.push_back(&node);
      results.push_back(id);
    }
    const Sources sources = check_order(graph, memory, order, classes, calls, results);
    return copies(graph, order, classes, sources);
  }

 private:
  // The calls with copies that the memory of a value went through.  Values of one class share memory in the
  // graph too if these are the same.
  struct Source {
    NumberSets::Set calls = NumberSets::kNone;
    std::size_t checked = 0;  // number of writes to its class that need no more comparison with it
  };
  using Pairs = std::vector<std::pair<NodeId, NodeId>>;
  using Sources = std::map<NodeId, Source>;
  struct Write {
    const Node* node = nullptr;
    NumberSets::Set source = NumberSets::kNone;  // Source::calls of the written value
    std::size_t calls = 0;                       // number of calls before the write
  };

  static AliasConflict conflict(const Node& operation, const Node& write, std::string message) {
    Failure failure;
    failure.kind = FailureKind::kDataDependentControlFlow;
    failure.message = std::move(message);
    failure.op = write.target;
    failure.source = write.source;
    return {operation.scope->module_path, std::move(failure)};
  }

  void check_writes(const ModuleGraph& graph, const AliasRegions& memory, const Node& node,
                    const Node& operation) {
    const Effects effects = semantics_.effects(graph, node);
    if (effects.is_unknown) return;  // torch runs a leaf on the operands themselves, as the code does
    for (const NodeId written : effects.written) {
      if (!memory.is_from_outside(written)) continue;
      throw conflict(
          operation, node,
          "the subgraph of an `if` or a loop that depends on an input writes to a value from outside: " +
              node.name + " writes to " + graph.graph.node(written).name);
    }
  }

  // Returns whether a node with unknown effects, or one that runs such a node in a subgraph, may write.
  bool may_write(const ModuleGraph& graph, const Node& node) {
    if (parse_target(node.target).kind != TargetKind::kHigherOrder || node.op != Opcode::kCallFunction) {
      return may_write_(node);
    }
    return std::ranges::any_of(node.args, [&](const Argument& argument) {
      const auto* reference = argument.get_if<Argument::GraphRef>();
      const ModuleGraph* subgraph =
          reference == nullptr ? nullptr : graph.subgraphs.find_graph(reference->name);
      if (subgraph == nullptr) return false;
      return std::ranges::any_of(subgraph->graph.order(), [&](NodeId id) {
        const Node& part = subgraph->graph.node(id);
        return semantics_.effects(*subgraph, part).is_unknown && may_write(*subgraph, part);
      });
    });
  }

  // Returns the results of the call, as nodes, that are an operand in the code, with that operand.
  Pairs copies_of_call(const ModuleGraph& graph, const Node& call, bool repeated) {
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
      const ModuleGraph* subgraph = graph.subgraphs.find_graph(reference->name);
      if (subgraph != nullptr) found.merge(check(*subgraph, &call));
    }
    if (repeated) found = over_all_turns(std::move(found), call);
    std::map<std::size_t, NodeId> results;
    for (const NodeId user : call.users) {
      if (const auto index = item_index(graph.graph.node(user))) results.emplace(*index, user);
    }
    Pairs pairs;
    for (const auto& [result, operand] : found) {
      const auto node = results.find(result);
      if (node == results.end() || operand >= operands.size() || !operands[operand].valid()) continue;
      pairs.emplace_back(node->second, operands[operand]);
    }
    return pairs;
  }

  // Extends the copies of one turn to all turns of a loop.  Without a turn the results are the carried
  // operands; a value that one turn hands on unchanged enters the next.
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

  // Throws AliasConflict when a value is used after a write to another value of its class that copies keep
  // apart from it.
  Sources check_order(const ModuleGraph& graph, const AliasRegions& memory, const std::vector<NodeId>& order,
                      const Classes& classes, const std::vector<const Node*>& calls,
                      const std::vector<NodeId>& results) {
    Sources sources;
    if (calls.empty()) return sources;
    std::set<std::size_t> with_copies, from_outside;
    for (const NodeId result : results) {
      if (const auto own = classes.class_of(result)) with_copies.insert(*own);
    }
    for (const NodeId id : order) {
      const auto own = classes.class_of(id);
      if (own && memory.is_from_outside(id)) from_outside.insert(*own);
    }
    std::map<std::size_t, std::vector<Write>> writes;  // by class
    NumberSets sets;
    std::size_t made = 0;  // number of calls so far
    for (const NodeId id : order) {
      const Node& node = graph.graph.node(id);
      const auto own = classes.class_of(id);
      const bool is_tracked = own && with_copies.contains(*own);
      Source source;
      bool of_its_class = false, of_others = false;
      for_each_input(node, [&](NodeId input) {
        const auto of_input = classes.class_of(input);
        if (!of_input || !with_copies.contains(*of_input)) return;
        Source& from = sources.at(input);
        const std::vector<Write>& before = writes[*of_input];
        for (; from.checked < before.size(); ++from.checked) {
          const Write& write = before[from.checked];
          const auto call = sets.first_difference(sets.below(from.calls, write.calls), write.source);
          if (!call) continue;
          throw conflict_of(*calls[*call], *write.node, node.op == Opcode::kOutput ? "a result" : node.name);
        }
        if (!is_tracked) return;
        source.calls = sets.united(source.calls, from.calls);
        (of_input == own ? of_its_class : of_others) = true;
      });
      // A value that is made only of values that agree with the writes so far agrees with them too.
      if (of_its_class && !of_others) source.checked = writes[*own].size();
      const std::size_t before = made;
      if (made < calls.size() && calls[made] == &node) source.calls = sets.with(source.calls, made++);
      const Effects effects = semantics_.effects(graph, node);
      if (!effects.is_unknown || may_write(graph, node)) {
        for (const NodeId written : effects.written) {
          const auto of_written = classes.class_of(written);
          if (!of_written || !with_copies.contains(*of_written)) continue;
          const NumberSets::Set from = sources.at(written).calls;
          // The caller, or the next call, would see the write.
          if (from != NumberSets::kNone && from_outside.contains(*of_written)) {
            const std::size_t first = *sets.first_difference(from, NumberSets::kNone);
            throw conflict_of(*calls[first], node, "the caller");
          }
          writes[*of_written].push_back({&node, from, before});
        }
      }
      if (is_tracked) sources.emplace(id, source);
    }
    return sources;
  }

  static AliasConflict conflict_of(const Node& call, const Node& write, const std::string& who) {
    return conflict(
        call, write,
        "an `if` or a loop that depends on an input returns one of its operands or another value (" +
            call.name + "): " + write.name + " writes to one of the two, and " + who +
            " uses the other one afterwards");
  }

  // Returns the graph's own results that are copies of its inputs.
  static Copies copies(const ModuleGraph& graph, const std::vector<NodeId>& order, const Classes& classes,
                       const Sources& sources) {
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
      // A clone in the code has a source location.
      const bool is_copy =
          result.target == "aten.clone.default" && !result.source->has_value() && result.args.size() == 1;
      const auto* copied = is_copy ? result.args[0].get_if<NodeId>() : nullptr;
      if (copied != nullptr && inputs.contains(*copied)) found.emplace(i, inputs.at(*copied));
      const auto source = sources.find(*id);
      if (source == sources.end() || source->second.calls == NumberSets::kNone) continue;
      for (const auto& [input, place] : inputs) {
        if (classes.class_of(input) == classes.class_of(*id)) found.emplace(i, place);
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

namespace {

class StateCheck {
 public:
  StateCheck(ModuleGraph& graph, const std::vector<StateWrite>& writes, Semantics& semantics,
             const MayWrite& may_write)
      : graph_(graph), semantics_(semantics), memory_(graph, semantics), order_(graph.graph.order()) {
    for (const StateWrite& write : writes) {
      const Node& copy = node(write.copy);
      copies_.push_back({write.copy, *copy.args[0].get_if<NodeId>(), *copy.args[1].get_if<NodeId>(),
                         *node(*copy.args[0].get_if<NodeId>()).target, &write.module});
    }
    for (const NodeId id : order_) {
      if (is_copy(id)) continue;
      const Effects effects = semantics_.effects(graph_, node(id));
      const bool may = !effects.is_unknown || may_write(node(id));
      for (const NodeId written : effects.written) {
        if (may && memory_.has_memory(written)) writes_.push_back({id, written});
      }
      if (node(id).op == Opcode::kCallModule && effects.writes_parameters && may) leaves_.push_back(id);
    }
  }

  // Returns the attribute whose old tensor has to be cloned; nothing when there is none.  Throws
  // AliasConflict.
  std::optional<std::string> run() {
    for (const Copy& copy : copies_) {
      if (uses_old(copy)) {
        if (is_written(copy.attribute, 0, order_.size()) || covering_leaf(copy.target, 0, order_.size()))
          refuse(copy, "its old tensor is written in place and used afterwards");
        return copy.target;
      }
      check_new(copy);
      check_next_call(copy);
    }
    return std::nullopt;
  }

 private:
  struct Copy {
    NodeId id, attribute, value;
    std::string target;
    const std::string* module;
  };
  struct Write {
    NodeId id, value;
  };

  const Node& node(NodeId id) const { return graph_.graph.node(id); }
  bool is_copy(NodeId id) const {
    return std::ranges::any_of(copies_, [&](const Copy& copy) { return copy.id == id; });
  }
  std::size_t position(NodeId id) const { return memory_.position(id); }

  [[noreturn]] void refuse(const Copy& copy, const std::string& why) const {
    Failure failure;
    failure.kind = FailureKind::kUnsupportedOp;
    failure.message = "'" + copy.target + "' is set: " + why;
    failure.op = "prim::SetAttr";
    failure.source = *node(copy.id).source;
    throw AliasConflict{*copy.module, std::move(failure)};
  }

  // Returns whether a value that may alias `value` is written strictly between these positions.
  bool is_written(NodeId value, std::size_t from, std::size_t to) const {
    return std::ranges::any_of(writes_, [&](const Write& write) {
      const std::size_t at = position(write.id);
      return at > from && at < to && memory_.same_region(write.value, value);
    });
  }

  // Returns a leaf, called strictly between these positions, that has the attribute and may write into it.
  std::optional<NodeId> covering_leaf(const std::string& target, std::size_t from, std::size_t to) const {
    for (const NodeId leaf : leaves_) {
      const std::size_t at = position(leaf);
      if (at > from && at < to && QualifiedName(target).is_below(called_module(node(leaf)))) return leaf;
    }
    return std::nullopt;
  }

  // Returns whether the old tensor of the attribute is used after the copy into it, or is the copied value.
  bool uses_old(const Copy& copy) const {
    if (memory_.same_region(copy.attribute, copy.value)) return true;
    const std::size_t at = position(copy.id);
    for (std::size_t i = at + 1; i < order_.size(); ++i) {
      const NodeId user = order_[i];
      bool uses = false;
      for_each_input(node(user), [&](NodeId input) {
        uses = uses || (memory_.same_region(input, copy.attribute) && position(input) < at);
      });
      if (uses && !writes_only(user, copy)) return true;
    }
    return false;
  }

  // Returns whether `user` is a copy into an attribute of a value that does not alias the old tensor.
  bool writes_only(NodeId user, const Copy& copy) const {
    return std::ranges::any_of(copies_, [&](const Copy& other) {
      return other.id == user && !memory_.same_region(other.value, copy.attribute);
    });
  }

  // Refuses writes to the new tensor, which reach the attribute only with the next copy, and leaves that may
  // write into the attribute while the new tensor is still used.
  void check_new(const Copy& copy) const {
    const std::size_t at = position(copy.id);
    std::size_t next = order_.size();
    for (const Copy& other : copies_) {
      if (other.target == copy.target && position(other.id) > at) next = std::min(next, position(other.id));
    }
    if (is_written(copy.value, at, order_.size()) &&
        (next == order_.size() || is_written(copy.value, next, order_.size()) ||
         is_read_by_leaf(copy.target)))
      refuse(copy, "its new tensor is written in place afterwards");
    const auto leaf = covering_leaf(copy.target, at, order_.size());
    if (!leaf) return;
    bool is_used = memory_.is_from_outside(copy.value);
    for (std::size_t i = position(*leaf) + 1; i < order_.size(); ++i) {
      for_each_input(node(order_[i]), [&](NodeId input) {
        is_used = is_used || (memory_.same_region(input, copy.value) && position(input) < position(*leaf));
      });
    }
    if (is_used) refuse(copy, "a leaf may write into its new tensor, which is used afterwards");
  }

  bool is_read_by_leaf(const std::string& target) const {
    return std::ranges::any_of(order_, [&](NodeId id) {
      return node(id).op == Opcode::kCallModule && QualifiedName(target).is_below(called_module(node(id)));
    });
  }

  // In the next call the attribute is the new tensor itself, aliases included.
  void check_next_call(const Copy& copy) const {
    const bool is_elsewhere =
        memory_.is_from_outside(copy.value) || memory_.is_given_back(copy.value) ||
        std::ranges::any_of(copies_, [&](const Copy& other) {
          return other.target != copy.target && memory_.same_region(other.value, copy.value);
        });
    if (!is_elsewhere) return;
    const bool is_changed = is_written(copy.attribute, 0, order_.size()) ||
                            covering_leaf(copy.target, 0, order_.size()).has_value() ||
                            (memory_.is_from_outside(copy.value) && is_written(copy.value, 0, order_.size()));
    if (is_changed)
      refuse(copy, "its new tensor is visible elsewhere, and one of the two is written in place");
  }

  ModuleGraph& graph_;
  Semantics& semantics_;
  AliasRegions memory_;
  std::vector<NodeId> order_;
  std::vector<Copy> copies_;
  std::vector<Write> writes_;   // writes in place, without the copies
  std::vector<NodeId> leaves_;  // leaves that may write into their own tensors
};

// Gives all users of the attribute except the copies into it a clone.
void clone_old(ModuleGraph& graph, const std::string& target, const std::vector<StateWrite>& writes) {
  for (const NodeId id : graph.graph.order()) {
    const Node& read = graph.graph.node(id);
    if (read.op != Opcode::kGetAttr || *read.target != target) continue;
    const NodeId clone = graph.graph.insert_before(
        graph.graph.next(id),
        {Opcode::kCallFunction, "aten.clone.default", {id}, {}, read.scope, read.meta, read.source, ""});
    graph.graph.replace_all_uses(id, clone);
    for (const StateWrite& write : writes) {
      const Node& copy = graph.graph.node(write.copy);
      if (copy.args[0] == Argument(clone)) graph.graph.set_args(write.copy, {id, copy.args[1]}, {});
    }
    if (graph.graph.node(clone).users.empty()) graph.graph.erase(clone);
  }
}

}  // namespace

std::optional<AliasConflict> settle_state(ModuleGraph& graph, const std::vector<StateWrite>& writes,
                                          Semantics& semantics, const MayWrite& may_write) {
  std::set<std::string> cloned;
  try {
    while (const auto target = StateCheck(graph, writes, semantics, may_write).run()) {
      if (!cloned.insert(*target).second) {
        const Node& copy = graph.graph.node(writes.front().copy);
        Failure failure;
        failure.kind = FailureKind::kUnsupportedOp;
        failure.message = "'" + *target + "' is set: its new tensor may share memory with its old one";
        failure.op = "prim::SetAttr";
        failure.source = *copy.source;
        return AliasConflict{writes.front().module, std::move(failure)};
      }
      clone_old(graph, *target, writes);
    }
    return std::nullopt;
  } catch (AliasConflict& conflict) {
    return std::move(conflict);
  }
}

}  // namespace fxtrace::internal
