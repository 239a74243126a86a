// Distances and similarities of vectors.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Distances ----

Results cosine_similarity(const RuleArguments& args) {
  require_dtype(promoted(args, {"x1", "x2"}), is_floating, "the common dtype of x1 and x2",
                "a floating dtype");
  TensorInfo result =
      tensor_of(broadcast(args.tensor("x1").sizes, args.tensor("x2").sizes, args.dimensions, {"x1", "x2"}),
                promoted(args, {"x1", "x2"}));
  const std::int64_t dim = normalize_dim(args.number("dim"), result.dim());
  if (!result.sizes.empty()) result.sizes.erase(result.sizes.begin() + dim);
  return make(std::move(result));
}

Results pairwise_distance(const RuleArguments& args) {
  Sizes sizes = broadcast(args.tensor("x1").sizes, args.tensor("x2").sizes, args.dimensions, {"x1", "x2"});
  sizes = args.flag("keepdim") ? with_last(std::move(sizes), 1) : without_last(sizes);
  return make(std::move(sizes), real_dtype(float_dtype(promoted(args, {"x1", "x2"}))));
}

// One distance for each pair of rows.
Results pdist(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  require_rank(input, {2}, "self");
  require_dtype(input.dtype, is_floating, "self", "a floating dtype");
  return make({floordiv(input.sizes[0] * (input.sizes[0] - 1), 2)}, input.dtype);
}

// ---- Multiply-accumulates ----

// ---- Distances ----

// ATen/native/Distance.cpp: a matrix product of rows with two more features.
SymInt euclidean(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * (from_back(operand(args, "x1").sizes, 1) + 2);
}

// A matrix product for many rows, or if compute_mode asks for it; otherwise elementwise, without MACs.
SymInt distances(const RuleArguments& args, const Results& results) {
  constexpr std::int64_t kIfMany = 0, kAlways = 1, kMany = 25;
  const std::int64_t mode = args.is_given("compute_mode") ? args.number("compute_mode") : kIfMany;
  if (args.real("p") != 2 || (mode != kAlways && mode != kIfMany)) return 0;
  const SymInt most = max(from_back(operand(args, "x1").sizes, 2), from_back(operand(args, "x2").sizes, 2));
  const bool as_product = mode == kAlways || decided(args.dimensions, Relation::kGreater, most, kMany);
  return as_product ? euclidean(args, results) : SymInt(0);
}

constexpr std::string_view kDistances = "...mk:floating ...nk:floating -> ...mn";

constexpr OperatorRow kDistancesRows[] = {
    {"_cdist_forward", {.traits = kNoMacs, .signature = kDistances}},
    {"_euclidean_dist",
     {.signature = kDistances,
      .same_dtype = {"x1", "x2"},
      .macs = euclidean,
      .batch = {.rule = &BatchRules::equal}}},
    {"_pdist_forward pdist", {.traits = kNoMacs, .shape = pdist}},
    {"cdist",
     {.signature = kDistances,
      .same_dtype = {"x1", "x2"},
      .macs = distances,
      .batch = {.rule = &BatchRules::equal}}},
    {"cosine_similarity",
     {.traits = kNoMacs | kRankByRanks, .shape = cosine_similarity, .batch = kBroadcast}},
    {"pairwise_distance", {.traits = kNoMacs, .shape = pairwise_distance, .batch = kBroadcast}},
};

}  // namespace

OperatorRows distances_rows() { return kDistancesRows; }

}  // namespace fxtrace::internal
