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

#include "opinfo/operator_entry.h"
#include "torchscript/values/value.h"

namespace fxtrace::internal::torchscript {

// The size limit of a list (elements), a string (characters), or a value with all nested values.
inline constexpr std::size_t kMaxPlainSize = std::size_t{1} << 22;

enum class RefusalKind : std::uint8_t {
  kRaised,       // LibTorch or Python raises here
  kLimit,        // too large
  kUnsupported,  // LibTorch has no sound answer (undefined behaviour, an endless loop), or fxtrace has none
};

struct Refusal {
  RefusalKind kind = RefusalKind::kRaised;
  std::string why;
};

using Arguments = std::span<const Value>;

// An operator that can be executed: by a function of lib/torchscript, or by its value rule (lib/opinfo).
struct PlainOperator {
  const OperatorEntry* entry = nullptr;
  void (*run)(Arguments arguments, std::vector<Value>& results) = nullptr;  // null: by the rule
};

// Returns nothing for operators of tensors and others that are not plain.
std::optional<PlainOperator> find_plain_operator(const Operator& row);

// Executes the operator; total for all arguments, including those beyond the schema's end (aten::format).
// When it is refused, the arguments are unchanged, except for a list that grew too large.
std::optional<Refusal> carry_out(const PlainOperator& op, Arguments arguments, std::vector<Value>& results);

// Returns an upper bound of a call's cost, in units of a Budget.
std::size_t cost_of(std::string_view base_name, Arguments arguments);
// Returns the number of elements of a list or dict, or a sixteenth of a string's length; 0 for other values.
std::size_t length_of(const Value& value);

}  // namespace fxtrace::internal::torchscript
