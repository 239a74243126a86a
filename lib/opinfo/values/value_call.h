// A call whose result a value rule computes, and helpers for these rules.
//
// A value rule computes the elements of results, in sizes and dtypes that the operator's shape rule has
// found; or a number, a condition, a list.  It is exact: it gives what torch gives, bit for bit, or throws
// CannotTell, where an element is unknown, where torch would raise, and where the machine decides (exp,
// rounded sums).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "opinfo/rules/shape_helpers.h"
#include "shapes/array.h"
#include "symbolic/arithmetic.h"

namespace fxtrace {

struct ValueCall {
  const RuleArguments& args;
  const Results& shapes;  // of all results, from the shape rule; unknown where that gives none

  const AbstractValue& operator[](std::size_t i) const { return args.values()[i]; }  // throws CannotTell
  std::size_t size() const { return args.values().size(); }
  bool has_tensor() const;  // among its first two arguments
};

// Throws CannotTell when the result is unknown.
using ValueRule = Results (*)(const ValueCall& call);

namespace values {

using Dims = std::vector<std::int64_t>;

inline void need(bool holds) {
  if (!holds) throw CannotTell{};
}

// Returns the element of an array that has one; throws CannotTell for others.
inline const Element& only(const Array& array) {
  need(array.count() == 1);
  return array.elements[0];
}

// ---- Arguments ----
Array array_of(const AbstractValue& value);      // of a tensor with known elements, or of a number
Array tensor_array(const AbstractValue& value);  // of a tensor
Array array(const ValueCall& call, std::string_view name);
Array tensor(const ValueCall& call, std::string_view name);
std::vector<Array> tensors(const ValueCall& call, std::size_t i);  // of a list
std::int64_t whole(const ValueCall& call, std::size_t i);          // an integer that is known
Dtype wanted_dtype(const ValueCall& call);                         // the argument `dtype`, where it is given
std::size_t dim_of(const ValueCall& call, const Array& self);  // the argument `dim`, from 0; 0 for a scalar
// Returns which dimensions the argument `dim` names; all when it is absent or empty.
std::vector<bool> dims_of(const ValueCall& call, const Array& self);

// ---- Elements ----
bool is_true(const Element& element);
double real(const Element& element);           // of a float
std::int64_t integer(const Element& element);  // of an integer
SymInt size_of(const Element& element);        // of an integer, an expression, or a float that is whole
Element element_of(const SymInt& size, ScalarType dtype);
Element integer_element(std::uint64_t number, ScalarType dtype);  // wraps around
Element real_element(double number, ScalarType dtype);            // rounded to the dtype
// Converts as C++ does; throws CannotTell when that is undefined.
Element converted(const Element& element, ScalarType to);
Array cast(Array array, ScalarType dtype);
// Returns a Python number as an element of a tensor; it has to fit into the dtype.
Element fitting(const Array& number, ScalarType dtype);
Element apply(const BinaryOperation& operation, const Element& a, const Element& b, ScalarType dtype);
Element apply(const UnaryOperation& operation, const Element& element, ScalarType dtype);
bool holds(Relation relation, const Element& a, const Element& b);

// ---- Positions ----
// Returns the position in `count` things, counted from their end when negative; throws CannotTell when there
// is none.
std::size_t position_in(std::int64_t count, std::int64_t position);
std::int64_t count_of(const Dims& sizes);  // throws CannotTell for more than kMaxKnownElements
// Returns the place of an element in each dimension, from its place in row-major order.
Dims places(std::int64_t place, const Dims& sizes);
std::int64_t place_of(const Dims& places, const Dims& sizes);

// ---- Results ----
// Returns "int64[2]{1,n+3}".
std::string to_text(const Array& array);
// Returns the empty array for the i-th result: its sizes and dtype.
Array result(const ValueCall& call, std::size_t i = 0);
// Returns a result whose elements are from(places), given the place of each in every dimension.
Array filled(Array result, const std::function<Element(const Dims&)>& from);
Array expanded(const Array& array, const Dims& sizes);
Results one_result(Array array);
AbstractValue tensor_value(Array array);
AbstractValue number_value(const Array& array);  // of an array with one element
// Returns one result, a list of tensors, in the order of the shape rule's; from(i, result) gives each.
Results give_list(const ValueCall& call, const std::function<Array(std::size_t, Array)>& from);

// Returns whether the sum of these floats is exact, and so the same in any order of additions.
bool is_sum_exact(std::span<const double> numbers, ScalarType dtype);

}  // namespace values
}  // namespace fxtrace
