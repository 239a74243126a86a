// Operators that select or replace elements by indices, masks and values.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/shape_rules.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

bool is_mask(const TensorInfo& info) {
  if (!info.dtype) throw CannotTell{};
  return *info.dtype == ScalarType::kBool || *info.dtype == ScalarType::kUint8;
}

// x[i, :, mask]: None leaves a dimension as it is, and a mask stands for the indices where it is true.
Results index(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const AbstractValue::Sequence* items = args.value("indices").sequence();
  if (items == nullptr) throw CannotTell{};
  std::vector<bool> is_picked;  // for each dimension of self: whether an index selects from it
  Sizes positions;
  for (const AbstractValue& item : *items) {
    if (item.is_none()) {
      is_picked.push_back(false);
      continue;
    }
    const TensorInfo* tensor = item.tensor();
    if (tensor == nullptr) throw CannotTell{};
    const std::size_t first = is_picked.size();
    const auto is_position = [](ScalarType type) {
      return type == ScalarType::kInt64 || type == ScalarType::kInt32 || type == ScalarType::kUint8 ||
             type == ScalarType::kBool;
    };
    require_dtype(tensor->dtype, is_position, "an item of indices", "int64, int32, uint8 or bool");
    if (is_mask(*tensor)) {
      for (std::size_t i = 0; i < tensor->sizes.size() && first + i < self.sizes.size(); ++i) {
        require_equal(args.dimensions, tensor->sizes[i], self.sizes[first + i], "sizes",
                      {"a mask in indices", "self"});
      }
      // A mask stands for one index tensor for each of its dimensions, all of the same length.
      positions =
          broadcast(positions, {fresh_up_to(product(tensor->sizes), args.dimensions)}, args.dimensions);
      is_picked.insert(is_picked.end(), tensor->sizes.size(), true);
      if (tensor->sizes.empty()) throw CannotTell{};
    } else {
      positions = broadcast(positions, tensor->sizes, args.dimensions);
      is_picked.push_back(true);
    }
  }
  is_picked.resize(std::max(is_picked.size(), self.sizes.size()), false);
  if (is_picked.size() > self.sizes.size()) {
    throw Raises{"indices cover " + std::to_string(is_picked.size()) + " dimensions, expected at most " +
                 std::to_string(self.dim())};
  }
  // The dimensions of the indices stand where the first index is, or in front if the indices are not
  // adjacent.
  const auto first = std::ranges::find(is_picked, true);
  if (first == is_picked.end()) return make(self);
  const auto after = std::find(first, is_picked.end(), false);
  const bool adjacent = std::find(after, is_picked.end(), true) == is_picked.end();
  const auto place = adjacent ? static_cast<std::size_t>(first - is_picked.begin()) : 0;
  Sizes sizes;
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    if (i == place) sizes = concatenated(std::move(sizes), positions);
    if (!is_picked[i]) sizes.push_back(self.sizes[i]);
  }
  return make(std::move(sizes), self.dtype);
}

// index_put(): the values are broadcast to the selected elements.
Results index_put(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &values = args.tensor("values");
  const auto has_mask = [](const AbstractValue& item) {
    return item.tensor() != nullptr && is_mask(*item.tensor());
  };
  const AbstractValue::Sequence* items = args.value("indices").sequence();
  // The number of elements that a mask selects depends on data.
  if (items == nullptr || std::ranges::any_of(*items, has_mask)) return make(self);
  try {
    require_expandable(args.dimensions, values.sizes, first_of(index(args)).sizes, "values");
  } catch (const CannotTell&) {
    return make(self);
  }
  return make(self);
}

// put(): indices into the flattened tensor.
Results put(const RuleArguments& args) {
  require_dtype(args.tensor("index").dtype, ScalarType::kInt64, "index");
  return same_as_first(args);
}

Results index_select(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const TensorInfo& positions = args.tensor("index");
  require_rank(positions, {0, 1}, "index");
  require_index(args, "index");
  if (!self.sizes.empty()) self.sizes[dim_index(args.number("dim"), self)] = product(positions.sizes);
  return make(std::move(self));
}

// take() and gather(): the result has the sizes of the index.
Results sizes_of_index(const RuleArguments& args) {
  const TensorInfo& index = args.tensor("index");
  const bool may_be_int32 = args.name() == "aten::gather" && index.dtype == ScalarType::kInt32;
  if (index.dtype && *index.dtype != ScalarType::kInt64 && !may_be_int32)
    throw Raises{"index is " + dtype_name(*index.dtype) + ", expected int64"};
  return make(index.sizes, args.tensor("self").dtype);
}

// Throws Raises unless the index has as many dimensions as `other`, which is the argument `name`, and no
// larger size except along `dim`.
void require_inside(const RuleArguments& args, const TensorInfo& index, const TensorInfo& other,
                    std::optional<std::int64_t> dim, std::string_view name) {
  const std::int64_t rank = std::max<std::int64_t>(index.dim(), 1);
  if (rank != std::max<std::int64_t>(other.dim(), 1)) {
    throw Raises{"index and " + std::string(name) + " have " + std::to_string(index.dim()) + " and " +
                 std::to_string(other.dim()) + " dimensions, expected equally many"};
  }
  for (std::size_t i = 0; i < index.sizes.size() && i < other.sizes.size(); ++i) {
    if (dim == static_cast<std::int64_t>(i)) continue;
    require(args.dimensions, Relation::kLessEqual, index.sizes[i], other.sizes[i],
            "size of index in dimension " + std::to_string(i));
  }
}

Results gather(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &index = args.tensor("index");
  const std::int64_t dim = normalize_dim(args.number("dim"), self.dim());
  // An empty index is valid whatever its sizes.
  if (!may_be_empty(args.dimensions, index.sizes)) {
    require_inside(args, index, self, dim, "self");
    return sizes_of_index(args);
  }
  return make(index.sizes, self.dtype);
}

Results scatter(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &index = args.tensor("index");
  const std::int64_t dim = normalize_dim(args.number("dim"), self.dim());
  require_index(args, "index");
  if (!may_be_empty(args.dimensions, index.sizes)) {
    require_inside(args, index, self, dim, "self");
    if (args.is_tensor("src")) {
      require_inside(args, index, args.tensor("src"), {}, "src");
    }
  }
  return make(self);
}

// index_add(), index_copy(), index_reduce(): `index` has a position along `dim` for each slice of `source`.
Results put_slices(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &index = args.tensor("index"),
                   &source = args.tensor("source");
  const std::int64_t dim = normalize_dim(args.number("dim"), self.dim());
  require_index(args, "index");
  require_rank(index, {0, 1}, "index");
  const SymInt count = product(index.sizes);
  const auto along = static_cast<std::size_t>(dim);
  const bool is_copy = args.name().starts_with("aten::index_copy");
  if (is_copy) require_dtype(index.dtype, ScalarType::kInt64, "index");
  if (self.dim() == source.dim()) {
    for (std::size_t i = 0; i < self.sizes.size(); ++i) {
      if (i == along) continue;
      require_equal_size(args.dimensions, self.sizes[i], source.sizes[i], {"self", "source"}, i);
    }
  } else if (!is_copy || (!self.sizes.empty() && !source.sizes.empty())) {
    throw Raises{"self and source have " + std::to_string(self.dim()) + " and " +
                 std::to_string(source.dim()) + " dimensions, expected equally many"};
  }
  require_equal(args.dimensions, source.sizes.empty() ? SymInt(1) : nth(source.sizes, along), count,
                "size of source along dim and number of elements of index");
  return make(self);
}

Results index_fill(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &index = args.tensor("index");
  normalize_dim(args.number("dim"), self.dim());
  require_dtype(index.dtype, ScalarType::kInt64, "index");
  require_rank(index, {0, 1}, "index");
  if (args.is_tensor("value")) require_rank(args.tensor("value"), {0}, "value");
  return make(self);
}

Results take_along_dim(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &indices = args.tensor("indices");
  require_dtype(indices.dtype, ScalarType::kInt64, "indices");
  if (!args.is_given("dim")) return make({product(indices.sizes)}, self.dtype);
  require_rank(indices, {self.dim()}, "indices");
  const std::size_t dim = dim_index(args.number("dim"), self);
  Sizes sizes = indices.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != dim)
      sizes[i] =
          broadcast_size(sizes[i], self.sizes[i], args.dimensions, {"indices", "self"}, signed_index(i));
  }
  return make(std::move(sizes), self.dtype);
}

Results masked_select(const RuleArguments& args) {
  require_dtype(args.tensor("mask").dtype, ScalarType::kBool, "mask");
  const SymInt count = fresh_up_to(product(broadcast_all(args)), args.dimensions);
  return make({count}, args.tensor("self").dtype);
}

Results nonzero(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make({fresh_up_to(product(self.sizes), args.dimensions), self.dim()}, ScalarType::kInt64);
}

Results nonzero_static(const RuleArguments& args) {
  return make({args.size("size"), args.tensor("self").dim()}, ScalarType::kInt64);
}

Results nonzero_lists(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const SymInt count = fresh_up_to(product(self.sizes), args.dimensions);
  return make_list(std::vector<TensorInfo>(std::max<std::size_t>(self.sizes.size(), 1),
                                           TensorInfo{.sizes = {count}, .dtype = ScalarType::kInt64}));
}

// (unique elements of the flattened input, or unique slices along a dimension; the index of each among them;
// counts).  Results for which the call does not ask are unknown: torch leaves them empty on some paths only.
Results unique_elements(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Results results(args.schema().results.size());
  Sizes sizes, all = self.sizes;
  SymInt count;
  if (args.is_given("dim")) {
    const std::size_t dim = dim_index(args.number("dim"), self);
    count = fresh_up_to(self.sizes[dim], args.dimensions);
    sizes = self.sizes;
    all = {sizes[dim]};
    sizes[dim] = count;
  } else {
    count = fresh_up_to(product(self.sizes), args.dimensions);
    sizes = {count};
  }
  results.at(0) = {TensorInfo{.sizes = sizes, .dtype = self.dtype}};
  if (args.is_given("return_inverse") && args.flag("return_inverse")) {
    results.at(1) = {TensorInfo{.sizes = all, .dtype = ScalarType::kInt64}};
  }
  if (args.is_given("return_counts") && args.flag("return_counts")) {
    results.at(2) = {TensorInfo{.sizes = {count}, .dtype = ScalarType::kInt64}};
  }
  return results;
}

// Returns `repeats` if it is a number or a tensor with one known element.
std::optional<SymInt> find_repeats(const RuleArguments& args) {
  try {
    return args.size("repeats");
  } catch (const CannotTell&) {
    return std::nullopt;
  }
}

Results repeat_interleave(const RuleArguments& args) {
  const bool counts_only = !args.is_given("self");
  TensorInfo info = args.tensor(counts_only ? "repeats" : "self");
  std::size_t dim = 0;
  if (args.is_given("dim")) {
    dim = dim_index(args.number("dim"), info);
  } else {
    info.sizes = {product(info.sizes)};
  }
  SymInt& size = info.sizes[dim];
  if (args.is_given("output_size")) {
    size = args.size("output_size");
  } else if (const auto repeats = find_repeats(args)) {
    require(args.dimensions, Relation::kGreaterEqual, *repeats, 0, "repeats");
    size = size * *repeats;
  } else {
    size = args.dimensions.fresh();
  }
  return make(std::move(info));
}

// searchsorted(), bucketize(): a position for each element of `self`.
Results found_positions(const RuleArguments& args) {
  const Sizes sizes = args.is_tensor("self") ? args.tensor("self").sizes : Sizes();
  if (args.is_given("boundaries")) require_rank(args.tensor("boundaries"), {1}, "boundaries");
  if (args.is_given("sorted_sequence"))
    require_least_rank(args.tensor("sorted_sequence"), 1, "sorted_sequence");
  return make(sizes, args.flag("out_int32") ? ScalarType::kInt32 : ScalarType::kInt64);
}

Results is_in(const RuleArguments& args) {
  const Sizes sizes = args.is_tensor("elements") ? args.tensor("elements").sizes : Sizes();
  return make(sizes, ScalarType::kBool);
}

Results count_values(const RuleArguments& args) {
  const SymInt least = args.is_given("minlength") ? args.size("minlength") : SymInt(0);
  require_rank(args.tensor("self"), {1}, "self");
  require(args.dimensions, Relation::kGreaterEqual, least, 0, "minlength");
  Dtype dtype = ScalarType::kInt64;
  if (args.is_given("weights")) {
    require_equal_sizes(args.dimensions, args.tensor("weights").sizes, args.tensor("self").sizes,
                        {"weights", "self"});
    dtype = args.tensor("weights").dtype;
    if (dtype && *dtype != ScalarType::kFloat32) dtype = ScalarType::kFloat64;
  }
  return make({args.dimensions.fresh({args.dimensions.bounds(least).low, std::nullopt})}, dtype);
}

void check_put(const RuleArguments& args) {
  const TensorInfo *index = find_tensor(args, "index"), *source = find_tensor(args, "source");
  if (index == nullptr || source == nullptr) return;
  require_equal(args.dimensions, product(index->sizes), product(source->sizes), "numbers of elements",
                {"index", "source"});
}

constexpr OperatorRow kIndexingRows[] = {
    {"_index_put_impl", {.traits = kNoMacs | kKeepsDtype, .shape = index_put}},
    {"_unique _unique2 unique_consecutive unique_dim unique_dim_consecutive",
     {.traits = kNoMacs, .shape = unique_elements}},
    {"_unsafe_index", {.traits = kNoMacs, .shape = index}},
    {"_unsafe_index_put", {.traits = kNoMacs, .shape = index_put}},
    {"_unsafe_masked_index _unsafe_masked_index_put_accumulate", {.traits = kNoMacs}},
    {"argwhere", {.traits = kNoMacs, .shape = nonzero}},
    {"bincount", {.traits = kNoMacs, .shape = count_values}},
    {"bucketize searchsorted", {.traits = kNoMacs, .shape = found_positions}},
    {"searchsorted.Scalar searchsorted.Tensor", {.batch = {.rule = &BatchRules::search_sorted}}},
    {"bucketize.Tensor index_fill.int_Scalar repeat_interleave.self_int", {.batch = kLeading}},
    {"gather",
     {.traits = kNoMacs | kRankByRanks,
      .shape = gather,
      .value = values::gather,
      .batch = {.rule = &BatchRules::gather, .argument = "index"}}},
    {"index",
     {.traits = kNoMacs | kPlain | kTextMethod | kCompares, .shape = index, .on_values = "operator.indexOf"}},
    {"index.Tensor", {.batch = {.rule = &BatchRules::index}}},
    {"index_add index_copy index_reduce",
     {.traits = kNoMacs | kKeepsDtype, .shape = put_slices, .same_dtype = {"self", "source"}}},
    {"index_fill", {.traits = kNoMacs | kKeepsDtype, .shape = index_fill}},
    {"index_put", {.traits = kNoMacs | kKeepsDtype, .shape = index_put, .same_dtype = {"self", "values"}}},
    {"index_select",
     {.traits = kNoMacs | kRankByRanks,
      .shape = index_select,
      .check = check_dim,
      .value = values::index_select,
      .batch = {.rule = &BatchRules::index_select}}},
    {"isin", {.traits = kNoMacs, .shape = is_in}},
    {"masked_select", {.traits = kNoMacs, .shape = masked_select}},
    {"nonzero", {.traits = kNoMacs | kTensorMethod, .shape = nonzero}},
    {"nonzero_numpy", {.traits = kNoMacs, .shape = nonzero_lists}},
    {"nonzero_static", {.traits = kNoMacs, .shape = nonzero_static}},
    {"put",
     {.traits = kNoMacs | kKeepsDtype, .shape = put, .check = check_put, .same_dtype = {"self", "source"}}},
    {"repeat_interleave", {.traits = kNoMacs, .shape = repeat_interleave}},
    {"scatter scatter_reduce",
     {.traits = kNoMacs | kKeepsDtype, .shape = scatter, .same_dtype = {"self", "src"}}},
    {"scatter.src scatter.value",
     {.batch = {.rule = &BatchRules::gather, .argument = "self", .may_write = true}}},
    {"scatter_add",
     {.traits = kNoMacs | kKeepsDtype,
      .shape = scatter,
      .same_dtype = {"self", "src"},
      .batch = {.rule = &BatchRules::gather, .argument = "self", .may_write = true}}},
    {"take", {.traits = kNoMacs, .shape = sizes_of_index, .value = values::take}},
    {"take_along_dim", {.traits = kNoMacs, .shape = take_along_dim, .batch = {.rule = &BatchRules::equal}}},
};

}  // namespace

OperatorRows indexing_rows() { return kIndexingRows; }

// Embeddings: rows of a table, or sums of rows.

namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Embeddings ----

Results embedding_bag(const RuleArguments& args) {
  const TensorInfo &weight = args.tensor("weight"), &offsets = args.tensor("offsets");
  const Dtype positions = promoted(args, {"indices", "offsets"});
  if (positions && *positions != ScalarType::kInt64 && *positions != ScalarType::kInt32)
    throw Raises{"indices and offsets have the common dtype " + dtype_name(*positions) +
                 ", expected int64 or int32"};
  if (weight.dim() != 2 || offsets.dim() != 1) throw CannotTell{};
  const SymInt bags = offsets.sizes[0] - (args.flag("include_last_offset") ? 1 : 0);
  return first_only(args, tensor_of({bags, weight.sizes[1]}, weight.dtype));
}

constexpr OperatorRow kEmbeddingRows[] = {
    {"_embedding_bag _embedding_bag_forward_only", {.traits = kNoMacs, .shape = embedding_bag}},
    {"_embedding_bag_dense _embedding_bag_per_sample_weights _embedding_bag_sparse "
     "_rowwise_prune embedding_dense embedding_sparse",
     {.traits = kNoMacs}},
    {"_no_grad_embedding_renorm_", {.traits = kNoMacs | kHiddenWrite}},
    {"embedding",
     {.traits = kNoMacs,
      .signature = "vd ...:index -> ...d:first",
      .batch = {.rule = &BatchRules::embedding, .argument = "indices"},
      .example = {ExampleForm::kIndices}}},
    {"embedding_bag", {.traits = kNoMacs, .shape = embedding_bag}},
    {"embedding_renorm", {.traits = kNoMacs | kForFloats, .shape = like_first}},
};

}  // namespace

OperatorRows embedding_rows() { return kEmbeddingRows; }

}  // namespace fxtrace::internal
