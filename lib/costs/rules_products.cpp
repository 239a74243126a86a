// Costs of matrix products.  Nearly all are one formula: each element of the result is a sum of products
// over the inner size.  torch.utils.flop_counter has it for mm, addmm, bmm, baddbmm and _scaled_mm, which
// matmul, linear and others are made of; products with vectors, which it leaves out, are counted the same
// way.
#include <algorithm>
#include <bit>

#include "costs/cost_rules.h"

namespace fxtrace {
namespace {

// ---- Products of two tensors ----

// Numbers of four bits stand in twos along the inner dimension.
std::int64_t numbers_in_element(const TensorInfo& info) {
  return info.dtype == ScalarType::kFloat4E2m1fnX2 ? 2 : 1;
}

SymInt inner_size(const TensorInfo& a, const TensorInfo& b) {
  return same_size(from_back(a.sizes, 1), from_back(b.sizes, b.dim() == 1 ? 1 : 2)) * numbers_in_element(a);
}

// Where nothing tells the result, a second factor without a batch leaves nothing open.
SymInt multiplied(const RuleArguments& args, const Results& results, std::string_view first,
                  std::string_view second) {
  const TensorInfo &a = operand(args, first), &b = operand(args, second);
  const SymInt inner = inner_size(a, b);
  const bool is_known = !results.empty() && results[0].tensor() != nullptr;
  if (is_known || b.dim() > 2) return product(first_result(results).sizes) * inner;
  return product(without_last(a.sizes, 1)) * (b.dim() == 2 ? b.sizes[1] : SymInt(1)) * inner;
}

SymInt matmul(const RuleArguments& args, const Results& results) {
  const std::string_view second = args.given("mat2") ? "mat2" : args.given("vec") ? "vec" : "other";
  return multiplied(args, results, "self", second);
}
SymInt addmm(const RuleArguments& args, const Results& results) {
  return multiplied(args, results, "mat1", "mat2");
}
SymInt addmv(const RuleArguments& args, const Results& results) {
  return multiplied(args, results, "mat", "vec");
}
SymInt baddbmm(const RuleArguments& args, const Results& results) {
  return multiplied(args, results, "batch1", "batch2");
}
SymInt quantized_matmul(const RuleArguments& args, const Results& results) {
  return multiplied(args, results, "qa", "qb");
}
SymInt first_two(const RuleArguments& args, const Results& results) {
  return multiplied(args, results, "a", "b");
}

// Sums over the batch too, which the result does not have.
SymInt addbmm(const RuleArguments& args, const Results&) {
  return product(operand(args, "batch1").sizes) * from_back(operand(args, "batch2").sizes, 1);
}

SymInt dot(const RuleArguments& args, const Results&) {
  const TensorInfo &a = operand(args, "self"), &b = operand(args, args.given("other") ? "other" : "tensor");
  if (a.dim() != 1 || b.dim() != 1) throw CannotTell{};
  return same_size(a.sizes[0], b.sizes[0]);
}

// The dimension is one of both together.
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

// With a number, which is a tensor without dimensions, elementwise.
SymInt inner(const RuleArguments& args, const Results& results) {
  const TensorInfo &a = operand(args, "self"), &b = operand(args, "other");
  if (a.sizes.empty() || b.sizes.empty()) return 0;
  return product(first_result(results).sizes) * same_size(a.sizes.back(), b.sizes.back());
}

// torch.tensordot sums a dimension beforehand that has size 1 on the other side.
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

// Whatever form the weight is kept in: the features of the input are summed for each of the result.
SymInt linear(const RuleArguments& args, const Results& results) {
  const TensorInfo& input = first_operand(args);
  if (args.given("weight")) operand(args, "weight");
  return product(first_result(results).sizes) * from_back(input.sizes, 1);
}

// The result may not be known where the weight is packed in a form that tells nothing.
SymInt packed_linear(const RuleArguments& args, const Results& results) {
  if (!results.empty() && results[0].tensor() != nullptr) return linear(args, results);
  const TensorInfo& weight = packed_weight(args, "W_prepack");
  if (weight.dim() != 2) throw CannotTell{};
  return product(first_operand(args).sizes) * weight.sizes[0];
}

SymInt linear_out_features(const RuleArguments& args, const Results&) {
  return product(first_operand(args).sizes) * count_of(args, "out_features");
}
SymInt linear_out_channel(const RuleArguments& args, const Results&) {
  return product(first_operand(args).sizes) * count_of(args, "out_channel");
}

// ATen/native/GroupedMM: each row, or column, or place of the inner size belongs to one group.
SymInt grouped(const RuleArguments& args, const Results&) {
  const TensorInfo &a = operand(args, "self"), &b = operand(args, "mat2");
  if (a.dim() < 2 || a.dim() > 3 || b.dim() < 2 || b.dim() > 3) throw CannotTell{};
  const SymInt matrix =
      from_back(a.sizes, 1) * from_back(a.sizes, 2) * b.sizes.back() * numbers_in_element(a);
  return a.dim() == 3 && b.dim() == 3 ? a.sizes[0] * matrix : matrix;
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

// In the order that takes the least, as ATen/native/LinearAlgebra.cpp chooses it: Cormen et al.,
// Introduction to Algorithms, 15.2.
SymInt multi_dot(const RuleArguments& args, const Results&) {
  const std::vector<TensorInfo> tensors = operands(args, first_argument(args));
  constexpr std::size_t kMost = 64;  // the work grows with the third power
  const std::size_t count = tensors.size();
  if (count == 0 || count > kMost) throw CannotTell{};
  Sizes sizes;  // tensor i is a matrix of sizes[i] rows and sizes[i + 1] columns
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
  std::vector<Sizes> least(count, Sizes(count, 0));  // of the products from one tensor to another
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

// By squaring: ATen/native/LinearAlgebra.cpp.  An inverse comes first for negative powers, at a cost that
// nobody tells.
SymInt matrix_power(const RuleArguments& args, const Results&) {
  const Sizes& sizes = operand(args, "self").sizes;
  const std::int64_t power = args.number("n");
  if (power < 0) throw CannotTell{};
  if (power < 2) return 0;
  const auto bits = static_cast<std::uint64_t>(power);
  const std::int64_t products = std::bit_width(bits) - 1 + std::popcount(bits) - 1;
  return product(sizes) * from_back(sizes, 1) * products;
}

// ATen/native/Correlation.cpp: of the variables with each other.
SymInt covariance(const RuleArguments& args, const Results&) {
  const Sizes& sizes = operand(args, "self").sizes;
  if (sizes.size() > 2) throw CannotTell{};
  return product(sizes) * (sizes.size() == 2 ? sizes[0] : SymInt(1));
}

// ATen/native/AffineGridGenerator.cpp: a product of each place's coordinates and 1 with theta.
SymInt affine_grid(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * from_back(operand(args, "theta").sizes, 1);
}

// ---- Bilinear forms ----

// ATen/native/Linear.cpp, bilinear(): x1 * W first, then * x2, for each feature of the result.
SymInt bilinear(const RuleArguments& args, const Results&) {
  const Sizes &input = operand(args, "input1").sizes, &weight = operand(args, "weight").sizes;
  if (input.empty() || weight.size() != 3) throw CannotTell{};
  return product(without_last(input, 1)) * weight[0] * weight[2] * (weight[1] + 1);
}

// With 1 for each dimension that is `expanded`.
Sizes expanded_sizes(const Sizes& sizes, const std::vector<bool>& expanded) {
  Sizes result;
  std::size_t next = 0;
  for (const bool is_new : expanded) {
    if (!is_new && next == sizes.size()) throw CannotTell{};
    result.push_back(is_new ? SymInt(1) : sizes[next++]);
  }
  return result;
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
  // What the third does not have is summed with the first product.
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

// ---- Distances ----

// ATen/native/Distance.cpp: a product of rows with two features more.
SymInt euclidean(const RuleArguments& args, const Results& results) {
  return product(first_result(results).sizes) * (from_back(operand(args, "x1").sizes, 1) + 2);
}

// The same between many rows, or where the call asks for it; else elementwise.
SymInt distances(const RuleArguments& args, const Results& results) {
  constexpr std::int64_t kIfMany = 0, kAlways = 1, kMany = 25;
  const std::int64_t mode = args.given("compute_mode") ? args.number("compute_mode") : kIfMany;
  if (args.real("p") != 2 || (mode != kAlways && mode != kIfMany)) return 0;
  const SymInt most = max(from_back(operand(args, "x1").sizes, 2), from_back(operand(args, "x2").sizes, 2));
  const bool as_product = mode == kAlways || decided(args.dimensions, Relation::kGreater, most, kMany);
  return as_product ? euclidean(args, results) : SymInt(0);
}

// ---- Norms ----

// Of a matrix, some are a largest singular value or the sum of all: what these take nobody tells.
SymInt matrix_norm(const RuleArguments& args, const Results&) {
  if (!args.given("ord")) return 0;
  const AbstractValue& order = args.value("ord");
  if (const auto* text = order.get_if<std::string>()) {
    if (*text == "fro") return 0;
    throw CannotTell{};
  }
  const bool is_vector =
      args.name() == "aten::linalg_norm" &&
      (args.given("dim") ? args.sizes("dim").size() : operand(args, "self").sizes.size()) == 1;
  const double number = args.real("ord");
  if (!is_vector && (number == 2 || number == -2)) throw CannotTell{};
  return 0;
}

constexpr std::pair<std::string_view, CostRule> kRules[] = {
    {"_addmm_activation", addmm},
    {"_dyn_quant_matmul_4bit", linear_out_features},
    {"_euclidean_dist", euclidean},
    {"_foreach_mm", each_product},
    {"_grouped_mm", grouped},
    {"_int_mm", matmul},
    {"_mixed_dtypes_linear", linear},
    {"_scaled_grouped_mm", grouped},
    {"_scaled_grouped_mm_v2", grouped},
    {"_scaled_mm", matmul},
    {"_scaled_mm_v2", matmul},
    {"_trilinear", trilinear},
    {"_weight_int4pack_mm", linear},
    {"_weight_int4pack_mm_for_cpu", linear},
    {"_weight_int4pack_mm_with_scales_and_zeros", linear},
    {"_weight_int8pack_mm", linear},
    {"_wrapped_quantized_linear_prepacked", linear_out_channel},
    {"addbmm", addbmm},
    {"addmm", addmm},
    {"addmv", addmv},
    {"affine_grid_generator", affine_grid},
    {"baddbmm", baddbmm},
    {"bilinear", bilinear},
    {"bmm", matmul},
    {"cdist", distances},
    {"chain_matmul", multi_dot},
    {"corrcoef", covariance},
    {"cov", covariance},
    {"cudnn_affine_grid_generator", affine_grid},
    {"dot", dot},
    {"fbgemm_linear_fp16_weight", linear},
    {"fbgemm_linear_fp16_weight_fp32_activation", linear},
    {"fbgemm_linear_int8_weight", linear},
    {"fbgemm_linear_int8_weight_fp32_activation", linear},
    {"inner", inner},
    {"linalg_matmul", matmul},
    {"linalg_matrix_norm", matrix_norm},
    {"linalg_matrix_power", matrix_power},
    {"linalg_multi_dot", multi_dot},
    {"linalg_norm", matrix_norm},
    {"linalg_vecdot", vector_dot},
    {"linear", linear},
    {"matmul", matmul},
    {"matrix_power", matrix_power},
    {"mkldnn_linear", linear},
    {"mm", matmul},
    {"mv", matmul},
    {"tensordot", tensordot},
    {"vdot", dot},

    {"_quantized::_wrapped_quantized_linear_prepacked", linear_out_channel},
    {"_quantized::linear", packed_linear},
    {"_quantized::linear_dynamic", packed_linear},
    {"_quantized::wrapped_fbgemm_linear_fp16_weight", linear_out_channel},
    {"_quantized::wrapped_quantized_linear", linear_out_channel},
    {"inductor::_mm_plus_mm", two_products},
    {"metal_prepack::linear_run", linear},
    {"mkl::_mkl_linear", linear},
    {"mkldnn::_linear_pointwise", linear},
    {"onednn::linear_dynamic_fp16", linear},
    {"onednn::linear_relu_dynamic_fp16", linear},
    {"onednn::qlinear_pointwise", linear},
    {"prepacked::linear_clamp_run", linear},
    {"quantized::int4mm_packed_weight_cpu", linear},
    {"quantized::linear", packed_linear},
    {"quantized::linear_dynamic", packed_linear},
    {"quantized::linear_dynamic_fp16", packed_linear},
    {"quantized::linear_dynamic_fp16_unpacked_weight", linear},
    {"quantized::linear_leaky_relu", packed_linear},
    {"quantized::linear_relu", packed_linear},
    {"quantized::linear_relu_dynamic", packed_linear},
    {"quantized::linear_relu_dynamic_fp16", packed_linear},
    {"quantized::linear_tanh", packed_linear},
    {"quantized::linear_with_input_q_dq_qweight_dq_output_fp32", packed_linear},
    {"quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32", packed_linear},
    {"quantized::matmul", quantized_matmul},
    {"symm_mem::_async_input_mm", first_two},
    {"vulkan_prepack::run_linear_context", linear},
};

}  // namespace

CostTable product_costs() { return kRules; }

}  // namespace fxtrace
