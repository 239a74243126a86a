// Rules of matrix products.
#include <algorithm>
#include <map>
#include <string>

#include "shapes/equation.h"
#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

// ---- Products ----

Sizes product_sizes(const Sizes& a, const Sizes& b, ShapeEnv& dimensions) {
  if (a.empty() || b.empty()) throw Raises{"a product with a tensor without dimensions"};
  require(dimensions, Relation::kEqual, a.back(), b[b.size() == 1 ? 0 : b.size() - 2],
          "inner sizes of the product differ");
  const Sizes batch_a = a.size() > 2 ? without_last(a, 2) : Sizes();
  const Sizes batch_b = b.size() > 2 ? without_last(b, 2) : Sizes();
  Sizes sizes = broadcast(batch_a, batch_b, dimensions);
  if (a.size() > 1) sizes.push_back(from_back(a, 2));
  if (b.size() > 1) sizes.push_back(from_back(b, 1));
  return sizes;
}

Results multiplied(const RuleArguments& args, std::string_view first, std::string_view second) {
  const TensorInfo &a = args.tensor(first), &b = args.tensor(second);
  require_same_dtype(a.dtype, b.dtype, "dtypes of the factors");
  return make(product_sizes(a.sizes, b.sizes, args.dimensions),
              dtype_or(args, "out_dtype", either(a.dtype, b.dtype)));
}

Results matmul(const RuleArguments& args) {
  return multiplied(args, "self", args.given("mat2") ? "mat2" : args.given("vec") ? "vec" : "other");
}
// Of two matrices, whatever their dtypes.
Results narrow_product(const RuleArguments& args, Dtype dtype) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("mat2");
  require_rank(a, {2}, "the first factor");
  require_rank(b, {2}, "the second factor");
  return make(product_sizes(a.sizes, b.sizes, args.dimensions), dtype);
}
Results int_mm(const RuleArguments& args) { return narrow_product(args, ScalarType::kInt32); }
Results scaled_mm(const RuleArguments& args) {
  return narrow_product(args, dtype_or(args, "out_dtype", args.tensor("self").dtype));
}

// By a weight that is packed for the kernel: its first size tells how many columns there are, `Columns` each.
template <std::int64_t Columns>
Results packed_mm(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &weight = args.tensor("mat2");
  require_rank(self, {2}, "the first factor");
  if (weight.sizes.empty()) throw CannotTell{};
  return make({self.sizes[0], weight.sizes[0] * Columns}, self.dtype);
}

// A product to which `self` is added, which may have less precision in the forms that ask for a type.
Results added_product(const RuleArguments& args, std::string_view first, std::string_view second,
                      std::int64_t first_rank, std::int64_t second_rank) {
  const TensorInfo& self = args.tensor("self");
  require_rank(args.tensor(first), {first_rank}, "the first factor");
  require_rank(args.tensor(second), {second_rank}, "the second factor");
  Results results = multiplied(args, first, second);
  if (!args.given("out_dtype"))
    require_same_dtype(self.dtype, args.tensor(first).dtype, "dtypes of summand and factor");
  if (first_rank == 3) {
    require(args.dimensions, Relation::kEqual, args.tensor(first).sizes[0], args.tensor(second).sizes[0],
            "numbers of matrices differ");
  }
  require_expandable(args.dimensions, self.sizes, results.at(0).tensor()->sizes);
  return results;
}

Results addmm(const RuleArguments& args) { return added_product(args, "mat1", "mat2", 2, 2); }
Results addmv(const RuleArguments& args) { return added_product(args, "mat", "vec", 2, 1); }
Results baddbmm(const RuleArguments& args) { return added_product(args, "batch1", "batch2", 3, 3); }

Results mm(const RuleArguments& args) {
  require_rank(args.tensor("self"), {2}, "the first factor");
  require_rank(args.tensor("mat2"), {2}, "the second factor");
  return matmul(args);
}

Results bmm(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("mat2");
  require_rank(a, {3}, "the first factor");
  require_rank(b, {3}, "the second factor");
  require(args.dimensions, Relation::kEqual, a.sizes[0], b.sizes[0], "numbers of matrices differ");
  return matmul(args);
}

Results mv(const RuleArguments& args) {
  require_rank(args.tensor("self"), {2}, "the matrix");
  require_rank(args.tensor("vec"), {1}, "the vector");
  return matmul(args);
}

Results addbmm(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("batch1"), &b = args.tensor("batch2");
  require_rank(a, {3}, "the first batch of matrices");
  require_rank(b, {3}, "the second batch of matrices");
  require(args.dimensions, Relation::kEqual, a.sizes[0], b.sizes[0], "numbers of matrices differ");
  require(args.dimensions, Relation::kEqual, a.sizes[2], b.sizes[1], "inner sizes of the product differ");
  require_same_dtype(args.tensor("self").dtype, a.dtype, "dtypes of summand and factor");
  require_expandable(args.dimensions, args.tensor("self").sizes, {a.sizes[1], b.sizes[2]});
  return make({a.sizes[1], b.sizes[2]}, either(a.dtype, b.dtype));
}

Results dot(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"),
                   &other = args.tensor(args.given("other") ? "other" : "tensor");
  require_rank(self, {1}, "the first factor");
  require_rank(other, {1}, "the second factor");
  require(args.dimensions, Relation::kEqual, self.sizes[0], other.sizes[0], "sizes of the factors differ");
  return make(Sizes(), self.dtype);
}

Results vector_dot(const RuleArguments& args) {
  require_same_dtype(args.tensor("x").dtype, args.tensor("y").dtype, "dtypes of the two");
  TensorInfo both{.sizes = broadcast_all(args), .dtype = promoted(args, {"x", "y"})};
  both.sizes.erase(both.sizes.begin() + static_cast<std::ptrdiff_t>(dim_index(args.number("dim"), both)));
  return make(std::move(both));
}

Results outer(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("vec2");
  require_rank(a, {1}, "the first vector");
  require_rank(b, {1}, "the second vector");
  return make({product(a.sizes), product(b.sizes)}, promoted(args, {"self", "vec2"}));
}

Results addr(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("vec1"), &b = args.tensor("vec2");
  require_rank(a, {1}, "the first vector");
  require_rank(b, {1}, "the second vector");
  require_expandable(args.dimensions, args.tensor("self").sizes, {a.sizes[0], b.sizes[0]});
  return make({product(a.sizes), product(b.sizes)}, promoted(args, {"self", "vec1", "vec2"}));
}

Results linear(const RuleArguments& args) {
  const TensorInfo &input = args.tensor("input"), &weight = args.tensor("weight");
  if (input.sizes.empty()) throw Raises{"the input of a linear layer has no dimensions"};
  require_rank(weight, {1, 2}, "the weight of a linear layer");
  require_same_dtype(input.dtype, weight.dtype, "dtypes of input and weight");
  if (args.is_tensor("bias")) {
    require_same_dtype(input.dtype, args.tensor("bias").dtype, "dtypes of input and bias");
  }
  require(args.dimensions, Relation::kEqual, input.sizes.back(), weight.sizes.back(),
          "features of the input are not what the weight takes");
  Sizes sizes = without_last(input.sizes, 1);
  if (weight.dim() == 2) sizes.push_back(weight.sizes[0]);
  if (args.is_tensor("bias") && args.tensor("bias").sizes.size() <= sizes.size()) {
    require_expandable(args.dimensions, args.tensor("bias").sizes, sizes);
  }
  return make(std::move(sizes), either(input.dtype, weight.dtype));
}

Results inner(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("other");
  const Dtype dtype = promoted(args, {"self", "other"});
  if (a.sizes.empty() || b.sizes.empty()) return make(broadcast_all(args), dtype);
  require_same_dtype(a.dtype, b.dtype, "dtypes of the factors");
  require(args.dimensions, Relation::kEqual, a.sizes.back(), b.sizes.back(), "last sizes differ");
  return make(concatenated(without_last(a.sizes, 1), without_last(b.sizes, 1)), dtype);
}

Results tensordot(const RuleArguments& args) {
  Sizes sizes;
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("other");
  require_same_dtype(a.dtype, b.dtype, "dtypes of the factors");
  const auto dims_a = distinct_dims(args.numbers("dims_self"), a.dim()),
             dims_b = distinct_dims(args.numbers("dims_other"), b.dim());
  if (dims_a.size() != dims_b.size()) throw Raises{"not as many dimensions of both are summed over"};
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
    require_same_dtype(tensors[i].dtype, tensors[0].dtype, "dtypes of the factors");
    if (i > 0) {
      require(args.dimensions, Relation::kEqual, tensors[i - 1].sizes.back(), tensors[i].sizes[0],
              "inner sizes of the product differ");
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
  require_rank(b, {a.dim()}, "the second factor");
  require_same_dtype(a.dtype, b.dtype, "dtypes of the factors");
  if (args.given("dim") && !a.sizes.empty()) {
    const std::size_t dim = dim_index(args.number("dim"), a);
    require(args.dimensions, Relation::kEqual, a.sizes[dim], 3, "size of a vector");
    require(args.dimensions, Relation::kEqual, b.sizes[dim], 3, "size of a vector");
  }
  return make(broadcast_all(args), promoted(args, {"self", "other"}));
}

Results distances(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("x1"), &b = args.tensor("x2");
  for (const TensorInfo* points : {&a, &b}) {
    require_least_rank(*points, 2, "points");
    require_dtype(points->dtype, is_floating, "points");
  }
  require(args.dimensions, Relation::kEqual, a.sizes.back(), b.sizes.back(), "points have different sizes");
  Sizes sizes = common_batch(a, b, 2, args.dimensions);
  sizes.push_back(from_back(a.sizes, 2));
  sizes.push_back(from_back(b.sizes, 2));
  return make(std::move(sizes), promoted(args, {"x1", "x2"}));
}

// Groups are matrices of a batch, or rows or columns of one matrix, up to where `offs` says.
Results grouped_product(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("mat2");
  require_rank(a, {2, 3}, "the first factor");
  require_rank(b, {2, 3}, "the second factor");
  Sizes sizes;
  if (a.dim() == b.dim()) sizes.push_back(a.dim() == 3 ? a.sizes[0] : args.tensor("offs").sizes.at(0));
  sizes.push_back(from_back(a.sizes, 2));
  sizes.push_back(b.sizes.back());
  return make(std::move(sizes), dtype_or(args, "out_dtype", either(a.dtype, b.dtype)));
}

// ---- Einstein sums ----

Results einsum(const RuleArguments& args) {
  const Equation equation = parse_equation(args.text("equation"));
  const std::vector<TensorInfo> tensors = args.tensors("tensors");
  if (equation.operands.size() != tensors.size()) throw CannotTell{};
  std::map<char, SymInt> letters;
  std::map<char, int> uses;
  Sizes ellipsis;
  Dtype dtype;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& labels = equation.operands[i];
    const Sizes& sizes = tensors[i].sizes;
    dtype = either(dtype, tensors[i].dtype);
    std::size_t next = 0;
    for (const char label : labels) {
      if (label == '.') {
        if (sizes.size() + 1 < labels.size()) throw CannotTell{};
        const std::size_t count = sizes.size() + 1 - labels.size();
        ellipsis = broadcast(ellipsis, slice_of(sizes, next, next + count), args.dimensions);
        next += count;
        continue;
      }
      ++uses[label];
      const SymInt& size = sizes.at(next++);
      const auto [place, is_new] = letters.try_emplace(label, size);
      if (!is_new) place->second = broadcast_size(place->second, size, args.dimensions);
    }
  }
  // Without an arrow: what occurs once, in the order of the alphabet (capitals first).
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
      sizes.push_back(letters.at(label));
    }
  }
  // Sums of integers are int64 where no product is made of them.
  const bool sums = std::ranges::any_of(
      letters, [&](const auto& entry) { return result.find(entry.first) == std::string::npos; });
  if (sums && dtype != sum_dtype(dtype)) dtype.reset();
  return make(std::move(sizes), dtype);
}

}  // namespace

RuleTable linalg_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"_grouped_mm", grouped_product},
      {"_int_mm", int_mm},
      {"_scaled_mm", scaled_mm},
      {"_scaled_mm_v2", scaled_mm},
      {"_weight_int4pack_mm", packed_mm<8>},
      {"_weight_int4pack_mm_for_cpu", packed_mm<1>},
      {"_weight_int4pack_mm_with_scales_and_zeros", packed_mm<1>},
      {"_weight_int8pack_mm", packed_mm<1>},
      {"addbmm", addbmm},
      {"addmm", addmm},
      {"addmv", addmv},
      {"addr", addr},
      {"baddbmm", baddbmm},
      {"bmm", bmm},
      {"cdist", distances},
      {"_cdist_forward", distances},
      {"chain_matmul", multi_dot},
      {"cross", cross},
      {"dot", dot},
      {"einsum", einsum},
      {"ger", outer},
      {"inner", inner},
      {"kron", kronecker},
      {"linalg_cross", cross},
      {"linalg_matmul", matmul},
      {"linalg_multi_dot", multi_dot},
      {"linalg_vecdot", vector_dot},
      {"linear", linear},
      {"matmul", matmul},
      {"mm", mm},
      {"mv", mv},
      {"outer", outer},
      {"tensordot", tensordot},
      {"vdot", dot},
  };
  return kRules;
}

}  // namespace fxtrace
