// Operators on plain values: numbers, strings, lists, dicts and tuples, as LibTorch carries them out, with
// its results and its errors.  Those of lists and dicts that only move elements around take elements of any
// kind.
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

// Largest list (elements), string (characters), or value with all that is inside.
inline constexpr std::size_t kMaxPlainSize = std::size_t{1} << 22;

enum class RefusalKind : std::uint8_t {
  kRaised,       // LibTorch or Python raises here
  kLimit,        // too large
  kUnsupported,  // LibTorch has no sound answer: undefined behaviour, or a loop without end
};

struct Refusal {
  RefusalKind kind = RefusalKind::kRaised;
  std::string why;
};

using Arguments = std::span<const Value>;

struct PlainOperator {
  std::string_view
      name;  // "aten::pow.int_to_int"; or "aten::add": all overloads that have no row of their own
  // Adds what it gives to the results.  Throws Raised (plain_call.h).
  void (*run)(Arguments arguments, std::vector<Value>& results);
  bool narrows;  // what it gives becomes a number of 32 bits, as LibTorch's overloads for any number do
};

// By Operator::name.  Null where there is none: that of a tensor, or one that is no plain operator.
const PlainOperator* find_plain_operator(std::string_view name);

// Carries the operator out: total for all arguments.  Those behind a schema's end (aten::format) are
// arguments as well.  What it was given is unchanged when it is refused, but for a list that grew too large.
// `traits` are those of the table of operators.
std::optional<Refusal> carry_out(const PlainOperator& op, Traits traits, Arguments arguments,
                                 std::vector<Value>& results);

// What a call costs at most, in units of a Budget.
std::size_t cost_of(std::string_view base_name, Arguments arguments);
// Elements of a list or dict, text at 16 characters for one; 0 for other values.
std::size_t length_of(const Value& value);

}  // namespace fxtrace::script
