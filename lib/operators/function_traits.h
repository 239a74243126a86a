// What functions of Python do, as far as graphs call them by their qualified names: those of
// torch.nn.functional and torch.functional that are kept as one call, and those of builtins, operator, math
// and torch.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace {

using FunctionTraits = std::uint32_t;

namespace function_traits {
inline constexpr FunctionTraits kKnown = 1U << 0;          // it does what these traits say, and no more
inline constexpr FunctionTraits kMayBeArgument = 1U << 1;  // the result may share memory with arguments
inline constexpr FunctionTraits kWritesFirst = 1U << 2;    // writes its first argument
inline constexpr FunctionTraits kJoins = 1U << 3;  // puts the other arguments into the first, a list or dict
inline constexpr FunctionTraits kReadsNoElement = 1U << 4;  // asks for sizes and types alone
inline constexpr FunctionTraits kSideEffect = 1U << 5;
inline constexpr FunctionTraits kInPlaceOption = 1U << 6;  // writes its first argument and gives it back
// Unless the argument that `option` names is left out, None, False or 0:
inline constexpr FunctionTraits kOptionRandom = 1U << 7;  // draws random numbers
inline constexpr FunctionTraits kOptionWrites = 1U << 8;  // writes tensors that it is given
inline constexpr FunctionTraits kRandom = 1U << 9;
inline constexpr FunctionTraits kIdentity =
    1U << 10;  // where it draws nothing and writes nothing, gives its first argument
// Besides kSideEffect, what that is:
inline constexpr FunctionTraits kOpensRegion = 1U << 11;   // in which calls compute in another way: autocast
inline constexpr FunctionTraits kClosesRegion = 1U << 12;  // that its first argument opened
inline constexpr FunctionTraits kSetsMode = 1U << 13;      // of all calls behind it: gradients
inline constexpr FunctionTraits kLogs = 1U << 14;          // what no graph reads
}  // namespace function_traits

struct PythonFunction {
  FunctionTraits traits = 0;
  std::string_view option = {};
  // Where the option and `inplace` stand when they are given without a name; -1: there is none.
  std::int8_t option_at = -1, in_place_at = -1;
};

// Nothing is known of others.
PythonFunction find_python_function(std::string_view qualified_name);

}  // namespace fxtrace
