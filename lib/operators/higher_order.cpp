#include "operators/higher_order.h"

#include <algorithm>
#include <iterator>

namespace fxtrace {
namespace {

struct Row {
  std::string_view name;
  SubgraphRuns runs;
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
    {"tag_activation_checkpoint", SubgraphRuns::kOnce},
    {"while_loop", SubgraphRuns::kRepeated},
    {"while_loop_stack_output", SubgraphRuns::kRepeated},
    {"wrap", SubgraphRuns::kOnce},
    {"wrap_activation_checkpoint", SubgraphRuns::kOnce},
    {"wrap_with_autocast", SubgraphRuns::kOnce},
    {"wrap_with_set_grad_enabled", SubgraphRuns::kOnce},
};

}  // namespace

SubgraphRuns subgraph_runs(const TargetParts& target) {
  if (target.kind != TargetKind::kHigherOrder) return SubgraphRuns::kUnknown;
  const auto row = std::ranges::find(kRows, target.name, &Row::name);
  return row == std::end(kRows) ? SubgraphRuns::kUnknown : row->runs;
}

}  // namespace fxtrace
