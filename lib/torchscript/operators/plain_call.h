// Calls of plain operators: checks before them, their tables, and values as texts.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opinfo/values/list_changes.h"
#include "symbolic/arithmetic.h"
#include "torchscript/operators/plain_operators.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// Checks made before a plain operator is executed: calls are refused when LibTorch's behaviour is undefined
// or does not terminate, and when the result would be too large.

// Returns why the operator must not be executed with these arguments, which match one of its overloads;
// nothing when it may be.  `base_name` is as "aten::floordiv"; `traits` are those of the table.
std::optional<Refusal> find_refusal(std::string_view base_name, Traits traits, Arguments arguments);

// Returns whether a string, list or dict exceeds kMaxPlainSize.
bool is_too_large(const Value& value);
Refusal too_large();

// Returns the number of character comparisons of a substring search.
std::size_t search_steps(Arguments arguments);
inline constexpr std::size_t kMaxSearch = std::size_t{1} << 30;

// Prints values as LibTorch does: str(x), "{}".format(x), "%d" % x.

// Throws Raised (plain_call.h) for values that LibTorch prints with an address, and for values that are too
// large or nested too deep.
void print(std::ostream& out, const Value& value);
std::string printed(const Value& value);

// Helpers shared by the implementations of plain operators (plain_text.cpp and others).

// Thrown by an operator that cannot be executed; carry_out() converts it to a Refusal.
struct Raised : std::exception {
  explicit Raised(std::string text, RefusalKind kind = RefusalKind::kRaised)
      : refusal{kind, std::move(text)} {}
  const char* what() const noexcept override { return refusal.why.c_str(); }
  Refusal refusal;
};

// Throws Raised for arguments that no overload takes, and for results that C++ leaves undefined.
[[noreturn]] void not_supported(const char* why);

using ResultValues = std::vector<Value>;

// A function, and the names of the operators that it executes, with spaces between them: "aten::add.str", or
// "aten::find" for all overloads that have no row of their own.
struct PlainRow {
  std::string_view names;
  void (*run)(Arguments arguments, ResultValues& results);
};
using PlainTable = std::span<const PlainRow>;

// The tables: plain_text.cpp, plain_containers.cpp, plain_operators.cpp.
PlainTable text_operators();       // strings, and conversions of values to strings
PlainTable container_operators();  // of lists, dicts and tuples
PlainTable other_operators();      // of sizes, dtypes, devices and enums

// Adapts a function with one result to the form of a PlainRow.
template <Value (*Function)(Arguments)>
void gives(Arguments arguments, ResultValues& results) {
  results.push_back(Function(arguments));
}

inline const Value& argument(Arguments arguments, std::size_t i) {
  if (i >= arguments.size()) not_supported("an argument is missing");
  return arguments[i];
}
// These return an argument and throw Raised for a value of another kind.
const Value& argument_of(ValueTag kind, Arguments arguments, std::size_t i, const char* why_not);
std::int64_t int_argument(Arguments arguments, std::size_t i);
bool bool_argument(Arguments arguments, std::size_t i);
const std::string& text_argument(Arguments arguments, std::size_t i);
ListValue& list_argument(Arguments arguments, std::size_t i);
DictValue& dict_argument(Arguments arguments, std::size_t i);

// Reads arguments 1 to 3 of a slice of `size` elements: start and end, which may be None, and step.
Slice slice_argument(Arguments arguments, std::size_t size);

// Throws Raised when the values cannot be compared.
bool equal(const Value& a, const Value& b);

}  // namespace fxtrace::internal::torchscript
