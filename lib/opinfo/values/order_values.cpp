// Value rules of operators that return elements of their arguments in other sizes, orders and dtypes.
#include <algorithm>
#include <limits>
#include <numeric>

#include "opinfo/operator_entry.h"
#include "opinfo/values/list_changes.h"
#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {
namespace {

const Element& at(const Array& array, const Dims& places) {
  return array.elements[static_cast<std::size_t>(place_of(places, array.sizes))];
}

std::size_t dim_argument(const ValueCall& call, std::string_view name, std::int64_t rank) {
  return position_in(std::max<std::int64_t>(rank, 1), call.args.number(name));
}

// Permutes the dimensions: order[i] is the dimension that becomes the i-th.
Results permuted(const ValueCall& call, const Array& self, const std::vector<std::size_t>& order) {
  return one_result(filled(result(call), [&](const Dims& places) {
    Dims from(places.size());
    for (std::size_t i = 0; i < order.size(); ++i) nth(from, order[i]) = places[i];
    return at(self, from);
  }));
}

std::vector<std::size_t> positions(const Dims& given, std::int64_t rank) {
  std::vector<std::size_t> dims;
  for (const std::int64_t dim : given) dims.push_back(position_in(std::max<std::int64_t>(rank, 1), dim));
  return dims;
}

}  // namespace

// Views and copies that keep the row-major order of the elements.
Results same_elements(const ValueCall& call) {
  Array out = result(call);
  Array self = tensor_array(call[0]);
  // A view with another dtype has other numbers.
  need(self.dtype == out.dtype && count_of(out.sizes) == self.count());
  out.elements = std::move(self.elements);
  return one_result(std::move(out));
}

Results contiguous(const ValueCall& call) {
  need(!call.args.is_given("memory_format") || call.args.number("memory_format") == kContiguousFormat);
  return same_elements(call);
}

Results cast(const ValueCall& call) {
  Array out = result(call);
  need(!call.args.is_given("memory_format") || call.args.number("memory_format") <= 1);
  // With copy=True, the prim_ overloads of LibTorch do not check whether a dtype is given.
  const bool has_type =
      call.args.is_given("dtype") || call.args.is_given("device") || call.args.is_given("other");
  const Operator* row = call.args.op().row;
  need(has_type || row == nullptr || !row->overload().starts_with("prim_") || !call.args.flag("copy"));
  Array self = cast(tensor_array(call[0]), out.dtype);
  need(self.sizes == out.sizes);
  return one_result(std::move(self));
}

Results expand(const ValueCall& call) {
  return one_result(expanded(tensor_array(call[0]), result(call).sizes));
}
Results expand_all(const ValueCall& call) {
  const std::vector<Array> all = tensors(call, 0);
  return give_list(call, [&](std::size_t i, const Array& out) { return expanded(nth(all, i), out.sizes); });
}

Results meshgrid(const ValueCall& call) {
  const std::vector<Array> all = tensors(call, 0);
  const bool swaps = call.args.is_given("indexing") && call.args.text("indexing") == "xy";
  return give_list(call, [&](std::size_t i, Array out) {
    const std::size_t dim = swaps && i < 2 && all.size() > 1 ? 1 - i : i;
    return filled(std::move(out), [&](const Dims& places) {
      return nth(nth(all, i).elements, static_cast<std::size_t>(nth(places, dim)));
    });
  });
}

Results permute(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  return permuted(call, self, positions(call.args.numbers("dims"), self.dim()));
}

namespace {

Results swapped(const ValueCall& call, const Array& self, std::size_t a, std::size_t b) {
  std::vector<std::size_t> order(self.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(nth(order, a), nth(order, b));
  return permuted(call, self, order);
}

}  // namespace

Results transpose(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  return swapped(call, self, dim_argument(call, "dim0", self.dim()), dim_argument(call, "dim1", self.dim()));
}
Results transpose_matrix(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  return self.dim() < 2 ? same_elements(call) : swapped(call, self, 0, 1);
}

Results move_dims(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  const auto from = positions(call.args.numbers("source"), self.dim()),
             to = positions(call.args.numbers("destination"), self.dim());
  if (self.sizes.empty()) return same_elements(call);
  constexpr std::size_t kFree = SIZE_MAX;
  std::vector<std::size_t> order(self.sizes.size(), kFree);
  for (std::size_t i = 0; i < from.size(); ++i) order[nth(to, i)] = from[i];
  std::size_t next = 0;
  for (std::size_t& dim : order) {
    if (dim != kFree) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    dim = next++;
  }
  return permuted(call, self, order);
}

// --- slices ---

namespace {

Array part(const Array& self, Array out, std::size_t dim, std::int64_t start, std::int64_t step = 1) {
  return filled(std::move(out), [&](Dims places) {
    nth(places, dim) = start + places[dim] * step;
    return at(self, places);
  });
}

}  // namespace

Results select(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(self.dim() > 0);
  const std::size_t dim = dim_of(call, self);
  const auto index = static_cast<std::int64_t>(position_in(self.sizes[dim], call.args.number("index")));
  return one_result(filled(result(call), [&](Dims places) {
    places.insert(places.begin() + static_cast<std::ptrdiff_t>(dim), index);
    return at(self, places);
  }));
}

Results slice(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(self.dim() > 0 && call.args.number("step") > 0 &&
       call.args.number("step") <= std::numeric_limits<std::int32_t>::max());
  const std::size_t dim = dim_of(call, self);
  const auto end = [&](std::string_view name) {
    return call.args.is_given(name) ? std::optional(call.args.number(name)) : std::nullopt;
  };
  const Slice positions = slice_of(self.sizes[dim], end("start"), end("end"), call.args.number("step"));
  return one_result(part(self, result(call), dim, positions.from, positions.step));
}

Results narrow(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(self.dim() > 0);
  const std::size_t dim = dim_of(call, self);
  const std::int64_t start = call.args.number("start"), size = self.sizes[dim];
  need(start >= -size && start <= size);
  return one_result(part(self, result(call), dim, start < 0 ? start + size : start));
}

// split(), chunk(): consecutive pieces with the sizes that the shape rule gave.
Results split(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(self.dim() > 0);
  const std::size_t dim = dim_of(call, self);
  std::int64_t start = 0;
  return give_list(call, [&](std::size_t, Array out) {
    const std::int64_t from = start;
    start += nth(out.sizes, dim);
    return part(self, std::move(out), dim, from);
  });
}

Results unbind(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(self.dim() > 0);
  const std::size_t dim = dim_of(call, self);
  return give_list(call, [&](std::size_t i, Array out) {
    return filled(std::move(out), [&](Dims places) {
      places.insert(places.begin() + static_cast<std::ptrdiff_t>(dim), static_cast<std::int64_t>(i));
      return at(self, places);
    });
  });
}

// --- copies in another order ---

Results flip(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  const auto dims = positions(call.args.numbers("dims"), self.dim());
  need(self.dim() > 0 || dims.empty());
  return one_result(filled(result(call), [&](Dims places) {
    for (const std::size_t dim : dims) places[dim] = self.sizes[dim] - 1 - places[dim];
    return at(self, places);
  }));
}

Results roll(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  const Dims shifts = call.args.numbers("shifts"), given = call.args.numbers("dims");
  const auto source_of = [](std::int64_t place, std::int64_t shift, std::int64_t size) {
    return ((place - shift % size) % size + size) % size;
  };
  if (given.empty()) {
    need(shifts.size() == 1);
    return one_result(filled(result(call), [&](const Dims& places) {
      const std::int64_t from = source_of(place_of(places, self.sizes), shifts[0], self.count());
      return self.elements[static_cast<std::size_t>(from)];
    }));
  }
  const auto dims = positions(given, self.dim());
  need(dims.size() == shifts.size() && self.dim() > 0);
  return one_result(filled(result(call), [&](Dims places) {
    for (std::size_t i = 0; i < dims.size(); ++i)
      places[dims[i]] = source_of(places[dims[i]], shifts[i], self.sizes[dims[i]]);
    return at(self, places);
  }));
}

Results repeat(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  return one_result(filled(result(call), [&](const Dims& places) {
    need(places.size() >= self.sizes.size());
    Dims from(places.end() - static_cast<std::ptrdiff_t>(self.sizes.size()), places.end());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] %= self.sizes[i];
    return at(self, from);
  }));
}

// --- by indices ---

namespace {

Array index_argument(const ValueCall& call, bool may_be_narrow) {
  Array index = tensor(call, "index");
  need(index.dtype == ScalarType::kInt64 || (may_be_narrow && index.dtype == ScalarType::kInt32));
  return index;
}

std::int64_t index_at(const Array& index, std::int64_t place) {
  const std::int64_t value = integer(nth(index.elements, static_cast<std::size_t>(place)));
  need(value >= 0);
  return value;
}

}  // namespace

Results gather(const ValueCall& call) {
  const Array self = tensor_array(call[0]), index = index_argument(call, false);
  need(self.dim() > 0 && self.dim() == index.dim());
  const std::size_t dim = dim_of(call, self);
  return one_result(filled(result(call), [&](Dims places) {
    places[dim] = index_at(index, place_of(places, index.sizes));
    return at(self, places);
  }));
}

Results index_select(const ValueCall& call) {
  const Array self = tensor_array(call[0]), index = index_argument(call, true);
  need(self.dim() > 0);
  const std::size_t dim = dim_of(call, self);
  for (std::int64_t i = 0; i < index.count(); ++i) need(index_at(index, i) < self.sizes[dim]);
  return one_result(filled(result(call), [&](Dims places) {
    places[dim] = index_at(index, places[dim]);
    return at(self, places);
  }));
}

Results take(const ValueCall& call) {
  const Array self = tensor_array(call[0]), index = index_argument(call, false);
  Array out = result(call);
  for (const Element& element : index.elements)
    out.elements.push_back(self.elements[position_in(self.count(), integer(element))]);
  return one_result(std::move(out));
}

// --- concatenation ---

namespace {

Results joined(const ValueCall& call, const std::vector<Array>& arrays, std::size_t dim) {
  Array out = result(call);
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < dim; ++i) outer *= nth(out.sizes, i);
  if (outer == 0) return one_result(std::move(out));
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const Array& array : arrays) {
      const std::int64_t width = array.count() / outer;
      for (std::int64_t i = row * width; i < (row + 1) * width; ++i)
        out.elements.push_back(converted(array.elements[static_cast<std::size_t>(i)], out.dtype));
    }
  }
  return one_result(std::move(out));
}

}  // namespace

Results join(const ValueCall& call) {
  return joined(call, tensors(call, 0), dim_argument(call, "dim", result(call).dim()));
}
// stack(): concatenation along the new dimension, which has size 1 in each tensor.
Results stack(const ValueCall& call) { return join(call); }
Results stack_rows(const ValueCall& call) { return joined(call, tensors(call, 0), 0); }
Results stack_columns(const ValueCall& call) {
  return joined(call, tensors(call, 0), result(call).dim() == 1 ? 0 : 1);
}

}  // namespace fxtrace::internal::values
