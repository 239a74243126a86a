#include "interpreter/graph/graph_loops.h"

#include <limits>
#include <utility>

#include "interpreter/graph/recorded_loop.h"
#include "interpreter/state/structure.h"
#include "support/restore.h"

namespace fxtrace::internal::interpreter {

void GraphLoops::note_starts(const IrBlock& block, const IrNode* node) {
  const auto [place, is_new] = starts_.try_emplace(&block);
  if (is_new) {
    for (const IrNode* loop : block.nodes()) {
      if (loop->kind() != Symbol::kPrimLoop) continue;
      const auto& condition = conditions_.emplace(loop, find_loop_condition(*loop)).first->second;
      if (condition && condition->start != nullptr) place->second[condition->start].push_back(loop);
    }
  }
  const auto loops = place->second.find(node);
  if (loops == place->second.end()) return;
  const auto attempt = std::make_shared<Checkpoint>(recorder_.checkpoint());
  for (const IrNode* loop : loops->second) frames_.top().loop_starts[loop] = attempt;
}

const LoopCondition* GraphLoops::rotated_condition(const IrNode* node) {
  const auto found = conditions_.find(node);
  if (found == conditions_.end() || !found->second) return nullptr;
  const LoopCondition& condition = *found->second;
  const auto& starts = frames_.top().loop_starts;
  const auto start = starts.find(node);
  if (condition.start != nullptr && start == starts.end()) return nullptr;
  const auto pure_from =
      static_cast<std::uint32_t>(condition.start != nullptr ? start->second->recorded->first_node
                                                            : std::numeric_limits<std::uint32_t>::max());

  const Value before = frames_.input(node, 1);
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(frames_.input(node, i));
  bool same = false;
  {
    Checkpoint now = recorder_.checkpoint();
    const Restore restore([&] { recorder_.back_to(std::move(now)); });
    try {
      tracer_.look_at([&] {
        const Value again = condition_after(node, condition, carried, frames_, code_);
        const Proxy* one = find_proxy(before);
        const Proxy* other = find_proxy(again);
        same = is_same(before, again);
        if (same || one == nullptr || other == nullptr) return;
        const NodeId first = tracer_.use(one->ref);
        same = tracer_.is_same_value(first, tracer_.use(other->ref), pure_from);
      });
    } catch (const TraceFailure&) {
      return nullptr;
    }
  }
  if (!same) return nullptr;
  if (condition.start != nullptr) {
    const std::shared_ptr<Checkpoint> attempt = start->second;
    recorder_.back_to(*attempt);
    for (const IrNode* part = condition.start; part != node; part = part->next()) {
      if (!condition.only_for_condition.contains(part)) code_.run_node(part);
    }
  }
  return &condition;
}

void GraphLoops::record(const IrNode* node) {
  const LoopCondition* condition = rotated_condition(node);
  RecordedLoop loop(*this, subgraphs_, node, condition);
  for (;;) {
    const Checkpoint attempt = recorder_.checkpoint();
    const std::int64_t before = tracer_.nodes_made();
    try {
      if (loop.record()) return;
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      recorder_.back_to(attempt);
      // An iteration raises, but the loop need not run one.
      frames_.fail(FailureKind::kDataDependentControlFlow,
                   "a loop depends on an input, and an iteration of it raises: " + thrown.failure.message,
                   node);
    }
    recorder_.back_to(attempt);
    // The attempts of loops within loops multiply.
    nodes_in_vain_ += tracer_.nodes_made() - before + 1;
    if (nodes_in_vain_ > run_.options.limits.nodes) {
      frames_.fail(FailureKind::kLimit,
                   "more than " + std::to_string(run_.options.limits.nodes) +
                       " nodes are made to record loops that depend on an input",
                   node, Limit::kNodes);
    }
  }
}

}  // namespace fxtrace::internal::interpreter
