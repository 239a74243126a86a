#include "script/small_array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace fxtrace::script {
namespace {

using Element = TensorElement;
using Type = ScalarType;

// --- of two, in their common type ---

// A number must be one of the integers of a tensor; of floats it is rounded as they are.
Array in_type(Array array, Type type) {
  if (!array.is_number) return cast(std::move(array), type);
  array.elements[0] = element_of(array, type);
  array.dtype = type;
  return array;
}

std::array<Array, 2> both(Array a, Array b) {
  const Type type = common_type(std::array{a, b});
  return {in_type(std::move(a), type), in_type(std::move(b), type)};
}

std::array<Array, 2> both_arguments(Arguments arguments) {
  return both(array_argument(arguments, 0), array_argument(arguments, 1));
}

// In the type's own arithmetic: of floats each step is rounded.
template <class Real, class Integer>
Array arithmetic(const std::array<Array, 2>& arrays, Real real, Integer integer) {
  const Type type = arrays[0].dtype;
  return combined(arrays[0], arrays[1], type, [&](Element a, Element b) {
    if (type == Type::kFloat32) {
      const auto result = static_cast<float>(real(static_cast<float>(a.real), static_cast<float>(b.real)));
      return Element{.real = result};
    }
    if (type == Type::kFloat64) return Element{.real = real(a.real, b.real)};
    return integer_element(static_cast<std::uint64_t>(integer(a.integer, b.integer)), type);
  });
}

std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) { return wrapped(bits(a) + bits(b)); }
std::int64_t wrapped_difference(std::int64_t a, std::int64_t b) { return wrapped(bits(a) - bits(b)); }
std::int64_t wrapped_product(std::int64_t a, std::int64_t b) { return wrapped(bits(a) * bits(b)); }

// Other factors are part of an operation that rounds once on some machines and twice on others.
void need_no_factor(Arguments arguments, std::size_t i, Type result) {
  if (i >= arguments.size()) return;
  const Array alpha = number_argument(arguments, i);
  need(alpha.dtype != Type::kBool || result == Type::kBool);
  need(alpha.is_real() ? is_floating(result) && alpha.elements[0].real == 1 : alpha.elements[0].integer == 1);
}

void add(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  need_no_factor(arguments, 2, arrays[0].dtype);
  if (arrays[0].dtype == Type::kBool) {
    return give(results, arithmetic(arrays, std::plus<>{}, std::bit_or<>{}));
  }
  give(results, arithmetic(arrays, std::plus<>{}, wrapped_sum));
}

void subtract(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  need_no_factor(arguments, 2, arrays[0].dtype);
  need(arrays[0].dtype != Type::kBool && array_argument(arguments, 0).dtype != Type::kBool &&
       array_argument(arguments, 1).dtype != Type::kBool);
  give(results, arithmetic(arrays, std::minus<>{}, wrapped_difference));
}

void subtract_from(Arguments arguments, Results& results) {
  need(arguments.size() >= 2);
  std::vector<Value> turned(arguments.begin(), arguments.end());
  std::swap(turned[0], turned[1]);
  subtract(turned, results);
}

void multiply(Arguments arguments, Results& results) {
  give(results, arithmetic(both_arguments(arguments), std::multiplies<>{}, wrapped_product));
}

// --- quotients ---

// Integers become floats of 32 bits, each by itself.
Array true_quotient(Array a, Array b) {
  const std::array originals{a, b};
  if (!is_floating(common_type(originals))) {
    a = cast(std::move(a), kDefaultFloat);
    b = cast(std::move(b), kDefaultFloat);
  }
  return arithmetic(both(std::move(a), std::move(b)), std::divides<>{},
                    [](std::int64_t, std::int64_t) -> std::int64_t { throw NotKnown{}; });
}

void need_quotient(std::int64_t a, std::int64_t b) {
  need(b != 0 && !(b == -1 && a == std::numeric_limits<std::int64_t>::min()));
}
std::int64_t truncated_quotient(std::int64_t a, std::int64_t b) {
  need_quotient(a, b);
  return a / b;
}
std::int64_t floored_quotient(std::int64_t a, std::int64_t b) {
  need_quotient(a, b);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// As Python divides floats, step by step.
template <class Real>
Real floored_real(Real a, Real b) {
  if (b == 0) return a / b;
  const Real rest = std::fmod(a, b);
  Real quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(Real{0}, a / b);
  Real floored = std::floor(quotient);
  if (quotient - floored > Real{0.5}) floored += 1;
  return floored;
}

Array floor_quotient(const std::array<Array, 2>& arrays) {
  need(arrays[0].dtype != Type::kBool);
  return arithmetic(arrays, [](auto a, auto b) { return floored_real(a, b); }, floored_quotient);
}

void divide(Arguments arguments, Results& results) {
  if (!is_given(arguments, 2))
    return give(results, true_quotient(array_argument(arguments, 0), array_argument(arguments, 1)));
  need(arguments[2].is_string());
  const auto arrays = both_arguments(arguments);
  need(arrays[0].dtype != Type::kBool);
  if (arguments[2].to_string() == "floor") return give(results, floor_quotient(arrays));
  need(arguments[2].to_string() == "trunc");
  give(results, arithmetic(arrays, [](auto a, auto b) { return std::trunc(a / b); }, truncated_quotient));
}

void floor_divide(Arguments arguments, Results& results) {
  give(results, floor_quotient(both_arguments(arguments)));
}

void remainder(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  need(arrays[0].dtype != Type::kBool);
  give(results, arithmetic(
                    arrays,
                    [](auto a, auto b) {
                      auto rest = std::fmod(a, b);
                      if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
                      return rest;
                    },
                    [](std::int64_t a, std::int64_t b) {
                      need_quotient(a, b);
                      const std::int64_t rest = a % b;
                      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
                    }));
}

void fmod(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  need(arrays[0].dtype != Type::kBool);
  give(results, arithmetic(
                    arrays, [](auto a, auto b) { return std::fmod(a, b); },
                    [](std::int64_t a, std::int64_t b) {
                      need_quotient(a, b);
                      return a % b;
                    }));
}

// --- powers: of integers, and those of floats that are no more than products and roots ---

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  std::uint64_t result = 1, factor = bits(base);
  for (auto rest = bits(exponent); rest != 0; rest >>= 1U, factor *= factor) {
    if ((rest & 1U) != 0) result *= factor;
  }
  return wrapped(result);
}

// LibTorch leaves roots to the processor or to a library, which differ in the last bit; those that are
// numbers of the type are the same everywhere.
template <class Real>
Real known_root(Real a) {
  const Real root = std::sqrt(a);
  const long double square = static_cast<long double>(root) * root;
  need(!std::isfinite(a) || square == static_cast<long double>(a));
  return root;
}

template <class Real>
Real known_power(Real base, double exponent) {
  constexpr double kRoot = 0.5, kCube = 3;
  if (exponent == 0) return 1;
  if (exponent == 1) return base;
  if (exponent == 2) return base * base;
  if (exponent == kCube) return base * base * base;
  if (exponent == kRoot) return known_root(base);
  if (exponent == -1) return 1 / base;
  if (exponent == -2) return 1 / (base * base);
  throw NotKnown{};
}

void power_of_number(Arguments arguments, Results& results) {
  const Array exponent = number_argument(arguments, 1);
  const double number =
      exponent.is_real() ? exponent.elements[0].real : static_cast<double>(exponent.elements[0].integer);
  const auto arrays = both_arguments(arguments);
  if (!is_floating(arrays[0].dtype)) {
    need(arrays[0].dtype != Type::kBool && exponent.dtype != Type::kBool &&
         exponent.elements[0].integer >= 0);
    return give(results, arithmetic(arrays, [](auto a, auto) { return a; }, integer_power));
  }
  give(results, arithmetic(arrays, [number](auto a, auto) { return known_power(a, number); }, integer_power));
}

void power(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  need(!is_floating(arrays[0].dtype) && arrays[0].dtype != Type::kBool);
  give(results, arithmetic(arrays, [](auto a, auto) { return a; }, integer_power));
}

// --- comparisons ---

template <class Compare>
void compare(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  const bool real = is_floating(arrays[0].dtype);
  give(results, combined(arrays[0], arrays[1], Type::kBool, [real](Element a, Element b) {
         const bool holds = real ? Compare{}(a.real, b.real) : Compare{}(a.integer, b.integer);
         return Element{.integer = holds ? 1 : 0};
       }));
}

template <class Logic>
void logical(Arguments arguments, Results& results) {
  const Array a = tensor_argument(arguments, 0), b = tensor_argument(arguments, 1);
  give(results, combined(a, b, Type::kBool, [&](Element x, Element y) {
         return Element{.integer = Logic{}(a.is_true(x), b.is_true(y)) ? 1 : 0};
       }));
}

void logical_not(Arguments arguments, Results& results) {
  Array a = tensor_argument(arguments, 0);
  for (Element& element : a.elements) element = {.integer = a.is_true(element) ? 0 : 1};
  a.dtype = Type::kBool;
  give(results, std::move(a));
}

// --- bits ---

template <class Bits>
void bitwise(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  need(!is_floating(arrays[0].dtype));
  give(results, arithmetic(arrays, [](auto a, auto) { return a; }, Bits{}));
}

void bitwise_not(Arguments arguments, Results& results) {
  Array a = tensor_argument(arguments, 0);
  need(!a.is_real());
  for (Element& element : a.elements) {
    element = a.dtype == Type::kBool ? Element{.integer = 1 - element.integer}
                                     : integer_element(bits(~element.integer), a.dtype);
  }
  give(results, std::move(a));
}

template <bool Left>
void shift(Arguments arguments, Results& results) {
  const auto arrays = both_arguments(arguments);
  const Type type = arrays[0].dtype;
  need(!is_floating(type) && type != Type::kBool);
  const std::int64_t width = 8 * item_size(type);
  give(results, arithmetic(
                    arrays, [](auto a, auto) { return a; },
                    [&](std::int64_t a, std::int64_t b) -> std::int64_t {
                      need(b >= 0 && b < width);
                      return Left ? wrapped(bits(a) << bits(b)) : a >> b;
                    }));
}

// --- the larger and the smaller one ---

template <bool Largest, class T>
T chosen(T a, T b) {
  if (a != a) return a;  // NaN
  if (b != b) return b;
  return (Largest ? a < b : b < a) ? b : a;
}

template <bool Largest>
Array chosen_of(const std::array<Array, 2>& arrays) {
  // Of 0 and -0 LibTorch gives either.
  const auto real = [](auto a, auto b) {
    need(!(a == 0 && b == 0 && std::signbit(a) != std::signbit(b)));
    return chosen<Largest>(a, b);
  };
  return arithmetic(arrays, real, [](std::int64_t a, std::int64_t b) { return chosen<Largest>(a, b); });
}

template <bool Largest>
void extreme(Arguments arguments, Results& results) {
  need(arguments.size() == 2 && arguments[0].is_tensor() && arguments[1].is_tensor());
  give(results, chosen_of<Largest>(both_arguments(arguments)));
}

// Limits in arguments 1 and 2; either may be None.
void clamp(Arguments arguments, Results& results) {
  std::vector<Array> all{tensor_argument(arguments, 0)};
  need(is_given(arguments, 1) || is_given(arguments, 2));
  for (const std::size_t i : {1, 2}) {
    if (is_given(arguments, i)) all.push_back(array_argument(arguments, i));
  }
  const Type type = common_type(all);
  need(type != Type::kBool);
  Array result = cast(all[0], type);
  std::size_t next = 1;
  for (const std::size_t i : {1, 2}) {
    if (!is_given(arguments, i)) continue;
    const Array limit = in_type(all[next++], type);
    need(!is_floating(type) ||
         std::ranges::none_of(limit.elements, [](Element e) { return std::isnan(e.real); }));
    result = i == 1 ? chosen_of<true>({result, limit}) : chosen_of<false>({result, limit});
  }
  give(results, std::move(result));
}

template <std::size_t Position>
void clamp_one(Arguments arguments, Results& results) {
  need(arguments.size() == 2);
  std::vector<Value> all{arguments[0], {}, {}};
  all[Position] = arguments[1];
  clamp(all, results);
}

// --- of one ---

// Floats alone change; integers are what they are.
template <class Real, class Integer>
void each(Arguments arguments, Results& results, Real real, Integer integer) {
  Array a = tensor_argument(arguments, 0);
  for (Element& element : a.elements) {
    if (a.dtype == Type::kFloat32) {
      element.real = static_cast<float>(real(static_cast<float>(element.real)));
    } else if (a.dtype == Type::kFloat64) {
      element.real = real(element.real);
    } else {
      element = integer_element(bits(integer(element.integer, a.dtype)), a.dtype);
    }
  }
  give(results, std::move(a));
}
std::int64_t same(std::int64_t a, Type /*dtype*/) { return a; }
std::int64_t no_bool(std::int64_t a, Type dtype) {
  need(dtype != Type::kBool);
  return a;
}

void negate(Arguments arguments, Results& results) {
  each(
      arguments, results, [](auto a) { return -a; },
      [](std::int64_t a, Type dtype) { return wrapped(0 - bits(no_bool(a, dtype))); });
}
void absolute(Arguments arguments, Results& results) {
  each(
      arguments, results, [](auto a) { return std::abs(a); },
      [](std::int64_t a, Type dtype) { return no_bool(a, dtype) < 0 ? wrapped(0 - bits(a)) : a; });
}
void sign(Arguments arguments, Results& results) {
  each(
      arguments, results, [](auto a) { return static_cast<decltype(a)>((0 < a) - (a < 0)); },
      [](std::int64_t a, Type /*dtype*/) { return std::int64_t{0 < a} - std::int64_t{a < 0}; });
}
void square(Arguments arguments, Results& results) {
  each(
      arguments, results, [](auto a) { return a * a; },
      [](std::int64_t a, Type dtype) { return wrapped_product(no_bool(a, dtype), a); });
}
void ceil(Arguments arguments, Results& results) {
  each(arguments, results, [](auto a) { return std::ceil(a); }, no_bool);
}
void floor(Arguments arguments, Results& results) {
  each(arguments, results, [](auto a) { return std::floor(a); }, no_bool);
}
void trunc(Arguments arguments, Results& results) {
  each(arguments, results, [](auto a) { return std::trunc(a); }, no_bool);
}
void round(Arguments arguments, Results& results) {
  each(arguments, results, [](auto a) { return std::nearbyint(a); }, no_bool);
}
void frac(Arguments arguments, Results& results) {
  need(tensor_argument(arguments, 0).is_real());
  each(arguments, results, [](auto a) { return a - std::trunc(a); }, same);
}
void copy(Arguments arguments, Results& results) {
  each(arguments, results, [](auto a) { return a; }, same);
}

template <class Real>
void each_real(Arguments arguments, Results& results, Real real) {
  Array a = tensor_argument(arguments, 0);
  if (!a.is_real()) a = cast(std::move(a), kDefaultFloat);
  for (Element& element : a.elements) {
    element.real =
        a.dtype == Type::kFloat32 ? double{real(static_cast<float>(element.real))} : real(element.real);
  }
  give(results, std::move(a));
}
void square_root(Arguments arguments, Results& results) {
  each_real(arguments, results, [](auto a) { return known_root(a); });
}
void reciprocal(Arguments arguments, Results& results) {
  each_real(arguments, results, [](auto a) { return 1 / a; });
}
void reciprocal_root(Arguments arguments, Results& results) {
  each_real(arguments, results, [](auto a) {
    const auto root = known_root(a);
    int exponent = 0;
    need(std::isfinite(a) && a > 0 && std::frexp(root, &exponent) == decltype(a){0.5});  // a power of two
    return 1 / root;
  });
}
void copysign(Arguments arguments, Results& results) {
  auto arrays = both_arguments(arguments);
  need(is_floating(arrays[0].dtype));
  give(results, arithmetic(arrays, [](auto a, auto b) { return std::copysign(a, b); }, wrapped_sum));
}

template <bool (*Is)(double), bool OfIntegers>
void question(Arguments arguments, Results& results) {
  Array a = tensor_argument(arguments, 0);
  for (Element& element : a.elements)
    element = {.integer = (a.is_real() ? Is(element.real) : OfIntegers) ? 1 : 0};
  a.dtype = Type::kBool;
  give(results, std::move(a));
}
bool is_nan(double a) { return std::isnan(a); }
bool is_infinite(double a) { return std::isinf(a); }
bool is_finite(double a) { return std::isfinite(a); }

// Where the difference is as large as what is allowed, rounding decides.
void allclose(Arguments arguments, Results& results) {
  const Array a = tensor_argument(arguments, 0), b = tensor_argument(arguments, 1);
  need(a.dtype == b.dtype && a.dtype != Type::kBool && arguments.size() > 3 && arguments[2].is_double() &&
       arguments[3].is_double());
  const double relative = arguments[2].to_double(), absolute = arguments[3].to_double();
  need(relative >= 0 && absolute >= 0);
  bool close = true;
  combined(a, b, Type::kBool, [&](Element x, Element y) {
    constexpr double kLess = 0.999, kMore = 1.001, kMost = 1e15;
    const double one = a.is_real() ? x.real : static_cast<double>(x.integer);
    const double other = a.is_real() ? y.real : static_cast<double>(y.integer);
    need(std::abs(one) < kMost && std::abs(other) < kMost);
    const double error = std::abs(one - other), allowed = absolute + relative * std::abs(other);
    need(one == other || error < kLess * allowed || error > kMore * allowed);
    close = close && (one == other || error < allowed);
    return x;
  });
  results.emplace_back(close);
}

// --- a choice ---

void where(Arguments arguments, Results& results) {
  const Array condition = tensor_argument(arguments, 0);
  need(condition.dtype == Type::kBool);
  auto arrays = both(array_argument(arguments, 1), array_argument(arguments, 2));
  const Sizes sizes = broadcast(condition.sizes, broadcast(arrays[0].sizes, arrays[1].sizes));
  const Array choice = expanded(condition, sizes), a = expanded(arrays[0], sizes),
              b = expanded(arrays[1], sizes);
  Array result{a.dtype, sizes, {}, false, choice.is_layout_known && a.is_layout_known && b.is_layout_known};
  for (std::size_t i = 0; i < choice.elements.size(); ++i)
    result.elements.push_back(choice.elements[i].integer != 0 ? a.elements[i] : b.elements[i]);
  give(results, std::move(result));
}

void masked_fill(Arguments arguments, Results& results) {
  const Array self = tensor_argument(arguments, 0), mask = tensor_argument(arguments, 1);
  const Array value = array_argument(arguments, 2);
  need(mask.dtype == Type::kBool && value.sizes.empty());
  need(!value.is_real() || self.is_real());
  const Element filled =
      value.is_number ? element_of(value, self.dtype) : cast(value, self.dtype).elements.at(0);
  give(results,
       combined(self, mask, self.dtype, [&](Element a, Element b) { return b.integer != 0 ? filled : a; }));
}

constexpr PlainRow kElementwise[] = {
    {"aten::add.Tensor aten::add.Scalar", add},
    {"aten::sub.Tensor aten::sub.Scalar", subtract},
    {"aten::rsub.Tensor aten::rsub.Scalar", subtract_from},
    {"aten::mul.Tensor aten::mul.Scalar", multiply},
    {"aten::div.Tensor aten::div.Scalar aten::div.Tensor_mode aten::div.Scalar_mode "
     "aten::true_divide.Tensor aten::true_divide.Scalar",
     divide},
    {"aten::floor_divide aten::floor_divide.Scalar", floor_divide},
    {"aten::remainder.Tensor aten::remainder.Scalar aten::remainder.Scalar_Tensor", remainder},
    {"aten::fmod.Tensor aten::fmod.Scalar", fmod},
    {"aten::pow.Tensor_Scalar", power_of_number},
    {"aten::pow.Tensor_Tensor aten::pow.Scalar", power},
    {"aten::eq.Tensor aten::eq.Scalar", compare<std::equal_to<>>},
    {"aten::ne.Tensor aten::ne.Scalar", compare<std::not_equal_to<>>},
    {"aten::lt.Tensor aten::lt.Scalar", compare<std::less<>>},
    {"aten::le.Tensor aten::le.Scalar", compare<std::less_equal<>>},
    {"aten::gt.Tensor aten::gt.Scalar", compare<std::greater<>>},
    {"aten::ge.Tensor aten::ge.Scalar", compare<std::greater_equal<>>},
    {"aten::logical_and", logical<std::logical_and<>>},
    {"aten::logical_or", logical<std::logical_or<>>},
    {"aten::logical_xor", logical<std::not_equal_to<>>},
    {"aten::logical_not", logical_not},
    {"aten::bitwise_and.Tensor aten::bitwise_and.Scalar aten::bitwise_and.Scalar_Tensor "
     "aten::__and__.Tensor aten::__and__.Scalar",
     bitwise<std::bit_and<>>},
    {"aten::bitwise_or.Tensor aten::bitwise_or.Scalar aten::bitwise_or.Scalar_Tensor "
     "aten::__or__.Tensor aten::__or__.Scalar",
     bitwise<std::bit_or<>>},
    {"aten::bitwise_xor.Tensor aten::bitwise_xor.Scalar aten::bitwise_xor.Scalar_Tensor "
     "aten::__xor__.Tensor aten::__xor__.Scalar",
     bitwise<std::bit_xor<>>},
    {"aten::bitwise_not", bitwise_not},
    {"aten::__lshift__.Tensor aten::__lshift__.Scalar", shift<true>},
    {"aten::__rshift__.Tensor aten::__rshift__.Scalar", shift<false>},
    {"aten::maximum aten::max.other", extreme<true>},
    {"aten::minimum aten::min.other", extreme<false>},
    {"aten::clamp aten::clamp.Tensor", clamp},
    {"aten::clamp_min aten::clamp_min.Tensor", clamp_one<1>},
    {"aten::clamp_max aten::clamp_max.Tensor", clamp_one<2>},
    {"aten::neg", negate},
    {"aten::abs prim::abs", absolute},
    {"aten::sign", sign},
    {"aten::square", square},
    {"aten::ceil", ceil},
    {"aten::floor", floor},
    {"aten::trunc", trunc},
    {"aten::round", round},
    {"aten::frac", frac},
    {"aten::clone", copy},
    {"aten::sqrt", square_root},
    {"aten::reciprocal", reciprocal},
    {"aten::rsqrt", reciprocal_root},
    {"aten::copysign.Tensor aten::copysign.Scalar", copysign},
    {"aten::allclose", allclose},
    {"aten::isnan", question<is_nan, false>},
    {"aten::isinf", question<is_infinite, false>},
    {"aten::isfinite", question<is_finite, true>},
    {"aten::where.self aten::where.Scalar aten::where.ScalarOther aten::where.ScalarSelf", where},
    {"aten::masked_fill.Scalar aten::masked_fill.Tensor", masked_fill},
};

}  // namespace

PlainTable elementwise_operators() { return kElementwise; }

}  // namespace fxtrace::script
