// Value rules of elementwise operators.  If no argument is a tensor, they compute with Python numbers
// (number_values.h).
#include <algorithm>
#include <cmath>

#include "opinfo/rules/shape_helpers.h"
#include "opinfo/values/number_values.h"
#include "opinfo/values/value_call.h"

namespace fxtrace::internal::values {
namespace {

// --- binary operators, in the common dtype ---

std::string_view name_of(const ValueCall& call, std::size_t i) {
  need(i < call.args.schema().arguments.size());
  return call.args.schema().arguments[i].name;
}

// Converts to the dtype.  A number must be representable if the dtype is an integer one; it is rounded if
// not.
Array in_type(Array array, ScalarType type) {
  if (!array.is_number) return cast(std::move(array), type);
  nth(array.elements, 0) = fitting(array, type);
  array.dtype = type;
  return array;
}

struct Operands {
  Array a, b;
  ScalarType type;
};
Operands operands(const ValueCall& call) {
  const Dtype type = promoted(call.args, {name_of(call, 0), name_of(call, 1)});
  need(type.has_value());
  return {in_type(array_of(call[0]), *type), in_type(array_of(call[1]), *type), *type};
}

// Applies f to the elements of both arrays at each index.
template <class Function>
Results each_pair(const ValueCall& call, const Array& a, const Array& b, const Function& f) {
  Array out = result(call);
  const Array x = expanded(a, out.sizes), y = expanded(b, out.sizes);
  for (std::size_t i = 0; i < x.elements.size(); ++i) out.elements.push_back(f(x.elements[i], y.elements[i]));
  return one_result(std::move(out));
}

Results apply_to(const ValueCall& call, const Operands& of, const BinaryOperation& operation) {
  return each_pair(call, of.a, of.b,
                   [&](const Element& a, const Element& b) { return apply(operation, a, b, of.type); });
}

Results binary(const ValueCall& call, const BinaryOperation& operation) {
  if (!call.has_tensor()) return {apply(operation, call[0], call[1], call.args.dimensions)};
  return apply_to(call, operands(call), operation);
}

Operands operands_but_bool(const ValueCall& call) {
  Operands of = operands(call);
  need(of.type != ScalarType::kBool);
  return of;
}

// Throws CannotTell unless alpha is 1: some machines round a multiply-add once, others twice.
void need_no_factor(const ValueCall& call, ScalarType type) {
  if (!call.args.is_given("alpha")) return;
  const Array alpha = array(call, "alpha");
  need(alpha.dtype != ScalarType::kBool || type == ScalarType::kBool);
  need(is_floating(alpha.dtype) ? is_floating(type) && real(only(alpha)) == 1 : integer(only(alpha)) == 1);
}

Results differ(const ValueCall& call, const BinaryOperation& operation) {
  if (!call.has_tensor()) return {apply(operation, call[0], call[1], call.args.dimensions)};
  const Operands of = operands(call);
  need_no_factor(call, of.type);
  need(of.type != ScalarType::kBool && array_of(call[0]).dtype != ScalarType::kBool &&
       array_of(call[1]).dtype != ScalarType::kBool);
  return apply_to(call, of, operation);
}

}  // namespace

Results add(const ValueCall& call) {
  if (auto list = joined_lists(call)) return *std::move(list);
  if (!call.has_tensor()) return {apply(arithmetic::kSum, call[0], call[1], call.args.dimensions)};
  const Operands of = operands(call);
  need_no_factor(call, of.type);
  return apply_to(call, of, of.type == ScalarType::kBool ? arithmetic::kBitOr : arithmetic::kSum);
}
Results subtract(const ValueCall& call) { return differ(call, arithmetic::kDifference); }
Results subtract_from(const ValueCall& call) { return differ(call, arithmetic::kReversedDifference); }
Results multiply(const ValueCall& call) { return binary(call, arithmetic::kProduct); }

// --- quotients ---

// div(): each integer is converted to float32 before the division.
Results divide(const ValueCall& call) {
  if (!call.has_tensor()) return {true_quotient(call[0], call[1])};
  Operands of = operands(call);
  if (!call.args.is_given("rounding_mode")) {
    if (is_floating(of.type)) return apply_to(call, of, arithmetic::kQuotient);
    return apply_to(
        call, {cast(array_of(call[0]), kDefaultFloat), cast(array_of(call[1]), kDefaultFloat), kDefaultFloat},
        arithmetic::kQuotient);
  }
  need(of.type != ScalarType::kBool);
  const bool floors = call.args.text("rounding_mode") == "floor";
  need(floors || call.args.text("rounding_mode") == "trunc");
  return apply_to(call, of, floors ? arithmetic::kFloorQuotient : arithmetic::kTruncatedQuotient);
}
Results floor_divide(const ValueCall& call) {
  return apply_to(call, operands_but_bool(call), arithmetic::kFloorQuotient);
}

Results remainder(const ValueCall& call) {
  if (!call.has_tensor()) return {number_remainder(call[0], call[1], call.args.dimensions)};
  return apply_to(call, operands_but_bool(call), arithmetic::kRemainder);
}
Results truncated_remainder(const ValueCall& call) {
  if (!call.has_tensor()) return {apply_to_reals(arithmetic::kTruncatedRemainder, call[0], call[1])};
  return apply_to(call, operands_but_bool(call), arithmetic::kTruncatedRemainder);
}

// --- powers: of integers, and of floats where they are products or roots ---

Results power(const ValueCall& call) {
  if (!call.has_tensor()) return {number_power(call[0], call[1])};
  const Operands of = operands_but_bool(call);
  const bool by_number = call[1].tensor() == nullptr;
  if (!is_floating(of.type)) {
    // torch takes negative exponents in tensors, but no negative number.
    need(!by_number || (call[1].integer() != nullptr && whole(call, 1) >= 0));
    return apply_to(call, of, arithmetic::kPower);
  }
  need(by_number);
  const Array exponent = array_of(call[1]);
  const double number =
      is_floating(exponent.dtype) ? real(only(exponent)) : static_cast<double>(integer(only(exponent)));
  return each_pair(call, of.a, of.a, [&](const Element& a, const Element&) -> Element {
    if (of.type == ScalarType::kFloat32)
      return double{arithmetic::known_power(static_cast<float>(real(a)), number)};
    return arithmetic::known_power(real(a), number);
  });
}

// --- comparisons ---

namespace {

Results compare(const ValueCall& call, Relation relation) {
  if (!call.has_tensor()) return {compare_values(relation, call)};
  const Operands of = operands(call);
  return each_pair(call, of.a, of.b, [&](const Element& a, const Element& b) -> Element {
    return std::int64_t{holds(relation, a, b)};
  });
}

Results logical(const ValueCall& call, bool (*logic)(bool, bool)) {
  return each_pair(call, tensor_array(call[0]), tensor_array(call[1]),
                   [&](const Element& a, const Element& b) -> Element {
                     return std::int64_t{logic(is_true(a), is_true(b))};
                   });
}

Results bitwise(const ValueCall& call, const BinaryOperation& operation) {
  if (!call.has_tensor()) return {bits_of_numbers(operation, call[0], call[1])};
  const Operands of = operands(call);
  need(!is_floating(of.type));
  return apply_to(call, of, operation);
}

Results shift(const ValueCall& call, const BinaryOperation& operation) {
  if (!call.has_tensor()) return {apply(operation, call[0], call[1], call.args.dimensions)};
  const Operands of = operands_but_bool(call);
  need(!is_floating(of.type));
  const std::int64_t width = 8 * internal::item_size(of.type);
  for (const Element& by : of.b.elements) need(holds(Relation::kLess, by, width));
  return apply_to(call, of, operation);
}

}  // namespace

Results equal(const ValueCall& call) { return compare(call, Relation::kEqual); }
Results not_equal(const ValueCall& call) { return compare(call, Relation::kNotEqual); }
Results less(const ValueCall& call) { return compare(call, Relation::kLess); }
Results less_equal(const ValueCall& call) { return compare(call, Relation::kLessEqual); }
Results greater(const ValueCall& call) { return compare(call, Relation::kGreater); }
Results greater_equal(const ValueCall& call) { return compare(call, Relation::kGreaterEqual); }

Results logical_and(const ValueCall& call) {
  return logical(call, [](bool a, bool b) { return a && b; });
}
Results logical_or(const ValueCall& call) {
  return logical(call, [](bool a, bool b) { return a || b; });
}
Results logical_xor(const ValueCall& call) {
  return logical(call, [](bool a, bool b) { return a != b; });
}

Results bit_and(const ValueCall& call) { return bitwise(call, arithmetic::kBitAnd); }
Results bit_or(const ValueCall& call) { return bitwise(call, arithmetic::kBitOr); }
Results bit_xor(const ValueCall& call) { return bitwise(call, arithmetic::kBitXor); }
Results shift_left(const ValueCall& call) { return shift(call, arithmetic::kLeftShift); }
Results shift_right(const ValueCall& call) { return shift(call, arithmetic::kRightShift); }

// --- extremes and limits ---

namespace {

Results extreme(const ValueCall& call, const BinaryOperation& operation) {
  if (call[1].tensor() == nullptr) need(call[0].tensor() == nullptr);
  return binary(call, operation);
}

// clamp() in the common dtype; either limit may be None.
Results limited(const ValueCall& call, bool by_least, bool by_most) {
  const Dtype type = promoted(call.args, {"self", by_least ? "min" : "self", by_most ? "max" : "self"});
  need(type && *type != ScalarType::kBool);
  Array limited = cast(tensor(call, "self"), *type);
  limited.dtype = *type;
  for (const bool least : {true, false}) {
    if (least ? !by_least : !by_most) continue;
    Array out = result(call);
    const Array x = expanded(limited, out.sizes),
                limit = expanded(in_type(array(call, least ? "min" : "max"), *type), out.sizes);
    for (std::size_t i = 0; i < x.elements.size(); ++i)
      out.elements.push_back(
          apply(least ? arithmetic::kLargest : arithmetic::kLeast, x.elements[i], limit.elements[i], *type));
    limited = std::move(out);
  }
  return one_result(std::move(limited));
}

}  // namespace

Results maximum(const ValueCall& call) { return extreme(call, arithmetic::kLargest); }
Results minimum(const ValueCall& call) { return extreme(call, arithmetic::kLeast); }
Results clamp(const ValueCall& call) {
  const bool by_least = call.args.is_given("min"), by_most = call.args.is_given("max");
  need(by_least || by_most);
  return limited(call, by_least, by_most);
}
Results clamp_min(const ValueCall& call) { return limited(call, true, false); }
Results clamp_max(const ValueCall& call) { return limited(call, false, true); }

// --- unary operators ---

namespace {

Results unary(const ValueCall& call, const UnaryOperation& operation) {
  if (call[0].tensor() == nullptr) return {apply(operation, call[0], call.args.dimensions)};
  const Array self = tensor_array(call[0]);
  Array out = result(call);
  for (const Element& element : self.elements)
    out.elements.push_back(apply(operation, converted(element, out.dtype), out.dtype));
  return one_result(std::move(out));
}

Results unary_but_bool(const ValueCall& call, const UnaryOperation& operation) {
  need(call[0].get_if<bool>() == nullptr &&
       (call[0].tensor() == nullptr || call[0].tensor()->dtype != ScalarType::kBool));
  return unary(call, operation);
}

Results rounded(const ValueCall& call, const UnaryOperation& operation) {
  need(!call.args.is_given("decimals"));
  if (call[0].tensor() == nullptr) return {rounded_number(operation, call)};
  return unary_but_bool(call, operation);
}

Results truth(const ValueCall& call, bool (*is)(double), bool of_integers) {
  if (call[0].tensor() == nullptr) return math_function(call);
  const Array self = tensor_array(call[0]);
  Array out = result(call);
  for (const Element& element : self.elements) {
    const auto* number = std::get_if<double>(&element);
    out.elements.emplace_back(std::int64_t{number != nullptr ? is(*number) : of_integers});
  }
  return one_result(std::move(out));
}

}  // namespace

Results negative(const ValueCall& call) { return unary_but_bool(call, arithmetic::kNegative); }
Results magnitude(const ValueCall& call) { return unary_but_bool(call, arithmetic::kMagnitude); }
Results sign(const ValueCall& call) { return unary(call, arithmetic::kSign); }
Results square(const ValueCall& call) { return unary_but_bool(call, arithmetic::kSquare); }
Results floor(const ValueCall& call) { return rounded(call, arithmetic::kFloor); }
Results ceil(const ValueCall& call) { return rounded(call, arithmetic::kCeil); }
Results trunc(const ValueCall& call) { return rounded(call, arithmetic::kTrunc); }
Results round(const ValueCall& call) { return rounded(call, arithmetic::kRound); }
Results fraction(const ValueCall& call) { return unary(call, arithmetic::kFraction); }
Results root(const ValueCall& call) {
  return call[0].tensor() == nullptr ? math_function(call) : unary(call, arithmetic::kRoot);
}
Results reciprocal(const ValueCall& call) { return unary(call, arithmetic::kReciprocal); }
Results reciprocal_root(const ValueCall& call) { return unary(call, arithmetic::kReciprocalRoot); }
Results copysign(const ValueCall& call) {
  if (!call.has_tensor()) return math_function(call);
  const Operands of = operands(call);
  need(is_floating(of.type));
  return apply_to(call, of, arithmetic::kCopySign);
}

Results logical_not(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  Array out = result(call);
  for (const Element& element : self.elements) out.elements.emplace_back(std::int64_t{!is_true(element)});
  return one_result(std::move(out));
}
Results bit_not(const ValueCall& call) {
  const Array self = tensor_array(call[0]);
  need(!is_floating(self.dtype));
  Array out = result(call);
  for (const Element& element : self.elements) {
    out.elements.push_back(self.dtype == ScalarType::kBool
                               ? Element(1 - integer(element))
                               : integer_element(~bits(integer(element)), self.dtype));
  }
  return one_result(std::move(out));
}

Results is_nan(const ValueCall& call) {
  return truth(call, [](double a) { return std::isnan(a); }, false);
}
Results is_infinite(const ValueCall& call) {
  return truth(call, [](double a) { return std::isinf(a); }, false);
}
Results is_finite(const ValueCall& call) {
  return truth(call, [](double a) { return std::isfinite(a); }, true);
}

// allclose(): throws CannotTell when a difference is so close to the tolerance that rounding decides.
Results all_close(const ValueCall& call) {
  const Array a = tensor_array(call[0]), b = tensor_array(call[1]);
  const double relative = call.args.real("rtol"), absolute = call.args.real("atol");
  need(a.dtype == b.dtype && a.dtype != ScalarType::kBool && relative >= 0 && absolute >= 0);
  need(a.sizes == b.sizes);
  bool close = true;
  for (std::size_t i = 0; i < a.elements.size(); ++i) {
    constexpr double kLess = 0.999, kMore = 1.001, kMost = 1e15;
    const double one = real(converted(a.elements[i], ScalarType::kFloat64)),
                 other = real(converted(b.elements[i], ScalarType::kFloat64));
    need(std::abs(one) < kMost && std::abs(other) < kMost);
    const double error = std::abs(one - other), allowed = absolute + relative * std::abs(other);
    need(one == other || error < kLess * allowed || error > kMore * allowed);
    close = close && (one == other || error < allowed);
  }
  return {{close}};
}

// --- where() ---

Results where(const ValueCall& call) {
  if (call.size() == 1) return places_of_true(call);
  const Array condition = tensor(call, "condition");
  need(condition.dtype == ScalarType::kBool);
  Array out = result(call);
  const Array choice = expanded(condition, out.sizes),
              a = expanded(in_type(array(call, "self"), out.dtype), out.sizes),
              b = expanded(in_type(array(call, "other"), out.dtype), out.sizes);
  for (std::size_t i = 0; i < choice.elements.size(); ++i)
    out.elements.push_back(is_true(choice.elements[i]) ? a.elements[i] : b.elements[i]);
  return one_result(std::move(out));
}

Results masked_fill(const ValueCall& call) {
  const Array self = tensor(call, "self"), mask = tensor(call, "mask"), value = array(call, "value");
  need(mask.dtype == ScalarType::kBool && value.sizes.empty() &&
       (!is_floating(value.dtype) || is_floating(self.dtype)));
  const Element filled =
      value.is_number ? fitting(value, self.dtype) : converted(nth(value.elements, 0), self.dtype);
  return each_pair(call, self, mask,
                   [&](const Element& a, const Element& b) { return is_true(b) ? filled : a; });
}

}  // namespace fxtrace::internal::values
