// Finds the tensors inside script objects, such as packed parameters of quantized layers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "interpreter/program/names.h"
#include "interpreter/program/symbolic_value.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// Objects that operators made while __setstate__ was followed, with the arguments of the operators.
class MadeObjects {
 public:
  void add(const Value& object, Values arguments);
  const Values* find_tensors(const Value& object) const;

 private:
  struct Made {
    Value object;  // keeps the address that is the key
    Values arguments;
  };
  std::unordered_map<const void*, Made> by_object_;
};

struct PackedTensor {
  std::string name;  // "weight"
  TensorRef tensor;
};

StoredPart stored_part(std::string name, const TensorValue& tensor);

bool is_script_object(const Type& type);

// Returns the tensors that the object was saved with, or made of, the weight first; each once.
std::vector<PackedTensor> packed_tensors(const Value& object, const MadeObjects& made);

// Returns the attributes of a convolution (stride, padding and the like) from the saved state of its packed
// parameters, ("2", [numbers, weight], [bias]).  The numbers are the count of dimensions, for each of them
// stride, padding, dilation and output padding, then groups, and whether it is transposed.  Returns nothing
// for other states.
std::optional<PackedParameters::Convolution> convolution_of_state(const Value& state);
// Returns the attributes with which the object was saved or made; nothing for other objects.
std::optional<PackedParameters::Convolution> packed_convolution(const Value& object, const MadeObjects& made);

// Returns the quantization of a quantized tensor; nothing for other tensors.  `constant` makes the constants
// of its scales and zero points.
std::optional<PackedPart::Quantization> quantization_of(
    const TensorValue& tensor, const std::function<Constant(const TensorValue&)>& constant);

}  // namespace fxtrace::internal::interpreter
