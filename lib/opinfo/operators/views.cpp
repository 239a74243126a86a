// Operators that return the elements of a tensor in another shape or order.  Functions, as arguments tell
// which.
#include <algorithm>
#include <cstdlib>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/sparse_rules.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

Results channel_shuffle(const RuleArguments& args) {
  TensorInfo info = args.tensor("self");
  require_least_rank(info, 3, "self");
  require(args.dimensions, Relation::kGreater, args.size("groups"), 0, "groups");
  require_multiple(args.dimensions, info.sizes[1], args.size("groups"), "size of self in dimension 1");
  return make(std::move(info));
}

// Returns whether a size stands for -1, the size to be inferred; throws CannotTell when its sign is unknown.
bool is_left_open(const SymInt& size, const ShapeEnv& dimensions) {
  if (const auto number = size.number()) return *number == -1;
  return !decided(dimensions, Relation::kGreaterEqual, size, 0);
}

// ---- Another shape ----

// Does the work of complete(); throws SymbolicError when an expression grows too large.
Sizes completed(const Sizes& sizes, Sizes asked, ShapeEnv& dimensions) {
  const auto fits = [&](const Sizes& result) {
    require_equal(dimensions, product(sizes), product(result), "numbers of elements before and after");
    return result;
  };
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    require(dimensions, Relation::kGreaterEqual, asked[i], -1, "a size of the result");
    if (!is_number(asked[i], -1)) continue;
    if (open) throw Raises{"two sizes of the result are -1, expected at most one"};
    open = i;
  }
  if (!open) {
    // If the numbers of elements are equal for all values of the dimensions, no size is -1.
    if (product(sizes) == product(asked)) return asked;
    std::vector<std::size_t> may_be_open;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (dimensions.decide(Relation::kGreaterEqual, asked[i], 0) != true) may_be_open.push_back(i);
    }
    if (may_be_open.empty()) return fits(asked);
    if (may_be_open.size() > 1) {
      for (const std::size_t i : may_be_open) asked[i] = dimensions.fresh();
      return asked;
    }
    open = may_be_open[0];  // inferring it is right in both cases
  }
  Sizes others = asked;
  others.erase(others.begin() + signed_index(*open));
  for (const SymInt& size : others) {
    if (is_number(size, 0)) throw Raises{"size -1 is ambiguous, as another size is 0"};
  }
  asked[*open] = quotient(sizes, others, dimensions);
  return fits(asked);
}

// Returns the sizes `asked` with the one that is or may be -1 inferred.
Sizes complete(const Sizes& sizes, Sizes asked, ShapeEnv& dimensions) {
  try {
    return completed(sizes, asked, dimensions);
  } catch (const SymbolicError&) {
    for (SymInt& size : asked) {
      if (dimensions.decide(Relation::kGreaterEqual, size, 0) != true) size = dimensions.fresh();
    }
    return asked;
  }
}

Results reshape(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const bool is_size = args.is_given("size"), is_shape = args.is_given("shape");
  if (is_size || is_shape) {
    return make(complete(self.sizes, args.sizes(is_size ? "size" : "shape"), args.dimensions), self.dtype);
  }
  // view(dtype): the same bytes as another dtype.
  const ScalarType dtype = args.dtype("dtype");
  if (!self.dtype) throw CannotTell{};
  const auto old_width = item_size(*self.dtype);
  const auto new_width = item_size(dtype);
  Sizes sizes = self.sizes;
  if (old_width != new_width) {
    if (sizes.empty()) throw CannotTell{};
    sizes.back() = floordiv(sizes.back() * old_width, new_width);
  }
  return make(std::move(sizes), dtype);
}

Results reshape_as(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &other = args.tensor("other");
  require_equal(args.dimensions, product(self.sizes), product(other.sizes), "numbers of elements",
                {"self", "other"});
  return make(other.sizes, self.dtype);
}

Results expand_as(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &other = args.tensor("other");
  require_expandable(args.dimensions, self.sizes, other.sizes, "self");
  return make(other.sizes, self.dtype);
}

Results expand(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Sizes sizes = args.sizes("size");
  if (sizes.size() < self.sizes.size()) {
    throw Raises{"size has length " + std::to_string(sizes.size()) + ", expected " +
                 std::to_string(self.dim()) + " or more"};
  }
  const std::size_t offset = sizes.size() - self.sizes.size();
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    const SymInt& own = self.sizes[i];
    SymInt& asked = sizes[offset + i];
    // Only size 1 can be expanded.
    if (own.is_number() && !is_number(own, 1)) {
      const bool is_size = args.dimensions.decide(Relation::kGreaterEqual, asked, 0) == true;
      if (is_size || (asked.is_number() && !is_number(asked, -1)))
        require(args.dimensions, Relation::kEqual, asked, own, "size[" + std::to_string(offset + i) + "]");
      asked = own;
    } else if (asked != own) {
      // As torch.export, this takes a number that depends on data for a size, though it may be -1.
      const bool is_open = !asked.is_number() && !args.dimensions.decide(Relation::kGreaterEqual, asked, 0);
      if (is_open && !asked.symbol_name())
        asked = args.dimensions.fresh();
      else if (!is_open && is_left_open(asked, args.dimensions))
        asked = own;
    }
  }
  return make(std::move(sizes), self.dtype);
}

Results repeat(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Sizes counts = args.sizes(args.is_given("repeats") ? "repeats" : "dims");
  Sizes sizes = self.sizes;
  // tile() takes fewer counts than dimensions.
  if (args.is_given("repeats") && counts.size() < sizes.size()) {
    throw Raises{"repeats has length " + std::to_string(counts.size()) + ", expected " +
                 std::to_string(self.dim()) + " or more"};
  }
  if (counts.size() < sizes.size()) counts.insert(counts.begin(), sizes.size() - counts.size(), 1);
  sizes.insert(sizes.begin(), counts.size() - sizes.size(), 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = sizes[i] * counts[i];
  return make(std::move(sizes), self.dtype);
}

Results permuted(const TensorInfo& self, const std::vector<std::int64_t>& order) {
  if (order.size() != self.sizes.size()) {
    throw Raises{"dims has length " + std::to_string(order.size()) + ", expected " +
                 std::to_string(self.dim())};
  }
  Sizes sizes;
  for (const std::int64_t dim : order) sizes.push_back(self.sizes[dim_index(dim, self)]);
  return make(std::move(sizes), self.dtype);
}

Results permute(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::vector<std::int64_t> dims = args.numbers("dims");
  if (dims.size() == self.sizes.size()) distinct_dims(dims, self.dim());
  return permuted(self, dims);
}

Results swapped(TensorInfo info, std::int64_t first, std::int64_t second) {
  normalize_dims({first, second}, info.dim());
  if (!info.sizes.empty()) std::swap(info.sizes[dim_index(first, info)], info.sizes[dim_index(second, info)]);
  return make(std::move(info));
}

Results transpose(const RuleArguments& args) {
  const bool is_axis = args.is_given("axis0");
  return swapped(args.tensor("self"), args.number(is_axis ? "axis0" : "dim0"),
                 args.number(is_axis ? "axis1" : "dim1"));
}

Results transpose_matrix(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  // torch still accepts tensors without dimensions, which is deprecated.
  if (self.sizes.empty()) return make(std::move(self));
  require_least_rank(self, 2, "self");
  return swapped(std::move(self), -1, -2);
}

Results reverse_dimensions(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const std::string_view name = without_namespace(args.name());
  if (name == "t" || name == "t_copy" || name == "t_") require_rank(self, {0, 1, 2}, "self");
  if (name == "matrix_H") require_rank(self, {0, 2}, "self");
  std::ranges::reverse(self.sizes);
  return make(std::move(self));
}

Results move_dimensions(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const auto source = distinct_dims(args.numbers("source"), self.dim());
  const auto destination = distinct_dims(args.numbers("destination"), self.dim());
  if (source.size() != destination.size()) {
    throw Raises{"source and destination have lengths " + std::to_string(source.size()) + " and " +
                 std::to_string(destination.size()) + ", expected equal"};
  }
  if (self.sizes.empty()) return make(self);
  std::vector<std::int64_t> order(self.sizes.size(), -1);
  for (std::size_t i = 0; i < source.size(); ++i)
    nth(order, static_cast<std::size_t>(destination[i])) = source[i];
  std::int64_t next = 0;
  for (std::int64_t& dim : order) {
    if (dim >= 0) continue;
    while (std::ranges::find(source, next) != source.end()) ++next;
    dim = next++;
  }
  return permuted(self, order);
}

Results unsqueeze(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const std::int64_t dim = normalize_dim(args.number("dim"), self.dim() + 1);
  self.sizes.insert(self.sizes.begin() + dim, 1);
  return make(std::move(self));
}

Results squeeze(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  std::vector<std::int64_t> dims;
  const bool all = !args.is_given("dim");
  if (!all) dims = distinct_dims(args.numbers("dim"), self.dim());
  Sizes sizes;
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    const bool asked = all || std::ranges::find(dims, signed_index(i)) != dims.end();
    if (asked && decided(args.dimensions, Relation::kEqual, self.sizes[i], 1)) continue;
    sizes.push_back(self.sizes[i]);
  }
  return make(std::move(sizes), self.dtype);
}

Results flatten(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (self.sizes.empty()) {
    normalize_dims({args.number("start_dim"), args.number("end_dim")}, 0);
    return make({1}, self.dtype);
  }
  const std::size_t start = dim_index(args.number("start_dim"), self),
                    end = dim_index(args.number("end_dim"), self);
  if (end < start) throw CannotTell{};
  Sizes sizes = slice_of(self.sizes, 0, start);
  sizes.push_back(product(slice_of(self.sizes, start, end + 1)));
  return make(concatenated(std::move(sizes), slice_of(self.sizes, end + 1, self.sizes.size())), self.dtype);
}

Results ravel(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make({product(self.sizes)}, self.dtype);
}

Results unflatten(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), self);
  if (args.sizes("sizes").empty()) throw Raises{"sizes has length 0, expected 1 or more"};
  const Sizes middle = complete({self.sizes[dim]}, args.sizes("sizes"), args.dimensions);
  Sizes sizes = concatenated(slice_of(self.sizes, 0, dim), middle);
  return make(concatenated(std::move(sizes), slice_of(self.sizes, dim + 1, self.sizes.size())), self.dtype);
}

template <int Least>
Results at_least(const RuleArguments& args) {
  const auto grow = [](TensorInfo info) {
    Sizes& sizes = info.sizes;
    if (sizes.empty()) sizes.emplace_back(1);
    if (Least >= 2 && sizes.size() == 1) sizes.insert(sizes.begin(), 1);
    if (Least >= 3 && sizes.size() == 2) sizes.emplace_back(1);
    return info;
  };
  if (args.is_tensor(first_argument(args))) return make(grow(args.tensor(first_argument(args))));
  std::vector<TensorInfo> infos = args.tensors(first_argument(args));
  for (TensorInfo& info : infos) info = grow(info);
  return make_list(std::move(infos));
}

// ---- Other orders of elements ----

Results rot90(const RuleArguments& args) {
  const std::vector<std::int64_t> dims = args.numbers("dims");
  if (dims.size() != 2) throw Raises{"dims has length " + std::to_string(dims.size()) + ", expected 2"};
  distinct_dims(dims, args.tensor("self").dim());
  if (args.number("k") % 2 == 0) return same_as_first(args);
  return swapped(args.tensor("self"), dims[0], dims[1]);
}

Results pixel_shuffle(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  require_least_rank(self, 3, "self");
  const SymInt factor = args.size("upscale_factor");
  require(args.dimensions, Relation::kGreater, factor, 0, "upscale_factor");
  SymInt* const last = &self.sizes.back();
  require_multiple(args.dimensions, last[-2], factor * factor, "size of self in dimension -3");
  last[-2] = floordiv(last[-2], factor * factor);
  last[-1] = last[-1] * factor;
  last[0] = last[0] * factor;
  return make(std::move(self));
}

Results pixel_unshuffle(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  require_least_rank(self, 3, "self");
  const SymInt factor = args.size("downscale_factor");
  require(args.dimensions, Relation::kGreater, factor, 0, "downscale_factor");
  SymInt* const last = &self.sizes.back();
  require_multiple(args.dimensions, last[-1], factor, "size of self in dimension -2");
  require_multiple(args.dimensions, last[0], factor, "size of self in dimension -1");
  last[-2] = last[-2] * factor * factor;  // channels, then rows and columns
  last[-1] = floordiv(last[-1], factor);
  last[0] = floordiv(last[0], factor);
  return make(std::move(self));
}

Results view_as_real(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_dtype(self.dtype, is_complex, "self", "a complex dtype");
  return make(concatenated(self.sizes, {2}), real_dtype(self.dtype));
}

Results view_as_complex(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  require_least_rank(self, 1, "self");
  require_dtype(self.dtype, is_floating, "self", "a floating dtype");
  require(args.dimensions, Relation::kEqual, self.sizes.back(), 2, "size of self in dimension -1");
  self.sizes.pop_back();
  return make(std::move(self.sizes), complex_dtype(self.dtype));
}

constexpr OperatorRow kViewsRows[] = {
    {"matrix_H numpy_T t_copy", {.shape = reverse_dimensions, .strides = StrideRule::kPermuted}},
    {"_chunk_cat _copy_from _copy_from_and_resize _mkldnn_reshape _mkldnn_transpose "
     "_no_grad_fill_ _no_grad_zero_ _pin_memory _propagate_xla_data _reshape_copy "
     "_reshape_from_tensor _resize_output _stack _to_cpu fill_diagonal_ set to_mkldnn",
     {.traits = kNoMacs}},
    {"_unsafe_view",
     {.traits = kNoMacs | kReadsLayout | kKeepsContiguous,
      .shape = reshape,
      .strides = StrideRule::kViewed,
      .batch = {.rule = &BatchRules::sizes},
      .sizes = "size"}},
    {"adjoint",
     {.shape = transpose_matrix,
      .strides = StrideRule::kPermuted,
      .batch = kLeading,
      .inverse = {"aten.adjoint.default", InverseForm::kChanged}}},
    {"atleast_1d", {.traits = kMayBeArgument, .shape = at_least<1>}},
    {"atleast_2d", {.traits = kMayBeArgument, .shape = at_least<2>}},
    {"atleast_3d", {.traits = kMayBeArgument, .shape = at_least<3>}},
    {"broadcast_to",
     {.shape = expand,
      .strides = StrideRule::kExpanded,
      .value = values::expand,
      .batch = {.rule = &BatchRules::expand},
      .sizes = "size"}},
    {"channel_shuffle", {.traits = kNoMacs, .shape = channel_shuffle}},
    {"expand",
     {.traits = kRankByRanks,
      .shape = expand,
      .strides = StrideRule::kExpanded,
      .value = values::expand,
      .batch = {.rule = &BatchRules::expand},
      .sizes = "size",
      .identity = {When::kSameSizesOrAny, "size"}}},
    {"expand_as",
     {.shape = expand_as,
      .strides = StrideRule::kExpanded,
      .value = values::expand,
      .batch = {.rule = &BatchRules::sizes_of, .target = "aten.expand.default"}}},
    {"expand_copy", {.shape = expand}},
    {"flatten",
     {.traits = kTensorMethod | kMayBeArgument | kMayCopy | kKeepsContiguous | kRankByRanks,
      .shape = flatten,
      .strides = StrideRule::kReshaped,
      .value = values::same_elements,
      .batch = kLeading,
      .identity = {When::kOneDimension},
      .inverse = kReshapeAs}},
    {"mH", {.compared_as = "adjoint", .shape = transpose_matrix}},
    {"mH.", {.batch = kLeading, .inverse = {"aten.mH.default", InverseForm::kChanged}}},
    {"mT", {.shape = transpose_matrix, .strides = StrideRule::kPermuted}},
    {"mT.", {.batch = kLeading, .inverse = {"aten.mT.default", InverseForm::kChanged}}},
    {"matrix_H.",
     {.batch = {.rule = &BatchRules::reverse, .target = "aten.mH.default"},
      .inverse = {"aten.matrix_H.default", InverseForm::kChanged}}},
    {"moveaxis",
     {.traits = kNoMacs,
      .synonym_of = "movedim",
      .shape = move_dimensions,
      .strides = StrideRule::kPermuted}},
    {"moveaxis.int", {.inverse = {"aten.moveaxis.int", InverseForm::kSwappedRest}}},
    {"moveaxis.intlist", {.inverse = {"aten.moveaxis.intlist", InverseForm::kSwappedRest}}},
    {"movedim",
     {.traits = kRankByRanks,
      .shape = move_dimensions,
      .strides = StrideRule::kPermuted,
      .value = values::move_dims,
      .batch = kLeading}},
    {"movedim.int", {.inverse = {"aten.movedim.int", InverseForm::kSwappedRest}}},
    {"movedim.intlist", {.inverse = {"aten.movedim.intlist", InverseForm::kSwappedRest}}},
    {"native_channel_shuffle", {.traits = kNoMacs, .shape = same_as_first}},
    {"numpy_T.",
     {.batch = {.rule = &BatchRules::reverse}, .inverse = {"aten.numpy_T.default", InverseForm::kChanged}}},
    {"permute",
     {.traits = kTensorMethod | kKeepsRank,
      .shape = permute,
      .strides = StrideRule::kPermuted,
      .value = values::permute,
      .batch = {.rule = &BatchRules::permute},
      .identity = {When::kSameOrder, "dims"},
      .inverse = {"aten.permute.default", InverseForm::kPermutation}}},
    {"permute_copy", {.shape = permute}},
    {"pixel_shuffle",
     {.traits = kNoMacs | kKeepsRank,
      .shape = pixel_shuffle,
      .strides = StrideRule::kImages,
      .batch = kLeading}},
    {"pixel_unshuffle", {.traits = kNoMacs, .shape = pixel_unshuffle, .batch = kLeading}},
    {"ravel",
     {.traits = kMayCopy | kKeepsContiguous,
      .shape = ravel,
      .strides = StrideRule::kContiguous,
      .inverse = kReshapeAs}},
    {"repeat",
     {.traits = kNoMacs | kRankByRanks,
      .shape = repeat,
      .value = values::repeat,
      .batch = {.rule = &BatchRules::repeat, .counts = "repeats"}}},
    {"reshape",
     {.traits = kTensorMethod | kMayCopy | kKeepsContiguous | kRankByRanks,
      .shape = reshape,
      .strides = StrideRule::kReshaped,
      .value = values::same_elements,
      .batch = {.rule = &BatchRules::sizes},
      .sizes = "shape",
      .identity = {When::kSameSizes, "shape"},
      .inverse = kReshapeAs}},
    {"reshape_as",
     {.traits = kMayCopy,
      .shape = reshape_as,
      .strides = StrideRule::kReshaped,
      .batch = {.rule = &BatchRules::sizes_of, .target = "aten.reshape.default"},
      .inverse = kReshapeAs}},
    {"rot90", {.traits = kNoMacs, .shape = rot90, .batch = kLeading}},
    {"squeeze",
     {.traits = kTensorMethod,
      .shape = squeeze,
      .strides = StrideRule::kSqueezed,
      .value = values::same_elements,
      .inverse = kReshapeAs}},
    {"squeeze.", {.batch = {.rule = &BatchRules::squeeze_all}}},
    {"squeeze.dim squeeze.dims", {.batch = kLeading}},
    {"squeeze_copy", {.shape = squeeze}},
    {"swapaxes",
     {.traits = kRankByRanks,
      .synonym_of = "transpose",
      .shape = transpose,
      .strides = StrideRule::kPermuted,
      .batch = kLeading,
      .inverse = {"aten.swapaxes.default", InverseForm::kChangedRest}}},
    {"swapdims",
     {.traits = kRankByRanks,
      .synonym_of = "transpose",
      .shape = transpose,
      .strides = StrideRule::kPermuted,
      .batch = kLeading,
      .inverse = {"aten.swapdims.default", InverseForm::kChangedRest}}},
    {"t",
     {.traits = kTensorMethod | kRankByRanks,
      .shape = reverse_dimensions,
      .of_sparse = sparse::matrix_transpose,
      .strides = StrideRule::kPermuted,
      .value = values::transpose_matrix,
      .batch = {.rule = &BatchRules::transpose_matrix},
      .inverse = {"aten.t.default", InverseForm::kChanged}}},
    {"tile",
     {.traits = kNoMacs,
      .shape = repeat,
      .value = values::repeat,
      .batch = {.rule = &BatchRules::repeat, .counts = "dims"}}},
    {"transpose",
     {.traits = kTensorMethod | kKeepsRank,
      .shape = transpose,
      .of_sparse = sparse::transpose,
      .strides = StrideRule::kPermuted,
      .value = values::transpose,
      .batch = kLeading,
      .identity = {When::kSameDims},
      .inverse = {"aten.transpose.int", InverseForm::kChangedRest}}},
    {"transpose_copy", {.shape = transpose}},
    {"unflatten",
     {.traits = kRankByRanks,
      .shape = unflatten,
      .strides = StrideRule::kViewed,
      .value = values::same_elements,
      .batch = kLeading,
      .inverse = kReshapeAs}},
    {"unsqueeze",
     {.traits = kTensorMethod | kKeepsContiguous | kRankByRanks,
      .shape = unsqueeze,
      .strides = StrideRule::kUnsqueezed,
      .value = values::same_elements,
      .batch = {.rule = &BatchRules::leading, .of_result = true, .may_write = true},
      .inverse = kReshapeAs}},
    {"unsqueeze_copy", {.shape = unsqueeze}},
    {"view",
     {.traits = kTensorMethod | kReadsLayout | kKeepsContiguous | kRankByRanks,
      .shape = reshape,
      .strides = StrideRule::kViewed,
      .value = values::same_elements}},
    {"view.",
     {.batch = {.rule = &BatchRules::sizes},
      .sizes = "size",
      .identity = {When::kSameSizes, "size"},
      .inverse = kReshapeAs}},
    {"view_as",
     {.traits = kReadsLayout,
      .shape = reshape_as,
      .strides = StrideRule::kViewed,
      .value = values::same_elements,
      .batch = {.rule = &BatchRules::sizes_of, .target = "aten.view.default"},
      .inverse = kReshapeAs}},
    {"view_as_complex",
     {.traits = kReadsLayout,
      .shape = view_as_complex,
      .strides = StrideRule::kPairs,
      .inverse = {"aten.view_as_real.default", InverseForm::kChanged}}},
    {"view_as_complex_copy", {.shape = view_as_complex}},
    {"view_as_real",
     {.shape = view_as_real,
      .strides = StrideRule::kPairs,
      .inverse = {"aten.view_as_complex.default", InverseForm::kChanged}}},
    {"view_as_real_copy", {.shape = view_as_real}},
    {"view_copy", {.traits = kReadsLayout, .shape = reshape}},
};

}  // namespace

OperatorRows views_rows() { return kViewsRows; }

}  // namespace fxtrace::internal
