// What the cost rules share.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "costs/operator_costs.h"
#include "shapes/rule_helpers.h"

namespace fxtrace {

// One table for each file of rules; find_cost_rule looks in all of them.  Names have no "aten::" in front:
// "mm", "torchvision::deform_conv2d".
using CostTable = std::span<const std::pair<std::string_view, CostRule>>;
CostTable product_costs();
CostTable einsum_costs();
CostTable convolution_costs();
CostTable attention_costs();
CostTable recurrent_costs();
CostTable fourier_costs();

// Operators that do no multiply-accumulate, beyond those of which traits or schemas tell it.
bool is_listed_as_free(std::string_view name);

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
// What a packed weight was packed from, as lib/shapes/rules_quantized.cpp keeps it.
const TensorInfo& packed_weight(const RuleArguments& args, std::string_view name);

// ATen/native/Linear.cpp, sumproduct_pair(): both tensors have all dimensions, 1 where they have none of it;
// `summed` says which are summed.  A product without a sum is elementwise.
SymInt pair_macs(const Sizes& left, const Sizes& right, const std::vector<bool>& summed);

}  // namespace fxtrace
