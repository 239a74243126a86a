// Rules of operators that pick or replace elements by positions, masks and values.
#include <algorithm>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

bool is_mask(const TensorInfo& info) {
  if (!info.dtype) throw CannotTell{};
  return *info.dtype == ScalarType::kBool || *info.dtype == ScalarType::kUint8;
}

// x[i, :, mask]: None leaves a dimension alone, and a mask stands for the positions where it is true.
Results index(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const AbstractValue::Sequence* items = args.value("indices").sequence();
  if (items == nullptr) throw CannotTell{};
  std::vector<bool> is_picked;  // for each dimension of self that `indices` name
  Sizes positions;
  for (const AbstractValue& item : *items) {
    if (item.is_none()) {
      is_picked.push_back(false);
      continue;
    }
    const TensorInfo* tensor = item.tensor();
    if (tensor == nullptr) throw CannotTell{};
    if (is_mask(*tensor)) {
      // One list of positions for each of the mask's dimensions, all of the same length.
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
  if (is_picked.size() != self.sizes.size()) throw CannotTell{};
  // The positions come where the first of them is, or first when something is between them.
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

Results index_select(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const TensorInfo& positions = args.tensor("index");
  if (!self.sizes.empty()) {
    self.sizes[dim_index(args.number("dim"), self)] = product(positions.sizes);
  }
  return make(std::move(self));
}

// gather, take: where each element comes from.
Results sizes_of_index(const RuleArguments& args) {
  const Dtype dtype = args.tensor("index").dtype;
  if (dtype && *dtype != ScalarType::kInt64 && *dtype != ScalarType::kInt32)
    throw Raises{"indices are int64, not " + dtype_name(*dtype)};
  return make(args.tensor("index").sizes, args.tensor("self").dtype);
}

Results take_along_dim(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &indices = args.tensor("indices");
  if (!args.given("dim")) return make({product(indices.sizes)}, self.dtype);
  if (self.dim() != indices.dim()) throw CannotTell{};
  const std::size_t dim = dim_index(args.number("dim"), self);
  Sizes sizes = indices.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i != dim) sizes[i] = broadcast_size(sizes[i], self.sizes[i], args.dimensions);
  }
  return make(std::move(sizes), self.dtype);
}

Results masked_select(const RuleArguments& args) {
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

// How many elements of the flat input, or slices along a dimension, are left; each one's place among them;
// counts. What is not asked for is empty on some paths and not on others.
Results unique_elements(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Results results(args.schema().results.size());
  Sizes sizes, all = self.sizes;
  SymInt count;
  if (args.given("dim")) {
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
  if (args.given("return_inverse") && args.flag("return_inverse")) {
    results.at(1) = {TensorInfo{.sizes = all, .dtype = ScalarType::kInt64}};
  }
  if (args.given("return_counts") && args.flag("return_counts")) {
    results.at(2) = {TensorInfo{.sizes = {count}, .dtype = ScalarType::kInt64}};
  }
  return results;
}

Results repeat_interleave(const RuleArguments& args) {
  const bool counts_only = !args.given("self");
  TensorInfo info = args.tensor(counts_only ? "repeats" : "self");
  std::size_t dim = 0;
  if (args.given("dim")) {
    dim = dim_index(args.number("dim"), info);
  } else {
    info.sizes = {product(info.sizes)};
  }
  SymInt& size = info.sizes[dim];
  if (args.given("output_size")) {
    size = args.size("output_size");
  } else if (args.is_tensor("repeats")) {
    size = args.dimensions.fresh();
  } else {
    size = size * args.size("repeats");
  }
  return make(std::move(info));
}

// searchsorted, bucketize: the positions of `self`.
Results found_positions(const RuleArguments& args) {
  const Sizes sizes = args.is_tensor("self") ? args.tensor("self").sizes : Sizes();
  return make(sizes, args.flag("out_int32") ? ScalarType::kInt32 : ScalarType::kInt64);
}

Results is_in(const RuleArguments& args) {
  const Sizes sizes = args.is_tensor("elements") ? args.tensor("elements").sizes : Sizes();
  return make(sizes, ScalarType::kBool);
}

Results count_values(const RuleArguments& args) {
  const SymInt least = args.given("minlength") ? args.size("minlength") : SymInt(0);
  Dtype dtype = ScalarType::kInt64;
  if (args.given("weights")) {
    dtype = args.tensor("weights").dtype;
    if (dtype && *dtype != ScalarType::kFloat32) dtype = ScalarType::kFloat64;
  }
  return make({args.dimensions.fresh({args.dimensions.bounds(least).low, std::nullopt})}, dtype);
}

}  // namespace

RuleTable indexing_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"_index_put_impl", same_as_first},
      {"_unique", unique_elements},
      {"_unique2", unique_elements},
      {"_unsafe_index", index},
      {"_unsafe_index_put", same_as_first},
      {"argwhere", nonzero},
      {"bincount", count_values},
      {"bucketize", found_positions},
      {"diagonal_scatter", same_as_first},
      {"gather", sizes_of_index},
      {"index", index},
      {"index_add", same_as_first},
      {"index_copy", same_as_first},
      {"index_fill", same_as_first},
      {"index_put", same_as_first},
      {"index_reduce", same_as_first},
      {"index_select", index_select},
      {"isin", is_in},
      {"masked_select", masked_select},
      {"nonzero", nonzero},
      {"nonzero_numpy", nonzero_lists},
      {"nonzero_static", nonzero_static},
      {"put", same_as_first},
      {"repeat_interleave", repeat_interleave},
      {"scatter", same_as_first},
      {"scatter_add", same_as_first},
      {"scatter_reduce", same_as_first},
      {"searchsorted", found_positions},
      {"select_scatter", same_as_first},
      {"slice_scatter", same_as_first},
      {"take", sizes_of_index},
      {"take_along_dim", take_along_dim},
      {"unique_consecutive", unique_elements},
      {"unique_dim", unique_elements},
      {"unique_dim_consecutive", unique_elements},
  };
  return kRules;
}

}  // namespace fxtrace
