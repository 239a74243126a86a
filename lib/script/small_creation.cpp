#include "script/small_array.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fxtrace::script {
namespace {

using Element = TensorElement;
using Type = ScalarType;

// --- of one number ---

Array filled(const Sizes& sizes, Type dtype, Element element) {
  Array array{dtype, sizes, {}, false, true};
  array.elements.assign(static_cast<std::size_t>(count_of(sizes)), element);
  return array;
}

Element whole(std::int64_t number, Type dtype) { return converted({.integer = number}, Type::kInt64, dtype); }

template <std::int64_t Number>
void constant(Arguments arguments, Results& results) {
  const Type dtype = find_dtype_argument(arguments, 1).value_or(kDefaultFloat);
  give(results, filled(integers_argument(arguments, 0), dtype, whole(Number, dtype)));
}

// The dtype of a number in the place of a tensor.
Type dtype_of(const Array& number) { return number.is_real() ? kDefaultFloat : number.dtype; }

void full(Arguments arguments, Results& results) {
  const Array number = number_argument(arguments, 1);
  const Type dtype = find_dtype_argument(arguments, 2).value_or(dtype_of(number));
  give(results, filled(integers_argument(arguments, 0), dtype, element_of(number, dtype)));
}

template <std::int64_t Number>
void constant_like(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const Type dtype = find_dtype_argument(arguments, 1).value_or(self.dtype);
  Array array = filled(self.sizes, dtype, whole(Number, dtype));
  array.is_layout_known = self.is_layout_known;
  give(results, std::move(array));
}

void full_like(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0);
  const Type dtype = find_dtype_argument(arguments, 2).value_or(self.dtype);
  Array array = filled(self.sizes, dtype, element_of(number_argument(arguments, 1), dtype));
  array.is_layout_known = self.is_layout_known;
  give(results, std::move(array));
}

template <std::int64_t Number>
void new_constant(Arguments arguments, Results& results) {
  const Type dtype = find_dtype_argument(arguments, 2).value_or(tensor_argument(arguments, 0).dtype);
  give(results, filled(integers_argument(arguments, 1), dtype, whole(Number, dtype)));
}

void new_full(Arguments arguments, Results& results) {
  const Type dtype = find_dtype_argument(arguments, 3).value_or(tensor_argument(arguments, 0).dtype);
  give(results,
       filled(integers_argument(arguments, 1), dtype, element_of(number_argument(arguments, 2), dtype)));
}

void scalar_tensor(Arguments arguments, Results& results) {
  const Type dtype = find_dtype_argument(arguments, 1).value_or(kDefaultFloat);
  give(results, filled({}, dtype, element_of(number_argument(arguments, 0), dtype)));
}

// A float stays one of 64 bits.
void number_to_tensor(Arguments arguments, Results& results) {
  const Array number = number_argument(arguments, 0);
  give(results, filled({}, number.dtype, number.elements[0]));
}

// --- of a list ---

void read_list(const Value& value, std::size_t depth, Array& array) {
  constexpr std::size_t kMaxDims = 16;
  need(value.is_list() && depth < kMaxDims);
  const auto size = static_cast<std::int64_t>(value.items().size());
  if (array.sizes.size() == depth) {
    need(array.elements.empty());
    array.sizes.push_back(size);
  }
  need(array.sizes[depth] == size);
  for (const Value& item : value.items()) {
    if (item.is_list()) {
      read_list(item, depth + 1, array);
      continue;
    }
    need(array.sizes.size() == depth + 1 && array.count() <= kMaxKnownElements);
    const std::vector<Value> alone{item};
    const Array number = number_argument(alone, 0);
    need(array.elements.empty() || number.dtype == array.dtype);
    array.dtype = number.dtype;
    array.elements.push_back(number.elements[0]);
  }
}

// The dtype is at `position`; of floats it is float32 unless told.
void tensor(Arguments arguments, Results& results) {
  need(!arguments.empty());
  Array array;
  if (arguments[0].is_list()) {
    const TypePtr& type = arguments[0].to_list().element_type;
    read_list(arguments[0], 0, array);
    if (array.elements.empty()) {  // what it would have held is in its type
      TypeKind kind = type->kind();
      for (TypePtr inner = type; inner->kind() == TypeKind::kList; inner = inner->contained_types()[0])
        kind = inner->contained_types()[0]->kind();
      need(kind == TypeKind::kInt || kind == TypeKind::kFloat || kind == TypeKind::kBool);
      array.dtype = kind == TypeKind::kInt    ? Type::kInt64
                    : kind == TypeKind::kBool ? Type::kBool
                                              : Type::kFloat64;
    }
  } else {
    array = number_argument(arguments, 0);
  }
  array.is_number = false;
  need(arguments.size() < 4 || !flag_argument(arguments, 3));  // requires_grad
  const Type dtype = find_dtype_argument(arguments, 1).value_or(dtype_of(array));
  // LibTorch makes one of the default dtype first.
  if (array.is_real()) array = cast(std::move(array), kDefaultFloat);
  give(results, cast(std::move(array), dtype));
}

void as_tensor(Arguments arguments, Results& results) {
  const Array array = tensor_argument(arguments, 0);
  give(results, cast(array, find_dtype_argument(arguments, 1).value_or(array.dtype)));
}

// Of 32 bits.
void list_to_tensor(Arguments arguments, Results& results) {
  Array array;
  for (const std::int64_t number : integers_argument(arguments, 0))
    array.elements.push_back({.integer = number});
  array.sizes = {array.count()};
  for (const Element element : array.elements)
    need(integer_element(bits(element.integer), Type::kInt32).integer == element.integer);
  give(results, cast(std::move(array), Type::kInt32));
}

// --- ranges ---

// Numbers of a range that are the same however they are rounded on the way.
Array range_of(long double start, long double step, std::int64_t count, Type dtype) {
  Array array{dtype, {count}, {}, false, true};
  count_of(array.sizes);
  for (std::int64_t i = 0; i < count; ++i) {
    const long double number = start + step * static_cast<long double>(i);
    const auto stored = rounded(static_cast<double>(number), dtype);
    need(static_cast<long double>(stored) == number);
    array.elements.push_back({.real = stored});
  }
  return array;
}

double real_of(const Array& number) {
  return number.is_real() ? number.elements[0].real : static_cast<double>(number.elements[0].integer);
}

void range(const Array& start, const Array& end, const Array& step, Dtype wanted, Results& results) {
  const bool whole_numbers = !start.is_real() && !end.is_real() && !step.is_real();
  const Type dtype = wanted.value_or(whole_numbers ? Type::kInt64 : kDefaultFloat);
  constexpr double kMost = 9007199254740992.0;  // 2^53
  for (const Array* number : {&start, &end, &step}) need(std::abs(real_of(*number)) < kMost);
  const double from = real_of(start), to = real_of(end), by = real_of(step);
  need(by != 0 && ((by > 0 && from <= to) || (by < 0 && from >= to)));
  const double size = std::ceil((to - from) / by);
  need(size >= 0 && size <= kMaxKnownElements);
  if (is_floating(dtype)) return give(results, range_of(from, by, static_cast<std::int64_t>(size), dtype));
  need(whole_numbers && dtype != Type::kBool);
  Array array{dtype, {static_cast<std::int64_t>(size)}, {}, false, true};
  for (std::int64_t i = 0; i < array.sizes[0]; ++i) {
    const std::int64_t number = start.elements[0].integer + i * step.elements[0].integer;
    const Element element = integer_element(bits(number), dtype);
    need(element.integer == number);
    array.elements.push_back(element);
  }
  give(results, std::move(array));
}

Array integer_number(std::int64_t number) { return {Type::kInt64, {}, {{.integer = number}}, true, true}; }

// Of the end; of the start and the end; of those and the step.
template <std::size_t Numbers>
void arange(Arguments arguments, Results& results) {
  range(Numbers > 1 ? number_argument(arguments, 0) : integer_number(0),
        number_argument(arguments, Numbers > 1 ? 1 : 0),
        Numbers > 2 ? number_argument(arguments, 2) : integer_number(1),
        find_dtype_argument(arguments, Numbers), results);
}

void linspace(Arguments arguments, Results& results) {
  const double from = real_of(number_argument(arguments, 0)), to = real_of(number_argument(arguments, 1));
  const std::int64_t steps = integer_argument(arguments, 2);
  const Type dtype = find_dtype_argument(arguments, 3).value_or(kDefaultFloat);
  constexpr double kMost = 9007199254740992.0;  // 2^53
  const auto is_plain = [](double end) { return std::abs(end) < kMost && !(end == 0 && std::signbit(end)); };
  need(is_floating(dtype) && steps >= 0 && steps <= kMaxKnownElements && is_plain(from) && is_plain(to));
  if (steps < 2) return give(results, filled({steps}, dtype, {.real = rounded(from, dtype)}));
  const long double step = (static_cast<long double>(to) - from) / static_cast<long double>(steps - 1);
  const double stored = rounded(static_cast<double>(step), dtype);
  need(static_cast<long double>(stored) == step);
  Array array = range_of(from, step, steps, dtype);
  need(array.elements.back().real == to);
  give(results, std::move(array));
}

// Of as many rows as columns, or of another number of columns.
template <std::size_t Numbers>
void eye(Arguments arguments, Results& results) {
  const std::int64_t rows = integer_argument(arguments, 0),
                     columns = integer_argument(arguments, Numbers - 1);
  const Type dtype = find_dtype_argument(arguments, Numbers).value_or(kDefaultFloat);
  Array array = filled({rows, columns}, dtype, whole(0, dtype));
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i)
    array.elements[static_cast<std::size_t>(i * columns + i)] = whole(1, dtype);
  give(results, std::move(array));
}

// --- numbers of tensors ---

void item(Arguments arguments, Results& results) {
  const Array array = tensor_argument(arguments, 0);
  need(array.count() == 1);
  results.push_back(element_value(array.dtype, array.elements[0]));
}

template <Type As>
void number(Arguments arguments, Results& results) {
  const Array array = tensor_argument(arguments, 0);
  need(array.count() == 1);
  results.push_back(element_value(As, converted(array.elements[0], array.dtype, As)));
}

// Implicitly, as an argument is converted: of a tensor without dimensions, and to an int of one of ints.
template <void (*Of)(Arguments, Results&)>
void implicit(Arguments arguments, Results& results) {
  need(tensor_argument(arguments, 0).sizes.empty());
  Of(arguments, results);
}
void implicit_integer(Arguments arguments, Results& results) {
  const Array array = tensor_argument(arguments, 0);
  need(!array.is_real() && array.dtype != Type::kBool);
  implicit<number<Type::kInt64>>(arguments, results);
}

void dim(Arguments arguments, Results& results) { results.emplace_back(view_argument(arguments, 0)->dim()); }
void numel(Arguments arguments, Results& results) {
  results.emplace_back(view_argument(arguments, 0)->numel());
}
void sizes(Arguments arguments, Results& results) {
  results.push_back(make_int_list(view_argument(arguments, 0)->sizes));
}
void size(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  need(self->dim() > 0);
  results.emplace_back(
      self->sizes[static_cast<std::size_t>(wrapped_dim(integer_argument(arguments, 1), self->dim()))]);
}
void length(Arguments arguments, Results& results) {
  const TensorRef self = view_argument(arguments, 0);
  need(self->dim() > 0);
  results.emplace_back(self->sizes[0]);
}

void equal_tensors(Arguments arguments, Results& results) {
  const Array a = tensor_argument(arguments, 0), b = tensor_argument(arguments, 1);
  need(a.dtype == b.dtype);
  bool equal = a.sizes == b.sizes;
  for (std::size_t i = 0; i < a.elements.size() && equal; ++i) {
    equal = a.is_real() ? a.elements[i].real == b.elements[i].real
                        : a.elements[i].integer == b.elements[i].integer;
  }
  results.emplace_back(equal);
}

void result_type(Arguments arguments, Results& results) {
  const std::vector<Array> arrays{array_argument(arguments, 0), array_argument(arguments, 1)};
  results.emplace_back(static_cast<std::int64_t>(common_type(arrays)));
}

constexpr PlainRow kCreation[] = {
    {"aten::zeros", constant<0>},
    {"aten::ones", constant<1>},
    {"aten::full", full},
    {"aten::zeros_like", constant_like<0>},
    {"aten::ones_like", constant_like<1>},
    {"aten::full_like", full_like},
    {"aten::new_zeros", new_constant<0>},
    {"aten::new_ones", new_constant<1>},
    {"aten::new_full", new_full},
    {"aten::scalar_tensor", scalar_tensor},
    {"prim::NumToTensor.Scalar prim::NumToTensor.bool", number_to_tensor},
    {"aten::tensor aten::tensor.bool aten::tensor.float aten::tensor.int aten::as_tensor.bool "
     "aten::as_tensor.float aten::as_tensor.int aten::as_tensor.list",
     tensor},
    {"aten::as_tensor", as_tensor},
    {"aten::_list_to_tensor", list_to_tensor},
    {"aten::arange", arange<1>},
    {"aten::arange.start", arange<2>},
    {"aten::arange.start_step", arange<3>},
    {"aten::linspace", linspace},
    {"aten::eye", eye<1>},
    {"aten::eye.m", eye<2>},
    {"aten::item", item},
    {"aten::ScalarImplicit", implicit<item>},
    {"aten::Int.Tensor", number<Type::kInt64>},
    {"aten::IntImplicit", implicit_integer},
    {"aten::Float.Tensor", number<Type::kFloat64>},
    {"aten::FloatImplicit", implicit<number<Type::kFloat64>>},
    {"aten::Bool.Tensor aten::is_nonzero", number<Type::kBool>},
    {"aten::dim", dim},
    {"aten::numel", numel},
    {"aten::size", sizes},
    {"aten::size.int", size},
    {"aten::len.Tensor", length},
    {"aten::equal", equal_tensors},
    {"aten::result_type.Tensor aten::result_type.Scalar aten::result_type.Scalar_Tensor", result_type},
};

}  // namespace

PlainTable creation_operators() { return kCreation; }

}  // namespace fxtrace::script
