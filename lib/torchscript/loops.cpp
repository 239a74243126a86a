#include "torchscript/loops.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "support/restore.h"
#include "torchscript/recorded_loop.h"
#include "torchscript/run.h"
#include "torchscript/structure.h"

namespace fxtrace::torchscript {

void Loops::run(const IrNode* node) {
  Value limit = frames_.input(node, 0);
  Value condition = frames_.input(node, 1);
  if (const Proxy* proxy = recording_.find_recorded(limit)) {
    const auto known = run_.ask(proxy->ref, [&](const NumberedGraph& graph) {
      return integer_of(graph, proxy->ref.node, run_.dimensions);
    });
    if (const auto number = known ? run_.dimensions.simplify(*known).number() : std::nullopt) limit = *number;
  }
  const auto settle = [&](Value& value) {
    if (const auto answer = run_.knowledge.find_answer(value)) value = *answer;
  };
  settle(limit);
  if (!limit.is_int()) {
    run_.conditions.ask(limit);
    if (run_.makes_subgraphs()) return record(node);
    run_.conditions.fail("the length of a loop", limit, node);
  }
  const IrBlock& body = *node->blocks()[0];
  std::optional<Attempt> start;
  if (run_.makes_subgraphs()) start = run_.begin_attempt();
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(frames_.input(node, i));
  for (std::int64_t trip = 0; trip < limit.to_int(); ++trip) {
    settle(condition);
    if (!condition.is_bool()) {
      run_.conditions.ask(condition);
      if (start) {
        run_.undo(*start);
        return record(node);
      }
      run_.conditions.fail("whether a loop goes on", condition, node);
    }
    if (!condition.to_bool()) break;
    run_.count_step(node);
    frames_.set(body.inputs()[0], trip);
    for (std::size_t i = 0; i < carried.size(); ++i) frames_.set(body.inputs()[i + 1], std::move(carried[i]));
    run_.blocks.run_block(body);
    Values results = frames_.outputs(body);
    condition = std::move(results[0]);
    carried.assign(std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.end()));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) frames_.set(node->outputs()[i], std::move(carried[i]));
}

void Loops::note_starts(const IrBlock& block, const IrNode* node) {
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
  const auto attempt = std::make_shared<Attempt>(run_.begin_attempt());
  for (const IrNode* loop : loops->second) frames_.top().loop_starts[loop] = attempt;
}

// Of what is known, what these nodes and the result ask for: many loops may stand behind many values.
std::unordered_map<const IrValue*, Value> Loops::values_used_by(const LoopCondition& condition,
                                                                const IrValue& result) const {
  const auto& all = frames_.top().values;
  std::unordered_map<const IrValue*, Value> used;
  const auto use = [&](const IrValue* value) {
    if (const auto found = all.find(value); found != all.end()) used.insert(*found);
  };
  std::vector<const IrNode*> open = condition.nodes;
  while (!open.empty()) {
    const IrNode* node = open.back();
    open.pop_back();
    std::ranges::for_each(node->inputs(), use);
    for (const IrBlock* block : node->blocks()) {
      std::ranges::for_each(block->outputs(), use);
      for (const IrNode* inner : block->nodes()) open.push_back(inner);
    }
  }
  use(&result);
  return used;
}

Value Loops::condition_after(const IrNode* node, const LoopCondition& condition, const Values& results) {
  const IrBlock& body = *node->blocks()[0];
  frames_.push({frames_.top().function, values_used_by(condition, *body.outputs()[0])});
  const Restore restore([&] { frames_.pop(); });
  for (std::size_t i = 0; i < results.size(); ++i) frames_.set(body.outputs()[i + 1], results[i]);
  for (const IrNode* part : condition.nodes) run_.blocks.run_node(part);
  return frames_.value(body.outputs()[0]);
}

const LoopCondition* Loops::rotated_condition(const IrNode* node) {
  const auto found = conditions_.find(node);
  if (found == conditions_.end() || !found->second) return nullptr;
  const LoopCondition& condition = *found->second;
  const auto& starts = frames_.top().loop_starts;
  const auto start = starts.find(node);
  if (condition.start != nullptr && start == starts.end()) return nullptr;
  const auto pure_from = static_cast<std::uint32_t>(
      condition.start != nullptr ? start->second->first_node : std::numeric_limits<std::uint32_t>::max());

  const Value before = frames_.input(node, 1);
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(frames_.input(node, i));
  bool same = false;
  {
    Checkpoint now = run_.checkpoint();
    const Restore restore([&] { run_.back_to(std::move(now)); });
    try {
      run_.tracer->look_at([&] {
        const Value again = condition_after(node, condition, carried);
        const Proxy* one = find_proxy(before);
        const Proxy* other = find_proxy(again);
        same = is_same(before, again);
        if (same || one == nullptr || other == nullptr) return;
        const NodeId first = run_.tracer->use(one->ref);
        same = run_.tracer->is_same_value(first, run_.tracer->use(other->ref), pure_from);
      });
    } catch (const TraceFailure&) {
      return nullptr;
    }
  }
  if (!same) return nullptr;
  if (condition.start != nullptr) {
    const std::shared_ptr<Attempt> attempt = start->second;
    run_.undo(*attempt);
    for (const IrNode* part = condition.start; part != node; part = part->next()) {
      if (!condition.only_for_condition.contains(part)) run_.blocks.run_node(part);
    }
  }
  return &condition;
}

void Loops::record(const IrNode* node) {
  const LoopCondition* condition = rotated_condition(node);
  RecordedLoop loop(run_, node, condition);
  for (;;) {
    const Attempt attempt = run_.begin_attempt();
    const std::int64_t before = run_.tracer->nodes_made();
    try {
      if (loop.record()) return;
    } catch (const TraceFailure& thrown) {
      if (thrown.failure.kind != FailureKind::kRaised) throw;
      run_.undo(attempt);
      // That is certain of a turn, and not of the loop.
      frames_.fail(FailureKind::kDataDependentControlFlow,
                   "a loop depends on an input, and a turn of it raises: " + thrown.failure.message, node);
    }
    run_.undo(attempt);
    // Loops in loops multiply.
    nodes_in_vain_ += run_.tracer->nodes_made() - before + 1;
    if (nodes_in_vain_ > run_.options.limits.nodes) {
      frames_.fail(FailureKind::kLimit,
                   "more than " + std::to_string(run_.options.limits.nodes) +
                       " nodes to find out what loops that depend on an input change (--max-nodes)",
                   node, Limit::kNodes);
    }
  }
}

}  // namespace fxtrace::torchscript
