// Helpers shared by the cost rules: operands, dimensions, and MACs of products.
#pragma once

#include <string_view>
#include <vector>

#include "opinfo/rules/cost_rules.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {

// Returns a tensor argument.  Throws CannotTell for a sparse one, whose number of stored elements depends on
// data.
const TensorInfo& operand(const RuleArguments& args, std::string_view name);
const TensorInfo& first_operand(const RuleArguments& args);
std::vector<TensorInfo> operands(const RuleArguments& args, std::string_view name);  // a list of tensors
// Returns an integer argument that is a count.  Throws CannotTell for a negative one.
SymInt count_of(const RuleArguments& args, std::string_view name);
// Returns the first result.  Throws CannotTell unless it is a known tensor.
const TensorInfo& first_result(const Results& results);
// Returns the index of a dimension that is counted from the front or the back.  Throws CannotTell when out of
// range.
std::size_t place_of(std::int64_t dim, std::size_t rank);
std::vector<bool> places_of(const std::vector<std::int64_t>& dims, std::size_t rank);
// Returns whether the size is the number 1; a named dimension is assumed to be larger.
bool is_one(const SymInt& size);
// Returns the weight from which a packed weight was made (opinfo/operators/quantized.cpp).
const TensorInfo& packed_weight(const RuleArguments& args, std::string_view name);

// Returns the MACs of a contraction of two tensors of equal rank (size 1 for a dimension that one lacks),
// summed over the dimensions in `summed`; none without a sum, as the product is elementwise.  Source:
// sumproduct_pair() in ATen/native/Linear.cpp.
SymInt pair_macs(const Sizes& left, const Sizes& right, const std::vector<bool>& summed);

// Returns the number of weights for each output channel of a convolution's weight (channels, channels of a
// group, kernel...).
SymInt weights_of_channel(const TensorInfo& weight);
// Returns the count of numbers in an element: two for 4-bit numbers, packed along the inner dimension.
std::int64_t numbers_in_element(const TensorInfo& info);
// Returns the size of the dimension that a matrix product of both sums over.
SymInt inner_size(const TensorInfo& a, const TensorInfo& b);
// The cost rule of linear layers, whatever the form of the weight: each feature of the result is a sum over
// the features of the input.
SymInt linear_macs(const RuleArguments& args, const Results& results);

}  // namespace fxtrace::internal
