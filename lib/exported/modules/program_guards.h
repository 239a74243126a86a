// Guards of an exported program: the conditions that torch.export's own module checks of its inputs, on how
// they are nested, on their sizes, and those that the file states besides.
//
// The checks are those of PyTorch's torch/export/_unlift.py and torch/_export/utils.py (BSD-3-Clause, see
// NOTICE).
//
// Invariants:
// 1. The order is: nesting of the arguments of forward, then rank and sizes input by input, then the ranges
//    of the dimensions, then the conditions of the file.
// 2. Nesting is checked for the arguments whose name is an identifier of Python.  A container of Python
//    itself must have the same length, or for a dict the same keys in the same order; None must be None.  A
//    container of another class is checked only where its fields are known (named tuples).
// 3. Inputs without a placeholder (parameters, buffers, constants, inputs fixed by an option) give no guards.
// 4. A size that is a number must be that number.  Where several places have the same symbolic size, the
//    later ones must equal the first.
// 5. A dimension is read from one place (InputSizes::sources()).  That place gives no guard for the size,
//    unless a divisor is left to check: where x.size(0) is 2*s0 + 1, (x.size(0) - 1) % 2 == 0.  The first
//    place of any other symbolic size must equal it, if all its dimensions are read somewhere.
// 6. Conditions of the file that the ranges of the dimensions imply are left out, as they only repeat them.
//
// Example: forward(x, pairs, words), where x is [s19, 4], pairs is [s19*2, 4], and words is {'ids': [t]} with
// a tensor t of size [s19, s99]:
//
//   list(words) == ['ids'], len(words['ids']) == 1             nesting; x and pairs are not nested
//   x.dim() == 2, x.size(1) == 4                               s19 is read from x.size(0): no guard for that
//   pairs.dim() == 2, pairs.size(0) == s19*2, pairs.size(1) == 4
//   words_ids_0.dim() == 2, words_ids_0.size(0) == x.size(0)   s99 is read from words_ids_0.size(1)
//   2 <= s19 <= 64, 4 <= s19*2 <= 128, s99 >= 4                ranges that the file states
#pragma once

#include <string>
#include <vector>

#include "exported/modules/bound_exported_program.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {

// Returns the guards over the placeholders, and over the arguments of forward where these are nested.
// `placeholders` are the names of the placeholders, one for each input of the program's graph; the name is
// empty for an input without one.
std::vector<Expression> program_guards(const BoundExportedProgram& bound,
                                       const std::vector<std::string>& placeholders);

}  // namespace fxtrace::internal
