// Calls on quantized tensors.  In a program a quantized tensor is a tensor of integers, and an operator on it
// is the operator on floats between quantized_decomposed.dequantize_* and .quantize_*.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "convert/lower/body.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

bool is_quantized_dtype(std::string_view dtype);  // "quint8"
// Returns the metadata of the integers of a quantized tensor.
Meta meta_of_integers(Meta meta);
// Returns the dtype of the elements in memory: "int8" for "qint8".
std::string dtype_of_integers(std::string_view dtype);

// Returns packed parameters as a tuple of the weight and the rest, in the order that the rewrites take.
Argument packed_operand(const PackedParameters& packed, const std::vector<Argument>& tensors);
// Returns why a program cannot have the packed parameters; empty if it can.
std::string problem_of(const PackedParameters& packed);

// Returns whether the call takes or gives quantized tensors or packed parameters.  Calls on containers and on
// sizes do not count: quantized tensors have them like others.
bool is_quantized_call(const LoweredCall& call, const Body& body);

// Returns the operand that stands for the result of the call; nothing if a program cannot express it (see
// Rewrite).
std::optional<Argument> rewrite_quantized(const LoweredCall& call, Body& body);

}  // namespace fxtrace::internal
