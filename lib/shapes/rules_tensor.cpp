// Rules of operators that give the elements of tensors another order, another shape or other company.
#include <algorithm>
#include <cstdlib>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

// Whether a size that may be given as -1 is one; CannotTell when it may be negative and is no number.
bool is_left_open(const SymInt& size, const ShapeEnv& dimensions) {
  if (const auto number = size.number()) return *number == -1;
  return !decided(dimensions, Relation::kGreaterEqual, size, 0);
}

// ---- Another shape ----

// The sizes that `asked` stands for when one of them may be -1.
Sizes complete(const Sizes& sizes, Sizes asked, const ShapeEnv& dimensions) {
  const auto fits = [&](const Sizes& result) {
    require(dimensions, Relation::kEqual, product(sizes), product(result), "numbers of elements differ");
    return result;
  };
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].is_number() && is_number(asked[i], -1)) open = i;
  }
  if (!open) {
    // With as many elements for all values of the dimensions none is -1.
    if (product(sizes) == product(asked)) return asked;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (is_left_open(asked[i], dimensions)) open = i;
    }
    if (!open) return fits(asked);
  }
  Sizes others = asked;
  others.erase(others.begin() + signed_index(*open));
  for (const SymInt& size : others) {
    if (is_number(size, 0)) throw Raises{"beside a size of 0 the one that is left open can be any"};
  }
  asked[*open] = quotient(sizes, others, dimensions);
  return fits(asked);
}

Results reshape(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const bool is_size = args.given("size"), is_shape = args.given("shape");
  if (is_size || is_shape) {
    return make(complete(self.sizes, args.sizes(is_size ? "size" : "shape"), args.dimensions), self.dtype);
  }
  // view(dtype): the same bytes.
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
  require(args.dimensions, Relation::kEqual, product(self.sizes), product(other.sizes),
          "numbers of elements differ");
  return make(other.sizes, self.dtype);
}

Results expand_as(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &other = args.tensor("other");
  require_expandable(args.dimensions, self.sizes, other.sizes);
  return make(other.sizes, self.dtype);
}

Results expand(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Sizes sizes = args.sizes("size");
  if (sizes.size() < self.sizes.size()) {
    throw Raises{std::to_string(self.dim()) + " dimensions are expanded to " + std::to_string(sizes.size())};
  }
  const std::size_t offset = sizes.size() - self.sizes.size();
  for (std::size_t i = 0; i < self.sizes.size(); ++i) {
    const SymInt& own = self.sizes[i];
    SymInt& asked = sizes[offset + i];
    // Only 1 can become something else.
    const bool stays =
        asked == own || (own.is_number() && !is_number(own, 1)) || is_left_open(asked, args.dimensions);
    const bool cannot = own.is_number() && !is_number(own, 1) && !is_left_open(asked, args.dimensions);
    if (cannot) require(args.dimensions, Relation::kEqual, asked, own, "only 1 can be expanded");
    if (stays) asked = own;
  }
  return make(std::move(sizes), self.dtype);
}

Results repeat(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  Sizes counts = args.sizes(args.given("repeats") ? "repeats" : "dims");
  Sizes sizes = self.sizes;
  // tile() takes fewer counts than dimensions.
  if (args.given("repeats") && counts.size() < sizes.size()) {
    throw Raises{std::to_string(counts.size()) + " dimensions are repeated of " + std::to_string(self.dim())};
  }
  if (counts.size() < sizes.size()) counts.insert(counts.begin(), sizes.size() - counts.size(), 1);
  sizes.insert(sizes.begin(), counts.size() - sizes.size(), 1);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = sizes[i] * counts[i];
  return make(std::move(sizes), self.dtype);
}

Results permuted(const TensorInfo& self, const std::vector<std::int64_t>& order) {
  if (order.size() != self.sizes.size()) {
    throw Raises{std::to_string(order.size()) + " dimensions are named of " + std::to_string(self.dim())};
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
  const bool is_axis = args.given("axis0");
  return swapped(args.tensor("self"), args.number(is_axis ? "axis0" : "dim0"),
                 args.number(is_axis ? "axis1" : "dim1"));
}

Results transpose_matrix(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  // Numbers work, and are deprecated.
  if (self.sizes.empty()) return make(std::move(self));
  require_least_rank(self, 2, "what is transposed");
  return swapped(std::move(self), -1, -2);
}

Results reverse_dimensions(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const std::string_view name = without_namespace(args.name());
  if (name == "t" || name == "t_copy" || name == "t_") require_rank(self, {0, 1, 2}, "what is transposed");
  if (name == "H" || name == "matrix_H") require_rank(self, {0, 2}, "what is transposed");
  std::ranges::reverse(self.sizes);
  return make(std::move(self));
}

Results move_dimensions(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const auto source = distinct_dims(args.numbers("source"), self.dim());
  const auto destination = distinct_dims(args.numbers("destination"), self.dim());
  if (source.size() != destination.size()) {
    throw Raises{std::to_string(source.size()) + " dimensions are moved to " +
                 std::to_string(destination.size())};
  }
  if (self.sizes.empty()) return make(self);
  std::vector<std::int64_t> order(self.sizes.size(), -1);
  for (std::size_t i = 0; i < source.size(); ++i)
    order.at(static_cast<std::size_t>(destination[i])) = source[i];
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
  const bool all = !args.given("dim");
  if (!all && !self.sizes.empty()) dims = normalize_dims(args.numbers("dim"), self.dim());
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
  if (self.sizes.empty()) return make({1}, self.dtype);
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
      // An empty one is of no importance, whatever the others' shape.
      const std::optional<bool> is_empty = dimensions.decide(Relation::kEqual, tensor.sizes[0], 0);
      if (is_empty == true || (!is_empty && !all_have_one)) continue;
      if (!is_empty && along != 0 && along != -1) throw CannotTell{};
    }
    if (!result) {
      dim = dim_index(along, tensor);
      result = tensor;
      continue;
    }
    require_rank(tensor, {result->dim()}, "one of the tensors");
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
      SymInt& size = result->sizes[i];
      if (i != dim)
        require(dimensions, Relation::kEqual, tensor.sizes[i], size, "sizes of the tensors differ");
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
    require_rank(tensor, {static_cast<std::int64_t>(sizes.size())}, "one of the tensors");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(args.dimensions, Relation::kEqual, tensor.sizes[i], sizes[i], "sizes of the tensors differ");
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
    require_rank(tensor, {0, 1}, "one of the tensors");
    require_same_dtype(tensor.dtype, tensors[0].dtype, "dtypes of the tensors");
    sizes.push_back(product(tensor.sizes));
  }
  const bool first_two_swapped = args.given("indexing") && args.text("indexing") == "xy" && sizes.size() >= 2;
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
    require_rank(tensor, {1}, "one of the tensors");
    require_same_dtype(tensor.dtype, tensors[0].dtype, "dtypes of the tensors");
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
    require_rank(tensor, {0, 1, 2}, "one of the tensors");
    rows = rows + (tensor.dim() == 2 ? tensor.sizes[0] : SymInt(1));
    columns = columns + (tensor.sizes.empty() ? SymInt(1) : tensor.sizes.back());
  }
  return make({rows, columns}, promoted_list(tensors));
}

// ---- Other orders ----

Results rot90(const RuleArguments& args) {
  const std::vector<std::int64_t> dims = args.numbers("dims");
  if (dims.size() != 2) throw Raises{"not two dimensions are rotated"};
  distinct_dims(dims, args.tensor("self").dim());
  if (args.number("k") % 2 == 0) return same_as_first(args);
  return swapped(args.tensor("self"), dims[0], dims[1]);
}

Results pixel_shuffle(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  require_least_rank(self, 3, "an image");
  const SymInt factor = args.size("upscale_factor");
  require(args.dimensions, Relation::kGreater, factor, 0, "the factor");
  SymInt* const last = &self.sizes.back();
  require(args.dimensions, Relation::kEqual, mod(last[-2], factor * factor), 0, "channels are left over");
  last[-2] = floordiv(last[-2], factor * factor);
  last[-1] = last[-1] * factor;
  last[0] = last[0] * factor;
  return make(std::move(self));
}

Results pixel_unshuffle(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  require_least_rank(self, 3, "an image");
  const SymInt factor = args.size("downscale_factor");
  require(args.dimensions, Relation::kGreater, factor, 0, "the factor");
  SymInt* const last = &self.sizes.back();
  for (const SymInt* size : {last - 1, last}) {
    require(args.dimensions, Relation::kEqual, mod(*size, factor), 0, "rows or columns are left over");
  }
  last[-2] = last[-2] * factor * factor;
  last[-1] = floordiv(last[-1], factor);
  last[0] = floordiv(last[0], factor);
  return make(std::move(self));
}

Results view_as_real(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  require_dtype(self.dtype, is_complex, "what is seen as pairs");
  return make(concatenated(self.sizes, {2}), real_dtype(self.dtype));
}

Results view_as_complex(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  require_least_rank(self, 1, "what is seen as complex");
  require_dtype(self.dtype, is_floating, "what is seen as complex");
  require(args.dimensions, Relation::kEqual, self.sizes.back(), 2, "last size of what is seen as complex");
  self.sizes.pop_back();
  return make(std::move(self.sizes), complex_dtype(self.dtype));
}

}  // namespace

RuleTable tensor_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"H", reverse_dimensions},
      {"T", reverse_dimensions},
      {"adjoint", transpose_matrix},
      {"atleast_1d", at_least<1>},
      {"atleast_2d", at_least<2>},
      {"atleast_3d", at_least<3>},
      {"block_diag", block_diag},
      {"broadcast_tensors", broadcast_tensors},
      {"broadcast_to", expand},
      {"cartesian_prod", cartesian_product},
      {"cat", cat},
      {"column_stack", column_stack},
      {"concat", cat},
      {"concatenate", cat},
      {"dstack", dstack},
      {"expand", expand},
      {"expand_as", expand_as},
      {"expand_copy", expand},
      {"flatten", flatten},
      {"hstack", hstack},
      {"mH", transpose_matrix},
      {"mT", transpose_matrix},
      {"matrix_H", reverse_dimensions},
      {"meshgrid", meshgrid},
      {"moveaxis", move_dimensions},
      {"movedim", move_dimensions},
      {"numpy_T", reverse_dimensions},
      {"permute", permute},
      {"permute_copy", permute},
      {"pixel_shuffle", pixel_shuffle},
      {"pixel_unshuffle", pixel_unshuffle},
      {"ravel", ravel},
      {"repeat", repeat},
      {"reshape", reshape},
      {"reshape_as", reshape_as},
      {"rot90", rot90},
      {"row_stack", vstack},
      {"squeeze", squeeze},
      {"squeeze_copy", squeeze},
      {"stack", stack},
      {"swapaxes", transpose},
      {"swapdims", transpose},
      {"t", reverse_dimensions},
      {"t_copy", reverse_dimensions},
      {"tile", repeat},
      {"transpose", transpose},
      {"transpose_copy", transpose},
      {"unflatten", unflatten},
      {"_unsafe_view", reshape},
      {"unsqueeze", unsqueeze},
      {"unsqueeze_copy", unsqueeze},
      {"view", reshape},
      {"view_as", reshape_as},
      {"view_as_complex", view_as_complex},
      {"view_as_complex_copy", view_as_complex},
      {"view_as_real", view_as_real},
      {"view_as_real_copy", view_as_real},
      {"view_copy", reshape},
      {"vstack", vstack},
  };
  return kRules;
}

}  // namespace fxtrace
