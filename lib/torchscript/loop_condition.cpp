#include "torchscript/loop_condition.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "torchscript/pure_code.h"

namespace fxtrace::torchscript {
namespace {

using Nodes = std::unordered_set<const IrNode*>;
using Values = std::unordered_set<const IrValue*>;

// The node of `block` that `node` is, or is in; null when it is in none.
const IrNode* ancestor(const IrNode* node, const IrBlock* block) {
  while (node != nullptr && node->owning_block() != block) node = node->owning_block()->owning_node();
  return node;
}

// Calls f for each value that the node uses and does not make itself, in its blocks too.
void for_each_used(const IrNode* node, const std::function<void(const IrValue*)>& f) {
  for (const IrValue* input : node->inputs()) f(input);
  for (const IrBlock* block : node->blocks()) {
    const auto use = [&](const IrValue* value) {
      const IrNode* maker = ancestor(value->node(), node->owning_block());
      if (maker != node) f(value);
    };
    for (const IrNode* inner : block->nodes()) for_each_used(inner, use);
    for (const IrValue* output : block->outputs()) use(output);
  }
}

// What works a value out in a block.
struct Slice {
  Nodes nodes;
  Values from_around;            // values that the block does not make
  bool needs_arguments = false;  // of the block
};

// `stops`: values that it begins with.
Slice slice_of(const IrValue* value, const IrBlock* block, const Values& stops) {
  Slice slice;
  Values seen;
  std::vector<const IrValue*> pending{value};
  while (!pending.empty()) {
    const IrValue* current = pending.back();
    pending.pop_back();
    if (stops.contains(current) || !seen.insert(current).second) continue;
    const IrNode* node = current->node();
    if (node->owning_block() != block) {
      slice.from_around.insert(current);
    } else if (node == block->param_node()) {
      slice.needs_arguments = true;
    } else if (slice.nodes.insert(node).second) {
      for_each_used(node, [&](const IrValue* used) { pending.push_back(used); });
    }
  }
  return slice;
}

// Those of `nodes` that nobody needs but each other and `user`, for its input at `offset`.
Nodes needed_only_for(const Nodes& nodes, const IrBlock* block, const IrNode* user, std::size_t offset) {
  Nodes result;
  for (const IrNode* node = block->return_node()->previous(); node != block->return_node();
       node = node->previous()) {
    if (!nodes.contains(node)) continue;
    const bool only = std::ranges::all_of(node->outputs(), [&](const IrValue* output) {
      return std::ranges::all_of(output->uses(), [&](const IrUse& use) {
        if (use.user == user) return use.offset == offset;
        return result.contains(ancestor(use.user, block));
      });
    });
    if (only) result.insert(node);
  }
  return result;
}

// Whether all is pure from the first of `nodes` up to `end`.
bool is_pure_from_first(const Nodes& nodes, const IrBlock* block, const IrNode* end, const IrNode*& first) {
  first = nullptr;
  for (const IrNode* node : block->nodes()) {
    if (node == end) return true;
    if (first == nullptr && nodes.contains(node) && node->kind() != Symbol::kPrimConstant) first = node;
    if (first != nullptr && !is_pure(*node)) return false;
  }
  return true;
}

}  // namespace

std::optional<LoopCondition> find_loop_condition(const IrNode& loop) {
  if (constant_int(loop.input(0)) != std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  const IrBlock* body = loop.blocks()[0];
  const Values results(body->outputs().begin() + 1, body->outputs().end());
  const Slice again = slice_of(body->outputs()[0], body, results);
  const IrNode* first = nullptr;
  if (again.needs_arguments || !is_pure_from_first(again.nodes, body, body->return_node(), first))
    return std::nullopt;

  LoopCondition condition;
  for (const IrNode* node : body->nodes()) {
    if (again.nodes.contains(node)) condition.nodes.push_back(node);
  }
  condition.only_for_condition = needed_only_for(again.nodes, body, body->return_node(), 0);

  const IrBlock* block = loop.owning_block();
  Values begins(loop.inputs().begin() + 2, loop.inputs().end());
  begins.insert(again.from_around.begin(), again.from_around.end());
  const Slice before = slice_of(loop.input(1), block, begins);
  if (!is_pure_from_first(before.nodes, block, &loop, condition.start)) return std::nullopt;
  condition.only_for_condition.merge(needed_only_for(before.nodes, block, &loop, 1));
  return condition;
}

}  // namespace fxtrace::torchscript
