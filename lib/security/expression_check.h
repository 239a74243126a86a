// Texts that torch evaluates as Python: sizes, guards, and the structure of arguments, in the JSON of
// exported programs.  What a grammar of arithmetic does not read is no such text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fxtrace::security {

// Each returns why the text is not what it should be; nothing where evaluating it only computes.

// A size or condition, which sympy.sympify() evaluates: numbers, symbols, arithmetic, comparisons and
// functions of a list.  Numbers in it have at most some thousand bits: 9**9**9 is refused.
std::optional<std::string> problem_of_size(std::string_view text);
// A guard, which the module of a program runs: the same over sizes, strides and items of its inputs.
std::optional<std::string> problem_of_guard(std::string_view text);
// A text of torch.utils._pytree.treespec_dumps(): no context imports anything.  `arguments`: it is that of
// (args, kwargs), whose keys become names of parameters.
std::optional<std::string> problem_of_tree(std::string_view text, bool arguments);

}  // namespace fxtrace::security
