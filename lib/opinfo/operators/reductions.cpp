// Operators along dimensions: sums, extremes, sorting, scans, integrals.
#include <algorithm>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"
#include "opinfo/rules/shape_rules.h"
#include "opinfo/rules/sparse_rules.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

bool is_inexact(ScalarType type) { return !is_integral(type); }

// Throws Raises when the reduction for an extreme has no elements.
void check_elements(const RuleArguments& args) {
  const TensorInfo& info = first_tensor(args);
  const std::vector<std::int64_t> dims =
      args.is_given("dim") ? normalize_dims(args.numbers("dim"), info.dim()) : std::vector<std::int64_t>();
  if (dims.empty()) {
    require(args.dimensions, Relation::kGreater, product(info.sizes), 0, "number of elements of self");
  }
  for (const std::int64_t dim : dims) {
    if (info.sizes.empty()) break;
    require(args.dimensions, Relation::kGreater, info.sizes[static_cast<std::size_t>(dim)], 0,
            "size of self along dim");
  }
}

Results two(const Sizes& sizes, Dtype first, Dtype second) {
  return make_many({TensorInfo{.sizes = sizes, .dtype = first}, TensorInfo{.sizes = sizes, .dtype = second}});
}

// mean() refuses integers, unless they are converted.
void check_mean(const RuleArguments& args) {
  if (!args.is_given("dtype"))
    require_dtype(first_tensor(args).dtype, is_inexact, first_argument(args), "a floating or complex dtype");
}

// all(), any(): the result is bool, or uint8 for uint8.  An empty list of dimensions reduces none.
Results reduce_bool(const RuleArguments& args) {
  const TensorInfo& self = first_tensor(args);
  const Dtype dtype = self.dtype == ScalarType::kUint8 ? self.dtype : Dtype(ScalarType::kBool);
  const bool keeps_all = args.is_given("dim") && args.numbers("dim").empty();
  return make(keeps_all ? self.sizes : reduced(args, self), self.dtype ? dtype : std::nullopt);
}

// segment_reduce(): a row for each segment.  Lengths and offsets may have dimensions before that of segments.
Results segment_reduce(const RuleArguments& args) {
  const TensorInfo& data = args.tensor("data");
  const std::size_t axis = dim_index(args.number("axis"), data);
  const bool has_lengths = args.is_given("lengths");
  const TensorInfo& segments = args.tensor(has_lengths ? "lengths" : "offsets");
  if (segments.sizes.size() != axis + 1) throw CannotTell{};
  Sizes sizes = data.sizes;
  sizes[axis] = has_lengths ? segments.sizes[axis] : segments.sizes[axis] - 1;
  return make(std::move(sizes), data.dtype);
}

// max(x), max(x, dim) with positions, max(x, other)
Results extreme(const RuleArguments& args) {
  require_dtype(
      first_tensor(args).dtype, [](ScalarType type) { return !is_complex(type); }, first_argument(args),
      "a real dtype");
  if (args.is_given("other")) return make(broadcast_all(args), promoted(args, {"self", "other"}));
  const TensorInfo& self = first_tensor(args);
  if (!args.is_given("dim")) return make(Sizes(), self.dtype);
  check_elements(args);
  return two(reduced(args, self), self.dtype, ScalarType::kInt64);
}

// Returns whether a norm of matrices is one of their singular values: "nuc", 2 and -2.
bool needs_singular_values(const RuleArguments& args) {
  if (!args.is_given("ord")) return false;
  if (const auto* text = args.value("ord").get_if<std::string>()) return *text != "fro";
  return args.real("ord") == 2 || args.real("ord") == -2;
}

Results matrix_norm(const RuleArguments& args) {
  const TensorInfo& self = first_tensor(args);
  require_dtype(self.dtype, is_inexact, first_argument(args), "a floating or complex dtype");
  const Dtype dtype = real_dtype(dtype_or(args, "dtype", self.dtype));
  require_least_rank(self, 2, first_argument(args));
  if (needs_singular_values(args)) {
    const auto is_precise = [](ScalarType type) {
      return type != ScalarType::kFloat16 && type != ScalarType::kBfloat16;
    };
    require_dtype(dtype, is_precise, first_argument(args), "float32 or float64");
  }
  const std::vector<std::int64_t> dims =
      args.is_given("dim") ? args.numbers("dim") : std::vector<std::int64_t>{-2, -1};
  if (dims.size() != 2) throw Raises{"dim has length " + std::to_string(dims.size()) + ", expected 2"};
  return make(reduced(self, dims, args.is_given("keepdim") && args.flag("keepdim")), dtype);
}

bool is_full_float(ScalarType type) { return type == ScalarType::kFloat32 || type == ScalarType::kFloat64; }

Results quantile(const RuleArguments& args) {
  const TensorInfo& self = first_tensor(args);
  require_dtype(self.dtype, is_full_float, first_argument(args), "float32 or float64");
  if (args.is_tensor("q")) {
    require_rank(args.tensor("q"), {0, 1}, "q");
    require_same_dtype(self.dtype, args.tensor("q").dtype, {first_argument(args), "q"});
  }
  const Sizes sizes = reduced(args, self);
  if (!args.is_tensor("q")) return make(sizes, self.dtype);
  return make(concatenated(args.tensor("q").sizes, sizes), self.dtype);
}

Results distance(const RuleArguments& args) {
  broadcast_all(args);
  const Dtype dtype = promoted(args, {"self", "other"});
  require_dtype(dtype, is_inexact, "the common dtype of self and other", "a floating or complex dtype");
  return make(Sizes(), real_dtype(dtype));
}

Results covariance(const RuleArguments& args) {
  const TensorInfo& self = first_tensor(args);
  require_rank(self, {0, 1, 2}, first_argument(args));
  if (self.dtype == ScalarType::kBool) throw Raises{"self is bool, expected a numeric dtype"};
  Promotion promotion;
  promotion.add(self);
  const SymInt count = self.sizes.empty() ? SymInt(1) : self.sizes.back();
  for (const std::string_view name : {"fweights", "aweights"}) {
    if (!args.is_given(name)) continue;
    const TensorInfo& weights = args.tensor(name);
    const bool counts = name == "fweights";
    require_rank(weights, {0, 1}, name);
    require_equal(args.dimensions, product(weights.sizes), count,
                  "elements of " + std::string(name) + " and observations of self");
    require_dtype(weights.dtype, counts ? is_integral : is_floating, name,
                  counts ? "an integer dtype" : "a floating dtype");
    promotion.add(weights);
  }
  const Dtype dtype = float_dtype(promotion.result());
  // The covariance of one variable is a tensor without dimensions.
  if (self.dim() < 2 || decided(args.dimensions, Relation::kEqual, self.sizes[0], 1)) {
    return make(Sizes(), dtype);
  }
  return make({self.sizes[0], self.sizes[0]}, dtype);
}

// ---- Integrals and gradients ----

// trapezoid(y, x or dx), and cumulative_trapezoid(), which has one element less than y along dim.
Results integral(const RuleArguments& args) {
  const TensorInfo& y = args.tensor("y");
  if (y.dtype == ScalarType::kBool) throw Raises{"y is bool, expected a numeric dtype"};
  const std::size_t dim = dim_index(args.number("dim"), y);
  const bool running = args.name() == "aten::cumulative_trapezoid";
  Promotion promotion;
  promotion.add(y);
  TensorInfo result = y;
  result.sizes[dim] = max(result.sizes[dim] - 1, 0);
  if (args.is_tensor("x")) {
    TensorInfo x = args.tensor("x");
    if (x.dtype == ScalarType::kBool) throw Raises{"x is bool, expected a numeric dtype"};
    require_least_rank(x, 1, "x");
    promotion.add(x);
    if (x.dim() == 1) {
      require_equal(args.dimensions, x.sizes[0], y.sizes[dim], "size of x and size of y along dim");
    } else {
      // The distances lie along the same dimension: counted from the front if x has as many dimensions as y,
      // else from the back.
      const std::size_t along = x.dim() < y.dim() ? dim + x.sizes.size() - y.sizes.size() : dim;
      if (x.dim() > y.dim() || along >= x.sizes.size()) throw CannotTell{};
      x.sizes[along] = max(x.sizes[along] - 1, 0);
      result.sizes = broadcast(result.sizes, x.sizes, args.dimensions);
    }
  }
  if (!running) result.sizes.erase(result.sizes.begin() + signed_index(dim));
  return make(std::move(result.sizes), float_dtype(promotion.result()));
}

// gradient(): one tensor for each dimension of `dim`, or for each of all.
Results gradient(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (self.dtype == ScalarType::kUint8 || self.dtype == ScalarType::kBool) {
    throw Raises{"self is " + dtype_name(*self.dtype) + ": torch.gradient takes neither uint8 nor bool"};
  }
  Dtype dtype = self.dtype;
  if (args.is_given("spacing") && args.type("spacing").kind == ValueType::Kind::kTensor) {
    Promotion promotion;
    promotion.add(self);
    for (const TensorInfo& spacing : args.tensors("spacing")) promotion.add(spacing);
    dtype = promotion.result();
  }
  std::vector<std::int64_t> dims;
  if (args.is_given("dim")) dims = distinct_dims(args.numbers("dim"), self.dim());
  const std::size_t count = args.is_given("dim") ? dims.size() : self.sizes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto dim = args.is_given("dim") ? static_cast<std::size_t>(dims[i]) : i;
    if (dim >= self.sizes.size()) throw CannotTell{};
    require(args.dimensions, Relation::kGreater, self.sizes[dim], args.size("edge_order"),
            "size of self in dimension " + std::to_string(dim));
  }
  return make_list(
      std::vector<TensorInfo>(count, TensorInfo{.sizes = self.sizes, .dtype = float_dtype(dtype)}));
}

// ---- Scans and sorting, which keep the sizes ----

Results topk(const RuleArguments& args) {
  TensorInfo self = first_tensor(args);
  require_dtype(
      self.dtype, [](ScalarType type) { return type != ScalarType::kBool; }, "self",
      "a dtype other than bool");
  const auto dim = static_cast<std::size_t>(normalize_dim(args.number("dim"), self.dim()));
  require(args.dimensions, Relation::kGreaterEqual, args.size("k"), 0, "k");
  require(args.dimensions, Relation::kLessEqual, args.size("k"),
          self.sizes.empty() ? SymInt(1) : self.sizes[dim], "k");
  if (!self.sizes.empty()) self.sizes[dim] = args.size("k");
  return two(self.sizes, self.dtype, ScalarType::kInt64);
}

Results diff(const RuleArguments& args) {
  TensorInfo self = first_tensor(args);
  require_least_rank(self, 1, "self");
  require(args.dimensions, Relation::kGreaterEqual, args.size("n"), 0, "n");
  if (is_number(args.size("n"), 0)) return make(std::move(self));
  const std::size_t dim = dim_index(args.number("dim"), self);
  for (const std::string_view name : {"prepend", "append"}) {
    if (!args.is_given(name)) continue;
    const TensorInfo& other = args.tensor(name);
    require_rank(other, {self.dim()}, name);
    for (std::size_t i = 0; i < self.sizes.size(); ++i) {
      if (i != dim)
        require_equal_size(args.dimensions, other.sizes[i], self.sizes[i], {name, first_argument(args)}, i);
    }
    self.sizes[dim] = self.sizes[dim] + other.sizes[dim];
  }
  self.sizes[dim] = max(self.sizes[dim] - args.size("n"), 0);
  return make(std::move(self.sizes), promoted(args, {first_argument(args), "prepend", "append"}));
}

// ---- Multiply-accumulates ----

// ATen/native/Correlation.cpp: the products of all pairs of variables.
SymInt covariance(const RuleArguments& args, const Results&) {
  const Sizes& sizes = operand(args, "self").sizes;
  if (sizes.size() > 2) throw CannotTell{};
  return product(sizes) * (sizes.size() == 2 ? sizes[0] : SymInt(1));
}

// ---- Norms ----

// Matrix norms that need singular values have an unknown cost; other norms have no MACs.
SymInt matrix_norm(const RuleArguments& args, const Results&) {
  if (!needs_singular_values(args)) return 0;
  const bool is_vector =
      args.name() == "aten::linalg_norm" && args.value("ord").get_if<std::string>() == nullptr &&
      (args.is_given("dim") ? args.sizes("dim").size() : operand(args, "self").sizes.size()) == 1;
  if (!is_vector) throw CannotTell{};
  return 0;
}

constexpr std::string_view kReduced = "... -> .../dim", kExtreme = "...:real -> .../dim",
                           kSum = "... -> .../dim:sum", kPlace = "... -> .../dim:int64",
                           kExtremePlace = "...:real -> .../dim:int64", kNorm = "...:inexact -> .../dim:real",
                           kWithPlaces = "...:real -> ... ...:int64";

constexpr OperatorRow kReductionsRows[] = {
    {"_aminmax _amp_foreach_non_finite_check_and_unscale _amp_update_scale _cdist "
     "_cummax_helper _cummin_helper _foreach_norm _foreach_powsum _histogramdd_bin_edges "
     "_histogramdd_from_bin_cts _histogramdd_from_bin_tensors _is_all_true _is_any_true "
     "_local_scalar_dense _logcumsumexp _pdist _segment_reduce cummaxmin histogram native_norm "
     "value_selecting_reduction",
     {.traits = kNoMacs}},
    {"all",
     {.traits = kPlain | kTensorMethod,
      .shape = reduce_bool,
      .value = values::all,
      .on_values = "builtins.all"}},
    {"all.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.all.dims"}}},
    {"all.dim all.dims any.dim any.dims max.dim median.dim min.dim", {.batch = kReduce}},
    {"allclose", {.traits = kNoMacs | kTensorMethod, .value = values::all_close}},
    {"is_nonzero", {.traits = kNoMacs | kTensorMethod, .value = values::to_bool}},
    {"item", {.traits = kNoMacs | kTensorMethod, .value = values::item}},
    {"amax",
     {.traits = kTensorMethod, .signature = kExtreme, .check = check_elements, .value = values::largest}},
    {"amin",
     {.traits = kTensorMethod, .signature = kExtreme, .check = check_elements, .value = values::smallest}},
    {"aminmax", {.signature = "...:real -> .../dim .../dim", .check = check_elements}},
    {"any",
     {.traits = kPlain | kTensorMethod,
      .shape = reduce_bool,
      .value = values::any,
      .on_values = "builtins.any"}},
    {"any.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.any.dims"}}},
    {"argmax",
     {.traits = kTensorMethod, .signature = kExtremePlace, .check = check_elements, .value = values::argmax}},
    {"argmin",
     {.traits = kTensorMethod, .signature = kExtremePlace, .check = check_elements, .value = values::argmin}},
    {"argsort",
     {.traits = kNoMacs, .signature = "...:real -> ...:int64", .check = check_dim, .value = values::argsort}},
    {"corrcoef cov", {.shape = covariance, .macs = covariance}},
    {"count_nonzero", {.traits = kNoMacs | kTensorMethod, .signature = kPlace}},
    {"count_nonzero.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.count_nonzero.dim_IntList"}}},
    {"cummax cummin", {.traits = kNoMacs, .signature = kWithPlaces, .check = check_dim}},
    {"cumprod",
     {.traits = kNoMacs,
      .signature = "... -> ...:sum",
      .check = check_dim,
      .value = values::cumulative_product}},
    {"cumsum",
     {.traits = kNoMacs | kTensorMethod | kKeepsRank,
      .signature = "... -> ...:sum",
      .check = check_dim,
      .value = values::cumulative_sum}},
    {"cumulative_trapezoid trapezoid trapz", {.traits = kNoMacs, .shape = integral}},
    {"diff",
     {.traits = kNoMacs,
      .shape = diff,
      .value = values::difference,
      .batch = {.rule = &BatchRules::leading, .fixed = {"prepend", "append"}, .may_write = true}}},
    {"dist", {.traits = kNoMacs, .shape = distance}},
    {"equal",
     {.traits = kNoMacs | kTensorMethod,
      .value = values::equal_tensors,
      .batch = {.rule = &BatchRules::none}}},
    {"frobenius_norm", {.traits = kNoMacs, .signature = kNorm}},
    {"gradient", {.traits = kNoMacs, .shape = gradient}},
    {"hash_tensor", {.traits = kNoMacs, .signature = "... -> .../dim:uint64"}},
    {"histc", {.traits = kNoMacs, .signature = "... -> <bins>"}},
    {"histogramdd", {.traits = kNoMacs, .hidden_alias = {{1, 1}}}},
    {"segment_reduce", {.traits = kNoMacs, .shape = segment_reduce}},
    {"kthvalue mode", {.traits = kNoMacs, .shape = extreme, .batch = kLeading}},
    {"linalg__powsum", {.signature = kNorm}},
    {"linalg_matrix_norm", {.shape = matrix_norm, .macs = matrix_norm, .batch = kLeading}},
    {"linalg_norm", {.signature = kNorm, .macs = matrix_norm, .batch = {.rule = &BatchRules::norm}}},
    {"linalg_vector_norm", {.signature = kNorm}},
    {"logcumsumexp", {.traits = kNoMacs | kForFloats, .signature = "... -> ...:float", .check = check_dim}},
    {"logsumexp", {.signature = "... -> .../dim:float"}},
    {"max", {.traits = kTensorMethod, .shape = extreme, .value = values::largest}},
    {"min", {.traits = kTensorMethod, .shape = extreme, .value = values::smallest}},
    {"max.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.amax.default"}}},
    {"mean", {.traits = kTensorMethod, .signature = kReduced, .check = check_mean, .value = values::mean}},
    {"mean.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.mean.dim"}}},
    {"median nanmedian", {.traits = kNoMacs, .shape = extreme}},
    {"min.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.amin.default"}}},
    {"msort", {.traits = kNoMacs, .signature = "...:real -> ...", .batch = {.rule = &BatchRules::none}}},
    {"nanmean", {.traits = kNoMacs, .signature = kReduced, .check = check_mean}},
    {"nanquantile quantile", {.traits = kNoMacs, .shape = quantile}},
    {"nansum", {.signature = kSum}},
    {"norm", {.traits = kTensorMethod, .compared_as = "linalg_vector_norm", .signature = kNorm}},
    {"nuclear_norm", {.traits = kNotForIntegers | kNotForHalf, .shape = matrix_norm}},
    {"prod", {.traits = kNoMacs | kTensorMethod, .signature = kSum, .value = values::product}},
    {"prod.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.prod.dim_int"}}},
    {"renorm", {.traits = kNoMacs | kKeepsDtype | kNotForIntegers, .shape = same_as_first}},
    {"sort",
     {.traits = kNoMacs | kPlain, .signature = kWithPlaces, .check = check_dim, .value = values::sort}},
    {"special_logsumexp", {.traits = kNoMacs, .signature = "... -> .../dim:float"}},
    {"std var", {.traits = kTensorMethod | kForFloats, .signature = kNorm}},
    {"std.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.std.dim"}}},
    {"std_mean var_mean",
     {.traits = kNoMacs | kForFloats, .signature = "...:inexact -> .../dim:real .../dim"}},
    {"std_mean.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.std_mean.dim"}}},
    {"sum",
     {.traits = kPlain | kTensorMethod,
      .signature = kSum,
      .of_sparse = sparse::sum,
      .value = values::sum,
      .on_values = "builtins.sum"}},
    {"sum.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.sum.dim_IntList"}}},
    {"topk", {.traits = kNoMacs, .shape = topk, .batch = kLeading}},
    {"trace", {.traits = kNoMacs, .signature = "mn -> :sum"}},
    {"var.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.var.dim"}}},
    {"var_mean.", {.batch = {.rule = &BatchRules::reduce, .target = "aten.var_mean.dim"}}},
};

}  // namespace

OperatorRows reductions_rows() { return kReductionsRows; }

}  // namespace fxtrace::internal
