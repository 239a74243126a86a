// Slices and diagonals of tensors, and operators that split a tensor into pieces.
#include <algorithm>
#include <limits>

#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// The most pieces for which a list is made; more are not worth the memory.
constexpr std::int64_t kMostPieces = 10'000;

Results select(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  self.sizes.erase(self.sizes.begin() + signed_index(dim_index(args.number("dim"), self)));
  return make(std::move(self));
}

// Returns the number of elements of x[start:end:step], where x has `size`.  Python's rules hold: negative
// positions count from the end, and positions outside are moved to the border.  x[-n:] for n = 0 is all of x,
// so that for a position -n of unknown sign the size is added min(1,n) times.
SymInt slice_count(const SymInt& size, const SymInt& start, const SymInt& end, const SymInt& step,
                   ShapeEnv& dimensions) {
  const auto holds = [&](Relation relation, const SymInt& position) {
    return dimensions.decide(relation, position, 0) == true;
  };
  const auto once = [&](const SymInt& n) { return dimensions.simplify(min(1, dimensions.simplify(n))); };
  const auto from_end = [&](const SymInt& position) {
    if (holds(Relation::kLessEqual, position)) return max(position + size * once(-position), 0);
    return max(min(position + size * once(max(-position, 0)), size), 0);
  };
  for (const SymInt* position : {&start, &end}) {
    if (dimensions.decide(Relation::kLess, *position, 0)) continue;
    // Without this limit, the expression would grow with each slice of a slice.
    constexpr std::size_t kLongest = 40;
    if (size.text().size() + position->text().size() > kLongest) return fresh_up_to(size, dimensions);
    // A position without bounds that depends on data: the expression would tell nothing.
    const Range range = dimensions.bounds(*position);
    const auto names = position->symbols();
    if (!range.low && !range.high &&
        std::ranges::any_of(names, [&](const auto& name) { return !dimensions.range(name).low; }))
      return fresh_up_to(size, dimensions);
  }
  // TorchScript writes an absent end as the largest integer.
  const bool to_the_end = is_number(end, std::numeric_limits<std::int64_t>::max());
  SymInt count;
  if (to_the_end && holds(Relation::kLessEqual, start)) {
    count = min(size - size * once(-start) - start, size);
  } else {
    const SymInt last = to_the_end                            ? size
                        : holds(Relation::kGreaterEqual, end) ? min(end, size)
                                                              : from_end(end);
    count = max(last - (holds(Relation::kGreaterEqual, start) ? start : from_end(start)), 0);
  }
  return dimensions.simplify(ceildiv(dimensions.simplify(count), step));
}

SymInt size_or(const RuleArguments& args, std::string_view name, std::int64_t otherwise) {
  return args.is_given(name) ? args.size(name) : SymInt(otherwise);
}

Results slice(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.sizes.empty()) throw Raises{"self has 0 dimensions, expected 1 or more"};
  SymInt& size = self.sizes[dim_index(args.number("dim"), self)];
  try {
    const SymInt step = size_or(args, "step", 1);
    require(args.dimensions, Relation::kGreater, step, 0, "step");
    size = slice_count(size, size_or(args, "start", 0),
                       size_or(args, "end", std::numeric_limits<std::int64_t>::max()), step, args.dimensions);
  } catch (const CannotTell&) {
    size = fresh_up_to(size, args.dimensions);
  } catch (const SymbolicError&) {
    size = fresh_up_to(size, args.dimensions);
  }
  return make(std::move(self));
}

Results narrow(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.sizes.empty()) throw Raises{"self has 0 dimensions, expected 1 or more"};
  SymInt& size = self.sizes[dim_index(args.number("dim"), self)];
  require(args.dimensions, Relation::kLessEqual, args.size("length"), size, "length");
  require(args.dimensions, Relation::kGreaterEqual, args.size("length"), 0, "length");
  if (args.is_tensor("start")) {
    require_rank(args.tensor("start"), {0}, "start");
    require_dtype(args.tensor("start").dtype, is_integral, "start", "an integer dtype");
  } else {
    require(args.dimensions, Relation::kLessEqual, args.size("start"), size, "start");
    require(args.dimensions, Relation::kGreaterEqual, args.size("start"), -size, "start");
    const auto start = args.size("start").number();
    if (start)
      require(args.dimensions, Relation::kLessEqual, args.size("length") + *start,
              *start < 0 ? SymInt(0) : size, "start + length");
  }
  size = args.size("length");
  return make(std::move(self));
}

void require_two_dims(std::int64_t first, std::int64_t second) {
  if (first == second)
    throw Raises{"both dimensions of the diagonal are " + std::to_string(first) +
                 ", expected two different ones"};
}

Results diagonal_of(const TensorInfo& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::size_t first = dim_index(dim1, self), second = dim_index(dim2, self);
  require_two_dims(signed_index(first), signed_index(second));
  const SymInt rows = self.sizes[first] + std::min<std::int64_t>(offset, 0);
  const SymInt columns = self.sizes[second] - std::max<std::int64_t>(offset, 0);
  Sizes sizes;
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    if (i != first && i != second) sizes.push_back(self.sizes[i]);
  }
  sizes.push_back(max(min(rows, columns), 0));
  return make(std::move(sizes), self.dtype);
}

Results diagonal(const RuleArguments& args) {
  if (!args.is_given("dim1")) throw CannotTell{};
  return diagonal_of(args.tensor("self"), args.number("offset"), args.number("dim1"), args.number("dim2"));
}

Results linalg_diagonal(const RuleArguments& args) {
  return diagonal_of(args.tensor("A"), args.number("offset"), args.number("dim1"), args.number("dim2"));
}

Results diag(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::int64_t offset = args.number("diagonal");
  if (self.dim() == 2) return diagonal_of(self, offset, 0, 1);
  if (self.dim() != 1) throw CannotTell{};
  const SymInt size = self.sizes[0] + absolute(offset);
  return make({size, size}, self.dtype);
}

Results flat_diagonal(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const SymInt size = product(self.sizes) + absolute(args.number("offset"));
  return make({size, size}, self.dtype);
}

Results diag_embed(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.sizes.empty()) throw CannotTell{};
  const SymInt size = self.sizes.back() + absolute(args.number("offset"));
  const std::int64_t rank = self.dim() + 1;
  const std::int64_t dim1 = normalize_dim(args.number("dim1"), rank),
                     dim2 = normalize_dim(args.number("dim2"), rank);
  require_two_dims(dim1, dim2);
  self.sizes.pop_back();
  self.sizes.insert(self.sizes.begin() + std::min(dim1, dim2), size);
  self.sizes.insert(self.sizes.begin() + std::max(dim1, dim2), size);
  return make(std::move(self));
}

Results unfold(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const SymInt window = args.size("size");
  const std::int64_t dim = normalize_dim(args.number("dimension"), self.dim());
  require(args.dimensions, Relation::kGreater, args.size("step"), 0, "step");
  require(args.dimensions, Relation::kLessEqual, window,
          self.sizes.empty() ? SymInt(1) : self.sizes[static_cast<std::size_t>(dim)], "size");
  if (!self.sizes.empty()) {
    SymInt& size = self.sizes[static_cast<std::size_t>(dim)];
    size = floordiv(size - window, args.size("step")) + 1;
  }
  self.sizes.push_back(window);
  return make(std::move(self));
}

Results as_strided(const RuleArguments& args) {
  const Sizes strides = args.sizes("stride");
  require_equal(args.dimensions, static_cast<std::int64_t>(strides.size()),
                static_cast<std::int64_t>(args.sizes("size").size()), "lengths", {"stride", "size"});
  for (const SymInt& stride : strides)
    require(args.dimensions, Relation::kGreaterEqual, stride, 0, "an item of stride");
  if (args.is_given("storage_offset"))
    require(args.dimensions, Relation::kGreaterEqual, args.size("storage_offset"), 0, "storage_offset");
  return make(args.sizes("size"), args.tensor("self").dtype);
}

// sum_to_size(): sums over dimensions whose sizes differ; sums of integers are int64.
Results sum_to_size(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Sizes sizes = args.sizes("size");
  require_expandable(args.dimensions, sizes, self.sizes, "the result");
  Dtype dtype = self.dtype;
  if (dtype != sum_dtype(dtype) && (sizes.empty() || sizes != self.sizes)) {
    // A leading dimension that the result lacks is summed over even if its size is 1.
    bool sums = sizes.empty();
    const std::size_t offset = self.sizes.size() - sizes.size();
    for (std::size_t i = 0; i < self.sizes.size(); ++i) {
      sums = sums || i < offset ||
             decided(args.dimensions, Relation::kNotEqual, self.sizes[i], sizes[i - offset]);
    }
    if (sums) dtype = sum_dtype(dtype);
  }
  return make(std::move(sizes), dtype);
}

// select_scatter() and others: `src` replaces the part of self that the rule `Part` returns.
template <ShapeRule Part>
Results with_part(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &source = args.tensor("src");
  const Results part = Part(args);
  require_equal_sizes(args.dimensions, source.sizes, first_of(part).sizes, {"src", "the part of self"});
  return make(self);
}

// slice_inverse(): the result has the sizes of `src`.
Results slice_inverse(const RuleArguments& args) {
  return make(args.tensor("src").sizes, args.tensor("self").dtype);
}

Results flatten_tensors(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (tensors.empty()) throw CannotTell{};
  SymInt count = 0;
  for (const TensorInfo& tensor : tensors) {
    require_same_dtype(tensor.dtype, tensors[0].dtype, {"an item of tensors", "the first"});
    count = count + product(tensor.sizes);
  }
  return make({std::move(count)}, tensors[0].dtype);
}

Results unflatten_tensors(const RuleArguments& args) {
  std::vector<TensorInfo> tensors = args.tensors("tensors");
  for (TensorInfo& tensor : tensors) tensor.dtype = args.tensor("flat").dtype;
  return make_list(std::move(tensors));
}

Results pieces(const TensorInfo& self, std::size_t dim, const Sizes& sizes) {
  std::vector<TensorInfo> infos(sizes.size(), self);
  for (std::size_t i = 0; i < sizes.size(); ++i) infos[i].sizes[dim] = sizes[i];
  return make_list(std::move(infos));
}

// Returns pieces of an unknown tensor: only their number is known.
Results unknown_pieces(std::size_t count) { return {AbstractValue{AbstractValue::Sequence(count)}}; }

// Returns the sizes of pieces of size `piece`; the last one may be smaller.
Sizes equal_pieces(const SymInt& size, const SymInt& piece, const ShapeEnv& dimensions) {
  const std::optional<std::int64_t> count = is_number(piece, 0)
                                                ? std::optional<std::int64_t>(1)
                                                : dimensions.simplify(ceildiv(size, piece)).number();
  if (!count || *count > kMostPieces) throw CannotTell{};
  // An empty dimension gives one empty piece.
  if (*count <= 1) return {size};
  if (!decided(dimensions, Relation::kGreater, piece, 0)) throw CannotTell{};
  Sizes sizes(static_cast<std::size_t>(*count), piece);
  sizes.back() = dimensions.simplify(size - piece * (*count - 1));
  return sizes;
}

Results split(const RuleArguments& args) {
  const std::string_view name = args.is_given("split_size") ? "split_size" : "split_sizes";
  const AbstractValue::Sequence* given = args.value(name).sequence();
  if (given != nullptr && args.value("self").is_unknown()) return unknown_pieces(given->size());
  const TensorInfo& self = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), self);
  if (given != nullptr) {
    const Sizes sizes = args.sizes(name);
    SymInt sum = 0;
    for (const SymInt& size : sizes) sum = sum + size;
    require_equal(args.dimensions, sum, self.sizes[dim], "sum of split sizes and size of self along dim");
    return pieces(self, dim, sizes);
  }
  const SymInt piece = args.size(name);
  require(args.dimensions, Relation::kGreaterEqual, piece, 0, "split_size");
  if (is_number(piece, 0))
    require(args.dimensions, Relation::kEqual, self.sizes[dim], 0,
            "size of self along dim, where split_size is 0,");
  return pieces(self, dim, equal_pieces(self.sizes[dim], piece, args.dimensions));
}

Results chunk(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), self);
  const SymInt& size = self.sizes[dim];
  const std::int64_t count = args.number("chunks");
  if (count <= 0 || count > kMostPieces) throw CannotTell{};
  const SymInt piece = args.dimensions.simplify(ceildiv(size, count));
  const bool all_equal = is_number(args.dimensions.simplify(mod(size, count)), 0);
  if (all_equal) return pieces(self, dim, Sizes(static_cast<std::size_t>(count), piece));
  if (size.is_number()) return pieces(self, dim, equal_pieces(size, piece, args.dimensions));
  // If the size is larger than count * (count - 1), each of the `count` chunks has elements.
  if (!decided(args.dimensions, Relation::kGreater, size, count * (count - 1))) throw CannotTell{};
  Sizes sizes(static_cast<std::size_t>(count), piece);
  sizes.back() = size - piece * (count - 1);
  return pieces(self, dim, sizes);
}

std::size_t tensor_split_count(const RuleArguments& args) {
  if (!args.is_given("sections")) return args.sizes("indices").size() + 1;
  const std::int64_t count = args.number("sections");
  if (count <= 0 || count > kMostPieces) throw CannotTell{};
  return static_cast<std::size_t>(count);
}

Results tensor_split_along(const RuleArguments& args, std::int64_t along) {
  const TensorInfo& self = args.tensor("self");
  const std::size_t dim = dim_index(along, self);
  const SymInt& size = self.sizes[dim];
  Sizes sizes;
  if (args.is_given("sections")) {
    const auto count = static_cast<std::int64_t>(tensor_split_count(args));
    // The first size % count pieces are larger by one.
    for (std::int64_t i = 0; i < count; ++i) sizes.push_back(floordiv(size + (count - 1 - i), count));
  } else {
    SymInt start = 0;
    for (const SymInt& index : args.sizes("indices")) {
      sizes.push_back(slice_count(size, start, index, 1, args.dimensions));
      start = index;
    }
    sizes.push_back(slice_count(size, start, std::numeric_limits<std::int64_t>::max(), 1, args.dimensions));
  }
  return pieces(self, dim, sizes);
}

Results tensor_split(const RuleArguments& args) {
  if (args.value("self").is_unknown()) return unknown_pieces(tensor_split_count(args));
  return tensor_split_along(args, args.number("dim"));
}

Results hsplit(const RuleArguments& args) {
  return tensor_split_along(args, args.tensor("self").dim() == 1 ? 0 : 1);
}

Results vsplit(const RuleArguments& args) {
  require_least_rank(args.tensor("self"), 2, "self");
  return tensor_split_along(args, 0);
}

Results dsplit(const RuleArguments& args) {
  require_least_rank(args.tensor("self"), 3, "self");
  return tensor_split_along(args, 2);
}

Results unbind(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), self);
  const std::int64_t count = number_of(args.dimensions.simplify(self.sizes[dim]));
  if (count > kMostPieces) throw CannotTell{};
  self.sizes.erase(self.sizes.begin() + signed_index(dim));
  return make_list(std::vector<TensorInfo>(static_cast<std::size_t>(count), self));
}

void check_equal_parts(const RuleArguments& args) {
  const TensorInfo* self = find_tensor(args, "self");
  if (self == nullptr || self->sizes.empty() || !args.is_given("sections")) return;
  const std::string_view name = args.name();
  const std::size_t dim = name == "aten::dsplit" ? 2 : name == "aten::hsplit" && self->dim() > 1 ? 1 : 0;
  if (dim >= self->sizes.size()) return;
  const SymInt sections = args.size("sections");
  const SymInt& size = self->sizes[dim];
  if (is_number(sections, 0) ||
      args.dimensions.decide(Relation::kEqual, floordiv(size, sections) * sections, size) != false) {
    return;
  }
  throw Raises{"size of self in dimension " + std::to_string(dim) + " is " + size.text() +
               ", expected a multiple of " + sections.text()};
}

constexpr OperatorRow kSlicingRows[] = {
    {"_grad_sum_to_size", {.traits = kMayBeArgument | kMayCopy}},
    {"_reshape_alias", {.traits = kReadsLayout, .shape = as_strided, .inverse = kReshapeAs}},
    {"as_strided",
     {.traits = kReadsLayout,
      .shape = as_strided,
      .strides = StrideRule::kAsGiven,
      .inverse = {"aten.as_strided_scatter.default", InverseForm::kBaseChangedRest}}},
    {"as_strided_copy", {.traits = kReadsLayout, .shape = as_strided}},
    {"as_strided_scatter", {.traits = kNoMacs | kReadsLayout, .shape = with_part<as_strided>}},
    {"chunk",
     {.traits = kRankByRanks,
      .shape = chunk,
      .strides = StrideRule::kSame,
      .value = values::split,
      .batch = kLeading,
      .inverse = kSliceScatter}},
    {"diag", {.traits = kNoMacs, .shape = diag}},
    {"diag_embed", {.traits = kNoMacs, .shape = diag_embed, .batch = kLeading}},
    {"diagflat", {.traits = kNoMacs, .shape = flat_diagonal}},
    {"diagonal",
     {.traits = kRankByRanks,
      .shape = diagonal,
      .strides = StrideRule::kDiagonal,
      .batch = kLeading,
      .inverse = {"aten.diagonal_scatter.default", InverseForm::kBaseChangedRest}}},
    {"diagonal_copy", {.shape = diagonal}},
    {"diagonal_scatter", {.traits = kNoMacs, .shape = with_part<diagonal>}},
    {"dsplit", {.shape = dsplit, .check = check_equal_parts}},
    {"flatten_dense_tensors", {.traits = kNoMacs, .shape = flatten_tensors}},
    {"hsplit", {.shape = hsplit, .check = check_equal_parts}},
    {"linalg_diagonal",
     {.traits = kNoMacs,
      .shape = linalg_diagonal,
      .inverse = {"aten.diagonal_scatter.default", InverseForm::kBaseChangedRest}}},
    {"narrow",
     {.traits = kTakesPart | kRankByRanks,
      .shape = narrow,
      .strides = StrideRule::kSliced,
      .value = values::narrow}},
    {"narrow. split.Tensor split.sizes tensor_split.indices tensor_split.sections",
     {.batch = kLeading, .inverse = kSliceScatter}},
    {"narrow_copy", {.traits = kNoMacs, .shape = narrow}},
    {"select",
     {.traits = kTakesPart | kPlain | kTensorMethod | kRankByRanks,
      .shape = select,
      .strides = StrideRule::kSelected,
      .value = values::select}},
    {"select.int",
     {.batch = kLeading, .inverse = {"aten.select_scatter.default", InverseForm::kBaseChangedRest}}},
    {"select_copy", {.shape = select}},
    {"select_scatter", {.traits = kTakesPart | kNoMacs, .shape = with_part<select>}},
    {"slice",
     {.traits = kTakesPart | kPlain | kMovesElements | kRankByRanks,
      .shape = slice,
      .strides = StrideRule::kSliced,
      .value = values::slice}},
    {"slice.Tensor",
     {.batch = kLeading,
      .identity = {When::kFullRange},
      .inverse = {"aten.slice_scatter.default", InverseForm::kBaseChangedRest}}},
    {"slice_copy", {.shape = slice}},
    {"slice_inverse", {.shape = slice_inverse}},
    {"slice_scatter",
     {.traits = kTakesPart | kNoMacs, .shape = with_part<slice>, .batch = {.rule = &BatchRules::join}}},
    {"split",
     {.traits = kPlain | kTextMethod | kRankByRanks,
      .shape = split,
      .strides = StrideRule::kSame,
      .value = values::split}},
    {"split_copy split_with_sizes_copy", {.shape = split}},
    {"split_with_sizes",
     {.traits = kRankByRanks,
      .compared_as = "split",
      .shape = split,
      .strides = StrideRule::kSame,
      .value = values::split,
      .batch = kLeading,
      .inverse = kSliceScatter}},
    {"sum_to_size", {.shape = sum_to_size, .hidden_alias = {{0, 0}}}},
    {"tensor_split", {.shape = tensor_split, .strides = StrideRule::kSame}},
    {"unbind",
     {.shape = unbind,
      .strides = StrideRule::kSelected,
      .value = values::unbind,
      .batch = kLeading,
      .inverse = {"aten.select_scatter.default", InverseForm::kPart}}},
    {"unbind_copy", {.shape = unbind}},
    {"unflatten_dense_tensors", {.traits = kNoMacs, .shape = unflatten_tensors}},
    {"unfold",
     {.traits = kNoMacs,
      .shape = unfold,
      .strides = StrideRule::kWindows,
      .batch = kLeading,
      .inverse = {"aten.index_put.default", InverseForm::kWindows}}},
    {"unfold_copy", {.shape = unfold}},
    {"unsafe_chunk", {.shape = chunk, .hidden_alias = {{0, 0}}}},
    {"unsafe_split unsafe_split_with_sizes", {.traits = kNoMacs, .shape = split, .hidden_alias = {{0, 0}}}},
    {"vsplit", {.shape = vsplit, .check = check_equal_parts}},
};

}  // namespace

OperatorRows slicing_rows() { return kSlicingRows; }

}  // namespace fxtrace::internal
