// Executes operators on plain values (numbers, strings, lists, dicts and tuples) with the results and errors
// of LibTorch.  Operators of lists and dicts that only move elements accept elements of any kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operators.h"
#include "script/value.h"

namespace fxtrace::script {

// The size limit of a list (elements), a string (characters), or a value with all nested values.
inline constexpr std::size_t kMaxPlainSize = std::size_t{1} << 22;

enum class RefusalKind : std::uint8_t {
  kRaised,       // LibTorch or Python raises here
  kLimit,        // too large
  kUnsupported,  // LibTorch has no sound answer: undefined behaviour, or an endless loop
};

struct Refusal {
  RefusalKind kind = RefusalKind::kRaised;
  std::string why;
};

using Arguments = std::span<const Value>;

// A row of the table of plain operators.
struct PlainOperator {
  std::string_view
      name;  // "aten::pow.int_to_int"; or "aten::add": all overloads that have no row of their own
  // Appends the operator's results.  Throws Raised (plain_call.h).
  void (*run)(Arguments arguments, std::vector<Value>& results);
  bool narrows;  // what it gives becomes a number of 32 bits, as LibTorch's overloads for any number do
};

// Returns the row by Operator::name; null for operators of tensors and others that are not plain.
const PlainOperator* find_plain_operator(std::string_view name);

// Executes the operator; total for all arguments, including those beyond the schema's end (aten::format).
// When it is refused, the arguments are unchanged, except for a list that grew too large.  `traits` are those
// of the table of operators.
std::optional<Refusal> carry_out(const PlainOperator& op, Traits traits, Arguments arguments,
                                 std::vector<Value>& results);

// Returns an upper bound of a call's cost, in units of a Budget.
std::size_t cost_of(std::string_view base_name, Arguments arguments);
// Returns the number of elements of a list or dict, or a sixteenth of a string's length; 0 for other values.
std::size_t length_of(const Value& value);

}  // namespace fxtrace::script
