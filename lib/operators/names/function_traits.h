// Traits of Python functions that graphs call by their qualified names: functions of torch.nn.functional and
// torch.functional that are kept as one call, and functions of builtins, operator, math and torch.
#pragma once

#include <cstdint>
#include <string_view>

namespace fxtrace::internal {

using FunctionTraits = std::uint32_t;

namespace function_traits {
inline constexpr FunctionTraits kKnown = 1U << 0;          // has no effects but those of its traits
inline constexpr FunctionTraits kMayBeArgument = 1U << 1;  // the result may alias arguments
inline constexpr FunctionTraits kWritesFirst = 1U << 2;    // writes to its first argument
inline constexpr FunctionTraits kJoins = 1U << 3;  // puts the other arguments into the first, a list or dict
inline constexpr FunctionTraits kReadsNoElement = 1U << 4;  // reads only sizes and types
inline constexpr FunctionTraits kSideEffect = 1U << 5;
inline constexpr FunctionTraits kInPlaceOption = 1U << 6;  // writes to its first argument and returns it
// Unless the argument named by `option` is None, False or 0, which it is by default:
inline constexpr FunctionTraits kOptionRandom = 1U << 7;  // draws random numbers
inline constexpr FunctionTraits kOptionWrites = 1U << 8;  // writes to its arguments
inline constexpr FunctionTraits kRandom = 1U << 9;
inline constexpr FunctionTraits kIdentity = 1U
                                            << 10;  // returns its first argument when no other trait applies
// The kind of a kSideEffect:
inline constexpr FunctionTraits kOpensRegion = 1U << 11;   // changes how calls in it compute: autocast
inline constexpr FunctionTraits kClosesRegion = 1U << 12;  // closes the region opened by its first argument
inline constexpr FunctionTraits kSetsMode = 1U << 13;      // sets a mode for all later calls: gradients
inline constexpr FunctionTraits kLogs = 1U << 14;          // writes something that no graph reads
inline constexpr FunctionTraits kOnByDefault = 1U << 15;   // `option` is True by default
}  // namespace function_traits

struct PythonFunction {
  FunctionTraits traits = 0;
  std::string_view option = {};
  // Positions of the option and of `inplace` as positional arguments; -1: none.
  std::int8_t option_at = -1, in_place_at = -1;
};

// Returns the function's traits; none for unknown functions.
PythonFunction find_python_function(std::string_view qualified_name);

}  // namespace fxtrace::internal
