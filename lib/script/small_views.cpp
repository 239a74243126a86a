#include "script/small_array.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

namespace fxtrace::script {
namespace {

// The same elements in memory, seen another way.
void give_view(Results& results, const TensorRef& of, Sizes sizes, Sizes strides, std::int64_t offset) {
  count_of(sizes);
  auto view = make_counted<TensorValue>();
  view->dtype = of->dtype;
  view->is_layout_known = of->is_layout_known;
  view->sizes = std::move(sizes);
  view->strides = std::move(strides);
  view->offset = offset;
  view->elements = of->elements;
  results.emplace_back(std::move(view));
}
void give_view(Results& results, const TensorRef& of, Sizes sizes, Sizes strides) {
  give_view(results, of, std::move(sizes), std::move(strides), of->offset);
}

std::size_t dim_argument(Arguments arguments, std::size_t i, const TensorRef& self) {
  return static_cast<std::size_t>(wrapped_dim(integer_argument(arguments, i), self->dim()));
}

// A tensor, the dimension that argument `i` says, and its size.
struct Along {
  TensorRef self;
  std::size_t dim;
  std::int64_t size;
};
Along along_argument(Arguments arguments, std::size_t i) {
  TensorRef self = view_argument(arguments, 0);
  need(self->dim() > 0);
  const std::size_t dim = dim_argument(arguments, i, self);
  const std::int64_t size = self->sizes[dim];
  return {std::move(self), dim, size};
}

void same(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  give_view(results, self, self->sizes, self->strides);
}

// --- other sizes for the same elements ---

Sizes with_inferred_size(Sizes sizes, std::int64_t count) {
  std::int64_t known = 1;
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      need(!inferred);
      inferred = i;
    } else {
      need(sizes[i] >= 0 && !__builtin_mul_overflow(known, sizes[i], &known));
    }
  }
  if (inferred) {
    need(known != 0 && count % known == 0);
    sizes[*inferred] = count / known;
  } else {
    need(known == count);
  }
  return sizes;
}

// Strides of the view, if there is one: dimensions are merged and split within runs that lie in memory one
// behind the other.
std::optional<Sizes> strides_of_view(const TensorValue& self, const Sizes& sizes) {
  if (self.numel() == 0) return contiguous_strides(sizes);
  Sizes strides(sizes.size());
  auto view = static_cast<std::int64_t>(sizes.size()) - 1;
  std::int64_t run_stride = self.strides.empty() ? 1 : self.strides.back(), run = 1, in_view = 1;
  if (self.sizes.empty()) return Sizes(sizes.size(), 1);
  for (std::int64_t dim = self.dim() - 1; dim >= 0; --dim) {
    const auto at = static_cast<std::size_t>(dim);
    run *= self.sizes[at];
    if (dim != 0 && (self.sizes[at - 1] == 1 || self.strides[at - 1] == run * run_stride)) continue;
    while (view >= 0 && (in_view < run || sizes[static_cast<std::size_t>(view)] == 1)) {
      strides[static_cast<std::size_t>(view)] = in_view * run_stride;
      in_view *= sizes[static_cast<std::size_t>(view--)];
    }
    if (in_view != run) return std::nullopt;
    if (dim > 0) {
      run_stride = self.strides[at - 1];
      run = 1;
      in_view = 1;
    }
  }
  return view == -1 ? std::optional(strides) : std::nullopt;
}

void give_with_sizes(Results& results, const TensorRef& self, const Sizes& wanted, bool may_copy) {
  const Sizes sizes = with_inferred_size(wanted, self->numel());
  count_of(sizes);
  if (self->is_layout_known) {
    if (const auto strides = strides_of_view(*self, sizes)) return give_view(results, self, sizes, *strides);
    need(may_copy);
  } else {
    need(may_copy);  // whether there is a view is not known
  }
  give(results, {self->dtype, sizes, elements_of(*self), false, self->is_layout_known});
}

void view(Arguments arguments, Results& results) {
  give_with_sizes(results, view_argument(arguments, 0), integers_argument(arguments, 1), false);
}
void view_as(Arguments arguments, Results& results) {
  give_with_sizes(results, view_argument(arguments, 0), view_argument(arguments, 1)->sizes, false);
}
void reshape(Arguments arguments, Results& results) {
  give_with_sizes(results, view_argument(arguments, 0), integers_argument(arguments, 1), true);
}

void flatten(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const std::size_t from = dim_argument(arguments, 1, self), to = dim_argument(arguments, 2, self);
  need(from <= to);
  if (self->sizes.empty()) return give_with_sizes(results, self, {1}, true);
  if (from == to) return give_view(results, self, self->sizes, self->strides);
  Sizes sizes(self->sizes.begin(), self->sizes.begin() + static_cast<std::ptrdiff_t>(from));
  std::int64_t merged = 1;
  for (std::size_t i = from; i <= to; ++i) merged *= self->sizes[i];
  sizes.push_back(merged);
  sizes.insert(sizes.end(), self->sizes.begin() + static_cast<std::ptrdiff_t>(to) + 1, self->sizes.end());
  give_with_sizes(results, self, sizes, true);
}

void unflatten(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 1);
  const Sizes parts = with_inferred_size(integers_argument(arguments, 2), size);
  need(!parts.empty());
  Sizes sizes(self->sizes.begin(), self->sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  sizes.insert(sizes.end(), parts.begin(), parts.end());
  sizes.insert(sizes.end(), self->sizes.begin() + static_cast<std::ptrdiff_t>(dim) + 1, self->sizes.end());
  give_with_sizes(results, self, sizes, false);
}

// --- other orders of dimensions ---

void give_permuted(Results& results, const TensorRef& self, const std::vector<std::size_t>& order) {
  Sizes sizes, strides;
  for (const std::size_t dim : order) {
    sizes.push_back(self->sizes.at(dim));
    strides.push_back(self->strides.at(dim));
  }
  give_view(results, self, std::move(sizes), std::move(strides));
}

std::vector<std::size_t> dims_of(const Sizes& given, const TensorRef& self) {
  std::vector<std::size_t> dims;
  for (const std::int64_t dim : given) {
    dims.push_back(static_cast<std::size_t>(wrapped_dim(dim, self->dim())));
    need(std::ranges::count(dims, dims.back()) == 1);
  }
  return dims;
}

void permute(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const Sizes given = integers_argument(arguments, 1);
  need(given.size() == self->sizes.size());
  give_permuted(results, self, dims_of(given, self));
}

void give_transposed(Results& results, const TensorRef& self, std::size_t a, std::size_t b) {
  std::vector<std::size_t> order(self->sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order.at(a), order.at(b));
  give_permuted(results, self, order);
}
void transpose(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  give_transposed(results, self, dim_argument(arguments, 1, self), dim_argument(arguments, 2, self));
}
void transpose_matrix(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  need(self->dim() <= 2);
  if (self->dim() < 2) return same(arguments, results);
  give_transposed(results, self, 0, 1);
}

void move_dims(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const auto from = dims_of(integers_argument(arguments, 1), self);
  const auto to = dims_of(integers_argument(arguments, 2), self);
  need(from.size() == to.size());
  if (self->sizes.empty()) return same(arguments, results);
  constexpr std::size_t kFree = SIZE_MAX;
  std::vector<std::size_t> order(self->sizes.size(), kFree);
  for (std::size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  std::size_t next = 0;
  for (std::size_t& dim : order) {
    if (dim != kFree) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    dim = next++;
  }
  give_permuted(results, self, order);
}

// --- more and fewer dimensions ---

void unsqueeze(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const auto dim = wrapped_dim(integer_argument(arguments, 1), self->dim() + 1);
  Sizes sizes = self->sizes, strides = self->strides;
  const std::int64_t stride =
      dim == self->dim() ? 1 : sizes[static_cast<std::size_t>(dim)] * strides[static_cast<std::size_t>(dim)];
  sizes.insert(sizes.begin() + dim, 1);
  strides.insert(strides.begin() + dim, stride);
  give_view(results, self, std::move(sizes), std::move(strides));
}

void give_squeezed(Results& results, const TensorRef& self, const std::function<bool(std::size_t)>& may_go) {
  Sizes sizes, strides;
  for (std::size_t i = 0; i < self->sizes.size(); ++i) {
    if (self->sizes[i] == 1 && may_go(i)) continue;
    sizes.push_back(self->sizes[i]);
    strides.push_back(self->strides[i]);
  }
  give_view(results, self, std::move(sizes), std::move(strides));
}
void squeeze(Arguments arguments, Results& results) {
  give_squeezed(results, view_argument(arguments, 0), [](std::size_t) { return true; });
}
void squeeze_dims(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const auto dims = dims_of(integers_argument(arguments, 1), self);
  give_squeezed(results, self, [&](std::size_t i) { return std::ranges::find(dims, i) != dims.end(); });
}

void give_expanded(Results& results, const TensorRef& self, const Sizes& wanted) {
  need(wanted.size() >= self->sizes.size());
  Sizes sizes = wanted, strides(wanted.size());
  for (std::size_t i = sizes.size(); i > 0; --i) {
    const std::size_t behind = sizes.size() - i;
    std::int64_t& size = sizes[i - 1];
    if (behind < self->sizes.size()) {
      const std::size_t own = self->sizes.size() - 1 - behind;
      if (size == -1) size = self->sizes[own];
      need(self->sizes[own] == size || self->sizes[own] == 1);
      strides[i - 1] = self->sizes[own] == 1 && size != 1 ? 0 : self->strides[own];
    } else {
      need(size >= 0);
      strides[i - 1] = size == 1 && !self->sizes.empty() ? sizes[i] * strides[i] : 0;
    }
  }
  give_view(results, self, std::move(sizes), std::move(strides));
}
void expand(Arguments arguments, Results& results) {
  give_expanded(results, view_argument(arguments, 0), integers_argument(arguments, 1));
}
void expand_as(Arguments arguments, Results& results) {
  give_expanded(results, view_argument(arguments, 0), view_argument(arguments, 1)->sizes);
}

std::vector<TensorRef> views_argument(Arguments arguments, std::size_t i) {
  need(i < arguments.size() && arguments[i].is_list());
  std::vector<TensorRef> tensors;
  for (std::size_t k = 0; k < arguments[i].items().size(); ++k)
    tensors.push_back(view_argument(arguments[i].items(), k));
  return tensors;
}

Value tensor_list(const Results& tensors) { return make_list(tensor_type(), tensors); }

void broadcast_tensors(Arguments arguments, Results& results) {
  const auto tensors = views_argument(arguments, 0);
  Sizes sizes;
  for (const TensorRef& tensor : tensors) sizes = broadcast(sizes, tensor->sizes);
  Results all;
  for (const TensorRef& tensor : tensors) give_expanded(all, tensor, sizes);
  results.push_back(tensor_list(all));
}

void meshgrid(Arguments arguments, Results& results) {
  auto tensors = views_argument(arguments, 0);
  need(!tensors.empty());
  need(!is_given(arguments, 1) || arguments[1].to_string() == "ij");
  Sizes sizes;
  for (const TensorRef& tensor : tensors) {
    need(tensor->dim() <= 1 && tensor->dtype == tensors[0]->dtype);
    sizes.push_back(tensor->numel());
  }
  Results all;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Sizes alone(sizes.size(), 1);
    alone[i] = sizes[i];
    Results column;
    give_with_sizes(column, tensors[i], alone, false);
    give_expanded(all, TensorRef(&column[0].to_tensor()), sizes);
  }
  results.push_back(tensor_list(all));
}

// --- parts ---

void give_narrowed(Results& results, const TensorRef& self, std::size_t dim, std::int64_t start,
                   std::int64_t length, std::int64_t step = 1) {
  Sizes sizes = self->sizes, strides = self->strides;
  const std::int64_t offset = self->offset + start * strides[dim];
  sizes[dim] = length;
  need(!__builtin_mul_overflow(strides[dim], step, &strides[dim]));
  give_view(results, self, std::move(sizes), std::move(strides), offset);
}

void select(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 1);
  std::int64_t index = integer_argument(arguments, 2);
  need(index >= -size && index < size);
  if (index < 0) index += size;
  Sizes sizes = self->sizes, strides = self->strides;
  const std::int64_t offset = self->offset + index * strides[dim];
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  give_view(results, self, std::move(sizes), std::move(strides), offset);
}

void slice(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 1);
  const std::int64_t step = integer_argument(arguments, 4);
  need(step > 0 && step <= std::numeric_limits<std::int32_t>::max());
  const auto end_of = [&](std::size_t i, std::int64_t none) {
    const std::int64_t end = find_integer_argument(arguments, i).value_or(none);
    return std::clamp<std::int64_t>(end < 0 ? (end < -size ? 0 : end + size) : end, 0, size);
  };
  const std::int64_t from = end_of(2, 0), to = std::max(from, end_of(3, size));
  const std::int64_t length = (to - from) / step + ((to - from) % step != 0 ? 1 : 0);
  give_narrowed(results, self, dim, from, length, step);
}

void narrow(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 1);
  std::int64_t start = integer_argument(arguments, 2);
  const std::int64_t length = integer_argument(arguments, 3);
  need(start >= -size && start <= size);
  if (start < 0) start += size;
  need(length >= 0 && length <= size - start);
  give_narrowed(results, self, dim, start, length);
}

void give_split(Results& results, const TensorRef& self, std::size_t dim, const Sizes& parts) {
  Results all;
  std::int64_t start = 0;
  for (const std::int64_t part : parts) {
    need(part >= 0 && part <= self->sizes[dim] - start);
    give_narrowed(all, self, dim, start, part);
    start += part;
  }
  need(start == self->sizes[dim]);
  results.push_back(tensor_list(all));
}

Sizes parts_of(std::int64_t size, std::int64_t part) {
  need(part > 0);
  Sizes parts;
  for (std::int64_t start = 0; start < size || parts.empty(); start += part)
    parts.push_back(std::min(part, size - start));
  return parts;
}

void split(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 2);
  give_split(results, self, dim, parts_of(size, std::min(integer_argument(arguments, 1), kMaxKnownElements)));
}
void split_with_sizes(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 2);
  give_split(results, self, dim, integers_argument(arguments, 1));
}
void chunk(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 2);
  const std::int64_t chunks = integer_argument(arguments, 1);
  need(size > 0 && chunks > 0 && chunks <= std::numeric_limits<std::int32_t>::max());
  give_split(results, self, dim, parts_of(size, size / chunks + (size % chunks != 0 ? 1 : 0)));
}

void unbind(Arguments arguments, Results& results) {
  const auto [self, dim, size] = along_argument(arguments, 1);
  Results all;
  for (std::int64_t i = 0; i < size; ++i)
    select(std::vector<Value>{arguments[0], static_cast<std::int64_t>(dim), i}, all);
  results.push_back(tensor_list(all));
}

// --- copies: f(places) is where an element comes from, by its place in each dimension ---

Array gathered(const Array& self, const Sizes& sizes, const std::function<void(Sizes&)>& from) {
  Array result{self.dtype, sizes, {}, false, self.is_layout_known};
  const std::int64_t count = count_of(sizes);
  for (std::int64_t place = 0; place < count; ++place) {
    Sizes at(sizes.size());
    std::int64_t rest = place;
    for (std::size_t i = sizes.size(); i > 0; --i) {
      at[i - 1] = rest % sizes[i - 1];
      rest /= sizes[i - 1];
    }
    from(at);
    std::int64_t source = 0;
    for (std::size_t i = 0; i < self.sizes.size(); ++i) {
      need(at.at(i) >= 0 && at[i] < self.sizes[i]);
      source = source * self.sizes[i] + at[i];
    }
    result.elements.push_back(self.elements.at(static_cast<std::size_t>(source)));
  }
  return result;
}

void flip(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const auto dims = dims_of(integers_argument(arguments, 1), self);
  need(self->dim() > 0 || dims.empty());
  give(results, gathered(tensor_argument(arguments, 0), self->sizes, [&](Sizes& at) {
         for (const std::size_t dim : dims) at[dim] = self->sizes[dim] - 1 - at[dim];
       }));
}

void roll(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  const Sizes shifts = integers_argument(arguments, 1), given = integers_argument(arguments, 2);
  const Array array = tensor_argument(arguments, 0);
  if (given.empty()) {
    need(shifts.size() == 1);
    Array result = array;
    const std::int64_t count = array.count();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t to = ((i + shifts[0] % count) % count + count) % count;
      result.elements[static_cast<std::size_t>(to)] = array.elements[static_cast<std::size_t>(i)];
    }
    return give(results, std::move(result));
  }
  const auto dims = dims_of(given, self);
  need(dims.size() == shifts.size() && self->dim() > 0);
  give(results, gathered(array, self->sizes, [&](Sizes& at) {
         for (std::size_t i = 0; i < dims.size(); ++i) {
           const std::int64_t size = self->sizes[dims[i]];
           at[dims[i]] = ((at[dims[i]] - shifts[i] % size) % size + size) % size;
         }
       }));
}

void give_repeated(Results& results, Array self, const Sizes& times) {
  need(times.size() >= self.sizes.size());
  self.sizes.insert(self.sizes.begin(), times.size() - self.sizes.size(), 1);
  Sizes sizes = self.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    need(times[i] >= 0 && !__builtin_mul_overflow(sizes[i], times[i], &sizes[i]));
  give(results, gathered(self, sizes, [&](Sizes& at) {
         for (std::size_t i = 0; i < at.size(); ++i) at[i] %= self.sizes[i];
       }));
}
void repeat(Arguments arguments, Results& results) {
  give_repeated(results, tensor_argument(arguments, 0), integers_argument(arguments, 1));
}
void tile(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  Sizes times = integers_argument(arguments, 1);
  if (times.size() < self.sizes.size()) times.insert(times.begin(), self.sizes.size() - times.size(), 1);
  give_repeated(results, self, times);
}

std::int64_t checked_index(TensorElement index, std::int64_t size, bool may_be_negative) {
  std::int64_t at = index.integer;
  if (may_be_negative && at < 0) at += size;
  need(at >= 0 && at < size);
  return at;
}

Array index_argument(Arguments arguments, std::size_t i, bool may_be_narrow) {
  Array index = tensor_argument(arguments, i);
  need(index.dtype == ScalarType::kInt64 || (may_be_narrow && index.dtype == ScalarType::kInt32));
  return index;
}

void gather(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0), index = index_argument(arguments, 2, false);
  need(self.dim() > 0 && self.dim() == index.dim());
  const auto dim = static_cast<std::size_t>(wrapped_dim(integer_argument(arguments, 1), self.dim()));
  for (std::size_t i = 0; i < self.sizes.size(); ++i) need(i == dim || index.sizes[i] <= self.sizes[i]);
  std::size_t next = 0;
  give(results, gathered(self, index.sizes, [&](Sizes& at) {
         at[dim] = checked_index(index.elements[next++], self.sizes[dim], false);
       }));
}

void index_select(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0), index = index_argument(arguments, 2, true);
  need(self.dim() > 0 && index.dim() <= 1);
  const auto dim = static_cast<std::size_t>(wrapped_dim(integer_argument(arguments, 1), self.dim()));
  for (const TensorElement element : index.elements) checked_index(element, self.sizes[dim], false);
  Sizes sizes = self.sizes;
  sizes[dim] = index.count();
  give(results, gathered(self, sizes, [&](Sizes& at) {
         at[dim] = checked_index(index.elements[static_cast<std::size_t>(at[dim])], self.sizes[dim], false);
       }));
}

void take(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0), index = index_argument(arguments, 1, false);
  Array result{self.dtype, index.sizes, {}, false, index.is_layout_known};
  for (const TensorElement element : index.elements)
    result.elements.push_back(
        self.elements[static_cast<std::size_t>(checked_index(element, self.count(), true))]);
  give(results, std::move(result));
}

// --- several in one ---

void give_concatenated(Results& results, std::vector<Array> arrays, std::int64_t dim) {
  need(!arrays.empty());
  // LibTorch passes over empty ones of one dimension.
  std::vector<Array> parts;
  bool is_layout_known = true;
  const ScalarType type = common_type(arrays);
  for (Array& array : arrays) {
    is_layout_known = is_layout_known && array.is_layout_known;
    need(array.dim() > 0);
    if (array.sizes != Sizes{0}) parts.push_back(cast(std::move(array), type));
  }
  need(!parts.empty());
  const auto at_dim = static_cast<std::size_t>(wrapped_dim(dim, parts[0].dim()));
  Sizes sizes = parts[0].sizes;
  sizes[at_dim] = 0;
  for (const Array& part : parts) {
    need(part.sizes.size() == sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) need(i == at_dim || part.sizes[i] == sizes[i]);
    sizes[at_dim] += part.sizes[at_dim];
  }
  count_of(sizes);
  Array result{type, sizes, {}, false, is_layout_known};
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < at_dim; ++i) outer *= sizes[i];
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const Array& part : parts) {
      const std::int64_t width = part.count() / outer;
      result.elements.insert(result.elements.end(), part.elements.begin() + row * width,
                             part.elements.begin() + (row + 1) * width);
    }
  }
  give(results, std::move(result));
}

void concatenate(Arguments arguments, Results& results) {
  give_concatenated(results, tensors_argument(arguments, 0), integer_argument(arguments, 1));
}
void stack(Arguments arguments, Results& results) {
  std::vector<Array> arrays = tensors_argument(arguments, 0);
  need(!arrays.empty());
  const std::int64_t dim = wrapped_dim(integer_argument(arguments, 1), arrays[0].dim() + 1);
  const Sizes sizes = arrays[0].sizes;
  for (Array& array : arrays) {
    need(array.sizes == sizes);
    array.sizes.insert(array.sizes.begin() + dim, 1);
  }
  give_concatenated(results, std::move(arrays), dim);
}
void stack_rows(Arguments arguments, Results& results) {
  std::vector<Array> arrays = tensors_argument(arguments, 0);
  for (Array& array : arrays) {
    while (array.sizes.size() < 2) array.sizes.insert(array.sizes.begin(), 1);
  }
  give_concatenated(results, std::move(arrays), 0);
}
void stack_columns(Arguments arguments, Results& results) {
  std::vector<Array> arrays = tensors_argument(arguments, 0);
  need(!arrays.empty());
  for (Array& array : arrays) {
    if (array.sizes.empty()) array.sizes = {1};
  }
  give_concatenated(results, arrays, arrays[0].dim() == 1 ? 0 : 1);
}

// --- of another dtype ---

void give_cast(Arguments arguments, Results& results, Dtype dtype, bool copies) {
  const TensorRef self = view_argument(arguments, 0);
  if (!copies && (!dtype || *dtype == self->dtype)) return same(arguments, results);
  Array array = cast(tensor_argument(arguments, 0), dtype.value_or(self->dtype));
  array.is_layout_known = self->is_layout_known && self->is_contiguous();
  give(results, std::move(array));
}
// Positions of the dtype, of whether it is a copy in any case, and of the memory format.
template <std::size_t Type, std::size_t Copy, std::size_t Format>
void to(Arguments arguments, Results& results) {
  need(!is_given(arguments, Format) || integer_argument(arguments, Format) <= 1);
  give_cast(arguments, results, find_dtype_argument(arguments, Type), flag_argument(arguments, Copy));
}
// LibTorch does not look whether there is a dtype when it copies.
void to_dtype(Arguments arguments, Results& results) {
  need(is_given(arguments, 1) || !flag_argument(arguments, 3));
  give_cast(arguments, results, find_dtype_argument(arguments, 1), flag_argument(arguments, 3));
}
void to_device(Arguments arguments, Results& results) {
  need(is_given(arguments, 1) || is_given(arguments, 2) || !flag_argument(arguments, 4));
  give_cast(arguments, results, find_dtype_argument(arguments, 2), flag_argument(arguments, 4));
}
void to_other(Arguments arguments, Results& results) {
  need(!is_given(arguments, 4) || integer_argument(arguments, 4) <= 1);
  give_cast(arguments, results, view_argument(arguments, 1)->dtype, flag_argument(arguments, 3));
}
void to_type_of(Arguments arguments, Results& results) {
  give_cast(arguments, results, view_argument(arguments, 1)->dtype, false);
}

void contiguous(Arguments arguments, Results& results) {
  need(!is_given(arguments, 1) || integer_argument(arguments, 1) == 0);
  const TensorRef self = view_argument(arguments, 0);
  if (self->is_layout_known && self->is_contiguous()) return same(arguments, results);
  Array array = tensor_argument(arguments, 0);
  array.is_layout_known = true;
  give(results, std::move(array));
}

constexpr PlainRow kViews[] = {
    {"aten::alias aten::detach", same},
    {"aten::view", view},
    {"aten::view_as", view_as},
    {"aten::reshape", reshape},
    {"aten::flatten.using_ints", flatten},
    {"aten::unflatten.int", unflatten},
    {"aten::permute", permute},
    {"aten::transpose.int", transpose},
    {"aten::t", transpose_matrix},
    {"aten::movedim.int aten::movedim.intlist", move_dims},
    {"aten::unsqueeze", unsqueeze},
    {"aten::squeeze", squeeze},
    {"aten::squeeze.dim aten::squeeze.dims", squeeze_dims},
    {"aten::expand aten::broadcast_to", expand},
    {"aten::expand_as", expand_as},
    {"aten::broadcast_tensors", broadcast_tensors},
    {"aten::meshgrid aten::meshgrid.indexing", meshgrid},
    {"aten::select.int", select},
    {"aten::slice.Tensor", slice},
    {"aten::narrow", narrow},
    {"aten::split.Tensor", split},
    {"aten::split.sizes aten::split aten::split_with_sizes", split_with_sizes},
    {"aten::chunk", chunk},
    {"aten::unbind.int", unbind},
    {"aten::flip", flip},
    {"aten::roll", roll},
    {"aten::repeat", repeat},
    {"aten::tile", tile},
    {"aten::gather", gather},
    {"aten::index_select", index_select},
    {"aten::take", take},
    {"aten::cat aten::concat", concatenate},
    {"aten::stack", stack},
    {"aten::vstack", stack_rows},
    {"aten::hstack", stack_columns},
    {"aten::to.dtype", to<1, 3, 4>},
    {"aten::to.device", to<2, 4, 5>},
    {"aten::to.dtype_layout", to<1, 6, 7>},
    {"aten::to.prim_dtype", to_dtype},
    {"aten::to.prim_Device", to_device},
    {"aten::to.other", to_other},
    {"aten::type_as", to_type_of},
    {"aten::contiguous", contiguous},
};

}  // namespace

PlainTable view_operators() { return kViews; }

}  // namespace fxtrace::script
