#include "interpreter/evaluate/loops.h"

#include <iterator>

#include "interpreter/evaluate/evaluator.h"

namespace fxtrace::internal::interpreter {

void Loops::run(const IrNode* node) {
  Value limit = frames_.input(node, 0);
  Value condition = frames_.input(node, 1);
  if (const auto number = recorder_.number_of(limit)) limit = *number;
  const auto settle = [&](Value& value) {
    if (const auto answer = propagation_.find_answer(value)) value = *answer;
  };
  settle(limit);
  if (!limit.is_int()) return code_.loop(node, "the length of a loop", limit, std::nullopt);
  const IrBlock& body = *node->blocks()[0];
  std::optional<Checkpoint> start;
  if (makes_subgraphs()) start = recorder_.checkpoint();
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(frames_.input(node, i));
  for (std::int64_t trip = 0; trip < limit.to_int(); ++trip) {
    settle(condition);
    if (!condition.is_bool()) return code_.loop(node, "the condition of a loop", condition, start);
    if (!condition.to_bool()) break;
    state_.count_step(node);
    frames_.set(body.inputs()[0], trip);
    for (std::size_t i = 0; i < carried.size(); ++i) frames_.set(body.inputs()[i + 1], std::move(carried[i]));
    code_.run_block(body);
    Values results = frames_.outputs(body);
    condition = std::move(results[0]);
    carried.assign(std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.end()));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) frames_.set(node->outputs()[i], std::move(carried[i]));
}

}  // namespace fxtrace::internal::interpreter
