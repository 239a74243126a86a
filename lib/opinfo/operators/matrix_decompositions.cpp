// Decompositions and inverses of matrices, and solutions of linear equations.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- One matrix ----

TensorInfo matrix(const RuleArguments& args) {
  TensorInfo info = args.tensor(first_argument(args));
  require_least_rank(info, 2, first_argument(args));
  return info;
}

Results make_matrix(Sizes batch, SymInt rows, SymInt columns, Dtype dtype) {
  batch.push_back(std::move(rows));
  batch.push_back(std::move(columns));
  return make(std::move(batch), dtype);
}

TensorInfo square_matrix(const RuleArguments& args) {
  TensorInfo info = args.tensor(first_argument(args));
  require_least_rank(info, 2, first_argument(args));
  require_equal(args.dimensions, from_back(info.sizes, 2), from_back(info.sizes, 1),
                "rows and columns of " + std::string(first_argument(args)));
  return info;
}

// Returns the matrix; checks that it is square if the argument `flag` says that it is symmetric.
TensorInfo symmetric_or_any(const RuleArguments& args, std::string_view flag) {
  TensorInfo info = matrix(args);
  const bool is_symmetric =
      args.is_given(flag) && args.flag(flag) && !may_be_empty(args.dimensions, info.sizes);
  return is_symmetric ? square_matrix(args) : info;
}

// torch.cholesky: returns an empty matrix as it is.
Results cholesky(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  return may_be_empty(args.dimensions, info.sizes) ? make(info) : make(square_matrix(args));
}

TensorInfo with_last(const TensorInfo& info, std::initializer_list<SymInt> last, Dtype dtype) {
  return {.sizes = concatenated(without_last(info.sizes, 2), last), .dtype = dtype};
}

Results pseudo_inverse(const RuleArguments& args) {
  TensorInfo info = symmetric_or_any(args, "hermitian");
  std::swap(info.sizes[info.sizes.size() - 1], info.sizes[info.sizes.size() - 2]);
  return make(std::move(info));
}

Results singular_decomposition(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  const SymInt rows = from_back(info.sizes, 2), columns = from_back(info.sizes, 1),
               least = min(rows, columns);
  const bool is_old = args.is_given("some");  // torch.svd gives V, torch.linalg.svd its transpose
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
  const bool has_mode = args.is_given("mode");
  if (has_mode && args.text("mode") == "r") throw CannotTell{};
  const bool complete = has_mode ? args.text("mode") == "complete" : !args.flag("some");
  const SymInt middle = complete ? rows : min(rows, columns);
  return make_many(
      {with_last(info, {rows, middle}, info.dtype), with_last(info, {middle, columns}, info.dtype)});
}

// Checks the factor and the right side of an equation, whose names are `names`: equal dtypes, and as many
// columns in the factor as rows in the right side, or as columns if the unknown stands left of the factor.
void require_factor(const RuleArguments& args, const TensorInfo& a, const TensorInfo& b, bool left,
                    NamePair names) {
  require_least_rank(a, 2, names.first);
  require_least_rank(b, 2, names.second);
  require_same_dtype(a.dtype, b.dtype, names);
  require_equal(args.dimensions, from_back(a.sizes, 1), from_back(b.sizes, left ? 2 : 1), "inner sizes",
                names);
}

// Returns the solution of a * x = b, or of x * a = b; the batch dimensions are broadcast.
Results solved(const RuleArguments& args, const TensorInfo& a, const TensorInfo& b, bool left,
               NamePair names) {
  require_factor(args, a, b, left, names);
  require_equal(args.dimensions, from_back(a.sizes, 2), from_back(a.sizes, 1),
                "rows and columns of " + std::string(names.first));
  return make_matrix(common_batch(a, b, 2, args.dimensions), from_back(b.sizes, 2), from_back(b.sizes, 1),
                     b.dtype);
}

Results solve(const RuleArguments& args) {
  const TensorInfo a = square_matrix(args), &b = args.tensor("B");
  const bool left = !args.is_given("left") || args.flag("left");
  require_same_dtype(a.dtype, b.dtype, {"A", "B"});
  // B is a vector, or a batch of vectors with the same batch sizes as A.
  bool is_vector = b.dim() == 1;
  if (!is_vector && a.dim() == b.dim() + 1) {
    is_vector = true;
    for (std::size_t i = 0; i < b.sizes.size() && is_vector; ++i) {
      is_vector = decided(args.dimensions, Relation::kEqual, a.sizes[i], b.sizes[i]);
    }
  }
  if (is_vector) {
    require_equal(args.dimensions, a.sizes.back(), b.sizes.back(), "last sizes", {"A", "B"});
    if (!left) throw Raises{"B is a vector, expected a matrix where left is False"};
    return make(concatenated(broadcast(without_last(a.sizes, 2), without_last(b.sizes, 1), args.dimensions),
                             {b.sizes.back()}),
                either(b.dtype, a.dtype));
  }
  return solved(args, a, b, left, {"A", "B"});
}

// linalg_solve_ex(): the second result is the status for each matrix.
Results solve_with_status(const RuleArguments& args) {
  Results results = solve(args);
  results.push_back({with_last(args.tensor("A"), {}, ScalarType::kInt32)});
  return results;
}

Results solve_triangular(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("B");
  if (a.dtype != b.dtype) throw CannotTell{};
  return solved(args, a, b, args.flag("left"), {"self", "B"});
}

// torch.triangular_solve: the right side is the first argument, and the matrix is returned too.
Results old_triangular_solve(const RuleArguments& args) {
  const TensorInfo &b = args.tensor("self"), &a = args.tensor("A");
  Results results = solved(args, a, b, true, {"A", "self"});
  results.push_back({TensorInfo{.sizes = concatenated(common_batch(a, b, 2, args.dimensions),
                                                      {from_back(a.sizes, 2), from_back(a.sizes, 1)}),
                                .dtype = a.dtype}});
  return results;
}

Results cholesky_solve(const RuleArguments& args) {
  return solved(args, args.tensor("input2"), args.tensor("self"), true, {"input2", "self"});
}

// ---- Factors of a decomposition, with pivots ----

void require_pivots(const RuleArguments& args, const TensorInfo& factors, std::string_view name) {
  require_least_rank(factors, 2, "the matrix of factors");
  const TensorInfo& pivots = args.tensor(name);
  require_dtype(pivots.dtype, ScalarType::kInt32, name);
}

std::vector<TensorInfo> permutation_lower_upper(const TensorInfo& info) {
  const SymInt rows = from_back(info.sizes, 2), columns = from_back(info.sizes, 1),
               least = min(rows, columns);
  return {with_last(info, {rows, rows}, info.dtype), with_last(info, {rows, least}, info.dtype),
          with_last(info, {least, columns}, info.dtype)};
}

TensorInfo nothing_of(const TensorInfo& info) { return {.sizes = {0}, .dtype = info.dtype}; }

Results lu(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  std::vector<TensorInfo> results = permutation_lower_upper(info);
  if (!args.flag("pivot")) results[0] = nothing_of(info);
  return make_many(std::move(results));
}

// Results for which the call does not ask are empty.
Results lu_unpack(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  require_pivots(args, info, "LU_pivots");
  std::vector<TensorInfo> results = permutation_lower_upper(info);
  if (!args.flag("unpack_pivots")) results[0] = nothing_of(info);
  if (!args.flag("unpack_data")) results[1] = results[2] = nothing_of(info);
  return make_many(std::move(results));
}

Results lu_solve(const RuleArguments& args) {
  const bool is_old = args.is_given("LU_data");
  const std::string_view name = is_old ? "LU_data" : "LU", right = is_old ? "self" : "B";
  const TensorInfo& factors = args.tensor(name);
  const std::string_view pivots = is_old ? "LU_pivots" : "pivots";
  require_pivots(args, factors, pivots);
  require_equal_sizes(args.dimensions, without_last(factors.sizes, 1), args.tensor(pivots).sizes,
                      {name, pivots});
  return solved(args, factors, args.tensor(right), is_old || args.flag("left"), {name, right});
}

Results ldl_solve(const RuleArguments& args) {
  const TensorInfo& factors = args.tensor("LD");
  require_least_rank(factors, 2, "LD");
  require_dtype(args.tensor("pivots").dtype, is_integral, "pivots", "an integer dtype");
  require_equal_sizes(args.dimensions, without_last(factors.sizes, 1), args.tensor("pivots").sizes,
                      {"LD", "pivots"});
  return solved(args, factors, args.tensor("B"), true, {"LD", "B"});
}

Results householder_product(const RuleArguments& args) {
  const TensorInfo info = matrix(args);
  const std::string_view name = args.is_given("tau") ? "tau" : "input2";
  const TensorInfo& factors = args.tensor(name);
  require(args.dimensions, Relation::kGreaterEqual, from_back(info.sizes, 2), from_back(info.sizes, 1),
          "number of rows of " + std::string(first_argument(args)));
  require_same_dtype(info.dtype, factors.dtype, {first_argument(args), name});
  require_rank(factors, {info.dim() - 1}, name);
  require_equal_sizes(args.dimensions, without_last(factors.sizes), without_last(info.sizes, 2),
                      {name, first_argument(args)});
  require(args.dimensions, Relation::kLessEqual, factors.sizes.back(), info.sizes.back(),
          "size of " + std::string(name) + " in dimension -1");
  return make(info);
}

Results times_reflections(const RuleArguments& args) {
  const TensorInfo& other = args.tensor("input3");
  require_same_dtype(matrix(args).dtype, args.tensor("input2").dtype, {"self", "input2"});
  require_same_dtype(other.dtype, args.tensor("input2").dtype, {"input3", "input2"});
  require_least_rank(other, 2, "input3");
  return make(other);
}

// ---- Numbers for matrices, and tensors that are taken as matrices ----

Results matrix_rank(const RuleArguments& args) {
  const TensorInfo info = symmetric_or_any(args, "hermitian");
  Sizes batch = without_last(info.sizes, 2);
  for (const std::string_view name : {"tol", "atol", "rtol"}) {
    if (args.is_tensor(name)) batch = broadcast(batch, args.tensor(name).sizes, args.dimensions);
  }
  return make(std::move(batch), ScalarType::kInt64);
}

// (solution, results that depend on the method)
Results least_squares(const RuleArguments& args) {
  const TensorInfo &a = args.tensor("self"), &b = args.tensor("b");
  require_least_rank(a, 2, "self");
  require_least_rank(b, 1, "b");
  require_same_dtype(a.dtype, b.dtype, {"self", "b"});
  Results results(args.schema().results.size());
  if (b.dim() != a.dim()) return results;
  require_equal(args.dimensions, from_back(a.sizes, 2), from_back(b.sizes, 2), "numbers of rows",
                {"self", "b"});
  results.at(0) = make_matrix(common_batch(a, b, 2, args.dimensions), from_back(a.sizes, 1),
                              from_back(b.sizes, 1), a.dtype)[0];
  return results;
}

Results tensor_inverse(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  const std::int64_t first = args.number("ind");
  if (first <= 0) throw Raises{"ind is " + std::to_string(first) + ", expected > 0"};
  const auto count = static_cast<std::size_t>(std::min(first, self.dim()));
  const Sizes front = slice_of(self.sizes, 0, count), back = slice_of(self.sizes, count, self.sizes.size());
  require_equal(args.dimensions, product(front), product(back),
                "products of the sizes of self before and after dimension ind");
  return make(concatenated(back, front), self.dtype);
}

// The dimensions in `dims` are moved to the end first.
Results tensor_solve(const RuleArguments& args) {
  const TensorInfo &self = args.tensor("self"), &other = args.tensor("other");
  require_same_dtype(self.dtype, other.dtype, {"self", "other"});
  Sizes sizes = self.sizes;
  if (args.is_given("dims")) {
    const auto dims = distinct_dims(args.numbers("dims"), self.dim());
    sizes.clear();
    for (std::size_t i = 0; i < self.sizes.size(); ++i) {
      if (std::ranges::find(dims, static_cast<std::int64_t>(i)) == dims.end()) sizes.push_back(self.sizes[i]);
    }
    for (const std::int64_t dim : dims) sizes.push_back(self.sizes[dim_index(dim, self)]);
  }
  require_least_rank(self, other.dim(), "self");
  Sizes result = slice_of(sizes, other.sizes.size(), sizes.size());
  require_equal(args.dimensions, product(result), product(other.sizes), "numbers of elements",
                {"the result", "other"});
  require_equal(args.dimensions, product(result), product(slice_of(sizes, 0, other.sizes.size())),
                "products of the last and the first sizes of self");
  return make(std::move(result), self.dtype);
}

// ---- Multiply-accumulates ----

// The power by squaring: ATen/native/LinearAlgebra.cpp.  Negative powers invert first, at an unknown cost.
SymInt matrix_power(const RuleArguments& args, const Results&) {
  const Sizes& sizes = operand(args, "self").sizes;
  const std::int64_t power = args.number("n");
  if (power < 0) throw CannotTell{};
  if (power < 2) return 0;
  const auto bits = static_cast<std::uint64_t>(power);
  const std::int64_t products = std::bit_width(bits) - 1 + std::popcount(bits) - 1;
  return product(sizes) * from_back(sizes, 1) * products;
}

constexpr Traits kPrecise = kNotForIntegers | kNotForHalf;

// Factors, pivots, and with _ex the status for each matrix.
constexpr std::string_view kFactors = "...mn -> ...mn ...m&n:int32 ...:int32";

constexpr OperatorRow kMatrixDecompositionsRows[] = {
    {"_linalg_det", {.traits = kPrecise, .signature = "...nn -> ... ...nn ...n:int32"}},
    {"_lu_with_info", {.signature = kFactors}},
    {"cholesky", {.traits = kPrecise, .shape = cholesky}},
    {"cholesky_inverse", {.traits = kPrecise, .signature = "...nn -> ...nn"}},
    {"cholesky_solve", {.traits = kPrecise, .shape = cholesky_solve}},
    {"det", {.traits = kPrecise, .synonym_of = "linalg_det", .signature = "...nn -> ..."}},
    {"geqrf", {.traits = kPrecise, .signature = "...mn -> ...mn ...m&n"}},
    {"inverse", {.traits = kPrecise, .synonym_of = "linalg_inv", .signature = "...nn -> ...nn"}},
    {"linalg_cholesky linalg_inv", {.traits = kPrecise, .signature = "...nn -> ...nn"}},
    {"linalg_cholesky_ex linalg_inv_ex", {.traits = kPrecise, .signature = "...nn -> ...nn ...:int32"}},
    {"linalg_cond", {.traits = kPrecise, .signature = "...mn -> ...:real"}},
    {"linalg_det", {.traits = kPrecise, .signature = "...nn -> ..."}},
    {"linalg_eig", {.traits = kPrecise, .signature = "...nn -> ...n:complex ...nn:complex"}},
    {"linalg_eigh", {.traits = kPrecise, .signature = "...nn -> ...n:real ...nn"}},
    {"linalg_eigvals", {.traits = kPrecise, .signature = "...nn -> ...n:complex"}},
    {"linalg_eigvalsh", {.traits = kPrecise, .signature = "...nn -> ...n:real"}},
    {"linalg_householder_product", {.traits = kPrecise, .shape = householder_product}},
    {"linalg_ldl_factor linalg_ldl_factor_ex",
     {.traits = kPrecise, .signature = "...nn -> ...nn ...n:int32 ...:int32"}},
    {"linalg_ldl_solve", {.traits = kPrecise, .shape = ldl_solve}},
    {"linalg_lstsq", {.traits = kPrecise, .shape = least_squares}},
    {"linalg_lu", {.traits = kPrecise, .shape = lu}},
    {"linalg_lu_factor linalg_lu_factor_ex", {.traits = kPrecise, .signature = kFactors}},
    {"linalg_lu_solve lu_solve", {.traits = kPrecise, .shape = lu_solve}},
    {"linalg_matrix_exp", {.traits = kNotForIntegers, .signature = "...nn -> ...nn"}},
    {"linalg_matrix_power", {.signature = "...nn -> ...nn", .macs = matrix_power}},
    {"linalg_matrix_rank", {.traits = kPrecise, .shape = matrix_rank}},
    {"linalg_pinv pinverse", {.traits = kPrecise, .shape = pseudo_inverse}},
    {"linalg_qr qr", {.traits = kPrecise, .shape = qr}},
    {"linalg_slogdet slogdet", {.traits = kPrecise, .signature = "...nn -> ... ...:real"}},
    {"linalg_solve", {.traits = kPrecise, .shape = solve}},
    {"linalg_solve_ex", {.traits = kPrecise, .shape = solve_with_status}},
    {"linalg_solve_triangular", {.traits = kPrecise, .shape = solve_triangular}},
    {"linalg_svd svd", {.traits = kPrecise, .shape = singular_decomposition}},
    {"linalg_svdvals", {.traits = kPrecise, .signature = "...mn -> ...m&n:real"}},
    {"linalg_tensorinv", {.traits = kPrecise, .shape = tensor_inverse}},
    {"linalg_tensorsolve", {.traits = kPrecise, .shape = tensor_solve}},
    {"logdet", {.traits = kPrecise, .signature = "...nn -> ..."}},
    {"lu_unpack", {.traits = kNoMacs, .shape = lu_unpack}},
    {"matrix_exp",
     {.traits = kNotForIntegers, .synonym_of = "linalg_matrix_exp", .signature = "...nn -> ...nn"}},
    {"matrix_power",
     {.synonym_of = "linalg_matrix_power", .signature = "...nn -> ...nn", .macs = matrix_power}},
    {"orgqr", {.traits = kPrecise, .synonym_of = "linalg_householder_product", .shape = householder_product}},
    {"ormqr", {.traits = kPrecise, .shape = times_reflections}},
    {"triangular_solve", {.traits = kPrecise, .shape = old_triangular_solve}},
};

}  // namespace

OperatorRows matrix_decompositions_rows() { return kMatrixDecompositionsRows; }

}  // namespace fxtrace::internal
