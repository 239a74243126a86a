#include "operators/higher_order.h"

#include <algorithm>
#include <iterator>

namespace fxtrace::internal {
namespace {

struct Row {
  std::string_view name;
  SubgraphRuns runs;
  bool is_region = false;
};
constexpr Row kRows[] = {
    {"associative_scan", SubgraphRuns::kRepeated},
    {"cond", SubgraphRuns::kOneOf},
    {"flex_gemm", SubgraphRuns::kOnce},
    {"invoke_subgraph", SubgraphRuns::kOnce},
    {"map", SubgraphRuns::kRepeated},
    {"map_impl", SubgraphRuns::kRepeated},
    {"scan", SubgraphRuns::kRepeated},
    {"switch", SubgraphRuns::kOneOf},
    {"tag_activation_checkpoint", SubgraphRuns::kOnce, true},
    {"while_loop", SubgraphRuns::kRepeated},
    {"while_loop_stack_output", SubgraphRuns::kRepeated},
    {"wrap", SubgraphRuns::kOnce, true},
    {"wrap_activation_checkpoint", SubgraphRuns::kOnce, true},
    {"wrap_with_autocast", SubgraphRuns::kOnce, true},
    {"wrap_with_set_grad_enabled", SubgraphRuns::kOnce, true},
};

const Row* row_of(const TargetParts& target) {
  if (target.kind != TargetKind::kHigherOrder) return nullptr;
  const auto* const row = std::ranges::find(kRows, target.name, &Row::name);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

SubgraphRuns subgraph_runs(const TargetParts& target) {
  const Row* row = row_of(target);
  return row == nullptr ? SubgraphRuns::kUnknown : row->runs;
}

bool is_region(const TargetParts& target) {
  const Row* row = row_of(target);
  return row != nullptr && row->is_region;
}

}  // namespace fxtrace::internal
