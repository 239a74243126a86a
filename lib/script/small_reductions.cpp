#include "script/small_array.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>

namespace fxtrace::script {
namespace {

using Element = TensorElement;
using Type = ScalarType;
using Elements = std::vector<Element>;

// --- over dimensions ---

std::vector<bool> reduced_dims(const Sizes& given, const Array& self) {
  std::vector<bool> seen(std::max<std::size_t>(self.sizes.size(), 1), given.empty());
  for (const std::int64_t dim : given) {
    const auto at = static_cast<std::size_t>(wrapped_dim(dim, self.dim()));
    need(!seen[at]);
    seen[at] = true;
  }
  seen.resize(self.sizes.size());
  return seen;
}

// f of the elements that come together, in their order.
Array reduced(const Array& self, const std::vector<bool>& dims, bool keep, Type dtype,
              const std::function<Element(const Elements&)>& f) {
  Sizes kept;  // with the sizes of what is reduced as 1
  for (std::size_t i = 0; i < self.sizes.size(); ++i) kept.push_back(dims[i] ? 1 : self.sizes[i]);
  std::vector<Elements> groups(static_cast<std::size_t>(count_of(kept)));
  for (std::int64_t place = 0; place < self.count(); ++place) {
    std::int64_t rest = place, group = 0, stride = 1;
    for (std::size_t i = self.sizes.size(); i > 0; --i) {
      const std::int64_t at = rest % self.sizes[i - 1];
      rest /= self.sizes[i - 1];
      if (!dims[i - 1]) group += at * stride;
      stride *= kept[i - 1];
    }
    groups[static_cast<std::size_t>(group)].push_back(self.elements[static_cast<std::size_t>(place)]);
  }
  Array result{dtype, {}, {}, false, self.is_layout_known};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!dims[i] || keep) result.sizes.push_back(kept[i]);
  }
  for (const Elements& group : groups) result.elements.push_back(f(group));
  return result;
}

std::vector<double> reals_of(const Elements& elements) {
  std::vector<double> numbers;
  for (const Element element : elements) numbers.push_back(element.real);
  return numbers;
}

Element sum_of_group(const Elements& group, Type dtype) {
  if (!is_floating(dtype)) {
    std::uint64_t sum = 0;
    for (const Element element : group) sum += bits(element.integer);
    return integer_element(sum, dtype);
  }
  const auto numbers = reals_of(group);
  need(is_sum_exact(numbers, dtype));
  return {.real = std::accumulate(numbers.begin(), numbers.end(), 0.0)};
}

// Of floats: whole numbers whose product a float has room for, whatever the order.
Element product_of_group(const Elements& group, Type dtype) {
  if (!is_floating(dtype)) {
    std::uint64_t product = 1;
    for (const Element element : group) product *= bits(element.integer);
    return integer_element(product, dtype);
  }
  double product = 1, size = 1;
  const double limit = dtype == Type::kFloat32 ? 16777216.0 : 4503599627370496.0;  // 2^24, 2^52
  for (const Element element : group) {
    need(std::isfinite(element.real) && element.real == std::trunc(element.real) && element.real != 0);
    product *= element.real;
    size *= std::abs(element.real);
    need(size <= limit);
  }
  return {.real = product};
}

Element mean_of_group(const Elements& group, Type dtype) {
  need(!group.empty());
  const double all = sum_of_group(group, dtype).real;
  if (dtype == Type::kFloat64) return {.real = all / static_cast<double>(group.size())};
  return {.real = static_cast<float>(all) / static_cast<float>(group.size())};
}

// Integers add up to one of 64 bits.
Type sum_type(const Array& self, Dtype wanted) {
  return wanted.value_or(self.is_real() ? self.dtype : Type::kInt64);
}

// Which dimensions are reduced, and whether they stay with the size 1.
struct Over {
  std::vector<bool> dims;
  bool keep;
};
// All of them, or those in argument 1.
Over over(Arguments arguments, const Array& self, bool all) {
  if (all) return {reduced_dims({}, self), false};
  const Sizes dims = is_given(arguments, 1) ? integers_argument(arguments, 1) : Sizes{};
  return {reduced_dims(dims, self), flag_argument(arguments, 2)};
}

using Fold = Element (*)(const Elements& group, Type dtype);

template <Fold Of, bool All>
void folded(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const auto [dims, keep] = over(arguments, self, All);
  const Type dtype = sum_type(self, find_dtype_argument(arguments, All ? 1 : 3));
  need(Of == mean_of_group ? is_floating(dtype) : dtype != Type::kBool);
  give(results, reduced(cast(self, dtype), dims, keep, dtype,
                        [&](const Elements& group) { return Of(group, dtype); }));
}

template <bool Every, bool All>
void truth(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  // Of an empty list of dimensions LibTorch reduces none here.
  need(All || !is_given(arguments, 1) || !integers_argument(arguments, 1).empty());
  const auto [dims, keep] = over(arguments, self, All);
  const Type dtype = self.dtype == Type::kUint8 ? Type::kUint8 : Type::kBool;
  const auto is_true = [&](Element element) { return self.is_true(element); };
  give(results, reduced(self, dims, keep, dtype, [&](const Elements& group) {
         const bool holds = Every ? std::ranges::all_of(group, is_true) : std::ranges::any_of(group, is_true);
         return Element{.integer = holds ? 1 : 0};
       }));
}

// --- extremes ---

bool is_less(Element a, Element b, Type dtype) {
  return is_floating(dtype) ? a.real < b.real : a.integer < b.integer;
}

// Where the first of the largest or smallest is; the first NaN, where there is one.
template <bool Largest>
std::size_t place_of_extreme(const Elements& group, Type dtype) {
  need(!group.empty());
  std::size_t best = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_floating(dtype) && std::isnan(group[best].real)) return best;
    if (is_floating(dtype) && std::isnan(group[i].real)) return i;
    if (Largest ? is_less(group[best], group[i], dtype) : is_less(group[i], group[best], dtype)) best = i;
  }
  return best;
}

// Zeros of both signs are equal, and LibTorch gives either.
void need_one_zero(const Elements& group, Type dtype) {
  if (!is_floating(dtype)) return;
  const auto is_zero = [&](bool negative) {
    return std::ranges::any_of(group,
                               [&](Element e) { return e.real == 0 && std::signbit(e.real) == negative; });
  };
  need(!is_zero(true) || !is_zero(false));
}

template <bool Largest>
Array extreme_of(const Array& self, const std::vector<bool>& dims, bool keep) {
  return reduced(self, dims, keep, self.dtype, [&](const Elements& group) {
    need_one_zero(group, self.dtype);
    return group.at(place_of_extreme<Largest>(group, self.dtype));
  });
}
template <bool Largest>
Array place_in(const Array& self, const std::vector<bool>& dims, bool keep) {
  return reduced(self, dims, keep, Type::kInt64, [&](const Elements& group) {
    return Element{.integer = static_cast<std::int64_t>(place_of_extreme<Largest>(group, self.dtype))};
  });
}

template <bool Largest, bool All>
void extreme(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const auto [dims, keep] = over(arguments, self, All);
  give(results, extreme_of<Largest>(self, dims, keep));
}
template <bool Largest>
void extreme_and_place(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const auto [dims, keep] = over(arguments, self, false);
  give(results, extreme_of<Largest>(self, dims, keep));
  give(results, place_in<Largest>(self, dims, keep));
}
template <bool Largest>
void place(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const bool all = !is_given(arguments, 1);
  need(self.dtype != Type::kBool && !(all && flag_argument(arguments, 2)));
  const auto [dims, keep] = over(arguments, self, all);
  give(results, place_in<Largest>(self, dims, keep));
}

// --- along a dimension ---

// f changes the elements of each line along the dimension.
Array along(Array self, std::int64_t dim, Type dtype, const std::function<Elements(const Elements&)>& f) {
  if (self.sizes.empty()) {
    wrapped_dim(dim, 0);
    self.elements = f(self.elements);
    self.dtype = dtype;
    return self;
  }
  const auto at = static_cast<std::size_t>(wrapped_dim(dim, self.dim()));
  std::int64_t stride = 1;
  for (std::size_t i = at + 1; i < self.sizes.size(); ++i) stride *= self.sizes[i];
  const std::int64_t size = self.sizes[at];
  Array result = self;
  result.dtype = dtype;
  for (std::int64_t start = 0; start < self.count(); ++start) {
    if (start / stride % size != 0) continue;
    Elements line;
    for (std::int64_t i = 0; i < size; ++i)
      line.push_back(self.elements[static_cast<std::size_t>(start + i * stride)]);
    const Elements changed = f(line);
    for (std::int64_t i = 0; i < size; ++i)
      result.elements[static_cast<std::size_t>(start + i * stride)] = changed.at(static_cast<std::size_t>(i));
  }
  return result;
}

template <Fold Of>
void cumulative(Arguments arguments, Results& results) {
  Array self = tensor_argument(arguments, 0);
  const Type dtype = sum_type(self, find_dtype_argument(arguments, 2));
  need(dtype != Type::kBool);
  self = cast(std::move(self), dtype);
  give(results, along(self, integer_argument(arguments, 1), dtype, [&](const Elements& line) {
         Elements sums;
         for (std::size_t i = 1; i <= line.size(); ++i)
           sums.push_back(Of(Elements(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(i)), dtype));
         return sums;
       }));
}

// Places in the order of the elements; NaN is the largest.
std::vector<std::size_t> order_of(const Elements& line, Type dtype, bool descending) {
  std::vector<std::size_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  const auto is_before = [&](std::size_t a, std::size_t b) {
    if (descending) std::swap(a, b);
    if (is_floating(dtype) && (std::isnan(line[a].real) || std::isnan(line[b].real)))
      return !std::isnan(line[a].real) && std::isnan(line[b].real);
    return is_less(line[a], line[b], dtype);
  };
  std::ranges::stable_sort(order, is_before);
  return order;
}

Array places_in_order(const Array& self, std::int64_t dim, bool descending) {
  return along(self, dim, Type::kInt64, [&](const Elements& line) {
    Elements places;
    for (const std::size_t place : order_of(line, self.dtype, descending))
      places.push_back({.integer = static_cast<std::int64_t>(place)});
    return places;
  });
}
// Positions of the dimension; whether the order is descending stands behind it.
template <std::size_t Dim>
void sort(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const std::int64_t dim = integer_argument(arguments, Dim);
  const bool descending = flag_argument(arguments, Dim + 1);
  give(results, along(self, dim, self.dtype, [&](const Elements& line) {
         Elements sorted;
         for (const std::size_t place : order_of(line, self.dtype, descending)) sorted.push_back(line[place]);
         return sorted;
       }));
  give(results, places_in_order(self, dim, descending));
}
template <std::size_t Dim>
void argsort(Arguments arguments, Results& results) {
  give(results, places_in_order(tensor_argument(arguments, 0), integer_argument(arguments, Dim),
                                flag_argument(arguments, Dim + 1)));
}

// --- products of matrices ---

Element dot_of(const Elements& a, const Elements& b, Type dtype) {
  Elements products;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_floating(dtype)) {
      products.push_back({.integer = wrapped(bits(a[i].integer) * bits(b[i].integer))});
      continue;
    }
    const long double exact = static_cast<long double>(a[i].real) * b[i].real;
    const double product = a[i].real * b[i].real;
    need(std::isfinite(product) && static_cast<long double>(product) == exact);
    // No sum has a zero with a sign.
    products.push_back({.real = product == 0 ? 0.0 : product});
  }
  const Element sum = sum_of_group(products, dtype);
  need(!is_floating(dtype) || rounded(sum.real, dtype) == sum.real);
  return sum;
}

Array matrix_product(const Array& a, const Array& b) {
  need(a.dtype == b.dtype && a.dtype != Type::kBool);
  const std::int64_t rows = a.sizes[0], inner = a.sizes[1], columns = b.sizes[1];
  need(inner == b.sizes[0]);
  Array result{a.dtype, {rows, columns}, {}, false, true};
  count_of(result.sizes);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      Elements row, column;
      for (std::int64_t k = 0; k < inner; ++k) {
        row.push_back(a.elements[static_cast<std::size_t>(i * inner + k)]);
        column.push_back(b.elements[static_cast<std::size_t>(k * columns + j)]);
      }
      result.elements.push_back(dot_of(row, column, a.dtype));
    }
  }
  return result;
}

void matmul(Arguments arguments, Results& results) {
  Array a = tensor_argument(arguments, 0), b = tensor_argument(arguments, 1);
  need(a.dim() >= 1 && a.dim() <= 2 && b.dim() >= 1 && b.dim() <= 2);
  const bool row = a.dim() == 1, column = b.dim() == 1;
  if (row) a.sizes.insert(a.sizes.begin(), 1);
  if (column) b.sizes.push_back(1);
  Array result = matrix_product(a, b);
  if (column) result.sizes.pop_back();
  if (row) result.sizes.erase(result.sizes.begin());
  result.is_layout_known = result.dim() < 2 || (a.is_layout_known && b.is_layout_known);
  give(results, std::move(result));
}
void dot(Arguments arguments, Results& results) {
  need(tensor_argument(arguments, 0).dim() == 1 && tensor_argument(arguments, 1).dim() == 1);
  matmul(arguments, results);
}

void outer(Arguments arguments, Results& results) {
  Array a = tensor_argument(arguments, 0);
  const Array b = tensor_argument(arguments, 1);
  need(a.dim() == 1 && b.dim() == 1 && a.dtype == b.dtype && a.dtype != Type::kBool);
  a.sizes.push_back(1);
  give(results, combined(a, b, a.dtype, [&](Element x, Element y) {
         if (a.is_real()) return Element{.real = rounded(x.real * y.real, a.dtype)};
         return integer_element(bits(x.integer) * bits(y.integer), a.dtype);
       }));
}

// Between neighbours, once.
void differences(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  need(integer_argument(arguments, 1) == 1 && !is_given(arguments, 3) && !is_given(arguments, 4) &&
       self.dim() > 0);
  const auto dim = static_cast<std::size_t>(wrapped_dim(integer_argument(arguments, 2), self.dim()));
  need(self.sizes[dim] > 0);
  std::int64_t stride = 1;
  for (std::size_t i = dim + 1; i < self.sizes.size(); ++i) stride *= self.sizes[i];
  Array result{self.dtype, self.sizes, {}, false, self.is_layout_known};
  --result.sizes[dim];
  for (std::int64_t i = 0; i < self.count(); ++i) {
    if (i / stride % self.sizes[dim] == self.sizes[dim] - 1) continue;
    const Element here = self.elements[static_cast<std::size_t>(i)],
                  next = self.elements[static_cast<std::size_t>(i + stride)];
    if (self.is_real()) {
      result.elements.push_back({.real = rounded(next.real - here.real, self.dtype)});
    } else {
      result.elements.push_back(self.dtype == Type::kBool
                                    ? Element{.integer = here.integer ^ next.integer}
                                    : integer_element(bits(next.integer) - bits(here.integer), self.dtype));
    }
  }
  give(results, std::move(result));
}

// Where the elements are that are not zero: a tensor for each dimension.
void places_of_true(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  need(self.dim() > 0);
  std::vector<Elements> places(self.sizes.size());
  for (std::int64_t i = 0; i < self.count(); ++i) {
    const Element element = self.elements[static_cast<std::size_t>(i)];
    if (!self.is_true(element)) continue;
    std::int64_t rest = i;
    for (std::size_t dim = self.sizes.size(); dim > 0; --dim) {
      places[dim - 1].push_back({.integer = rest % self.sizes[dim - 1]});
      rest /= self.sizes[dim - 1];
    }
  }
  Results all;
  for (Elements& elements : places) {
    const auto count = static_cast<std::int64_t>(elements.size());
    give(all, {Type::kInt64, {count}, std::move(elements), false, false});
  }
  results.push_back(make_list(tensor_type(), all));
}

// The part of a matrix on one side of a diagonal.
template <bool Lower>
void triangle(Arguments arguments, Results& results) {
  Array self = tensor_argument(arguments, 0);
  const std::int64_t diagonal = integer_argument(arguments, 1);
  need(self.dim() >= 2 && diagonal >= -kMaxKnownElements && diagonal <= kMaxKnownElements);
  const std::int64_t rows = self.sizes[self.sizes.size() - 2], columns = self.sizes.back();
  for (std::int64_t i = 0; i < self.count(); ++i) {
    const std::int64_t row = i / columns % rows, column = i % columns;
    const bool kept = Lower ? column - row <= diagonal : column - row >= diagonal;
    if (!kept)
      self.elements[static_cast<std::size_t>(i)] =
          self.is_real() ? Element{.real = 0} : Element{.integer = 0};
  }
  give(results, std::move(self));
}

constexpr PlainRow kReductions[] = {
    {"aten::sum", folded<sum_of_group, true>},
    {"aten::sum.dim_IntList", folded<sum_of_group, false>},
    {"aten::mean", folded<mean_of_group, true>},
    {"aten::mean.dim", folded<mean_of_group, false>},
    {"aten::prod", folded<product_of_group, true>},
    {"aten::prod.dim_int", folded<product_of_group, false>},
    {"aten::any", truth<false, true>},
    {"aten::any.dim aten::any.dims", truth<false, false>},
    {"aten::all", truth<true, true>},
    {"aten::all.dim aten::all.dims", truth<true, false>},
    {"aten::max", extreme<true, true>},
    {"aten::min", extreme<false, true>},
    {"aten::amax", extreme<true, false>},
    {"aten::amin", extreme<false, false>},
    {"aten::max.dim", extreme_and_place<true>},
    {"aten::min.dim", extreme_and_place<false>},
    {"aten::argmax", place<true>},
    {"aten::argmin", place<false>},
    {"aten::cumsum", cumulative<sum_of_group>},
    {"aten::cumprod", cumulative<product_of_group>},
    {"aten::sort", sort<1>},
    {"aten::sort.stable", sort<2>},
    {"aten::argsort", argsort<1>},
    {"aten::argsort.stable", argsort<2>},
    {"aten::matmul", matmul},
    {"aten::dot", dot},
    {"aten::outer", outer},
    {"aten::diff", differences},
    {"aten::where", places_of_true},
    {"aten::tril", triangle<true>},
    {"aten::triu", triangle<false>},
};

}  // namespace

PlainTable reduction_operators() { return kReductions; }

}  // namespace fxtrace::script
