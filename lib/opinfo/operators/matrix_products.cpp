// Matrix products.  Nearly all costs have one formula: each element of the result is a sum of products over
// the inner size.  torch.utils.flop_counter has it for mm, addmm, bmm, baddbmm and _scaled_mm, of which
// matmul, linear and others are composed; products with vectors, which it omits, are counted the same way.
#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/sparse_rules.h"

namespace fxtrace {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Products ----

Sizes product_sizes(const Sizes& a, const Sizes& b, ShapeEnv& dimensions, NamePair names) {
  if (a.empty() || b.empty())
    throw Raises{std::string(a.empty() ? names.first : names.second) +
                 " has 0 dimensions, expected 1 or more"};
  require_equal(dimensions, a.back(), b[b.size() == 1 ? 0 : b.size() - 2], "inner sizes", names);
  const Sizes batch_a = a.size() > 2 ? without_last(a, 2) : Sizes();
  const Sizes batch_b = b.size() > 2 ? without_last(b, 2) : Sizes();
  Sizes sizes = broadcast(batch_a, batch_b, dimensions);
  if (a.size() > 1) sizes.push_back(from_back(a, 2));
  if (b.size() > 1) sizes.push_back(from_back(b, 1));
  return sizes;
}

Results multiplied(const RuleArguments& args, std::string_view first, std::string_view second) {
  const TensorInfo &a = args.tensor(first), &b = args.tensor(second);
  require_same_dtype(a.dtype, b.dtype, {first, second});
  return make(product_sizes(a.sizes, b.sizes, args.dimensions, {first, second}),
              dtype_or(args, "out_dtype", either(a.dtype, b.dtype)));
}

Results matmul(const RuleArguments& args) {
  return multiplied(args, "self", args.is_given("mat2") ? "mat2" : args.is_given("vec") ? "vec" : "other");
}

// The product of two matrices of any dtypes.
Results narrow_product(const RuleArguments& args, Dtype dtype) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("mat2");
  require_rank(a, {2}, "self");
  require_rank(b, {2}, "mat2");
  return make(product_sizes(a.sizes, b.sizes, args.dimensions, {"self", "mat2"}), dtype);
}

Results int_mm(const RuleArguments& args) { return narrow_product(args, ScalarType::kInt32); }

Results scaled_mm(const RuleArguments& args) {
  return narrow_product(args, dtype_or(args, "out_dtype", args.tensor("self").dtype));
}

// The product with a weight that is packed for the kernel: its first size times `Columns` is the number of
// columns.
template <std::int64_t Columns>
Results packed_mm(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &weight = args.tensor("mat2");
  require_rank(self, {2}, "self");
  if (weight.sizes.empty()) throw CannotTell{};
  return make({self.sizes[0], weight.sizes[0] * Columns}, self.dtype);
}

// A product to which `self` is added.  In overloads with out_dtype, self may have less precision.
Results added_product(const RuleArguments& args, std::string_view first, std::string_view second,
                      std::int64_t first_rank, std::int64_t second_rank) {
  const TensorInfo& self = args.tensor("self");
  require_rank(args.tensor(first), {first_rank}, first);
  require_rank(args.tensor(second), {second_rank}, second);
  Results results = multiplied(args, first, second);
  if (!args.is_given("out_dtype")) require_same_dtype(self.dtype, args.tensor(first).dtype, {"self", first});
  if (first_rank == 3) {
    require_equal_size(args.dimensions, args.tensor(first).sizes[0], args.tensor(second).sizes[0],
                       {first, second}, 0);
  }
  require_expandable(args.dimensions, self.sizes, first_of(results).sizes, "self");
  return results;
}

Results addmm(const RuleArguments& args) { return added_product(args, "mat1", "mat2", 2, 2); }

Results addmv(const RuleArguments& args) { return added_product(args, "mat", "vec", 2, 1); }

Results baddbmm(const RuleArguments& args) { return added_product(args, "batch1", "batch2", 3, 3); }

Results mm(const RuleArguments& args) {
  require_rank(args.tensor("self"), {2}, "self");
  require_rank(args.tensor("mat2"), {2}, "mat2");
  return matmul(args);
}

Results bmm(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("mat2");
  require_rank(a, {3}, "self");
  require_rank(b, {3}, "mat2");
  require_equal_size(args.dimensions, a.sizes[0], b.sizes[0], {"self", "mat2"}, 0);
  return matmul(args);
}

Results mv(const RuleArguments& args) {
  require_rank(args.tensor("self"), {2}, "self");
  require_rank(args.tensor("vec"), {1}, "vec");
  return matmul(args);
}

Results addbmm(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("batch1"), &b = args.tensor("batch2");
  require_rank(a, {3}, "batch1");
  require_rank(b, {3}, "batch2");
  require_equal_size(args.dimensions, a.sizes[0], b.sizes[0], {"batch1", "batch2"}, 0);
  require_equal(args.dimensions, a.sizes[2], b.sizes[1], "inner sizes", {"batch1", "batch2"});
  require_same_dtype(args.tensor("self").dtype, a.dtype, {"self", "batch1"});
  require_expandable(args.dimensions, args.tensor("self").sizes, {a.sizes[1], b.sizes[2]}, "self");
  return make({a.sizes[1], b.sizes[2]}, either(a.dtype, b.dtype));
}

Results dot(const RuleArguments& args) {
  const std::string_view second = args.is_given("other") ? "other" : "tensor";
  const TensorInfo &self = args.tensor("self"), &other = args.tensor(second);
  require_rank(self, {1}, "self");
  require_rank(other, {1}, second);
  require_equal_size(args.dimensions, self.sizes[0], other.sizes[0], {"self", second}, 0);
  return make(Sizes(), self.dtype);
}

Results vector_dot(const RuleArguments& args) {
  require_same_dtype(args.tensor("x").dtype, args.tensor("y").dtype, {"x", "y"});
  TensorInfo both{.sizes = broadcast_all(args), .dtype = promoted(args, {"x", "y"})};
  both.sizes.erase(both.sizes.begin() + static_cast<std::ptrdiff_t>(dim_index(args.number("dim"), both)));
  return make(std::move(both));
}

Results outer(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("vec2");
  require_rank(a, {1}, "self");
  require_rank(b, {1}, "vec2");
  return make({product(a.sizes), product(b.sizes)}, promoted(args, {"self", "vec2"}));
}

Results addr(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("vec1"), &b = args.tensor("vec2");
  require_rank(a, {1}, "vec1");
  require_rank(b, {1}, "vec2");
  require_expandable(args.dimensions, args.tensor("self").sizes, {a.sizes[0], b.sizes[0]}, "self");
  return make({product(a.sizes), product(b.sizes)}, promoted(args, {"self", "vec1", "vec2"}));
}

Results linear(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("input"), &weight = args.tensor("weight");
  if (input.sizes.empty()) throw Raises{"input has 0 dimensions, expected 1 or more"};
  require_rank(weight, {1, 2}, "weight");
  require_same_dtype(input.dtype, weight.dtype, {"input", "weight"});
  if (args.is_tensor("bias")) {
    require_same_dtype(input.dtype, args.tensor("bias").dtype, {"input", "bias"});
  }
  require_equal(args.dimensions, input.sizes.back(), weight.sizes.back(), "last sizes", {"input", "weight"});
  Sizes sizes = without_last(input.sizes, 1);
  if (weight.dim() == 2) sizes.push_back(weight.sizes[0]);
  if (args.is_tensor("bias") && args.tensor("bias").sizes.size() <= sizes.size()) {
    require_expandable(args.dimensions, args.tensor("bias").sizes, sizes, "bias");
  }
  return make(std::move(sizes), either(input.dtype, weight.dtype));
}

Results inner(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("other");
  const Dtype dtype = promoted(args, {"self", "other"});
  if (a.sizes.empty() || b.sizes.empty()) return make(broadcast_all(args), dtype);
  require_same_dtype(a.dtype, b.dtype, {"self", "other"});
  require_equal(args.dimensions, a.sizes.back(), b.sizes.back(), "last sizes", {"self", "other"});
  return make(concatenated(without_last(a.sizes, 1), without_last(b.sizes, 1)), dtype);
}

Results tensordot(const RuleArguments& args) {
  Sizes sizes;
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("other");
  require_same_dtype(a.dtype, b.dtype, {"self", "other"});
  const auto dims_a = distinct_dims(args.numbers("dims_self"), a.dim()),
             dims_b = distinct_dims(args.numbers("dims_other"), b.dim());
  if (dims_a.size() != dims_b.size()) {
    throw Raises{"dims_self and dims_other have lengths " + std::to_string(dims_a.size()) + " and " +
                 std::to_string(dims_b.size()) + ", expected equal"};
  }
  for (std::size_t i = 0; i < dims_a.size() && !a.sizes.empty() && !b.sizes.empty(); ++i) {
    broadcast_size(a.sizes[static_cast<std::size_t>(dims_a[i])], b.sizes[static_cast<std::size_t>(dims_b[i])],
                   args.dimensions);
  }
  for (const bool second : {false, true}) {
    const TensorInfo& info = args.tensor(second ? "other" : "self");
    const auto dims = normalize_dims(args.numbers(second ? "dims_other" : "dims_self"), info.dim());
    for (std::size_t i = 0; i < info.sizes.size(); ++i) {
      const bool stays = std::ranges::find(dims, static_cast<std::int64_t>(i)) == dims.end();
      if (stays) sizes.push_back(info.sizes[i]);
    }
  }
  return make(std::move(sizes), either(args.tensor("self").dtype, args.tensor("other").dtype));
}

Results multi_dot(const RuleArguments& args) {
  const std::vector<TensorInfo> tensors = args.tensors(first_argument(args));
  if (tensors.empty()) throw CannotTell{};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_end = i == 0 || i + 1 == tensors.size();
    if (is_end) {
      require_rank(tensors[i], {1, 2}, "the first or last factor");
    } else {
      require_rank(tensors[i], {2}, "a factor");
    }
    require_same_dtype(tensors[i].dtype, tensors[0].dtype, {"a factor", "the first"});
    if (i > 0) {
      require_equal(args.dimensions, tensors[i - 1].sizes.back(), tensors[i].sizes[0],
                    "inner sizes of two factors");
    }
  }
  Sizes sizes;
  if (tensors.front().dim() == 2) sizes.push_back(tensors.front().sizes[0]);
  if (tensors.back().dim() == 2) sizes.push_back(tensors.back().sizes[1]);
  return make(std::move(sizes), tensors.front().dtype);
}

Results kronecker(const RuleArguments& args) {
  Sizes a = args.tensor("self").sizes, b = args.tensor("other").sizes;
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  for (std::size_t i = 0; i < rank; ++i) a[i] = a[i] * b[i];
  return make(std::move(a), promoted(args, {"self", "other"}));
}

Results cross(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("other");
  require_rank(b, {a.dim()}, "other");
  require_same_dtype(a.dtype, b.dtype, {"self", "other"});
  if (args.is_given("dim") && !a.sizes.empty()) {
    const std::size_t dim = dim_index(args.number("dim"), a);
    require(args.dimensions, Relation::kEqual, a.sizes[dim], 3, "size of self along dim");
    require(args.dimensions, Relation::kEqual, b.sizes[dim], 3, "size of other along dim");
  }
  return make(broadcast_all(args), promoted(args, {"self", "other"}));
}

// Each group is a matrix of a batch, or a range of rows or columns of a matrix that ends at an item of
// `offs`.
Results grouped_product(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("mat2");
  require_rank(a, {2, 3}, "self");
  require_rank(b, {2, 3}, "mat2");
  Sizes sizes;
  if (a.dim() == b.dim()) sizes.push_back(a.dim() == 3 ? a.sizes[0] : nth(args.tensor("offs").sizes, 0));
  sizes.push_back(from_back(a.sizes, 2));
  sizes.push_back(b.sizes.back());
  return make(std::move(sizes), dtype_or(args, "out_dtype", either(a.dtype, b.dtype)));
}

Results grouped_fallback(const RuleArguments& args) {
  TensorInfo result = args.tensor("input");
  const TensorInfo& weight = args.tensor("weight");
  require_rank(result, {2}, "input");
  require_rank(weight, {3}, "weight");
  result.sizes.back() = weight.sizes.back();
  return make(std::move(result));
}

Results bilinear(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("input1"), &other = args.tensor("input2"),
                   &weight = args.tensor("weight");
  require_rank(weight, {3}, "weight");
  require_least_rank(input, 1, "input1");
  for (const std::string_view name : {"input2", "weight", "bias"}) {
    if (args.is_tensor(name)) require_same_dtype(input.dtype, args.tensor(name).dtype, {"input1", name});
  }
  require_rank(other, {input.dim()}, "input2");
  require_equal_sizes(args.dimensions, without_last(input.sizes), without_last(other.sizes),
                      {"input1", "input2"});
  require_equal(args.dimensions, input.sizes.back(), weight.sizes[1],
                "last size of input1 and size of weight in dimension 1");
  require_equal(args.dimensions, other.sizes.back(), weight.sizes[2],
                "last size of input2 and size of weight in dimension 2");
  if (args.is_tensor("bias")) {
    require_rank(args.tensor("bias"), {1}, "bias");
    require_equal_size(args.dimensions, args.tensor("bias").sizes[0], weight.sizes[0], {"bias", "weight"}, 0);
  }
  return make(with_last(input.sizes, weight.sizes[0]), input.dtype);
}

void check_vecdot(const RuleArguments& args) {
  const TensorInfo *x = find_tensor(args, "x"), *y = find_tensor(args, "y");
  if (x == nullptr || y == nullptr || x->dim() != 1 || y->dim() != 1) return;
  require_equal_size(args.dimensions, x->sizes[0], y->sizes[0], {"x", "y"}, 0);
}

// ---- Multiply-accumulates: products of two tensors ----

SymInt matmul(const RuleArguments& args, const Results& results) {
  const std::string_view second = args.is_given("mat2") ? "mat2" : args.is_given("vec") ? "vec" : "other";
  return product_macs(args, results, "self", second);
}

SymInt addmm(const RuleArguments& args, const Results& results) {
  return product_macs(args, results, "mat1", "mat2");
}

SymInt addmv(const RuleArguments& args, const Results& results) {
  return product_macs(args, results, "mat", "vec");
}

SymInt baddbmm(const RuleArguments& args, const Results& results) {
  return product_macs(args, results, "batch1", "batch2");
}

SymInt first_two(const RuleArguments& args, const Results& results) {
  return product_macs(args, results, "a", "b");
}

// addbmm() also sums over the batch, which the result does not have.
SymInt addbmm(const RuleArguments& args, const Results&) {
  return product(operand(args, "batch1").sizes) * from_back(operand(args, "batch2").sizes, 1);
}

SymInt dot(const RuleArguments& args, const Results&) {
  const TensorInfo &a = operand(args, "self"),
                   &b = operand(args, args.is_given("other") ? "other" : "tensor");
  if (a.dim() != 1 || b.dim() != 1) throw CannotTell{};
  return same_size(a.sizes[0], b.sizes[0]);
}

// `dim` names a dimension of the broadcast shape.
SymInt vector_dot(const RuleArguments& args, const Results& results) {
  const Sizes &x = operand(args, "x").sizes, &y = operand(args, "y").sizes;
  const std::size_t rank = std::max(x.size(), y.size());
  const std::size_t place = rank - place_of(args.number("dim"), rank);
  SymInt size = 1;
  for (const Sizes* sizes : {&x, &y}) {
    if (sizes->size() < place || is_one(from_back(*sizes, place))) continue;
    size = is_one(size) ? from_back(*sizes, place) : same_size(size, from_back(*sizes, place));
  }
  return product(first_result(results).sizes) * size;
}

// The product with a tensor without dimensions is elementwise.
SymInt inner(const RuleArguments& args, const Results& results) {
  const TensorInfo &a = operand(args, "self"), &b = operand(args, "other");
  if (a.sizes.empty() || b.sizes.empty()) return 0;
  return product(first_result(results).sizes) * same_size(a.sizes.back(), b.sizes.back());
}

// torch.tensordot first sums over dimensions that have size 1 in the other tensor.
SymInt tensordot(const RuleArguments& args, const Results& results) {
  const TensorInfo &a = operand(args, "self"), &b = operand(args, "other");
  const auto dims_a = args.numbers("dims_self"), dims_b = args.numbers("dims_other");
  if (dims_a.size() != dims_b.size()) throw CannotTell{};
  SymInt inner = 1;
  for (std::size_t i = 0; i < dims_a.size(); ++i) {
    const SymInt &left = a.sizes[place_of(dims_a[i], a.sizes.size())],
                 &right = b.sizes[place_of(dims_b[i], b.sizes.size())];
    if (!is_one(left) && !is_one(right)) inner = inner * same_size(left, right);
  }
  return product(first_result(results).sizes) * inner;
}

SymInt linear_out_features(const RuleArguments& args, const Results&) {
  return product(first_operand(args).sizes) * count_of(args, "out_features");
}

SymInt linear_out_channel(const RuleArguments& args, const Results&) {
  return product(first_operand(args).sizes) * count_of(args, "out_channel");
}

// ATen/native/GroupedMM: each row, column or index of the inner dimension belongs to one group.
SymInt grouped_macs(const TensorInfo& a, const TensorInfo& b) {
  if (a.dim() < 2 || a.dim() > 3 || b.dim() < 2 || b.dim() > 3) throw CannotTell{};
  const SymInt matrix =
      from_back(a.sizes, 1) * from_back(a.sizes, 2) * b.sizes.back() * numbers_in_element(a);
  return a.dim() == 3 && b.dim() == 3 ? a.sizes[0] * matrix : matrix;
}

SymInt grouped(const RuleArguments& args, const Results&) {
  return grouped_macs(operand(args, "self"), operand(args, "mat2"));
}

// The grouped product of transformers' experts, for devices where torch has no kernel.
SymInt grouped_fallback(const RuleArguments& args, const Results&) {
  return grouped_macs(operand(args, "input"), operand(args, "weight"));
}

SymInt two_products(const RuleArguments& args, const Results&) {
  SymInt macs = 0;
  for (const auto& [first, second] : {std::pair("a", "b"), std::pair("c", "d")}) {
    const TensorInfo &a = operand(args, first), &b = operand(args, second);
    if (a.dim() != 2 || b.dim() != 2) throw CannotTell{};
    macs = macs + product(a.sizes) * b.sizes[1];
  }
  return macs;
}

SymInt each_product(const RuleArguments& args, const Results&) {
  const std::vector<TensorInfo> left = operands(args, "self"), right = operands(args, "mat2");
  if (left.size() != right.size()) throw CannotTell{};
  SymInt macs = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    macs = macs + product(left[i].sizes) * from_back(right[i].sizes, 1);
  return macs;
}

// ---- Several products ----

// Counts the cheapest order, which ATen/native/LinearAlgebra.cpp chooses, by dynamic programming: Cormen et
// al., Introduction to Algorithms, 15.2.
SymInt multi_dot(const RuleArguments& args, const Results&) {
  const std::vector<TensorInfo> tensors = operands(args, first_argument(args));
  constexpr std::size_t kMost = 64;  // the work grows with the third power
  const std::size_t count = tensors.size();
  if (count == 0 || count > kMost) throw CannotTell{};
  Sizes sizes;  // tensor i has sizes[i] rows and sizes[i + 1] columns
  for (std::size_t i = 0; i < count; ++i) {
    const TensorInfo& info = tensors[i];
    const bool is_end = i == 0 || i + 1 == count;
    if (info.dim() != 2 && !(is_end && info.dim() == 1)) throw CannotTell{};
    const bool is_row = i == 0 && info.dim() == 1;
    const SymInt rows = is_row ? SymInt(1) : info.sizes[0];
    const SymInt columns = info.dim() == 2 ? info.sizes[1] : is_row ? info.sizes[0] : SymInt(1);
    if (i == 0) {
      sizes.push_back(rows);
    } else {
      sizes.back() = same_size(sizes.back(), rows);
    }
    sizes.push_back(columns);
  }
  std::vector<Sizes> least(count,
                           Sizes(count, 0));  // least[i][j]: the least cost of the product of tensors i to j
  for (std::size_t length = 2; length <= count; ++length) {
    for (std::size_t first = 0; first + length <= count; ++first) {
      const std::size_t last = first + length - 1;
      for (std::size_t split = first; split < last; ++split) {
        const SymInt macs =
            least[first][split] + least[split + 1][last] + sizes[first] * sizes[split + 1] * sizes[last + 1];
        if (split == first || decided(args.dimensions, Relation::kLess, macs, least[first][last]))
          least[first][last] = macs;
      }
    }
  }
  return least[0][count - 1];
}

// ---- Bilinear forms ----

// ATen/native/Linear.cpp, bilinear(): x1 * W first, then * x2, for each feature of the result.
SymInt bilinear(const RuleArguments& args, const Results&) {
  const Sizes &input = operand(args, "input1").sizes, &weight = operand(args, "weight").sizes;
  if (input.empty() || weight.size() != 3) throw CannotTell{};
  return product(without_last(input, 1)) * weight[0] * weight[2] * (weight[1] + 1);
}

// Returns the sizes with a 1 inserted for each dimension that is `expanded`.
Sizes expanded_sizes(const Sizes& sizes, const std::vector<bool>& expanded) {
  Sizes result;
  std::size_t next = 0;
  for (const bool is_new : expanded) {
    if (!is_new && next == sizes.size()) throw CannotTell{};
    result.push_back(is_new ? SymInt(1) : sizes[next++]);
  }
  return result;
}

// ATen/native/Linear.cpp, _trilinear(): the operands get dimensions of size 1, their product is summed.
Results trilinear(const RuleArguments& args) {
  constexpr std::size_t kMostDims = 64;
  const std::vector<std::int64_t> dims = args.numbers("expand1");
  const std::size_t rank = args.tensor("i1").sizes.size() + dims.size();
  if (rank > kMostDims) throw CannotTell{};
  const auto sizes = [&](std::string_view tensor, std::string_view expand) {
    return expanded_sizes(args.tensor(tensor).sizes, places_of(args.numbers(expand), rank));
  };
  const Sizes all = broadcast(broadcast(sizes("i1", "expand1"), sizes("i2", "expand2"), args.dimensions),
                              sizes("i3", "expand3"), args.dimensions);
  const std::vector<bool> summed = places_of(args.numbers("sumdim"), rank);
  Sizes result;
  for (std::size_t dim = 0; dim < all.size(); ++dim) {
    if (!summed.at(dim)) result.push_back(all[dim]);
  }
  return make(std::move(result), promoted(args, {"i1", "i2", "i3"}));
}

// ATen/native/Linear.cpp, _trilinear(): two products of pairs, for each place along unroll_dim.
SymInt trilinear(const RuleArguments& args, const Results&) {
  const std::vector<std::int64_t> dims = args.numbers("expand1"), dims3 = args.numbers("expand3");
  const std::size_t rank = operand(args, "i1").sizes.size() + dims.size();
  constexpr std::size_t kMostDims = 64;
  if (rank > kMostDims) throw CannotTell{};
  Sizes first = expanded_sizes(operand(args, "i1").sizes, places_of(dims, rank)),
        second = expanded_sizes(operand(args, "i2").sizes, places_of(args.numbers("expand2"), rank)),
        third = expanded_sizes(operand(args, "i3").sizes, places_of(dims3, rank));
  const std::size_t unroll = place_of(args.number("unroll_dim"), rank);
  SymInt turns = 1;
  for (Sizes* sizes : {&first, &second, &third}) {
    if (!is_one((*sizes)[unroll])) turns = (*sizes)[unroll];
    (*sizes)[unroll] = 1;
  }
  // The first product sums over the dimensions that the third operand lacks.
  const std::vector<bool> summed = places_of(args.numbers("sumdim"), rank), absent = places_of(dims3, rank);
  std::vector<bool> early(rank), late(rank);
  Sizes both;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    early[dim] = summed[dim] && absent[dim];
    late[dim] = summed[dim] && !absent[dim];
    both.push_back(early[dim] ? SymInt(1) : is_one(first[dim]) ? second[dim] : first[dim]);
  }
  return turns * (pair_macs(first, second, early) + pair_macs(both, third, late));
}

constexpr OperatorRow kMatrixProductsRows[] = {
    {"_addmm_activation", {.macs = addmm}},
    {"_dyn_quant_matmul_4bit", {.macs = linear_out_features}},
    {"_foreach_mm", {.macs = each_product}},
    {"_grouped_mm", {.shape = grouped_product, .macs = grouped}},
    {"_int_mm", {.shape = int_mm, .macs = matmul}},
    {"_mixed_dtypes_linear fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
     "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation "
     "metal_prepack::linear_run mkl::_mkl_linear mkldnn::_linear_pointwise mkldnn_linear "
     "onednn::linear_dynamic_fp16 onednn::linear_relu_dynamic_fp16 onednn::qlinear_pointwise "
     "prepacked::linear_clamp_run quantized::int4mm_packed_weight_cpu "
     "quantized::linear_dynamic_fp16_unpacked_weight vulkan_prepack::run_linear_context",
     {.macs = linear_macs}},
    {"_quantized::_wrapped_quantized_linear_prepacked "
     "_quantized::wrapped_fbgemm_linear_fp16_weight _quantized::wrapped_quantized_linear "
     "_wrapped_quantized_linear_prepacked",
     {.macs = linear_out_channel}},
    {"_scaled_grouped_mm _scaled_grouped_mm_v2", {.macs = grouped}},
    {"_scaled_mm _scaled_mm_v2", {.shape = scaled_mm, .macs = matmul}},
    {"_trilinear", {.shape = trilinear, .macs = trilinear}},
    {"_weight_int4pack_mm", {.shape = packed_mm<8>, .macs = linear_macs}},
    {"_weight_int4pack_mm_for_cpu _weight_int4pack_mm_with_scales_and_zeros _weight_int8pack_mm",
     {.shape = packed_mm<1>, .macs = linear_macs}},
    {"addbmm", {.traits = kKeepsDtype, .shape = addbmm, .same_dtype = {"batch1", "batch2"}, .macs = addbmm}},
    {"addmm",
     {.traits = kKeepsDtype,
      .shape = addmm,
      .of_sparse = sparse::addmm,
      .same_dtype = {"mat1", "mat2"},
      .macs = addmm}},
    {"addmm. baddbmm.", {.batch = {.rule = &BatchRules::add_matmul}}},
    {"addmv",
     {.traits = kKeepsDtype,
      .shape = addmv,
      .same_dtype = {"mat", "vec"},
      .macs = addmv,
      .batch = {.rule = &BatchRules::add_matmul}}},
    {"addr", {.traits = kNoMacs | kKeepsDtype, .shape = addr}},
    {"baddbmm",
     {.traits = kKeepsDtype, .shape = baddbmm, .same_dtype = {"batch1", "batch2"}, .macs = baddbmm}},
    {"bilinear", {.shape = bilinear, .macs = bilinear}},
    {"bmm", {.shape = bmm, .same_dtype = {"self", "mat2"}, .macs = matmul}},
    {"bmm. mm.", {.batch = {.rule = &BatchRules::matmul}}},
    {"chain_matmul linalg_multi_dot", {.shape = multi_dot, .macs = multi_dot}},
    {"cross linalg_cross", {.traits = kNoMacs, .shape = cross, .batch = {.rule = &BatchRules::cross}}},
    {"dot",
     {.shape = dot,
      .same_dtype = {"self", "tensor"},
      .macs = dot,
      .value = values::matrix_product,
      .batch = {.rule = &BatchRules::dot}}},
    {"ger",
     {.traits = kNoMacs, .synonym_of = "outer", .shape = outer, .batch = {.rule = &BatchRules::outer}}},
    {"inductor::_mm_plus_mm", {.macs = two_products}},
    {"inner", {.shape = inner, .macs = inner}},
    {"kron", {.traits = kNoMacs, .shape = kronecker, .batch = {.rule = &BatchRules::kron}}},
    {"linalg_matmul", {.shape = matmul, .macs = matmul}},
    {"linalg_vecdot",
     {.traits = kNotForIntegers, .shape = vector_dot, .check = check_vecdot, .macs = vector_dot}},
    {"linear",
     {.shape = linear,
      .macs = linear_macs,
      .batch = {.rule = &BatchRules::linear},
      .example = {ExampleForm::kLast, 1}}},
    {"matmul",
     {.traits = kTensorMethod,
      .shape = matmul,
      .of_sparse = sparse::matmul,
      .same_dtype = {"self", "other"},
      .macs = matmul,
      .value = values::matrix_product,
      .batch = {.rule = &BatchRules::matmul},
      .example = {ExampleForm::kRows, 1}}},
    {"mm", {.shape = mm, .of_sparse = sparse::matmul, .same_dtype = {"self", "mat2"}, .macs = matmul}},
    {"mv",
     {.shape = mv,
      .of_sparse = sparse::matmul,
      .same_dtype = {"self", "vec"},
      .macs = matmul,
      .batch = {.rule = &BatchRules::matmul}}},
    {"outer",
     {.traits = kNoMacs, .shape = outer, .value = values::outer, .batch = {.rule = &BatchRules::outer}}},
    {"symm_mem::_async_input_mm", {.macs = first_two}},
    {"tensordot", {.shape = tensordot, .macs = tensordot}},
    {"transformers::grouped_mm_fallback", {.shape = grouped_fallback, .macs = grouped_fallback}},
    {"vdot", {.shape = dot, .same_dtype = {"self", "other"}, .macs = dot}},
};

}  // namespace

OperatorRows matrix_products_rows() { return kMatrixProductsRows; }

}  // namespace fxtrace
