// The check of the texts in an exported program's JSON that torch evaluates as Python: sizes, guards, and the
// structure of arguments.  A text passes only if it is in a grammar of arithmetic.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fxtrace::internal {

// Each function returns why the text is refused; nothing where evaluating it only computes.

// Checks a size or condition, which sympy.sympify() evaluates: numbers, symbols, arithmetic, comparisons and
// functions of a list.  Numbers in it have at most some thousand bits, and what sympy has to expand, divide
// and compare is bounded: 9**9**9 is refused, and so is Max() of 40 polynomials.
std::optional<std::string> problem_of_size_text(std::string_view text);
// Checks a guard, which the module of a program runs: the same over sizes, strides and items of its inputs.
std::optional<std::string> problem_of_guard_text(std::string_view text);
// Checks a text of torch.utils._pytree.treespec_dumps(): no context may import anything.  `arguments`: the
// structure is that of (args, kwargs), whose keys become names of parameters.
std::optional<std::string> problem_of_tree_text(std::string_view text, bool arguments);

}  // namespace fxtrace::internal
