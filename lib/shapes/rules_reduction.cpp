// Rules of operators that compute along dimensions: sums, extremes, sorting, scans, Fourier transforms.
#include <algorithm>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

bool is_inexact(ScalarType type) { return !is_integral(type); }

bool keeps_dims(const RuleArguments& args) { return args.given("keepdim") && args.flag("keepdim"); }

// Without the dimensions `dims`, all of them when it is empty; they are 1 where `keep` is.
Sizes reduced(const TensorInfo& info, std::vector<std::int64_t> dims, bool keep) {
  dims = distinct_dims(std::move(dims), info.dim());
  Sizes sizes;
  for (std::size_t i = 0; i < info.sizes.size(); ++i) {
    const bool stays = !dims.empty() && std::ranges::find(dims, static_cast<std::int64_t>(i)) == dims.end();
    if (stays) {
      sizes.push_back(info.sizes[i]);
    } else if (keep) {
      sizes.emplace_back(1);
    }
  }
  return sizes;
}

// An extreme of nothing.
void require_elements(const RuleArguments& args, const TensorInfo& info) {
  const std::vector<std::int64_t> dims =
      args.given("dim") ? normalize_dims(args.numbers("dim"), info.dim()) : std::vector<std::int64_t>();
  if (dims.empty()) {
    require(args.dimensions, Relation::kGreater, product(info.sizes), 0, "number of elements");
  }
  for (const std::int64_t dim : dims) {
    if (info.sizes.empty()) break;
    require(args.dimensions, Relation::kGreater, info.sizes[static_cast<std::size_t>(dim)], 0,
            "number of elements");
  }
}

// By the arguments dim and keepdim, if the operator has them.
Sizes reduced(const RuleArguments& args, const TensorInfo& info) {
  return reduced(info, args.given("dim") ? args.numbers("dim") : std::vector<std::int64_t>(),
                 keeps_dims(args));
}

const TensorInfo& self_of(const RuleArguments& args) { return args.tensor(first_argument(args)); }

Results two(const Sizes& sizes, Dtype first, Dtype second) {
  return make_many({TensorInfo{.sizes = sizes, .dtype = first}, TensorInfo{.sizes = sizes, .dtype = second}});
}

// amax, mean: the type stays.
Results reduce(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(reduced(args, self), dtype_or(args, "dtype", self.dtype));
}

// mean: not of integers.
Results mean(const RuleArguments& args) {
  if (!args.given("dtype")) require_dtype(self_of(args).dtype, is_inexact, "what is averaged");
  return reduce(args);
}

// sum, prod: integers are summed as int64.
Results sum(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(reduced(args, self), dtype_or(args, "dtype", sum_dtype(self.dtype)));
}

Results reduce_float(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(reduced(args, self), float_dtype(self.dtype));
}

// hash_tensor
Results reduce_hash(const RuleArguments& args) {
  return make(reduced(args, self_of(args)), ScalarType::kUint64);
}

// norm, var: complex numbers give real ones.
Results reduce_real(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  require_dtype(self.dtype, is_inexact, "what is reduced");
  return make(reduced(args, self), real_dtype(dtype_or(args, "dtype", self.dtype)));
}

Results reduce_positions(const RuleArguments& args) {
  return make(reduced(args, self_of(args)), ScalarType::kInt64);
}

// argmax
Results extreme_position(const RuleArguments& args) {
  require_elements(args, self_of(args));
  return reduce_positions(args);
}

// amax
Results reduce_extreme(const RuleArguments& args) {
  require_elements(args, self_of(args));
  return reduce(args);
}

// all, any: bytes stay bytes.
Results reduce_bool(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  const Dtype dtype = self.dtype == ScalarType::kUint8 ? self.dtype : Dtype(ScalarType::kBool);
  return make(reduced(args, self), self.dtype ? dtype : std::nullopt);
}

// max(x), max(x, dim) with positions, max(x, other)
Results extreme(const RuleArguments& args) {
  if (args.given("other")) return make(broadcast_all(args), promoted(args, {"self", "other"}));
  const TensorInfo& self = self_of(args);
  if (!args.given("dim")) return make(Sizes(), self.dtype);
  require_elements(args, self);
  return two(reduced(args, self), self.dtype, ScalarType::kInt64);
}

Results both_extremes(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  require_elements(args, self);
  return two(reduced(args, self), self.dtype, self.dtype);
}

Results moments(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  require_dtype(self.dtype, is_inexact, "what is reduced");
  return two(reduced(args, self), real_dtype(self.dtype), self.dtype);
}

Results matrix_norm(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  require_dtype(self.dtype, is_inexact, "what is reduced");
  const Dtype dtype = real_dtype(dtype_or(args, "dtype", self.dtype));
  require_least_rank(self, 2, "a matrix");
  const std::vector<std::int64_t> dims =
      args.given("dim") ? args.numbers("dim") : std::vector<std::int64_t>{-2, -1};
  if (dims.size() != 2) throw Raises{"a matrix has two dimensions, and not " + std::to_string(dims.size())};
  return make(reduced(self, dims, keeps_dims(args)), dtype);
}

bool is_full_float(ScalarType type) { return type == ScalarType::kFloat32 || type == ScalarType::kFloat64; }

Results quantile(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  require_dtype(self.dtype, is_full_float, "the input");
  if (args.is_tensor("q")) {
    require_rank(args.tensor("q"), {0, 1}, "the quantiles");
    require_same_dtype(self.dtype, args.tensor("q").dtype, "dtypes of input and quantiles");
  }
  const Sizes sizes = reduced(args, self);
  if (!args.is_tensor("q")) return make(sizes, self.dtype);
  return make(concatenated(args.tensor("q").sizes, sizes), self.dtype);
}

Results trace(const RuleArguments& args) { return make(Sizes(), sum_dtype(self_of(args).dtype)); }

Results distance(const RuleArguments& args) {
  broadcast_all(args);
  return make(Sizes(), real_dtype(promoted(args, {"self", "other"})));
}

Results covariance(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  require_rank(self, {0, 1, 2}, "the observations");
  if (self.dtype == ScalarType::kBool) throw Raises{"the observations cannot be bool"};
  Promotion promotion;
  promotion.add(self);
  const SymInt count = self.sizes.empty() ? SymInt(1) : self.sizes.back();
  for (const std::string_view name : {"fweights", "aweights"}) {
    if (!args.given(name)) continue;
    const TensorInfo& weights = args.tensor(name);
    const bool counts = name == "fweights";
    require_rank(weights, {0, 1}, name);
    require(args.dimensions, Relation::kEqual, product(weights.sizes), count,
            "weights are not one for each observation");
    require_dtype(weights.dtype, counts ? is_integral : is_floating, name);
    promotion.add(weights);
  }
  const Dtype dtype = float_dtype(promotion.result());
  // Of one variable it is a number.
  if (self.dim() < 2 || decided(args.dimensions, Relation::kEqual, self.sizes[0], 1)) {
    return make(Sizes(), dtype);
  }
  return make({self.sizes[0], self.sizes[0]}, dtype);
}

// ---- Integrals and slopes ----

// trapezoid(y, x or dx) and the running integral, which has one element less.
Results integral(const RuleArguments& args) {
  const TensorInfo& y = args.tensor("y");
  if (y.dtype == ScalarType::kBool) throw Raises{"bools are integrated"};
  const std::size_t dim = dim_index(args.number("dim"), y);
  const bool running = args.name() == "aten::cumulative_trapezoid";
  Promotion promotion;
  promotion.add(y);
  TensorInfo result = y;
  result.sizes[dim] = max(result.sizes[dim] - 1, 0);
  if (args.is_tensor("x")) {
    TensorInfo x = args.tensor("x");
    if (x.dtype == ScalarType::kBool) throw Raises{"bools are integrated over"};
    require_least_rank(x, 1, "what is integrated over");
    promotion.add(x);
    if (x.dim() == 1) {
      require(args.dimensions, Relation::kEqual, x.sizes[0], y.sizes[dim], "sizes of the two differ");
    } else {
      // Distances along the same dimension, counted from the front where there are as many, else from the
      // back.
      const std::size_t along = x.dim() < y.dim() ? dim + x.sizes.size() - y.sizes.size() : dim;
      if (x.dim() > y.dim() || along >= x.sizes.size()) throw CannotTell{};
      x.sizes[along] = max(x.sizes[along] - 1, 0);
      result.sizes = broadcast(result.sizes, x.sizes, args.dimensions);
    }
  }
  if (!running) result.sizes.erase(result.sizes.begin() + signed_index(dim));
  return make(std::move(result.sizes), float_dtype(promotion.result()));
}

// One for each dimension asked for, or for all.
Results gradient(const RuleArguments& args) {
  const TensorInfo& self = args.tensor("self");
  if (self.dtype == ScalarType::kUint8 || self.dtype == ScalarType::kBool) {
    throw Raises{"no slope of " + dtype_name(*self.dtype)};
  }
  Dtype dtype = self.dtype;
  if (args.given("spacing") && args.type("spacing").kind == ValueType::Kind::kTensor) {
    Promotion promotion;
    promotion.add(self);
    for (const TensorInfo& spacing : args.tensors("spacing")) promotion.add(spacing);
    dtype = promotion.result();
  }
  std::vector<std::int64_t> dims;
  if (args.given("dim")) dims = distinct_dims(args.numbers("dim"), self.dim());
  const std::size_t count = args.given("dim") ? dims.size() : self.sizes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto dim = args.given("dim") ? static_cast<std::size_t>(dims[i]) : i;
    if (dim >= self.sizes.size()) throw CannotTell{};
    require(args.dimensions, Relation::kGreater, self.sizes[dim], args.size("edge_order"),
            "too few elements for a slope");
  }
  return make_list(
      std::vector<TensorInfo>(count, TensorInfo{.sizes = self.sizes, .dtype = float_dtype(dtype)}));
}

// ---- Scans and orders: the sizes stay ----

Results scan_sum(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  normalize_dim(args.number("dim"), self.dim());
  return make(self.sizes, dtype_or(args, "dtype", sum_dtype(self.dtype)));
}

Results scan_float(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  normalize_dim(args.number("dim"), self.dim());
  return make(self.sizes, float_dtype(self.dtype));
}

Results with_positions(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  normalize_dim(args.number("dim"), self.dim());
  return two(self.sizes, self.dtype, ScalarType::kInt64);
}

Results positions(const RuleArguments& args) { return make(self_of(args).sizes, ScalarType::kInt64); }

Results topk(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  const auto dim = static_cast<std::size_t>(normalize_dim(args.number("dim"), self.dim()));
  require(args.dimensions, Relation::kGreaterEqual, args.size("k"), 0, "how many are chosen");
  require(args.dimensions, Relation::kLessEqual, args.size("k"),
          self.sizes.empty() ? SymInt(1) : self.sizes[dim], "more are chosen than there are");
  if (!self.sizes.empty()) self.sizes[dim] = args.size("k");
  return two(self.sizes, self.dtype, ScalarType::kInt64);
}

Results diff(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  require_least_rank(self, 1, "what differences are taken of");
  if (is_number(args.size("n"), 0)) return make(std::move(self));
  const std::size_t dim = dim_index(args.number("dim"), self);
  const Dtype dtype = self.dtype;
  for (const std::string_view name : {"prepend", "append"}) {
    if (!args.given(name)) continue;
    const TensorInfo& other = args.tensor(name);
    require_rank(other, {self.dim()}, name);
    self.sizes[dim] = self.sizes[dim] + other.sizes[dim];
  }
  self.sizes[dim] = max(self.sizes[dim] - args.size("n"), 0);
  return make(std::move(self.sizes), dtype);
}

Results histogram_counts(const RuleArguments& args) { return make({args.size("bins")}, self_of(args).dtype); }

// ---- Fourier transforms ----

enum class Spectrum { kFull, kHalf, kFromHalf };

// What transforms take on the CPU, or anywhere.
void require_spectrum(Spectrum kind, const TensorInfo& info) {
  if (kind == Spectrum::kHalf) {
    require_dtype(
        info.dtype, [](ScalarType type) { return !is_complex(type); }, "what only has half a spectrum");
  }
  const bool is_short = info.dtype == ScalarType::kFloat16 || info.dtype == ScalarType::kBfloat16;
  if (is_short && info.device.is_cpu()) throw Raises{"not implemented for " + dtype_name(*info.dtype)};
}

Dtype spectrum_dtype(Spectrum kind, Dtype dtype) {
  return kind == Spectrum::kFromHalf ? real_dtype(float_dtype(dtype)) : complex_dtype(dtype);
}

// `given` is the length asked for.
SymInt spectrum_size(Spectrum kind, const SymInt& size, const std::optional<SymInt>& given,
                     const ShapeEnv& dimensions) {
  const SymInt taken = given.value_or(kind == Spectrum::kFromHalf ? 2 * (size - 1) : size);
  require(dimensions, Relation::kGreater, taken, 0, "number of samples");
  switch (kind) {
    case Spectrum::kHalf:
      return floordiv(given.value_or(size), 2) + 1;
    case Spectrum::kFromHalf:
      return given.value_or(2 * (size - 1));
    case Spectrum::kFull:
      break;
  }
  return given.value_or(size);
}

template <Spectrum Kind>
Results fourier(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  require_spectrum(Kind, self);
  SymInt& size = self.sizes[dim_index(args.number("dim"), self)];
  size = spectrum_size(Kind, size, args.given("n") ? std::optional(args.size("n")) : std::nullopt,
                       args.dimensions);
  return make(self.sizes, spectrum_dtype(Kind, self.dtype));
}

// Over several dimensions, of which the last is halved.
template <Spectrum Kind>
Results fourier_many(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  const std::optional<Sizes> lengths = args.given("s") ? std::optional(args.sizes("s")) : std::nullopt;
  std::vector<std::int64_t> dims;
  if (args.given("dim")) {
    dims = args.numbers("dim");
  } else {
    const std::int64_t count = lengths ? static_cast<std::int64_t>(lengths->size()) : self.dim();
    for (std::int64_t i = -count; i < 0; ++i) dims.push_back(i);
  }
  require_spectrum(Kind, self);
  // Of no dimensions there is nothing to do.
  if (dims.empty() && Kind == Spectrum::kFull) return make(self.sizes, spectrum_dtype(Kind, self.dtype));
  if (dims.empty() || (lengths && lengths->size() != dims.size())) throw CannotTell{};
  distinct_dims(dims, self.dim());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    SymInt& size = self.sizes[dim_index(dims[i], self)];
    std::optional<SymInt> given;
    if (lengths && !is_number((*lengths)[i], -1)) given = (*lengths)[i];
    size = spectrum_size(i + 1 == dims.size() ? Kind : Spectrum::kFull, size, given, args.dimensions);
  }
  return make(self.sizes, spectrum_dtype(Kind, self.dtype));
}

// What the transforms above are made of: over `dim`, of which the last is halved.
Results fourier_step(const RuleArguments& args) {
  const TensorInfo self = self_of(args);
  return make(self.sizes, complex_dtype(self.dtype));
}
Results fourier_step_to_half(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  const auto dims = args.numbers("dim");
  if (dims.empty()) throw CannotTell{};
  SymInt& size = self.sizes[dim_index(dims.back(), self)];
  if (args.flag("onesided")) size = spectrum_size(Spectrum::kHalf, size, std::nullopt, args.dimensions);
  return make(self.sizes, complex_dtype(self.dtype));
}
Results fourier_step_from_half(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  const auto dims = args.numbers("dim");
  if (dims.empty()) throw CannotTell{};
  self.sizes[dim_index(dims.back(), self)] = args.size("last_dim_size");
  return make(self.sizes, real_dtype(self.dtype));
}

}  // namespace

RuleTable reduction_rules() {
  static constexpr std::pair<std::string_view, Rule> kRules[] = {
      {"all", reduce_bool},
      {"amax", reduce_extreme},
      {"amin", reduce_extreme},
      {"aminmax", both_extremes},
      {"any", reduce_bool},
      {"argmax", extreme_position},
      {"argmin", extreme_position},
      {"argsort", positions},
      {"corrcoef", covariance},
      {"count_nonzero", reduce_positions},
      {"cov", covariance},
      {"cummax", with_positions},
      {"cummin", with_positions},
      {"cumprod", scan_sum},
      {"cumsum", scan_sum},
      {"cumulative_trapezoid", integral},
      {"diff", diff},
      {"dist", distance},
      {"frobenius_norm", reduce_real},
      {"gradient", gradient},
      {"hash_tensor", reduce_hash},
      {"histc", histogram_counts},
      {"kthvalue", extreme},
      {"linalg__powsum", reduce_real},
      {"linalg_matrix_norm", matrix_norm},
      {"linalg_norm", reduce_real},
      {"linalg_vector_norm", reduce_real},
      {"logcumsumexp", scan_float},
      {"logsumexp", reduce_float},
      {"max", extreme},
      {"mean", mean},
      {"median", extreme},
      {"min", extreme},
      {"mode", extreme},
      {"msort", same_as_first},
      {"nanmean", mean},
      {"nanmedian", extreme},
      {"nanquantile", quantile},
      {"nansum", sum},
      {"norm", reduce_real},
      {"nuclear_norm", matrix_norm},
      {"prod", sum},
      {"quantile", quantile},
      {"renorm", same_as_first},
      {"sort", with_positions},
      {"special_logsumexp", reduce_float},
      {"std", reduce_real},
      {"std_mean", moments},
      {"sum", sum},
      {"topk", topk},
      {"trace", trace},
      {"trapezoid", integral},
      {"trapz", integral},
      {"var", reduce_real},
      {"var_mean", moments},

      {"_fft_c2c", fourier_step},
      {"_fft_c2r", fourier_step_from_half},
      {"_fft_r2c", fourier_step_to_half},
      {"fft_fft", fourier<Spectrum::kFull>},
      {"fft_fft2", fourier_many<Spectrum::kFull>},
      {"fft_fftn", fourier_many<Spectrum::kFull>},
      {"fft_hfft", fourier<Spectrum::kFromHalf>},
      {"fft_hfft2", fourier_many<Spectrum::kFromHalf>},
      {"fft_hfftn", fourier_many<Spectrum::kFromHalf>},
      {"fft_ifft", fourier<Spectrum::kFull>},
      {"fft_ifft2", fourier_many<Spectrum::kFull>},
      {"fft_ifftn", fourier_many<Spectrum::kFull>},
      {"fft_ihfft", fourier<Spectrum::kHalf>},
      {"fft_ihfft2", fourier_many<Spectrum::kHalf>},
      {"fft_ihfftn", fourier_many<Spectrum::kHalf>},
      {"fft_irfft", fourier<Spectrum::kFromHalf>},
      {"fft_irfft2", fourier_many<Spectrum::kFromHalf>},
      {"fft_irfftn", fourier_many<Spectrum::kFromHalf>},
      {"fft_rfft", fourier<Spectrum::kHalf>},
      {"fft_rfft2", fourier_many<Spectrum::kHalf>},
      {"fft_rfftn", fourier_many<Spectrum::kHalf>},
  };
  return kRules;
}

}  // namespace fxtrace
