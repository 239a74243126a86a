#include "torchscript/loop_condition.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "torchscript/pure_code.h"

namespace fxtrace {
namespace {

using torch::jit::Block;
using IrNode = torch::jit::Node;
using torch::jit::Value;
using Nodes = std::unordered_set<const IrNode*>;
using Values = std::unordered_set<const Value*>;

// The node of `block` that `node` is, or is in; null when it is in none.
const IrNode* ancestor(const IrNode* node, const Block* block) {
  while (node != nullptr && node->owningBlock() != block) node = node->owningBlock()->owningNode();
  return node;
}

// Calls f for each value that the node uses and does not make itself, in its blocks too.
void for_each_used(const IrNode* node, const std::function<void(const Value*)>& f) {
  for (const Value* input : node->inputs()) f(input);
  for (const Block* block : node->blocks()) {
    const auto use = [&](const Value* value) {
      const IrNode* maker = ancestor(value->node(), node->owningBlock());
      if (maker != node) f(value);
    };
    for (const IrNode* inner : block->nodes()) for_each_used(inner, use);
    for (const Value* output : block->outputs()) use(output);
  }
}

// What works a value out in a block.
struct Slice {
  Nodes nodes;
  Values from_around;            // values that the block does not make
  bool needs_arguments = false;  // of the block
};

// `stops`: values that it begins with.
Slice slice_of(const Value* value, const Block* block, const Values& stops) {
  Slice slice;
  Values seen;
  std::vector<const Value*> pending{value};
  while (!pending.empty()) {
    const Value* current = pending.back();
    pending.pop_back();
    if (stops.contains(current) || !seen.insert(current).second) continue;
    const IrNode* node = current->node();
    if (node->owningBlock() != block) {
      slice.from_around.insert(current);
    } else if (node == block->param_node()) {
      slice.needs_arguments = true;
    } else if (slice.nodes.insert(node).second) {
      for_each_used(node, [&](const Value* used) { pending.push_back(used); });
    }
  }
  return slice;
}

// Those of `nodes` that nobody needs but each other and `user`, for its input at `offset`.
Nodes needed_only_for(const Nodes& nodes, const Block* block, const IrNode* user, std::size_t offset) {
  Nodes result;
  for (const IrNode* node : block->nodes().reverse()) {
    if (!nodes.contains(node)) continue;
    const bool only = std::ranges::all_of(node->outputs(), [&](const Value* output) {
      return std::ranges::all_of(output->uses(), [&](const torch::jit::Use& use) {
        if (use.user == user) return use.offset == offset;
        return result.contains(ancestor(use.user, block));
      });
    });
    if (only) result.insert(node);
  }
  return result;
}

// Whether all is pure from the first of `nodes` up to `end`.
bool is_pure_from_first(const Nodes& nodes, const Block* block, const IrNode* end, const IrNode*& first) {
  first = nullptr;
  for (const IrNode* node : block->nodes()) {
    if (node == end) return true;
    if (first == nullptr && nodes.contains(node) && node->kind() != c10::prim::Constant) first = node;
    if (first != nullptr && !is_pure(*node)) return false;
  }
  return true;
}

}  // namespace

std::optional<LoopCondition> find_loop_condition(const IrNode& loop) {
  const auto limit = torch::jit::toIValue(loop.input(0));
  if (!limit || !limit->isInt() || limit->toInt() != std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  const Block* body = loop.blocks()[0];
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

  const Block* block = loop.owningBlock();
  Values begins(loop.inputs().begin() + 2, loop.inputs().end());
  begins.insert(again.from_around.begin(), again.from_around.end());
  const Slice before = slice_of(loop.input(1), block, begins);
  if (!is_pure_from_first(before.nodes, block, &loop, condition.start)) return std::nullopt;
  condition.only_for_condition.merge(needed_only_for(before.nodes, block, &loop, 1));
  return condition;
}

}  // namespace fxtrace
