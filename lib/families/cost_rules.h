// How many multiply-accumulates an operator does, from what is known of its arguments and results.
//
// What counts is the multiply-accumulates of matrix products, and of what is done as such: convolutions,
// attention, recurrent layers.  That is half of what torch.utils.flop_counter counts, which takes two
// operations for each.  Elementwise operations, reductions, normalisations, pooling, interpolation, losses
// and what moves elements count none.  Masks, causal or not, leave nothing out.  docs/costs.md has a formula
// and a source for each family.
#pragma once

#include <string_view>

#include "families/shape_rules.h"
#include "operators/operators.h"
#include "symbolic/sym_int.h"

namespace fxtrace {

// Throws CannotTell where a size that it needs is not known, and SymbolicError.  `results` are those of the
// call, one for each of the schema, unknown where nothing tells.
using CostRule = SymInt (*)(const RuleArguments& args, const Results& results);

// The rule of an operator such as "aten::conv2d", for all of its overloads; null when nobody knows what it
// costs.  An operator that does no multiply-accumulate has one too.
CostRule find_cost_rule(const Operator& op);

// The rule of those that do none.
SymInt no_macs(const RuleArguments& args, const Results& results);

}  // namespace fxtrace
