// Matrix products.  Most have a signature (opinfo/operator_row.h); functions are for what depends on lists of
// dimensions, packed weights or several products.  torch.utils.flop_counter counts mm, addmm, bmm, baddbmm
// and _scaled_mm, of which matmul, linear and others are composed; products with vectors, which it omits, are
// counted the same way.
#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/sparse_rules.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Products ----

// The product with a weight that is packed for the kernel: its first size times `Columns` is the number of
// columns.
template <std::int64_t Columns>
Results packed_mm(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &weight = args.tensor("mat2");
  require_rank(self, {2}, "self");
  if (weight.sizes.empty()) throw CannotTell{};
  return make({self.sizes[0], weight.sizes[0] * Columns}, self.dtype);
}

Results vector_dot(const RuleArguments& args) {
  require_same_dtype(args.tensor("x").dtype, args.tensor("y").dtype, {"x", "y"});
  TensorInfo both{.sizes = broadcast_all(args), .dtype = promoted(args, {"x", "y"})};
  both.sizes.erase(both.sizes.begin() + static_cast<std::ptrdiff_t>(dim_index(args.number("dim"), both)));
  return make(std::move(both));
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

constexpr std::size_t kMostDims = 64;  // the most dimensions of a tensor of torch

// ATen/native/Linear.cpp, _trilinear(): the operands get dimensions of size 1, their product is summed.
Results trilinear(const RuleArguments& args) {
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

constexpr std::string_view kMatmul =
    "k * k -> | ...mk * k -> ...m | k * ...kn -> ...n | ...mk * ...kn -> ...mn";

constexpr OperatorRow kMatrixProductsRows[] = {
    {"_addmm_activation", {.signature = "mn + mk * kn -> mn"}},
    {"_dyn_quant_matmul_4bit", {.macs = linear_out_features}},
    {"_foreach_mm", {.macs = each_product}},
    // ATen/native/GroupedMM: a group is a matrix of a batch, or a range of rows, columns or inner dimensions
    // that ends at an item of `offs`.
    {"_grouped_mm",
     {.signature = "gmk * gkn -> gmn | mk * gkn g -> mn | gmk * kn g -> mn | mk * kn g -> gmn",
      .batch = {.rule = &BatchRules::none}}},
    {"_int_mm", {.signature = "mk * kn -> mn:int32"}},
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
    {"_scaled_grouped_mm _scaled_grouped_mm_v2",
     {.signature = "gmk * gkn -> gmn:bfloat16 | mk * gkn -> mn:bfloat16 | gmk * kn -> mn:bfloat16 | "
                   "mk * kn -> ?mn:bfloat16"}},
    {"_scaled_mm _scaled_mm_v2", {.signature = "mk * kn -> mn:first"}},
    {"_trilinear", {.shape = trilinear, .macs = trilinear}},
    {"_weight_int4pack_mm", {.shape = packed_mm<8>, .macs = linear_macs}},
    {"_weight_int4pack_mm_for_cpu _weight_int4pack_mm_with_scales_and_zeros _weight_int8pack_mm",
     {.shape = packed_mm<1>, .macs = linear_macs}},
    {"addbmm", {.traits = kKeepsDtype, .signature = "mn + bmk * bkn -> mn"}},
    {"addmm", {.traits = kKeepsDtype, .signature = "mn + mk * kn -> mn", .of_sparse = sparse::addmm}},
    {"addmv", {.traits = kKeepsDtype, .signature = "m + mk * k -> m"}},
    {"addr", {.traits = kKeepsDtype, .signature = "mn + m * n -> mn"}},
    {"baddbmm", {.traits = kKeepsDtype, .signature = "bmn + bmk * bkn -> bmn"}},
    {"bilinear", {.shape = bilinear, .macs = bilinear}},
    {"bmm", {.signature = "bmk * bkn -> bmn"}},
    {"chain_matmul linalg_multi_dot", {.shape = multi_dot, .macs = multi_dot}},
    {"cross linalg_cross", {.traits = kNoMacs, .shape = cross, .batch = {.rule = &BatchRules::cross}}},
    {"dot", {.signature = "k * k ->", .value = values::matrix_product}},
    {"ger", {.synonym_of = "outer", .signature = "m * n -> mn"}},
    {"inductor::_mm_plus_mm", {.macs = two_products}},
    {"inner", {.shape = inner, .macs = inner}},
    {"kron", {.traits = kNoMacs, .shape = kronecker, .batch = {.rule = &BatchRules::kron}}},
    {"linalg_matmul", {.signature = kMatmul}},
    {"linalg_vecdot",
     {.traits = kNotForIntegers, .shape = vector_dot, .check = check_vecdot, .macs = vector_dot}},
    {"linear",
     {.signature = "...k * nk + n -> ...n | ...k * k + ... -> ...",
      .batch = {.rule = &BatchRules::linear},
      .example = {ExampleForm::kLast, 1}}},
    {"matmul",
     {.traits = kTensorMethod,
      .signature = kMatmul,
      .of_sparse = sparse::matmul,
      .value = values::matrix_product,
      .batch = {.rule = &BatchRules::matmul},
      .example = {ExampleForm::kRows, 1}}},
    {"mm", {.signature = "mk * kn -> mn", .of_sparse = sparse::matmul}},
    {"mv", {.signature = "mk * k -> m", .of_sparse = sparse::matmul}},
    {"outer", {.signature = "m * n -> mn", .value = values::outer}},
    {"symm_mem::_async_input_mm", {.signature = "mk * kn -> mn"}},
    {"tensordot", {.shape = tensordot, .macs = tensordot}},
    {"transformers::grouped_mm_fallback", {.signature = "mk * gkn g -> mn"}},
    // Conjugates the first vector.
    {"vdot", {.signature = "k * k ->", .batch = {.rule = &BatchRules::none}}},
};

}  // namespace

OperatorRows matrix_products_rows() { return kMatrixProductsRows; }

}  // namespace fxtrace::internal
