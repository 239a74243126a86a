#include "opinfo/rules/cost_helpers.h"

#include <algorithm>

#include "support/integers.h"

namespace fxtrace::internal {

const TensorInfo& operand(const RuleArguments& args, std::string_view name) {
  const TensorInfo& info = args.tensor(name);
  if (info.sparse_dim) throw CannotTell{};
  return info;
}

const TensorInfo& first_operand(const RuleArguments& args) { return operand(args, first_argument(args)); }

std::vector<TensorInfo> operands(const RuleArguments& args, std::string_view name) {
  std::vector<TensorInfo> result = args.tensors(name);
  if (std::ranges::any_of(result, [](const TensorInfo& info) { return info.sparse_dim.has_value(); }))
    throw CannotTell{};
  return result;
}

SymInt count_of(const RuleArguments& args, std::string_view name) {
  SymInt count = args.size(name);
  if (count.number().value_or(0) < 0) throw CannotTell{};
  return count;
}

const TensorInfo& first_result(const Results& results) {
  if (results.empty() || results[0].tensor() == nullptr) throw CannotTell{};
  return *results[0].tensor();
}

std::size_t place_of(std::int64_t dim, std::size_t rank) {
  const auto place = find_position(static_cast<std::int64_t>(rank), dim);
  if (!place) throw CannotTell{};
  return *place;
}

std::vector<bool> places_of(const std::vector<std::int64_t>& dims, std::size_t rank) {
  std::vector<bool> places(rank);
  for (const std::int64_t dim : dims) places[place_of(dim, rank)] = true;
  return places;
}

bool is_one(const SymInt& size) { return is_number(size, 1); }

const TensorInfo& packed_weight(const RuleArguments& args, std::string_view name) {
  const AbstractValue::Sequence* parts = args.value(name).sequence();
  if (parts == nullptr || parts->empty() || (*parts)[0].tensor() == nullptr) throw CannotTell{};
  return *(*parts)[0].tensor();
}

SymInt pair_macs(const Sizes& left, const Sizes& right, const std::vector<bool>& summed) {
  SymInt macs = 1;
  bool sums = false;
  for (std::size_t dim = 0; dim < left.size(); ++dim) {
    const bool in_left = !is_one(left[dim]), in_right = !is_one(right[dim]);
    sums = sums || summed[dim];
    if (in_left && in_right) {
      macs = macs * same_size(left[dim], right[dim]);
    } else if (!summed[dim]) {
      macs = macs * (in_left ? left[dim] : right[dim]);
    }
  }
  return sums ? macs : SymInt(0);
}

SymInt weights_of_channel(const TensorInfo& weight) {
  if (weight.dim() < 2) throw CannotTell{};
  return product(slice_of(weight.sizes, 1, weight.sizes.size()));
}

std::int64_t numbers_in_element(const TensorInfo& info) {
  return info.dtype == ScalarType::kFloat4E2m1fnX2 ? 2 : 1;
}

SymInt inner_size(const TensorInfo& a, const TensorInfo& b) {
  return same_size(from_back(a.sizes, 1), from_back(b.sizes, b.dim() == 1 ? 1 : 2)) * numbers_in_element(a);
}

SymInt linear_macs(const RuleArguments& args, const Results& results) {
  const TensorInfo& input = first_operand(args);
  if (args.is_given("weight")) operand(args, "weight");
  return product(first_result(results).sizes) * from_back(input.sizes, 1);
}

}  // namespace fxtrace::internal
