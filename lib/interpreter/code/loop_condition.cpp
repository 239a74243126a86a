#include "interpreter/code/loop_condition.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <ranges>

#include "interpreter/code/code_effects.h"

namespace fxtrace::internal::interpreter {
namespace {

using IrNodes = std::unordered_set<const IrNode*>;
using IrValues = std::unordered_set<const IrValue*>;

// Returns the node of `block` that is `node` or contains it; null when there is none.
const IrNode* ancestor(const IrNode* node, const IrBlock* block) {
  while (node != nullptr && node->owning_block() != block) node = node->owning_block()->owning_node();
  return node;
}

// Calls f for each value that the node, or a node in its blocks, uses and that is made outside of it.
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

// The nodes of a block that compute a value.
struct Slice {
  IrNodes nodes;
  IrValues from_around;          // values that are made outside of the block
  bool needs_arguments = false;  // whether arguments of the block are used
};

// Returns the slice that computes the value from the values in `stops`.
Slice slice_of(const IrValue* value, const IrBlock* block, const IrValues& stops) {
  Slice slice;
  IrValues seen;
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

bool is_constant(const IrNode* node) { return node->is(Symbol::kPrimConstant); }

// Returns the nodes of the slice from `end` backwards, then its constants, which may be anywhere in the
// block.  Returns nothing when a node between the slice's first node that is not a constant and `end` is not
// pure.
std::optional<std::vector<const IrNode*>> backwards(const Slice& slice, const IrNode* end) {
  const auto constants = std::ranges::count_if(slice.nodes, is_constant);
  const std::size_t count = slice.nodes.size() - static_cast<std::size_t>(constants);
  std::vector<const IrNode*> nodes;
  for (const IrNode* node = end->previous(); nodes.size() < count; node = node->previous()) {
    if (!is_pure(*node)) return std::nullopt;
    if (!is_constant(node) && slice.nodes.contains(node)) nodes.push_back(node);
  }
  std::ranges::copy_if(slice.nodes, std::back_inserter(nodes), is_constant);
  return nodes;
}

// Returns those of `nodes` that are only used by each other, and by `user` for its input at `offset`.  In
// `nodes` each user comes before the nodes that it uses.
IrNodes needed_only_for(const std::vector<const IrNode*>& nodes, const IrNode* user, std::size_t offset) {
  IrNodes result;
  for (const IrNode* node : nodes) {
    const bool only = std::ranges::all_of(node->outputs(), [&](const IrValue* output) {
      return std::ranges::all_of(output->uses(), [&](const IrUse& use) {
        if (use.user == user) return use.offset == offset;
        return result.contains(ancestor(use.user, user->owning_block()));
      });
    });
    if (only) result.insert(node);
  }
  return result;
}

}  // namespace

std::optional<LoopCondition> find_loop_condition(const IrNode& loop) {
  if (constant_of<std::int64_t>(*loop.input(0)) != std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  const IrBlock* body = loop.blocks()[0];
  const IrValues results(body->outputs().begin() + 1, body->outputs().end());
  const Slice again = slice_of(body->outputs()[0], body, results);
  const auto in_body = backwards(again, body->return_node());
  if (again.needs_arguments || !in_body) return std::nullopt;

  LoopCondition condition;
  for (const IrNode* node : body->nodes()) {
    if (again.nodes.contains(node)) condition.nodes.push_back(node);
  }
  condition.only_for_condition = needed_only_for(*in_body, body->return_node(), 0);

  const IrBlock* block = loop.owning_block();
  IrValues begins(loop.inputs().begin() + 2, loop.inputs().end());
  begins.insert(again.from_around.begin(), again.from_around.end());
  const Slice before = slice_of(loop.input(1), block, begins);
  const auto in_front = backwards(before, &loop);
  if (!in_front) return std::nullopt;
  const auto first = std::ranges::find_if_not(*in_front | std::views::reverse, is_constant);
  if (first != in_front->rend()) condition.start = *first;
  condition.only_for_condition.merge(needed_only_for(*in_front, &loop, 1));
  return condition;
}

}  // namespace fxtrace::internal::interpreter
