// Rules of operators that compute along dimensions: sums, extremes, sorting, scans, Fourier transforms.
#include <algorithm>

#include "shapes/rule_helpers.h"

namespace fxtrace {
namespace {

bool keeps_dims(const RuleArguments& args) { return args.given("keepdim") && args.flag("keepdim"); }

// Without the dimensions `dims`, all of them when it is empty; they are 1 where `keep` is.
Sizes reduced(const TensorInfo& info, std::vector<std::int64_t> dims, bool keep) {
  dims = normalize_dims(std::move(dims), info.dim());
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

// sum, prod: integers are summed as int64.
Results sum(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(reduced(args, self), dtype_or(args, "dtype", sum_dtype(self.dtype)));
}

Results reduce_float(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(reduced(args, self), float_dtype(self.dtype));
}

// norm, var: complex numbers give real ones.
Results reduce_real(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(reduced(args, self), real_dtype(dtype_or(args, "dtype", self.dtype)));
}

Results reduce_positions(const RuleArguments& args) {
  return make(reduced(args, self_of(args)), ScalarType::kInt64);
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
  return two(reduced(args, self), self.dtype, ScalarType::kInt64);
}

Results both_extremes(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return two(reduced(args, self), self.dtype, self.dtype);
}

Results moments(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return two(reduced(args, self), real_dtype(self.dtype), self.dtype);
}

Results matrix_norm(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  const Dtype dtype = real_dtype(dtype_or(args, "dtype", self.dtype));
  if (self.dim() < 2) throw CannotTell{};
  const std::vector<std::int64_t> dims =
      args.given("dim") ? args.numbers("dim") : std::vector<std::int64_t>{-2, -1};
  return make(reduced(self, dims, keeps_dims(args)), dtype);
}

Results quantile(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  const Sizes sizes = reduced(args, self);
  if (!args.is_tensor("q")) return make(sizes, self.dtype);
  return make(concatenated(args.tensor("q").sizes, sizes), self.dtype);
}

Results trace(const RuleArguments& args) { return make(Sizes(), sum_dtype(self_of(args).dtype)); }

Results distance(const RuleArguments& args) {
  return make(Sizes(), real_dtype(promoted(args, {"self", "other"})));
}

Results covariance(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  if (!self.dtype || is_integral(*self.dtype)) throw CannotTell{};
  // Of one variable it is a number.
  if (self.dim() < 2 || decided(args.dimensions, Relation::kEqual, self.sizes[0], 1)) {
    return make(Sizes(), self.dtype);
  }
  return make({self.sizes[0], self.sizes[0]}, self.dtype);
}

// ---- Scans and orders: the sizes stay ----

Results scan_sum(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(self.sizes, dtype_or(args, "dtype", sum_dtype(self.dtype)));
}

Results scan_float(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return make(self.sizes, float_dtype(self.dtype));
}

Results with_positions(const RuleArguments& args) {
  const TensorInfo& self = self_of(args);
  return two(self.sizes, self.dtype, ScalarType::kInt64);
}

Results positions(const RuleArguments& args) { return make(self_of(args).sizes, ScalarType::kInt64); }

Results topk(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  if (!self.sizes.empty()) self.sizes[dim_index(args.number("dim"), self)] = args.size("k");
  return two(self.sizes, self.dtype, ScalarType::kInt64);
}

Results diff(const RuleArguments& args) {
  TensorInfo self = self_of(args);
  const std::size_t dim = dim_index(args.number("dim"), self);
  const Dtype dtype = self.dtype;
  for (const std::string_view name : {"prepend", "append"}) {
    if (!args.given(name)) continue;
    const TensorInfo& other = args.tensor(name);
    if (other.dim() != self.dim()) throw CannotTell{};
    self.sizes[dim] = self.sizes[dim] + other.sizes[dim];
  }
  self.sizes[dim] = max(self.sizes[dim] - args.size("n"), 0);
  return make(std::move(self.sizes), dtype);
}

Results histogram_counts(const RuleArguments& args) { return make({args.size("bins")}, self_of(args).dtype); }

// ---- Fourier transforms ----

enum class Spectrum { kFull, kHalf, kFromHalf };

Dtype spectrum_dtype(Spectrum kind, Dtype dtype) {
  return kind == Spectrum::kFromHalf ? real_dtype(float_dtype(dtype)) : complex_dtype(dtype);
}

// `given` is the length asked for.
SymInt spectrum_size(Spectrum kind, const SymInt& size, const std::optional<SymInt>& given) {
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
  SymInt& size = self.sizes[dim_index(args.number("dim"), self)];
  size = spectrum_size(Kind, size, args.given("n") ? std::optional(args.size("n")) : std::nullopt);
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
  if (dims.empty() || (lengths && lengths->size() != dims.size())) throw CannotTell{};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    SymInt& size = self.sizes[dim_index(dims[i], self)];
    std::optional<SymInt> given;
    if (lengths && !is_number((*lengths)[i], -1)) given = (*lengths)[i];
    size = spectrum_size(i + 1 == dims.size() ? Kind : Spectrum::kFull, size, given);
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
  if (args.flag("onesided")) size = spectrum_size(Spectrum::kHalf, size, std::nullopt);
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
      {"amax", reduce},
      {"amin", reduce},
      {"aminmax", both_extremes},
      {"any", reduce_bool},
      {"argmax", reduce_positions},
      {"argmin", reduce_positions},
      {"argsort", positions},
      {"corrcoef", covariance},
      {"count_nonzero", reduce_positions},
      {"cov", covariance},
      {"cummax", with_positions},
      {"cummin", with_positions},
      {"cumprod", scan_sum},
      {"cumsum", scan_sum},
      {"diff", diff},
      {"dist", distance},
      {"frobenius_norm", reduce_real},
      {"histc", histogram_counts},
      {"kthvalue", extreme},
      {"linalg_matrix_norm", matrix_norm},
      {"linalg_norm", reduce_real},
      {"linalg_vector_norm", reduce_real},
      {"logcumsumexp", scan_float},
      {"logsumexp", reduce_float},
      {"max", extreme},
      {"mean", reduce},
      {"median", extreme},
      {"min", extreme},
      {"mode", extreme},
      {"msort", same_as_first},
      {"nanmean", reduce},
      {"nanmedian", extreme},
      {"nanquantile", quantile},
      {"nansum", sum},
      {"norm", reduce_real},
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
      {"var", reduce_real},
      {"var_mean", moments},

      {"_fft_c2c", fourier_step},
      {"_fft_c2r", fourier_step_from_half},
      {"_fft_r2c", fourier_step_to_half},
      {"fft_fft", fourier<Spectrum::kFull>},
      {"fft_fft2", fourier_many<Spectrum::kFull>},
      {"fft_fftn", fourier_many<Spectrum::kFull>},
      {"fft_fftshift", same_as_first},
      {"fft_hfft", fourier<Spectrum::kFromHalf>},
      {"fft_hfft2", fourier_many<Spectrum::kFromHalf>},
      {"fft_hfftn", fourier_many<Spectrum::kFromHalf>},
      {"fft_ifft", fourier<Spectrum::kFull>},
      {"fft_ifft2", fourier_many<Spectrum::kFull>},
      {"fft_ifftn", fourier_many<Spectrum::kFull>},
      {"fft_ifftshift", same_as_first},
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
