#include "operators/target.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "operators/operators.h"

namespace fxtrace::internal {
namespace {
// The first parts of targets that are Python names; no operator of torch.ops has such a namespace.
constexpr std::array<std::string_view, 4> kPythonRoots{"builtins", "math", "operator", "torch"};
}  // namespace

TargetParts parse_target(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (first == std::string_view::npos) return {TargetKind::kPython, {}, text, {}};
  const std::string_view root = text.substr(0, first);
  if (root == "higher_order") return {TargetKind::kHigherOrder, root, text.substr(last + 1), {}};
  const bool has_three_parts = last > first + 1 && text.find('.', first + 1) == last;
  if (has_three_parts && std::find(kPythonRoots.begin(), kPythonRoots.end(), root) == kPythonRoots.end()) {
    return {TargetKind::kOperator, root, text.substr(first + 1, last - first - 1), text.substr(last + 1)};
  }
  return function_parts(text);
}

std::string TargetParts::base_name() const {
  return space.empty() ? std::string(name) : std::string(space).append("::").append(name);
}

TargetParts function_parts(std::string_view qualified_name) {
  const std::size_t dot = qualified_name.rfind('.');
  if (dot == std::string_view::npos) return {TargetKind::kPython, {}, qualified_name, {}};
  return {TargetKind::kPython, qualified_name.substr(0, dot), qualified_name.substr(dot + 1), {}};
}

bool is_reserved_target(std::string_view text) {
  const std::string_view root = text.substr(0, text.find('.'));
  if (root == "builtins" || root == "math" || root == "operator" || root == "higher_order") return true;
  return find_operator(parse_target(text)) != nullptr;
}

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

namespace {

// The kinds by target, in byte order of targets.
constexpr std::pair<std::string_view, KnownNumber> kTargets[] = {
    {"aten.dim.default", KnownNumber::kRank},
    {"aten.len.Tensor", KnownNumber::kLength},
    {"aten.numel.default", KnownNumber::kCount},
    {"aten.size.int", KnownNumber::kSize},
    {"aten.sym_numel.default", KnownNumber::kCount},
    {"aten.sym_size.int", KnownNumber::kSize},
    {"builtins.bool", KnownNumber::kBool},
    {"builtins.float", KnownNumber::kFloat},
    {"builtins.int", KnownNumber::kInt},
    {"builtins.len", KnownNumber::kLength},
    {"operator.getitem", KnownNumber::kItem},
    {"prim.NumToTensor.Scalar", KnownNumber::kOfNumber},
};
static_assert(std::ranges::is_sorted(kTargets, {}, &std::pair<std::string_view, KnownNumber>::first));

}  // namespace

KnownNumber known_number_of(std::string_view target) {
  const auto row =
      std::ranges::lower_bound(kTargets, target, {}, &std::pair<std::string_view, KnownNumber>::first);
  return row != std::end(kTargets) && row->first == target ? row->second : KnownNumber::kNone;
}

}  // namespace fxtrace::internal
