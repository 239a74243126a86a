// Calls on quantized tensors, as programs of torch.export have them: a quantized tensor is its integers, and
// operators are those of numbers between quantized_decomposed.dequantize_* and .quantize_*.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "convert/lower/body.h"
#include "trace/tracer/program.h"

namespace fxtrace {

bool is_quantized_dtype(std::string_view dtype);  // "quint8"
// Returns what is known of the integers of such a tensor.
Meta meta_of_integers(Meta meta);
// Returns the dtype that the elements have in memory: "int8" for "qint8".
std::string dtype_of_integers(std::string_view dtype);

// Packed parameters stand in a tuple: the weight and what else there is, as the rewrites take it.
Operand packed_operand(const PackedParameters& packed, const std::vector<Operand>& tensors);
// Returns why a program cannot have them; empty when it can.
std::string problem_of(const PackedParameters& packed);

// Returns whether the call takes or gives quantized tensors or packed parameters, and is not of containers or
// sizes, of which quantized tensors have the same as others.
bool is_quantized_call(const LoweredCall& call, const Body& body);

// Returns what the call becomes.  Nothing where it cannot be said in a program (see Rewrite).
std::optional<Operand> rewrite_quantized(const LoweredCall& call, Body& body);

}  // namespace fxtrace
