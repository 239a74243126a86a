// Cost rules: the number of multiply-accumulates (MACs) of an operator, from its arguments and results.
//
// MACs are counted for matrix products and operators built on them: convolutions, attention, recurrent
// layers.  torch.utils.flop_counter counts two FLOPs for each MAC, of those operators that find_counted()
// names. Elementwise operations, reductions, normalisations, pooling, interpolation, losses and data movement
// count none.  Masks, causal or not, do not reduce the count.  docs/reference/costs.md has a formula and a
// source for each family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "operators/operators.h"
#include "opinfo/rules/shape_rules.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// A cost rule.  `results` has one entry for each result of the schema, which may be unknown.  Throws
// CannotTell when a size that it needs is unknown, and SymbolicError.
using CostRule = SymInt (*)(const RuleArguments& args, const Results& results);

// Finds the cost rule of an operator, for its entry (operator_entry.h): no_macs for operators without MACs,
// null when the cost is unknown.
CostRule find_cost_rule(const Operator& op);

// Whether torch.utils.flop_counter counts the MACs of an operator: by a formula of its registry, or in the
// operators that torch makes of it.
enum class Counted : std::uint8_t {
  kNever,
  kAlways,
  kUnlessVector,   // not if the second operand is a vector: torch makes mv or dot of it
  kUnlessVectors,  // not if the result has one element: torch makes dot of it
};
Counted find_counted(const Operator& op);

// Returns the indices of the arguments with the keys and values of an attention operator, which a decoder
// keeps for later steps; nothing for other operators.
std::optional<std::pair<std::size_t, std::size_t>> find_keys_and_values(const Operator& op,
                                                                        const Schema& schema);
// Returns whether the result consists of elements of the first argument, perhaps repeated, in another dtype,
// joined with others or partly overwritten.
bool hands_on_elements(const Operator& op);

// The cost rule of operators without MACs.
SymInt no_macs(const RuleArguments& args, const Results& results);

}  // namespace fxtrace::internal
