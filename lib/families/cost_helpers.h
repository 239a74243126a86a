// What the cost rules share.
#pragma once

#include <string_view>
#include <vector>

#include "families/cost_rules.h"
#include "families/shape_helpers.h"

namespace fxtrace {

// A tensor argument.  CannotTell for a sparse one: how many of its elements are there depends on data.
const TensorInfo& operand(const RuleArguments& args, std::string_view name);
const TensorInfo& first_operand(const RuleArguments& args);
std::vector<TensorInfo> operands(const RuleArguments& args, std::string_view name);  // of a list
// An integer that counts something.  CannotTell for a negative one.
SymInt count_of(const RuleArguments& args, std::string_view name);
// The first result.
const TensorInfo& first_result(const Results& results);
// Of a dimension, counted from the front or the back.  CannotTell where there is none such.
std::size_t place_of(std::int64_t dim, std::size_t rank);
std::vector<bool> places_of(const std::vector<std::int64_t>& dims, std::size_t rank);
// Whether it is 1, as far as one can see: a named dimension is taken to be larger.
bool is_one(const SymInt& size);
// What a packed weight was packed from, as families/quantized.cpp keeps it.
const TensorInfo& packed_weight(const RuleArguments& args, std::string_view name);

// ATen/native/Linear.cpp, sumproduct_pair(): both tensors have all dimensions, 1 where they have none of it;
// `summed` says which are summed.  A product without a sum is elementwise.
SymInt pair_macs(const Sizes& left, const Sizes& right, const std::vector<bool>& summed);

// Of a convolution's weight (channels, channels of a group, kernel...).
SymInt weights_of_channel(const TensorInfo& weight);
// Numbers of four bits stand in twos along the inner dimension.
std::int64_t numbers_in_element(const TensorInfo& info);
// Of two factors, what is summed for each element of their matrix product.
SymInt inner_size(const TensorInfo& a, const TensorInfo& b);
// Of the arguments `first` and `second`.  Where nothing tells the result, a second factor without a batch
// leaves nothing open.
SymInt product_macs(const RuleArguments& args, const Results& results, std::string_view first,
                    std::string_view second);
// A rule: whatever form the weight is kept in, the features of the input are summed for each of the result.
SymInt linear_macs(const RuleArguments& args, const Results& results);

}  // namespace fxtrace
