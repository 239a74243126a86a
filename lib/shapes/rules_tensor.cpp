// Rules of operators that give the elements of tensors another order, another shape or other company.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

// A list of more tensors than this is not worth the memory.
constexpr std::int64_t kMostPieces = 10'000;

std::ptrdiff_t signed_index(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

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

Results shape_of_other(const RuleArguments& args) {
  return make(args.tensor("other").sizes, args.tensor("self").dtype);
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
  // tile() takes fewer counts than dimensions, repeat() does not.
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

Results permute(const RuleArguments& args) { return permuted(args.tensor("self"), args.numbers("dims")); }

Results swapped(TensorInfo info, std::int64_t first, std::int64_t second) {
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
  if (self.dim() < 2) return make(std::move(self));
  return swapped(std::move(self), -1, -2);
}

Results reverse_dimensions(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  std::ranges::reverse(self.sizes);
  return make(std::move(self));
}

Results move_dimensions(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const auto source = normalize_dims(args.numbers("source"), self.dim());
  const auto destination = normalize_dims(args.numbers("destination"), self.dim());
  if (source.size() != destination.size()) throw CannotTell{};
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

// ---- Parts ----

Results select(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  self.sizes.erase(self.sizes.begin() + signed_index(dim_index(args.number("dim"), self)));
  return make(std::move(self));
}

// How many elements x[start:end:step] has of `size`.  Python's rules: negative positions count from the end,
// and positions outside are moved to the border.
SymInt slice_count(const SymInt& size, const SymInt& start, const SymInt& end, const SymInt& step,
                   ShapeEnv& dimensions) {
  const auto from_end = [&](const SymInt& position) -> std::optional<bool> {
    return dimensions.decide(Relation::kLess, position, 0);
  };
  const std::optional<bool> start_from_end = from_end(start);
  // No end, as TorchScript writes it.
  const bool to_the_end = is_number(end, std::numeric_limits<std::int64_t>::max());
  const std::optional<bool> end_from_end = to_the_end ? std::optional(false) : from_end(end);
  if (!start_from_end || !end_from_end) return fresh_up_to(size, dimensions);
  SymInt count;
  if (*start_from_end && to_the_end) {
    count = min(-start, size);
  } else {
    SymInt last = size;
    if (*end_from_end) {
      last = size + end;
    } else if (!to_the_end) {
      last = min(end, size);
    }
    if (*start_from_end) last = max(last, 0);
    count = max(last - (*start_from_end ? max(size + start, 0) : start), 0);
  }
  return dimensions.simplify(ceildiv(dimensions.simplify(count), step));
}

SymInt size_or(const RuleArguments& args, std::string_view name, std::int64_t otherwise) {
  return args.given(name) ? args.size(name) : SymInt(otherwise);
}

Results slice(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  SymInt& size = self.sizes[dim_index(args.number("dim"), self)];
  const SymInt step = size_or(args, "step", 1);
  SymInt start, end;
  try {
    start = size_or(args, "start", 0);
    end = size_or(args, "end", std::numeric_limits<std::int64_t>::max());
  } catch (const CannotTell&) {
    size = fresh_up_to(size, args.dimensions);
    return make(std::move(self));
  }
  size = slice_count(size, start, end, step, args.dimensions);
  return make(std::move(self));
}

Results narrow(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  self.sizes[dim_index(args.number("dim"), self)] = args.size("length");
  return make(std::move(self));
}

Results pieces(const TensorInfo& self, std::size_t dim, const Sizes& sizes) {
  std::vector<TensorInfo> infos(sizes.size(), self);
  for (std::size_t i = 0; i < sizes.size(); ++i) infos[i].sizes[dim] = sizes[i];
  return make_list(std::move(infos));
}

// Pieces of `piece`, the last of which may be smaller.
Sizes equal_pieces(const SymInt& size, const SymInt& piece, const ShapeEnv& dimensions) {
  const std::optional<std::int64_t> count = is_number(piece, 0)
                                                ? std::optional<std::int64_t>(1)
                                                : dimensions.simplify(ceildiv(size, piece)).number();
  if (!count || *count > kMostPieces) throw CannotTell{};
  // Nothing makes one piece of nothing.
  if (*count <= 1) return {size};
  if (!decided(dimensions, Relation::kGreater, piece, 0)) throw CannotTell{};
  Sizes sizes(static_cast<std::size_t>(*count), piece);
  sizes.back() = dimensions.simplify(size - piece * (*count - 1));
  return sizes;
}

Results split(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), self);
  const std::string_view name = args.given("split_size") ? "split_size" : "split_sizes";
  if (args.value(name).sequence() != nullptr) {
    const Sizes sizes = args.sizes(name);
    SymInt sum = 0;
    for (const SymInt& size : sizes) sum = sum + size;
    require(args.dimensions, Relation::kEqual, sum, self.sizes[dim], "the pieces are not the whole");
    return pieces(self, dim, sizes);
  }
  return pieces(self, dim, equal_pieces(self.sizes[dim], args.size(name), args.dimensions));
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
  // In a large tensor even the last of as many chunks as asked has elements.
  if (!decided(args.dimensions, Relation::kGreater, size, count * (count - 1))) throw CannotTell{};
  Sizes sizes(static_cast<std::size_t>(count), piece);
  sizes.back() = size - piece * (count - 1);
  return pieces(self, dim, sizes);
}

Results tensor_split_along(const RuleArguments& args, std::int64_t along) {
  const TensorInfo& self = args.tensor("self");
  const std::size_t dim = dim_index(along, self);
  const SymInt& size = self.sizes[dim];
  Sizes sizes;
  if (args.given("sections")) {
    const std::int64_t count = args.number("sections");
    if (count <= 0 || count > kMostPieces) throw CannotTell{};
    // The first ones are larger by one, as far as the remainder goes.
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

Results tensor_split(const RuleArguments& args) { return tensor_split_along(args, args.number("dim")); }
Results hsplit(const RuleArguments& args) {
  return tensor_split_along(args, args.tensor("self").dim() == 1 ? 0 : 1);
}
Results vsplit(const RuleArguments& args) { return tensor_split_along(args, 0); }
Results dsplit(const RuleArguments& args) { return tensor_split_along(args, 2); }

Results unbind(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const std::size_t dim = dim_index(args.number("dim"), self);
  const std::int64_t count = number_of(args.dimensions.simplify(self.sizes[dim]));
  if (count > kMostPieces) throw CannotTell{};
  self.sizes.erase(self.sizes.begin() + signed_index(dim));
  return make_list(std::vector<TensorInfo>(static_cast<std::size_t>(count), self));
}

Results diagonal_of(const TensorInfo& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::size_t first = dim_index(dim1, self), second = dim_index(dim2, self);
  if (first == second) throw CannotTell{};
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
  if (!args.given("dim1")) throw CannotTell{};
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
  const SymInt size = self.sizes[0] + std::abs(offset);
  return make({size, size}, self.dtype);
}

Results flat_diagonal(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const SymInt size = product(self.sizes) + std::abs(args.number("offset"));
  return make({size, size}, self.dtype);
}

Results diag_embed(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.sizes.empty()) throw CannotTell{};
  const SymInt size = self.sizes.back() + std::abs(args.number("offset"));
  const std::int64_t rank = self.dim() + 1;
  const std::int64_t dim1 = normalize_dim(args.number("dim1"), rank),
                     dim2 = normalize_dim(args.number("dim2"), rank);
  self.sizes.pop_back();
  self.sizes.insert(self.sizes.begin() + std::min(dim1, dim2), size);
  self.sizes.insert(self.sizes.begin() + std::max(dim1, dim2), size);
  return make(std::move(self));
}

Results unfold(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  const SymInt window = args.size("size");
  if (!self.sizes.empty()) {
    SymInt& size = self.sizes[dim_index(args.number("dimension"), self)];
    size = floordiv(size - window, args.size("step")) + 1;
  }
  self.sizes.push_back(window);
  return make(std::move(self));
}

Results as_strided(const RuleArguments& args) { return make(args.sizes("size"), args.tensor("self").dtype); }

// Sums only where the sizes differ, which makes integers int64.
Results sum_to_size(const RuleArguments& args) {
  const Dtype dtype = args.tensor("self").dtype;
  return make(args.sizes("size"), dtype == sum_dtype(dtype) ? dtype : std::nullopt);
}

// ---- Several tensors ----

Dtype promoted_list(const std::vector<TensorInfo>& tensors) {
  Promotion promotion;
  for (const TensorInfo& tensor : tensors) promotion.add(tensor);
  return promotion.result();
}

Results joined(const std::vector<TensorInfo>& tensors, std::int64_t along, const ShapeEnv& dimensions) {
  if (tensors.empty()) throw CannotTell{};
  const auto is_legacy_empty = [](const TensorInfo& info) {
    return info.dim() == 1 && is_number(info.sizes[0], 0);
  };
  std::optional<TensorInfo> result;
  std::size_t dim = 0;
  for (const TensorInfo& tensor : tensors) {
    // Of no importance, whatever the others' shape.
    if (is_legacy_empty(tensor)) continue;
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
  for (const TensorInfo& tensor : tensors) sizes.push_back(product(tensor.sizes));
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
  if (tensors.size() == 1) return make(tensors[0]);
  SymInt rows = 1;
  for (const TensorInfo& tensor : tensors) rows = rows * product(tensor.sizes);
  return make({rows, static_cast<std::int64_t>(tensors.size())}, promoted_list(tensors));
}

Results block_diag(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  SymInt rows = 0, columns = 0;
  for (const TensorInfo& tensor : tensors) {
    rows = rows + (tensor.dim() == 2 ? tensor.sizes[0] : SymInt(1));
    columns = columns + (tensor.sizes.empty() ? SymInt(1) : tensor.sizes.back());
  }
  return make({rows, columns}, promoted_list(tensors));
}

// ---- Other orders ----

Results rot90(const RuleArguments& args) {
  const std::vector<std::int64_t> dims = args.numbers("dims");
  if (dims.size() != 2) throw CannotTell{};
  if (args.number("k") % 2 == 0) return same_as_first(args);
  return swapped(args.tensor("self"), dims[0], dims[1]);
}

Results pixel_shuffle(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.dim() < 3) throw CannotTell{};
  const SymInt factor = args.size("upscale_factor");
  SymInt* const last = &self.sizes.back();
  last[-2] = floordiv(last[-2], factor * factor);
  last[-1] = last[-1] * factor;
  last[0] = last[0] * factor;
  return make(std::move(self));
}

Results pixel_unshuffle(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.dim() < 3) throw CannotTell{};
  const SymInt factor = args.size("downscale_factor");
  SymInt* const last = &self.sizes.back();
  last[-2] = last[-2] * factor * factor;
  last[-1] = floordiv(last[-1], factor);
  last[0] = floordiv(last[0], factor);
  return make(std::move(self));
}

Results view_as_real(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  return make(concatenated(self.sizes, {2}), real_dtype(self.dtype));
}

Results view_as_complex(const RuleArguments& args) {
  TensorInfo self = args.tensor("self");
  if (self.sizes.empty()) throw CannotTell{};
  self.sizes.pop_back();
  return make(std::move(self.sizes), complex_dtype(self.dtype));
}

}  // namespace

RuleTable tensor_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"H", reverse_dimensions},
      {"T", reverse_dimensions},
      {"adjoint", transpose_matrix},
      {"as_strided", as_strided},
      {"as_strided_copy", as_strided},
      {"as_strided_scatter", same_as_first},
      {"_reshape_alias", as_strided},
      {"atleast_1d", at_least<1>},
      {"atleast_2d", at_least<2>},
      {"atleast_3d", at_least<3>},
      {"block_diag", block_diag},
      {"broadcast_tensors", broadcast_tensors},
      {"broadcast_to", expand},
      {"cartesian_prod", cartesian_product},
      {"cat", cat},
      {"chunk", chunk},
      {"column_stack", column_stack},
      {"concat", cat},
      {"concatenate", cat},
      {"diag", diag},
      {"diag_embed", diag_embed},
      {"diagonal", diagonal},
      {"diagonal_copy", diagonal},
      {"diagflat", flat_diagonal},
      {"dsplit", dsplit},
      {"dstack", dstack},
      {"expand", expand},
      {"expand_as", shape_of_other},
      {"expand_copy", expand},
      {"flatten", flatten},
      {"hsplit", hsplit},
      {"hstack", hstack},
      {"linalg_diagonal", linalg_diagonal},
      {"mH", transpose_matrix},
      {"mT", transpose_matrix},
      {"matrix_H", reverse_dimensions},
      {"meshgrid", meshgrid},
      {"moveaxis", move_dimensions},
      {"movedim", move_dimensions},
      {"narrow", narrow},
      {"narrow_copy", narrow},
      {"numpy_T", reverse_dimensions},
      {"permute", permute},
      {"permute_copy", permute},
      {"pixel_shuffle", pixel_shuffle},
      {"pixel_unshuffle", pixel_unshuffle},
      {"ravel", ravel},
      {"repeat", repeat},
      {"reshape", reshape},
      {"reshape_as", shape_of_other},
      {"rot90", rot90},
      {"row_stack", vstack},
      {"select", select},
      {"select_copy", select},
      {"slice", slice},
      {"slice_copy", slice},
      {"split", split},
      {"split_copy", split},
      {"split_with_sizes", split},
      {"split_with_sizes_copy", split},
      {"squeeze", squeeze},
      {"squeeze_copy", squeeze},
      {"stack", stack},
      {"sum_to_size", sum_to_size},
      {"swapaxes", transpose},
      {"swapdims", transpose},
      {"t", reverse_dimensions},
      {"t_copy", reverse_dimensions},
      {"tensor_split", tensor_split},
      {"tile", repeat},
      {"transpose", transpose},
      {"transpose_copy", transpose},
      {"unbind", unbind},
      {"unbind_copy", unbind},
      {"unflatten", unflatten},
      {"unfold", unfold},
      {"unfold_copy", unfold},
      {"_unsafe_view", reshape},
      {"unsafe_chunk", chunk},
      {"unsafe_split", split},
      {"unsafe_split_with_sizes", split},
      {"unsqueeze", unsqueeze},
      {"unsqueeze_copy", unsqueeze},
      {"view", reshape},
      {"view_as", shape_of_other},
      {"view_as_complex", view_as_complex},
      {"view_as_complex_copy", view_as_complex},
      {"view_as_real", view_as_real},
      {"view_as_real_copy", view_as_real},
      {"view_copy", reshape},
      {"vsplit", vsplit},
      {"vstack", vstack},
  };
  return kRules;
}

}  // namespace fxtrace
