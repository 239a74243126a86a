#include "trace/tracer/state_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "analysis/alias_regions.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal {
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
