// Symbols of a program's sizes: their names, their ranges, and the hints (examples) from which torch computes
// sizes when it loads the program.
//
// The trace names open sizes as the user does (batch) or as it likes (__data0).  torch wants s0, s1, ... for
// sizes of inputs and u0, u1, ... for sizes that depend on data, each with a range.
//
// Invariants:
// 1. Each symbol in an expression of the graph and of its subgraphs gets one entry in program.symbols.
//    Expressions themselves keep the names of the trace; the writer of the JSON maps them.
// 2. A symbol is an s if it occurs in the size or the value of an input, else a u.  It keeps its name if that
//    is already of this form; the others get the least free number, in the order of their first occurrence,
//    and never a name that the trace uses.
// 3. An expression that is neither a number nor has a form of sympy (expression_text.h) is refused.
// 4. The range of an s is that of --dim and of the guards of the graph.  So is that of a u, if it occurs in
//    the size of a tensor or in --dim; else it has none, as a number that is in no size may be negative.
// 5. Only an s has a hint: that of --hint, else an example which torch cannot take for something else.  For
//    torch decides conditions of sizes by the hints: it takes sizes of 0 and 1 for constants, and a size that
//    equals a number of the graph, or another size, for that number.  First all symbols get the same power of
//    2, up to 4096, moved into their ranges: the least with which no size is 0 or 1, guards hold and reshapes
//    keep the number of elements, as far as that is possible.  Then each gets the least multiple of that
//    power, up to 64 times, with which the fewest sizes coincide.  A size that is negative or divides by zero
//    even so is refused.
//
// Example: x is float32[batch, time], --dim batch=1..4, and the graph computes a tensor of time//8 - 1 rows
// and the integer n = int(x.sum()).
//
//     batch    s0  range 1..4  hint 4
//     time     s1              hint 32
//     __data0  u0              no hint
//
// With 2 and 4 time//8 - 1 is -1, with 8 it is 0, with 16 it is 1; with 32 it is 3, which is no number of the
// graph.  If it were one, the hint would be 64.  The hint of batch is 32, too, until its range cuts it to 4.
// n is in no size, so u0 may be negative.
#pragma once

#include "convert/lower/lowering.h"
#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Fills lowered.program.symbols.  `source` is the traced graph of the program.  Throws Error(kUsage) for
// hints of dimensions that no input has.
void name_symbols(Lowered& lowered, const ModuleGraph& source, const LoweringOptions& options);

}  // namespace fxtrace::internal
