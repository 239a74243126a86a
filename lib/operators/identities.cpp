#include "operators/identities.h"

#include <algorithm>
#include <iterator>

namespace fxtrace {
namespace {

using When = IdentityRule::When;

struct Row {
  std::string_view name;  // with its overload
  IdentityRule rule;
};

// In byte order.
constexpr Row kRows[] = {
    {"aten::_to_copy", {When::kSameType, {}, true}},
    {"aten::alias", {When::kAlways}},
    {"aten::clone", {When::kSameType, {}, true}},
    {"aten::copy", {When::kSameAsOther, "src", true, 1}},
    {"aten::copy_", {When::kSameAsOther, "src", true, 1, true}},
    {"aten::detach", {When::kAlways}},
    {"aten::dropout", {When::kEvaluation}},
    {"aten::expand", {When::kSameSizesOrAny, "size"}},
    {"aten::feature_dropout", {When::kEvaluation}},
    {"aten::flatten.using_ints", {When::kOneDimension}},
    {"aten::lift_fresh", {When::kAlways}},
    {"aten::lift_fresh_copy", {When::kAlways, {}, true}},
    {"aten::permute", {When::kSameOrder, "dims"}},
    {"aten::reshape", {When::kSameSizes, "shape"}},
    {"aten::slice.Tensor", {When::kFullRange}},
    {"aten::to.device", {When::kSameType}},
    {"aten::to.dtype", {When::kSameType}},
    {"aten::to.dtype_layout", {When::kSameType}},
    {"aten::to.other", {When::kSameTypeAsOther, "other"}},
    {"aten::transpose.int", {When::kSameDims}},
    {"aten::type_as", {When::kSameTypeAsOther, "other"}},
    {"aten::view", {When::kSameSizes, "size"}},
};
static_assert(std::ranges::is_sorted(kRows, {}, &Row::name));

}  // namespace

IdentityRule identity_rule(const Operator& op) {
  const auto row = std::ranges::lower_bound(kRows, op.name, {}, &Row::name);
  return row != std::end(kRows) && row->name == op.name ? row->rule : IdentityRule{};
}

}  // namespace fxtrace
