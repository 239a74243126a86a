// Value rules of reductions, scans, sorting and matrix products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "opinfo/values/number_values.h"
#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {
namespace {

using Elements = std::vector<Element>;
using OfGroup = Element (*)(const Elements& group, ScalarType dtype);

// --- over dimensions ---

// Applies f to each group of elements that are reduced to one, in their order.
Array reduced(const Array& self, const std::vector<bool>& dims, Array out,
              const std::function<Element(const Elements&)>& f) {
  Dims kept;  // the sizes, with 1 for reduced dimensions
  for (std::size_t i = 0; i < self.sizes.size(); ++i) kept.push_back(dims[i] ? 1 : self.sizes[i]);
  std::vector<Elements> groups(static_cast<std::size_t>(count_of(kept)));
  for (std::int64_t place = 0; place < self.count(); ++place) {
    Dims at = places(place, self.sizes);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = dims[i] ? 0 : at[i];
    groups[static_cast<std::size_t>(place_of(at, kept))].push_back(
        self.elements[static_cast<std::size_t>(place)]);
  }
  for (const Elements& group : groups) out.elements.push_back(f(group));
  return out;
}

Results reduce(const ValueCall& call, OfGroup of, ScalarType as) {
  const Array self = tensor_array(call[0]);
  return one_result(reduced(cast(self, as), dims_of(call, self), result(call),
                            [&](const Elements& group) { return of(group, as); }));
}

std::vector<double> reals_of(const Elements& elements) {
  std::vector<double> numbers;
  for (const Element& element : elements) numbers.push_back(real(element));
  return numbers;
}
bool has_sizes(const Elements& elements) {
  return std::ranges::any_of(elements, [](const Element& e) { return std::holds_alternative<SymInt>(e); });
}

Element folded(const Elements& group, const BinaryOperation& operation, std::int64_t first,
               ScalarType dtype) {
  Element result = element_of(first, dtype);
  for (const Element& element : group) result = apply(operation, result, element, dtype);
  return result;
}

Element sum_of(const Elements& group, ScalarType dtype) {
  need(!is_floating(dtype) || has_sizes(group) || is_sum_exact(reals_of(group), dtype));
  return folded(group, arithmetic::kSum, 0, dtype);
}

// Returns the product; floats must be whole numbers whose product is exact in any order.
Element product_of(const Elements& group, ScalarType dtype) {
  const double limit = dtype == ScalarType::kFloat32 ? 16777216.0 : 4503599627370496.0;  // 2^24, 2^52
  double size = 1;
  for (const Element& element : group) {
    const auto* number = std::get_if<double>(&element);
    if (number == nullptr) continue;
    need(std::isfinite(*number) && *number == std::trunc(*number) && *number != 0);
    size *= std::abs(*number);
    need(size <= limit);
  }
  return folded(group, arithmetic::kProduct, 1, dtype);
}

Element mean_of(const Elements& group, ScalarType dtype) {
  need(!group.empty());
  return apply(arithmetic::kQuotient, sum_of(group, dtype), static_cast<double>(group.size()), dtype);
}

Results truth_of_groups(const ValueCall& call, bool every) {
  const Array self = tensor_array(call[0]);
  // For an empty list of dimensions, LibTorch reduces none here.
  need(!call.args.is_given("dim") || !call.args.numbers("dim").empty());
  return one_result(reduced(self, dims_of(call, self), result(call), [&](const Elements& group) -> Element {
    return std::int64_t{every ? std::ranges::all_of(group, is_true) : std::ranges::any_of(group, is_true)};
  }));
}

// any() of a list with a true item and all() of one with a false item are known; others if all items are.
std::optional<Results> truth_of_list(const ValueCall& call, bool every) {
  const auto* items = call.size() == 1 ? call[0].sequence() : nullptr;
  if (items == nullptr) return std::nullopt;
  bool is_open = false;
  for (const AbstractValue& item : *items) {
    const auto* number = item.get_if<double>();
    const auto* flag = item.get_if<bool>();
    const SymInt* size = item.integer();
    if (number == nullptr && flag == nullptr && (size == nullptr || !size->is_number())) {
      is_open = true;
    } else if ((flag != nullptr ? *flag : number != nullptr ? *number != 0 : *size->number() != 0) != every) {
      return {{{!every}}};
    }
  }
  need(!is_open);
  return {{{every}}};
}

}  // namespace

Results sum(const ValueCall& call) {
  return call[0].tensor() == nullptr ? sum_of_list(call) : reduce(call, sum_of, result(call).dtype);
}
Results product(const ValueCall& call) { return reduce(call, product_of, result(call).dtype); }
Results mean(const ValueCall& call) { return reduce(call, mean_of, result(call).dtype); }
Results any(const ValueCall& call) {
  if (auto answer = truth_of_list(call, false)) return *std::move(answer);
  return truth_of_groups(call, false);
}
Results all(const ValueCall& call) {
  if (auto answer = truth_of_list(call, true)) return *std::move(answer);
  return truth_of_groups(call, true);
}

// --- extremes ---

namespace {

// Returns the index of the first extreme element, or of the first NaN if there is one.
std::size_t place_of_extreme(const Elements& group, bool largest) {
  need(!group.empty());
  const auto is_nan = [](const Element& element) {
    const auto* number = std::get_if<double>(&element);
    return number != nullptr && std::isnan(*number);
  };
  std::size_t best = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_nan(group[best])) return best;
    if (is_nan(group[i])) return i;
    if (holds(largest ? Relation::kLess : Relation::kGreater, group[best], group[i])) best = i;
  }
  return best;
}

Element extreme_of(const Elements& group, ScalarType dtype, bool largest) {
  need(!group.empty());
  Element result = group[0];
  for (const Element& element : group)
    result = apply(largest ? arithmetic::kLargest : arithmetic::kLeast, result, element, dtype);
  return result;
}

// The extremes, and their indices if the operator has that result.
Results extremes(const ValueCall& call, bool largest) {
  if (call.size() > 1 && call[1].tensor() != nullptr) return largest ? maximum(call) : minimum(call);
  if (call[0].sequence() != nullptr || call[0].tensor() == nullptr)
    return {extreme_of_numbers(call, largest)};
  const Array self = tensor_array(call[0]);
  const std::vector<bool> dims = dims_of(call, self);
  Results results = one_result(reduced(self, dims, result(call), [&](const Elements& group) {
    return extreme_of(group, self.dtype, largest);
  }));
  if (call.shapes.size() == 1) return results;
  results.push_back(tensor_value(reduced(self, dims, result(call, 1), [&](const Elements& group) -> Element {
    return static_cast<std::int64_t>(place_of_extreme(group, largest));
  })));
  return results;
}

Results places_of_extremes(const ValueCall& call, bool largest) {
  const Array self = tensor_array(call[0]);
  need(self.dtype != ScalarType::kBool && (call.args.is_given("dim") || !call.args.flag("keepdim")));
  return one_result(reduced(self, dims_of(call, self), result(call), [&](const Elements& group) -> Element {
    return static_cast<std::int64_t>(place_of_extreme(group, largest));
  }));
}

}  // namespace

Results largest(const ValueCall& call) { return extremes(call, true); }
Results smallest(const ValueCall& call) { return extremes(call, false); }
Results argmax(const ValueCall& call) { return places_of_extremes(call, true); }
Results argmin(const ValueCall& call) { return places_of_extremes(call, false); }

// --- along a dimension ---

namespace {

// Applies f to each line of elements along the dimension.
Array along(const Array& self, std::size_t dim, Array out,
            const std::function<Elements(const Elements&)>& f) {
  std::int64_t stride = 1;
  for (std::size_t i = dim + 1; i < self.sizes.size(); ++i) stride *= self.sizes[i];
  const std::int64_t size = self.sizes.empty() ? 1 : self.sizes[dim];
  out.elements.resize(self.elements.size());
  for (std::int64_t start = 0; start < self.count(); ++start) {
    if (start / stride % size != 0) continue;
    Elements line;
    for (std::int64_t i = 0; i < size; ++i)
      line.push_back(self.elements[static_cast<std::size_t>(start + i * stride)]);
    Elements changed = f(line);
    for (std::int64_t i = 0; i < size; ++i)
      out.elements[static_cast<std::size_t>(start + i * stride)] =
          std::move(nth(changed, static_cast<std::size_t>(i)));
  }
  return out;
}

Results cumulative(const ValueCall& call, OfGroup of) {
  Array out = result(call);
  const ScalarType dtype = out.dtype;
  need(dtype != ScalarType::kBool);
  const Array self = cast(tensor_array(call[0]), dtype);
  return one_result(along(self, dim_of(call, self), std::move(out), [&](const Elements& line) {
    Elements sums;
    for (std::size_t i = 1; i <= line.size(); ++i)
      sums.push_back(of(Elements(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(i)), dtype));
    return sums;
  }));
}

// Returns the indices that sort the line; NaN is the largest.
std::vector<std::size_t> order_of(const Elements& line, bool descending) {
  std::vector<std::size_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (descending) std::swap(a, b);
    const auto *x = std::get_if<double>(&line[a]), *y = std::get_if<double>(&line[b]);
    if (x != nullptr && y != nullptr && (std::isnan(*x) || std::isnan(*y)))
      return !std::isnan(*x) && std::isnan(*y);
    return holds(Relation::kLess, line[a], line[b]);
  });
  return order;
}

Array places_in_order(const ValueCall& call, const Array& self, Array out) {
  return along(self, dim_of(call, self), std::move(out), [&](const Elements& line) {
    Elements places;
    for (const std::size_t place : order_of(line, call.args.flag("descending")))
      places.emplace_back(static_cast<std::int64_t>(place));
    return places;
  });
}

}  // namespace

Results cumulative_sum(const ValueCall& call) { return cumulative(call, sum_of); }
Results cumulative_product(const ValueCall& call) { return cumulative(call, product_of); }

Results sort(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  Results results = one_result(along(self, dim_of(call, self), result(call), [&](const Elements& line) {
    Elements sorted;
    for (const std::size_t place : order_of(line, call.args.flag("descending")))
      sorted.push_back(line[place]);
    return sorted;
  }));
  results.push_back(tensor_value(places_in_order(call, self, result(call, 1))));
  return results;
}
Results argsort(const ValueCall& call) {
  return one_result(places_in_order(call, tensor_array(call[0]), result(call)));
}

// --- products of matrices ---

namespace {

Element dot_of(const Elements& a, const Elements& b, ScalarType dtype) {
  Elements products;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!is_floating(dtype)) {
      products.push_back(apply(arithmetic::kProduct, a[i], b[i], dtype));
      continue;
    }
    const long double exact = static_cast<long double>(real(a[i])) * real(b[i]);
    const double product = real(a[i]) * real(b[i]);
    need(std::isfinite(product) && static_cast<long double>(product) == exact);
    products.emplace_back(product == 0 ? 0.0 : product);  // a sum has no negative zero
  }
  if (!is_floating(dtype)) return folded(products, arithmetic::kSum, 0, dtype);
  const auto numbers = reals_of(products);
  need(is_sum_exact(numbers, dtype));
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  need(real(real_element(sum, dtype)) == sum);
  return sum;
}

}  // namespace

Results matrix_product(const ValueCall& call) {
  Array a = tensor_array(call[0]), b = tensor_array(call[1]);
  need(a.dim() >= 1 && a.dim() <= 2 && b.dim() >= 1 && b.dim() <= 2);
  need(a.dtype == b.dtype && a.dtype != ScalarType::kBool);
  if (a.dim() == 1) a.sizes.insert(a.sizes.begin(), 1);
  if (b.dim() == 1) b.sizes.push_back(1);
  const std::int64_t rows = a.sizes[0], inner = a.sizes[1], columns = b.sizes[1];
  need(inner == b.sizes[0]);
  Array out = result(call);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      Elements row, column;
      for (std::int64_t k = 0; k < inner; ++k) {
        row.push_back(a.elements[static_cast<std::size_t>(i * inner + k)]);
        column.push_back(b.elements[static_cast<std::size_t>(k * columns + j)]);
      }
      out.elements.push_back(dot_of(row, column, a.dtype));
    }
  }
  return one_result(std::move(out));
}

Results outer(const ValueCall& call) {
  const Array a = tensor_array(call[0]), b = tensor_array(call[1]);
  need(a.dtype == b.dtype && a.dtype != ScalarType::kBool);
  return one_result(filled(result(call), [&](const Dims& at) {
    return apply(arithmetic::kProduct, nth(a.elements, static_cast<std::size_t>(nth(at, 0))),
                 nth(b.elements, static_cast<std::size_t>(nth(at, 1))), a.dtype);
  }));
}

// diff(): differences of neighbours, for n = 1.
Results difference(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(call.args.number("n") == 1 && !call.args.is_given("prepend") && !call.args.is_given("append"));
  const std::size_t dim = dim_of(call, self);
  const auto at_place = [&](const Dims& at) {
    return self.elements[static_cast<std::size_t>(place_of(at, self.sizes))];
  };
  return one_result(filled(result(call), [&](Dims at) {
    const Element here = at_place(at);
    ++at[dim];
    return apply(self.dtype == ScalarType::kBool ? arithmetic::kBitXor : arithmetic::kDifference,
                 at_place(at), here, self.dtype);
  }));
}

// where(condition): the indices of elements that are not zero, in a tensor for each dimension.
Results places_of_true(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(self.dim() > 0);
  std::vector<Array> found(self.sizes.size(), Array{ScalarType::kInt64, {0}, {}});
  for (std::int64_t i = 0; i < self.count(); ++i) {
    if (!is_true(self.elements[static_cast<std::size_t>(i)])) continue;
    const Dims at = places(i, self.sizes);
    for (std::size_t dim = 0; dim < found.size(); ++dim) {
      found[dim].elements.emplace_back(at[dim]);
      ++found[dim].sizes[0];
    }
  }
  AbstractValue::Sequence all;
  for (Array& each : found) all.push_back(tensor_value(std::move(each)));
  return {{std::move(all)}};
}

// tril() and triu(): the part of a matrix on one side of a diagonal.
namespace {

Results triangle(const ValueCall& call, bool lower) {
  const Array self = tensor_array(call[0]);
  const std::int64_t diagonal = call.args.number("diagonal");
  need(self.dim() >= 2 && result(call).dim() == self.dim() && diagonal >= -kMaxKnownElements &&
       diagonal <= kMaxKnownElements);
  return one_result(filled(result(call), [&](const Dims& at) {
    const std::int64_t above = at.back() - at[at.size() - 2];
    if (lower ? above > diagonal : above < diagonal) return element_of(0, self.dtype);
    return self.elements[static_cast<std::size_t>(place_of(at, self.sizes))];
  }));
}

}  // namespace

Results lower_triangle(const ValueCall& call) { return triangle(call, true); }
Results upper_triangle(const ValueCall& call) { return triangle(call, false); }

}  // namespace fxtrace::internal::values
