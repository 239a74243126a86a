#include "operators/known_numbers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fxtrace::internal {
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
