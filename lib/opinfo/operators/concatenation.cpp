// Operators that join several tensors into one, or give several tensors one shape.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Several tensors ----

Dtype promoted_list(const std::vector<TensorInfo>& tensors) {
  Promotion promotion;
  for (const TensorInfo& tensor : tensors) promotion.add(tensor);
  return promotion.result();
}

Results joined(const std::vector<TensorInfo>& tensors, std::int64_t along, const ShapeEnv& dimensions) {
  if (tensors.empty()) throw CannotTell{};
  const bool all_have_one =
      std::ranges::all_of(tensors, [](const TensorInfo& info) { return info.dim() == 1; });
  std::optional<TensorInfo> result;
  std::size_t dim = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.dim() == 1) {
      // torch skips empty tensors of one dimension, whatever the shape of the others.
      const std::optional<bool> is_empty = dimensions.decide(Relation::kEqual, tensor.sizes[0], 0);
      if (is_empty == true || (!is_empty && !all_have_one)) continue;
      if (!is_empty && along != 0 && along != -1) throw CannotTell{};
    }
    if (!result) {
      dim = dim_index(along, tensor);
      result = tensor;
      continue;
    }
    require_rank(tensor, {result->dim()}, "an item of tensors");
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      SymInt& size = result->sizes[i];
      if (i != dim)
        require_equal_size(dimensions, tensor.sizes[i], size, {"an item of tensors", "the first"}, i);
      size = i == dim ? size + tensor.sizes[i] : same_size(size, tensor.sizes[i]);
    }
  }
  return make(result ? result->sizes : tensors[0].sizes, promoted_list(tensors));
}

Results cat(const RuleArguments& args) {
  return joined(args.tensors("tensors"), args.number("dim"), args.dimensions);
}

Results stack(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (tensors.empty()) throw CannotTell{};
  Sizes sizes = tensors[0].sizes;
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {static_cast<std::int64_t>(sizes.size())}, "an item of tensors");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require_equal_size(args.dimensions, tensor.sizes[i], sizes[i], {"an item of tensors", "the first"}, i);
      sizes[i] = same_size(sizes[i], tensor.sizes[i]);
    }
  }
  const std::int64_t dim = normalize_dim(args.number("dim"), static_cast<std::int64_t>(sizes.size()) + 1);
  sizes.insert(sizes.begin() + dim, static_cast<std::int64_t>(tensors.size()));
  return make(std::move(sizes), promoted_list(tensors));
}

Results hstack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (tensors.empty()) throw CannotTell{};
  for (TensorInfo& tensor : tensors) {
    if (tensor.sizes.empty()) tensor.sizes.emplace_back(1);
  }
  return joined(tensors, tensors[0].dim() == 1 ? 0 : 1, args.dimensions);
}

Results vstack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) {
    while (tensor.dim() < 2) tensor.sizes.insert(tensor.sizes.begin(), 1);
  }
  return joined(tensors, 0, args.dimensions);
}

Results dstack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) {
    while (tensor.dim() < 2) tensor.sizes.insert(tensor.sizes.begin(), 1);
    if (tensor.dim() == 2) tensor.sizes.emplace_back(1);
  }
  return joined(tensors, 2, args.dimensions);
}

Results column_stack(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) {
    while (tensor.dim() < 2) tensor.sizes.emplace_back(1);
  }
  return joined(tensors, 1, args.dimensions);
}

Results meshgrid(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  Sizes sizes;
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {0, 1}, "an item of tensors");
    require_same_dtype(tensor.dtype, tensors[0].dtype, {"an item of tensors", "the first"});
    sizes.push_back(product(tensor.sizes));
  }
  const bool first_two_swapped =
      args.is_given("indexing") && args.text("indexing") == "xy" && sizes.size() >= 2;
  if (first_two_swapped) std::swap(sizes[0], sizes[1]);
  for (TensorInfo& tensor : tensors) tensor.sizes = sizes;
  return make_list(std::move(tensors));
}

Results broadcast_tensors(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  Sizes sizes;
  for (const TensorInfo& tensor : tensors) sizes = broadcast(sizes, tensor.sizes, args.dimensions);
  for (TensorInfo& tensor : tensors) tensor.sizes = sizes;
  return make_list(std::move(tensors));
}

Results cartesian_product(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {1}, "an item of tensors");
    require_same_dtype(tensor.dtype, tensors[0].dtype, {"an item of tensors", "the first"});
  }
  if (tensors.size() == 1) return make(tensors[0]);
  SymInt rows = 1;
  for (const TensorInfo& tensor : tensors) rows = rows * product(tensor.sizes);
  return make({rows, static_cast<std::int64_t>(tensors.size())}, promoted_list(tensors));
}

Results block_diag(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  SymInt rows = 0, columns = 0;
  for (const TensorInfo& tensor : tensors) {
    require_rank(tensor, {0, 1, 2}, "an item of tensors");
    rows = rows + (tensor.dim() == 2 ? tensor.sizes[0] : SymInt(1));
    columns = columns + (tensor.sizes.empty() ? SymInt(1) : tensor.sizes.back());
  }
  return make({rows, columns}, promoted_list(tensors));
}

constexpr OperatorRow kConcatenationRows[] = {
    {"block_diag", {.traits = kNoMacs, .shape = block_diag}},
    {"broadcast_tensors",
     {.traits = kMayBeArgument,
      .shape = broadcast_tensors,
      .value = values::expand_all,
      .batch = {.rule = &BatchRules::broadcast, .keeps_dtypes = true, .may_write = true}}},
    {"cartesian_prod", {.traits = kNoMacs, .shape = cartesian_product}},
    {"cat",
     {.traits = kNoMacs | kLikeFirst | kRankByRanks,
      .shape = cat,
      .strides = StrideRule::kJoined,
      .value = values::join,
      .batch = {.rule = &BatchRules::join}}},
    {"column_stack", {.traits = kNoMacs, .shape = column_stack}},
    {"concat", {.traits = kNoMacs, .synonym_of = "cat", .shape = cat, .value = values::join}},
    {"concatenate", {.traits = kNoMacs, .synonym_of = "cat", .shape = cat}},
    {"dstack", {.traits = kNoMacs, .shape = dstack}},
    {"hstack", {.traits = kNoMacs, .shape = hstack, .value = values::stack_columns}},
    {"meshgrid",
     {.shape = meshgrid,
      .hidden_alias = {{0, 0}},
      .value = values::meshgrid,
      .batch = {.rule = &BatchRules::grid}}},
    {"row_stack", {.traits = kNoMacs, .synonym_of = "vstack", .shape = vstack}},
    {"stack",
     {.traits = kNoMacs | kRankByRanks,
      .shape = stack,
      .value = values::stack,
      .batch = {.rule = &BatchRules::join, .of_result = true}}},
    {"vstack", {.traits = kNoMacs, .shape = vstack, .value = values::stack_rows}},
};

}  // namespace

OperatorRows concatenation_rows() { return kConcatenationRows; }

}  // namespace fxtrace::internal
