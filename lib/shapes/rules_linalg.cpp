// Rules of matrix products and decompositions.
#include <algorithm>
#include <map>
#include <string>

#include "shapes/equation.h"
#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

Dtype either(Dtype first, Dtype second) { return first ? first : second; }

Sizes without_last(const Sizes& sizes, std::size_t count) {
  if (sizes.size() < count) throw CannotTell{};
  return slice_of(sizes, 0, sizes.size() - count);
}

const SymInt& from_back(const Sizes& sizes, std::size_t index) {
  if (sizes.size() < index) throw CannotTell{};
  return sizes[sizes.size() - index];
}

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

Results addmm(const RuleArguments& args) { return multiplied(args, "mat1", "mat2"); }
Results addmv(const RuleArguments& args) { return multiplied(args, "mat", "vec"); }
Results baddbmm(const RuleArguments& args) { return multiplied(args, "batch1", "batch2"); }

Results addbmm(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("batch1"), &b = args.tensor("batch2");
  require_rank(a, {3}, "the first batch of matrices");
  require_rank(b, {3}, "the second batch of matrices");
  require(args.dimensions, Relation::kEqual, a.sizes[0], b.sizes[0], "numbers of matrices differ");
  require(args.dimensions, Relation::kEqual, a.sizes[2], b.sizes[1], "inner sizes of the product differ");
  return make({from_back(a.sizes, 2), from_back(b.sizes, 1)}, either(a.dtype, b.dtype));
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
  TensorInfo both{.sizes = broadcast_all(args), .dtype = promoted(args, {"x", "y"})};
  both.sizes.erase(both.sizes.begin() + static_cast<std::ptrdiff_t>(dim_index(args.number("dim"), both)));
  return make(std::move(both));
}

Results outer(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("vec2");
  return make({product(a.sizes), product(b.sizes)}, promoted(args, {"self", "vec2"}));
}

Results addr(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("vec1"), &b = args.tensor("vec2");
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
  return make(std::move(sizes), either(input.dtype, weight.dtype));
}

Results inner(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("other");
  const Dtype dtype = promoted(args, {"self", "other"});
  if (a.sizes.empty() || b.sizes.empty()) return make(broadcast_all(args), dtype);
  return make(concatenated(without_last(a.sizes, 1), without_last(b.sizes, 1)), dtype);
}

Results tensordot(const RuleArguments& args) {
  Sizes sizes;
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
  return make(broadcast_all(args), promoted(args, {"self", "other"}));
}

Results distances(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("x1"), &b = args.tensor("x2");
  Sizes sizes = broadcast(without_last(a.sizes, 2), without_last(b.sizes, 2), args.dimensions);
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
  return make(std::move(sizes), dtype);
}

// ---- Decompositions ----

TensorInfo matrix(const RuleArguments& args) {
  TensorInfo info = args.tensor(first_argument(args));
  if (info.dim() < 2) throw CannotTell{};
  return info;
}

TensorInfo square_matrix(const RuleArguments& args) {
  TensorInfo info = args.tensor(first_argument(args));
  if (info.dim() < 2) throw Raises{"a matrix has " + std::to_string(info.dim()) + " dimensions"};
  require(args.dimensions, Relation::kEqual, from_back(info.sizes, 2), from_back(info.sizes, 1),
          "the matrix is not square");
  return info;
}

// The inverse, a root, a power.
Results same_square(const RuleArguments& args) { return make(square_matrix(args)); }

TensorInfo with_last(const TensorInfo& info, std::initializer_list<SymInt> last, Dtype dtype) {
  return {.sizes = concatenated(without_last(info.sizes, 2), last), .dtype = dtype};
}

Results determinant(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  return make(without_last(info.sizes, 2), info.dtype);
}

Results log_determinant(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  return make_many({with_last(info, {}, info.dtype), with_last(info, {}, real_dtype(info.dtype))});
}

// linalg_inv_ex: whether each matrix worked comes second.
Results with_status(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  return make_many({info, with_last(info, {}, ScalarType::kInt32)});
}

Results pseudo_inverse(const RuleArguments& args) {
  TensorInfo info = matrix(args);
  std::swap(info.sizes[info.sizes.size() - 1], info.sizes[info.sizes.size() - 2]);
  return make(std::move(info));
}

Results eigen_symmetric(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  return make_many({with_last(info, {info.sizes.back()}, real_dtype(info.dtype)), info});
}

Results eigenvalues_symmetric(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  return make(with_last(info, {info.sizes.back()}, real_dtype(info.dtype)));
}

Results eigen(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  const Dtype dtype = complex_dtype(info.dtype);
  return make_many({with_last(info, {info.sizes.back()}, dtype), {.sizes = info.sizes, .dtype = dtype}});
}

Results eigenvalues(const RuleArguments& args) {
  const TensorInfo info = square_matrix(args);
  return make(with_last(info, {info.sizes.back()}, complex_dtype(info.dtype)));
}

Results singular_values(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  return make(
      with_last(info, {min(from_back(info.sizes, 2), from_back(info.sizes, 1))}, real_dtype(info.dtype)));
}

Results singular_decomposition(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  const SymInt rows = from_back(info.sizes, 2), columns = from_back(info.sizes, 1),
               least = min(rows, columns);
  const bool is_old = args.given("some");  // torch.svd gives V, torch.linalg.svd its transpose
  if (is_old && !args.flag("compute_uv")) throw CannotTell{};
  const bool full = is_old ? !args.flag("some") : args.flag("full_matrices");
  const SymInt inner_left = full ? rows : least, inner_right = full ? columns : least;
  return make_many({with_last(info, {rows, inner_left}, info.dtype),
                    with_last(info, {least}, real_dtype(info.dtype)),
                    is_old ? with_last(info, {columns, inner_right}, info.dtype)
                           : with_last(info, {inner_right, columns}, info.dtype)});
}

Results qr(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  const SymInt rows = from_back(info.sizes, 2), columns = from_back(info.sizes, 1);
  const bool has_mode = args.given("mode");
  if (has_mode && args.text("mode") == "r") throw CannotTell{};
  const bool complete = has_mode ? args.text("mode") == "complete" : !args.flag("some");
  const SymInt middle = complete ? rows : min(rows, columns);
  return make_many(
      {with_last(info, {rows, middle}, info.dtype), with_last(info, {middle, columns}, info.dtype)});
}

Results solve(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("A"), &b = args.tensor("B");
  if (a.dim() == 2 && b.dim() == 1) return make(b.sizes, either(b.dtype, a.dtype));
  // With another rank b may be a vector or a batch of them, depending on sizes.
  if (a.dim() != b.dim() || b.dim() < 2) throw CannotTell{};
  Sizes sizes = broadcast(without_last(a.sizes, 2), without_last(b.sizes, 2), args.dimensions);
  sizes.push_back(from_back(b.sizes, 2));
  sizes.push_back(from_back(b.sizes, 1));
  return make(std::move(sizes), either(b.dtype, a.dtype));
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
      {"bmm", matmul},
      {"cdist", distances},
      {"chain_matmul", multi_dot},
      {"cholesky", same_square},
      {"cholesky_inverse", same_square},
      {"cross", cross},
      {"det", determinant},
      {"dot", dot},
      {"einsum", einsum},
      {"ger", outer},
      {"inner", inner},
      {"inverse", same_square},
      {"kron", kronecker},
      {"linalg_cholesky", same_square},
      {"linalg_cholesky_ex", with_status},
      {"linalg_cross", cross},
      {"linalg_det", determinant},
      {"linalg_eig", eigen},
      {"linalg_eigh", eigen_symmetric},
      {"linalg_eigvals", eigenvalues},
      {"linalg_eigvalsh", eigenvalues_symmetric},
      {"linalg_inv", same_square},
      {"linalg_inv_ex", with_status},
      {"linalg_matmul", matmul},
      {"linalg_matrix_exp", same_square},
      {"linalg_matrix_power", same_square},
      {"linalg_multi_dot", multi_dot},
      {"linalg_pinv", pseudo_inverse},
      {"linalg_qr", qr},
      {"linalg_slogdet", log_determinant},
      {"linalg_solve", solve},
      {"linalg_svd", singular_decomposition},
      {"linalg_svdvals", singular_values},
      {"linalg_vecdot", vector_dot},
      {"linear", linear},
      {"logdet", determinant},
      {"matmul", matmul},
      {"matrix_exp", same_square},
      {"matrix_power", same_square},
      {"mm", matmul},
      {"mv", matmul},
      {"outer", outer},
      {"pinverse", pseudo_inverse},
      {"qr", qr},
      {"slogdet", log_determinant},
      {"svd", singular_decomposition},
      {"tensordot", tensordot},
      {"vdot", dot},
  };
  return kRules;
}

}  // namespace fxtrace
