// Python's operators on two values, with all their spellings, and what they and a few functions give for
// numbers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "symbolic/arithmetic.h"
#include "symbolic/shape_env.h"

namespace fxtrace::internal {

// From loosest to tightest (Python's reference, "Operator precedence").
enum class Precedence : std::uint8_t {
  kWalrus,
  kDisjunction,
  kConjunction,
  kInversion,
  kCompared,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kPrimary
};
constexpr Precedence tighter_than(Precedence own) {
  return static_cast<Precedence>(static_cast<int>(own) + 1);
}

// A row for each operator.  Numbers are computed by `operation` as torch computes them, and by
// evaluate_python() as Python does.
struct PythonOperator {
  std::string_view symbol;  // "//"
  std::string_view name;    // of the function in the module operator: "floordiv"; empty for "in"
  Precedence precedence;
  const BinaryOperation* operation = nullptr;
  std::optional<Relation> relation = {};
  // The names of torch.utils._sympy and sympy: those that are written, for integers and with floats among the
  // operands, and others, with spaces between them.
  std::string_view sympy = {}, sympy_of_floats = {}, other_sympy = {};

  bool takes_numbers() const { return operation != nullptr || relation; }
};

// These return null for what is no operator: by the symbol ("//"), by the target of a call
// ("operator.floordiv"), by any of sympy's names ("CleanDiv"), and by the start of a text: the longest symbol
// without letters.
const PythonOperator* operator_of_symbol(std::string_view symbol);
const PythonOperator* operator_of_target(std::string_view target);
const PythonOperator* operator_of_sympy(std::string_view name);
const PythonOperator* operator_at_start(std::string_view text);

// Returns the symbol of a target: "operator.floordiv" -> "//".  Empty for what is no operator.
std::string_view python_symbol(std::string_view target);

// Returns the operation of a function of two numbers ("operator.floordiv", "torch.sym_max"), for every kind
// of number.  Null for other functions, and those of which only Python knows the result.
const BinaryOperation* find_operation(std::string_view target);

using PythonNumber = std::variant<bool, std::int64_t, double>;

// Compares exactly: an integer beyond 2**53 is not rounded to a float.
std::partial_ordering compare(const PythonNumber& a, const PythonNumber& b);
bool holds(Relation relation, std::partial_ordering order);

// Returns the result of the function of that name ("operator.floordiv", "math.ceil", "torch.sym_max");
// nothing for other functions and arguments, and when Python would raise, the result is complex, or does not
// fit into 64 bits.
std::optional<PythonNumber> evaluate_python(std::string_view target, const std::vector<PythonNumber>& args);

}  // namespace fxtrace::internal
