// Reads and writes calls of operators and known facts about values as texts, so that a test case is one line.
//
//   float32[n,3,8,8]         a tensor
//   ?[n,3]                   of unknown type
//   float32[4]@cuda:0        on another device
//   float32[4,4]%2           sparse, with indices for two dimensions
//   int64[3]{1,n,-2}         with known elements
//   7, n*2+1, (n)/2          integers, and a fraction of one
//   1.5, True, None, 'mean', float32, @cuda:0, [1,n], [float32[2],?]
//   ?                        nothing is known
//
// Of the dimensions, n, m, h and w are at least 1, and any other may be 0.
#pragma once

#include <string>
#include <string_view>

#include "shapes/abstract_value.h"

namespace fxtrace::internal {

// Throws std::runtime_error for a text of another form.
AbstractValue parse_value(std::string_view text);
std::string to_text(const AbstractValue& value);

// Returns the result by the rules alone, of "conv2d(float32[n,3,8,8], float32[4,3,3,3], padding=[1,1])": an
// operator of ATen, or of another namespace ("torchvision::nms"), with the name of its overload when it has
// one ("add.Tensor").  Arguments that are left out have their defaults.  Several results are listed side by
// side; where torch would raise, the text is "raises: " and the reason.
std::string shapes_of(std::string_view call);

// Returns the result of the value rules for known arguments: "int64[2]{4,n+3}" for "add(int64[2]{1,n}, 3)";
// "?" where they cannot tell.
std::string values_of(std::string_view call);

// Returns the answer to a question about sizes, "size(float32[n,3], 1)": "= 3" when nothing has to be
// recorded.
std::string answer_of(std::string_view call);

// Returns the multiply-accumulates of a call (lib/costs): "n*32".  Results that the shape rules do not know
// may be given behind the call: "_weight_int8pack_mm(...) -> bfloat16[n,8]".  Returns "?" where sizes are
// missing, "unknown" where there is no rule, "too large" for a number beyond 64 bits.
std::string macs_of(std::string_view call);

}  // namespace fxtrace::internal
