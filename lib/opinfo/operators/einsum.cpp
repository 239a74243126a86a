// einsum().  Shapes: each letter of the equation is a size, broadcast over the operands that have it, and the
// letters of the result list its sizes.
//
// Cost, as ATen/native/Linear.cpp computes: operands are multiplied in pairs, from the left or in the order
// of `path`.  align() first gives all operands the same dimensions, those of the result first and size 1 for
// those that an operand lacks.  A product sums over a dimension as soon as no other operand has it.
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "shapes/equation.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Einstein sums ----

// Checks the dimensions of an operand against its letters.
void require_operand(const TensorInfo& operand, const std::string& labels, const ShapeEnv& dimensions) {
  const auto ellipses = std::ranges::count(labels, '.');
  if (ellipses > 1) throw CannotTell{};
  if (ellipses == 1)
    return require_least_rank(operand, static_cast<std::int64_t>(labels.size()) - 1,
                              "operand of the equation");
  require_rank(operand, {static_cast<std::int64_t>(labels.size())}, "operand of the equation");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t first = labels.find(labels[i]);
    require_equal(dimensions, operand.sizes[first], operand.sizes[i], "sizes of a letter that occurs twice");
  }
}

Results einsum(const RuleArguments& args) {
  const Equation equation = parse_equation(args.text("equation"));
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (equation.operands.size() != tensors.size()) {
    throw Raises{"tensors has length " + std::to_string(tensors.size()) + ", expected " +
                 std::to_string(equation.operands.size())};
  }
  std::map<char, SymInt> letters;
  std::map<char, int> uses;
  Sizes ellipsis;
  Dtype dtype;
  bool is_mixed = false;  // promoted, or refused where a sum is a matrix product
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& labels = equation.operands[i];
    const Sizes& sizes = tensors[i].sizes;
    require_operand(tensors[i], labels, args.dimensions);
    dtype = either(dtype, tensors[i].dtype);
    is_mixed = is_mixed || (tensors[i].dtype && tensors[i].dtype != dtype);
    std::size_t next = 0;
    for (const char label : labels) {
      if (label == '.') {
        const std::size_t count = sizes.size() + 1 - labels.size();
        ellipsis = broadcast(ellipsis, slice_of(sizes, next, next + count), args.dimensions);
        next += count;
        continue;
      }
      ++uses[label];
      const SymInt& size = nth(sizes, next++);
      const auto [place, is_new] = letters.try_emplace(label, size);
      if (!is_new) place->second = broadcast_size(place->second, size, args.dimensions);
    }
  }
  // Without an arrow, the result has the letters that occur once, in alphabetical order (capitals first).
  std::string result = equation.result.value_or(".");
  if (!equation.result) {
    for (const auto& [label, count] : uses) {
      if (count == 1) result += label;
    }
  }
  Sizes sizes;
  for (const char label : result) {
    if (label == '.') {
      sizes = concatenated(std::move(sizes), ellipsis);
    } else {
      const auto size = letters.find(label);
      if (size == letters.end() || std::ranges::count(result, label) > 1)
        throw Raises{"the result of the equation has a letter that no operand has, or has one twice"};
      sizes.push_back(size->second);
    }
  }
  // A sum over what two operands share is a matrix product.
  const auto& words = equation.operands;
  if (is_mixed && words.size() == 2 && (words[0] + words[1] + result).find('.') == std::string::npos) {
    const auto is_many = [&](const SymInt& size) {
      return args.dimensions.decide(Relation::kNotEqual, size, 1) == true;
    };
    for (const char label : words[0]) {
      const std::size_t other = words[1].find(label);
      const bool is_summed = other != std::string::npos && result.find(label) == std::string::npos &&
                             is_many(tensors[0].sizes[words[0].find(label)]) &&
                             is_many(tensors[1].sizes[other]);
      if (is_summed)
        require_same_dtype(tensors[0].dtype, tensors[1].dtype, {"the first of tensors", "the second"});
    }
  }
  // The dtype of sums of integers is int64 if no product is made of them.
  const bool sums = std::ranges::any_of(
      letters, [&](const auto& entry) { return result.find(entry.first) == std::string::npos; });
  if (is_mixed || (sums && dtype != sum_dtype(dtype))) dtype.reset();
  return make(std::move(sizes), dtype);
}

// ---- Multiply-accumulates ----

constexpr std::size_t kMostDims = 64;  // the most dimensions of a tensor of torch

// The sizes of all operands over the same dimensions: those of the result first, then those that are summed.
struct Aligned {
  std::vector<Sizes> operands;
  std::size_t result_dims = 0;
};

// The index of the dimension of each letter; for the ellipsis, the first of its dimensions.
using Places = std::array<std::optional<std::size_t>, 256>;

std::size_t& index_of(std::array<std::size_t, 256>& counts, char label) {
  return counts[static_cast<unsigned char>(label)];
}

Aligned align(const Equation& equation, const std::vector<TensorInfo>& tensors) {
  if (equation.operands.size() != tensors.size()) throw CannotTell{};
  std::size_t covered = 0;  // the most dimensions that an ellipsis stands for
  std::array<std::size_t, 256> uses{};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& labels = equation.operands[i];
    const std::size_t rank = tensors[i].sizes.size();
    const bool has_ellipsis = labels.find('.') != std::string::npos;
    if (std::ranges::count(labels, '.') > 1) throw CannotTell{};
    if (rank > kMostDims || labels.size() > rank + (has_ellipsis ? 1 : 0)) throw CannotTell{};
    if (!has_ellipsis && labels.size() < rank) throw CannotTell{};
    if (has_ellipsis) covered = std::max(covered, rank + 1 - labels.size());
    for (const char label : labels) ++index_of(uses, label);
  }
  std::string result = equation.result.value_or(".");
  if (!equation.result) {
    // The letters that occur once, in alphabetical order (capitals first).
    for (char label = 'A'; label <= 'z'; ++label)
      if (index_of(uses, label) == 1) result += label;
  }
  Places places;
  std::size_t rank = 0;
  const auto place = [&](char label) {
    auto& own = places[static_cast<unsigned char>(label)];
    if (own) return;
    own = rank;
    rank += label == '.' ? covered : 1;
  };
  for (const char label : result) place(label);
  Aligned aligned;
  aligned.result_dims = rank;
  place('.');  // an ellipsis that the result lacks is summed
  for (const std::string& labels : equation.operands)
    for (const char label : labels) place(label);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Sizes& sizes = tensors[i].sizes;
    const std::string& labels = equation.operands[i];
    Sizes own(rank, 1);
    std::size_t next = 0;
    for (const char label : labels) {
      std::size_t to = *places[static_cast<unsigned char>(label)];
      const std::size_t count = label == '.' ? sizes.size() + 1 - labels.size() : 1;
      if (label == '.') to += covered - count;
      // A letter that occurs twice in an operand is a diagonal.
      for (std::size_t k = 0; k < count; ++k, ++next)
        own[to + k] = is_one(own[to + k]) ? sizes[next] : same_size(own[to + k], sizes[next]);
    }
    aligned.operands.push_back(std::move(own));
  }
  return aligned;
}

// The order of the pairs: next() returns the indices of two operands among those that are left.
class Order {
 public:
  explicit Order(const RuleArguments& args) {
    if (args.is_given("path")) path_ = args.numbers("path");
  }

  bool is_given() const { return path_.has_value(); }

  std::pair<std::size_t, std::size_t> next(std::size_t left) {
    if (!path_) return {0, 1};
    if (next_ + 2 > path_->size()) throw CannotTell{};
    const std::int64_t a = (*path_)[next_], b = (*path_)[next_ + 1];
    next_ += 2;
    if (a == b || std::min(a, b) < 0 || std::max(a, b) >= static_cast<std::int64_t>(left)) throw CannotTell{};
    return {static_cast<std::size_t>(std::min(a, b)), static_cast<std::size_t>(std::max(a, b))};
  }

 private:
  std::optional<std::vector<std::int64_t>> path_;
  std::size_t next_ = 0;
};

SymInt einsum(const RuleArguments& args, const Results&) {
  constexpr std::size_t kMostOperands = 1000;  // an equation is a string of any length
  const std::vector<TensorInfo> tensors = operands(args, "tensors");
  if (tensors.empty() || tensors.size() > kMostOperands) throw CannotTell{};
  Aligned aligned = align(parse_equation(args.text("equation")), tensors);
  std::vector<Sizes>& left = aligned.operands;
  const std::size_t rank = left[0].size();
  std::vector<std::size_t> owners(rank, 0);  // the number of operands that have each dimension
  for (const Sizes& sizes : left)
    for (std::size_t dim = 0; dim < rank; ++dim) owners[dim] += is_one(sizes[dim]) ? 0 : 1;

  Order order(args);
  SymInt macs = 0;
  while (left.size() > 1) {
    const auto [i, j] = order.next(left.size());
    Sizes a = std::move(left[i]), b = std::move(left[j]);
    left.erase(left.begin() + signed_index(j));
    left.erase(left.begin() + signed_index(i));
    std::vector<bool> summed(rank);
    for (std::size_t dim = aligned.result_dims; dim < rank; ++dim) {
      if (!is_one(a[dim]) && !is_one(b[dim])) {
        if (--owners[dim] == 1) summed[dim] = true;
      } else if (owners[dim] == 1 && !(is_one(a[dim]) && is_one(b[dim]))) {
        a[dim] = b[dim] = 1;  // only one of the two has it: it is summed before the product
        owners[dim] = 0;
      }
      if (summed[dim]) owners[dim] = 0;
    }
    macs = macs + pair_macs(a, b, summed);
    Sizes both;
    for (std::size_t dim = 0; dim < rank; ++dim)
      both.push_back(summed[dim] ? SymInt(1) : is_one(a[dim]) ? b[dim] : a[dim]);
    left.insert(order.is_given() ? left.end() : left.begin(), std::move(both));
  }
  return macs;
}

constexpr OperatorRow kEinsumRows[] = {
    {"einsum", {.traits = kRankByRanks, .shape = einsum, .macs = einsum, .hidden_alias = {{0, 1}}}},
    {"einsum.", {.batch = {.rule = &BatchRules::einsum}}},
};

}  // namespace

OperatorRows einsum_rows() { return kEinsumRows; }

}  // namespace fxtrace::internal
