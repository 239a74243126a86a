// Fourier transforms and spectrograms.  Costs follow the convention of FFTW (fftw.org/speed): a complex
// transform of n elements counts 5 n log2(n) operations and a real one half of that, whatever the algorithm.
// Half of the operations count as MACs, rounded for each transform.  torch.utils.flop_counter counts none.
#include <algorithm>
#include <cmath>

#include "opinfo/operator_row.h"
#include "opinfo/rules/cost_helpers.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

Results real_frequencies(const RuleArguments& args) {
  return make({floordiv(args.size("n"), 2) + 1}, dtype_or(args, "dtype", kDefaultFloat));
}

// ---- Spectrograms ----

bool is_complex_tensor(const RuleArguments& args, std::string_view name) {
  if (!args.is_given(name)) return false;
  const Dtype dtype = operand(args, name).dtype;
  if (!dtype) throw CannotTell{};
  return is_complex(*dtype);
}

SymInt hop_of(const RuleArguments& args, const SymInt& length) {
  return args.is_given("hop_length") ? args.size("hop_length") : floordiv(length, 4);
}

// (..., time) to (..., frequencies, frames), and to (..., frequencies, frames, 2) if the result is not
// complex.
Results stft(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (input.dim() != 1 && input.dim() != 2) throw CannotTell{};
  require_dtype(
      input.dtype, [](ScalarType type) { return !is_integral(type); }, "self", "a floating or complex dtype");
  const SymInt length = args.size("n_fft"), hop = hop_of(args, length);
  const bool complex = is_complex_tensor(args, "self") || is_complex_tensor(args, "window");
  const bool center = args.is_given("center") && args.flag("center");
  const bool onesided = args.is_given("onesided") ? args.flag("onesided") : !complex;
  const bool to_window = !center && args.is_given("align_to_window") && args.flag("align_to_window");
  const SymInt frame = to_window && args.is_given("win_length") ? args.size("win_length") : length;
  SymInt samples = input.sizes.back();
  if (center) samples = samples + 2 * floordiv(length, 2);

  Sizes sizes = without_last(input.sizes);
  sizes.push_back(onesided ? floordiv(length, 2) + 1 : length);
  sizes.push_back(window_count(samples, {frame, hop}, args.dimensions));
  Dtype dtype = complex_dtype(promoted(args, {"self", "window"}));
  if (args.is_given("return_complex") && !args.flag("return_complex")) {
    sizes.emplace_back(2);
    dtype = real_dtype(dtype);
  }
  return make(std::move(sizes), dtype);
}

Results istft(const RuleArguments& args) {
  const TensorInfo& input = args.tensor("self");
  if (!is_complex_tensor(args, "self") || (input.dim() != 2 && input.dim() != 3)) throw CannotTell{};
  SymInt samples;
  if (args.is_given("length")) {
    samples = args.size("length");
  } else {
    const SymInt length = args.size("n_fft");
    samples = length + hop_of(args, length) * (input.sizes.back() - 1);
    if (args.flag("center")) samples = samples - 2 * floordiv(length, 2);
  }
  Sizes sizes = slice_of(input.sizes, 0, input.sizes.size() - 2);
  sizes.push_back(std::move(samples));
  return make(std::move(sizes), args.flag("return_complex") ? input.dtype : real_dtype(input.dtype));
}

// ---- Fourier transforms ----

enum class Spectrum { kFull, kHalf, kFromHalf };

// Throws Raises for dtypes that transforms do not take: complex numbers where only half of the spectrum is
// computed, and half precision on the CPU.
void require_spectrum(Spectrum kind, const TensorInfo& info) {
  if (kind == Spectrum::kHalf) {
    require_dtype(info.dtype, [](ScalarType type) { return !is_complex(type); }, "self", "a real dtype");
  }
  const bool is_short = info.dtype == ScalarType::kFloat16 || info.dtype == ScalarType::kBfloat16;
  if (is_short && info.device.is_cpu())
    throw Raises{"self is " + dtype_name(*info.dtype) + ": the CPU kernel takes no half precision"};
}

Dtype spectrum_dtype(Spectrum kind, Dtype dtype) {
  return kind == Spectrum::kFromHalf ? real_dtype(float_dtype(dtype)) : complex_dtype(dtype);
}

// Returns the size of the transformed dimension; `given` is the length for which the call asks.
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
  TensorInfo self = first_tensor(args);
  require_spectrum(Kind, self);
  SymInt& size = self.sizes[dim_index(args.number("dim"), self)];
  size = spectrum_size(Kind, size, args.is_given("n") ? std::optional(args.size("n")) : std::nullopt,
                       args.dimensions);
  return make(self.sizes, spectrum_dtype(Kind, self.dtype));
}

// Transforms over several dimensions, of which the last one is halved.
template <Spectrum Kind>
Results fourier_many(const RuleArguments& args) {
  TensorInfo self = first_tensor(args);
  const std::optional<Sizes> lengths = args.is_given("s") ? std::optional(args.sizes("s")) : std::nullopt;
  std::vector<std::int64_t> dims;
  if (args.is_given("dim")) {
    dims = args.numbers("dim");
  } else {
    const std::int64_t count = lengths ? static_cast<std::int64_t>(lengths->size()) : self.dim();
    for (std::int64_t i = -count; i < 0; ++i) dims.push_back(i);
  }
  require_spectrum(Kind, self);
  // Without dimensions, nothing is transformed.
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

Results fourier_step_to_half(const RuleArguments& args) {
  TensorInfo self = first_tensor(args);
  const auto dims = args.numbers("dim");
  if (dims.empty()) throw CannotTell{};
  SymInt& size = self.sizes[dim_index(dims.back(), self)];
  if (args.flag("onesided")) size = spectrum_size(Spectrum::kHalf, size, std::nullopt, args.dimensions);
  return make(self.sizes, complex_dtype(self.dtype));
}

Results fourier_step_from_half(const RuleArguments& args) {
  TensorInfo self = first_tensor(args);
  const auto dims = args.numbers("dim");
  if (dims.empty()) throw CannotTell{};
  self.sizes[dim_index(dims.back(), self)] = args.size("last_dim_size");
  return make(self.sizes, real_dtype(self.dtype));
}

// ---- Multiply-accumulates ----

// Returns the MACs of one transform.  The size must be a number, as a polynomial has no logarithm.
SymInt one_transform(const SymInt& size, bool is_real) {
  const std::int64_t number = number_of(size);
  if (number < 1) return 0;
  constexpr double kLargest = 1e15;  // above, the result would be inexact or would not fit
  const auto elements = static_cast<double>(number);
  if (elements > kLargest) throw CannotTell{};
  return static_cast<std::int64_t>(std::llround((is_real ? 1.25 : 2.5) * elements * std::log2(elements)));
}

// The sizes of a signal.  The product of those that are not transformed is the number of transforms.
struct Signal {
  Sizes sizes;
  std::vector<bool> transformed;
};

SymInt transforms(const Signal& signal, bool is_real) {
  SymInt batch = 1, elements = 1;
  for (std::size_t dim = 0; dim < signal.sizes.size(); ++dim) {
    SymInt& count = signal.transformed[dim] ? elements : batch;
    count = count * signal.sizes[dim];
  }
  return batch * one_transform(elements, is_real);
}

// Returns the dimensions to be transformed: `dim`, else as many of the last ones as `s` has sizes, else all.
std::vector<std::size_t> dims_of(const RuleArguments& args, std::size_t rank) {
  std::vector<std::size_t> dims;
  if (args.is_given("dim")) {
    for (const std::int64_t dim : args.numbers("dim")) dims.push_back(place_of(dim, rank));
    return dims;
  }
  const std::size_t count = args.is_given("s") ? args.sizes("s").size() : rank;
  if (count > rank) throw CannotTell{};
  for (std::size_t dim = rank - count; dim < rank; ++dim) dims.push_back(dim);
  return dims;
}

Signal signal_of(const TensorInfo& info, const std::vector<std::size_t>& dims) {
  Signal signal{info.sizes, std::vector<bool>(info.sizes.size())};
  for (const std::size_t dim : dims) signal.transformed[dim] = true;
  return signal;
}

// The signal of transforms whose result is as large as the signal: complex ones, and those to real numbers.
Signal result_signal(const RuleArguments& args, const Results& results) {
  operand(args, "self");
  const TensorInfo& result = first_result(results);
  return signal_of(result, dims_of(args, result.sizes.size()));
}

SymInt complex_to_complex(const RuleArguments& args, const Results& results) {
  return transforms(result_signal(args, results), false);
}

// A real transform for a real input over one dimension: ATen/native/SpectralOps.cpp, fft_fft().
SymInt either_to_complex(const RuleArguments& args, const Results& results) {
  return transforms(result_signal(args, results), !is_complex_tensor(args, "self"));
}

SymInt complex_to_real(const RuleArguments& args, const Results& results) {
  return transforms(result_signal(args, results), true);
}

// The last dimension of the result is halved: the signal has the size of the input there, or the given
// length.
SymInt real_to_complex(const RuleArguments& args, const Results& results) {
  const TensorInfo &input = operand(args, "self"), &result = first_result(results);
  const std::vector<std::size_t> dims = dims_of(args, result.sizes.size());
  if (dims.empty() || input.dim() != result.dim()) throw CannotTell{};
  Signal signal = signal_of(result, dims);
  const std::size_t last = dims.back();
  signal.sizes[last] = input.sizes[last];
  if (args.is_given("n")) signal.sizes[last] = args.size("n");
  if (args.is_given("s")) {
    const Sizes lengths = args.sizes("s");
    if (lengths.empty()) throw CannotTell{};
    if (!is_number(lengths.back(), -1)) signal.sizes[last] = lengths.back();
  }
  return transforms(signal, true);
}

SymInt frames(const SymInt& count, const RuleArguments& args, bool is_real) {
  return count * one_transform(args.size("n_fft"), is_real);
}

// stft(), (..., time) to (..., frequencies, frames): ATen/native/SpectralOps.cpp.
SymInt short_time(const RuleArguments& args, const Results& results) {
  const TensorInfo &input = operand(args, "self"), &result = first_result(results);
  const auto rank = static_cast<std::size_t>(input.dim());
  if (rank == 0 || result.sizes.size() <= rank) throw CannotTell{};
  const bool is_real = !is_complex_tensor(args, "self") && !is_complex_tensor(args, "window");
  return frames(product(without_last(input.sizes, 1)) * result.sizes[rank], args, is_real);
}

SymInt inverse_short_time(const RuleArguments& args, const Results&) {
  const TensorInfo& input = operand(args, "self");
  if (!is_complex_tensor(args, "self")) throw CannotTell{};
  const SymInt& frequencies = from_back(input.sizes, 2);
  const bool is_real = args.is_given("onesided")
                           ? args.flag("onesided")
                           : !decided(args.dimensions, Relation::kEqual, frequencies, args.size("n_fft"));
  return frames(product(without_last(input.sizes, 2)) * input.sizes.back(), args, is_real);
}

constexpr OperatorRow kFourierRows[] = {
    {"_fft_c2c", {.signature = "... -> ...:complex", .macs = complex_to_complex}},
    {"_fft_c2r", {.shape = fourier_step_from_half, .macs = complex_to_real}},
    {"_fft_r2c", {.shape = fourier_step_to_half, .macs = real_to_complex}},
    {"fft_fft fft_ifft", {.shape = fourier<Spectrum::kFull>, .macs = either_to_complex}},
    {"fft_fft2 fft_fftn fft_ifft2 fft_ifftn",
     {.shape = fourier_many<Spectrum::kFull>, .macs = complex_to_complex}},
    {"fft_fftfreq", {.traits = kNoMacs, .signature = "-> <n>:float32"}},
    {"fft_hfft fft_irfft", {.shape = fourier<Spectrum::kFromHalf>, .macs = complex_to_real}},
    {"fft_hfft2 fft_hfftn fft_irfft2 fft_irfftn",
     {.shape = fourier_many<Spectrum::kFromHalf>, .macs = complex_to_real}},
    {"fft_ihfft fft_rfft", {.shape = fourier<Spectrum::kHalf>, .macs = real_to_complex}},
    {"fft_ihfft2 fft_ihfftn fft_rfft2 fft_rfftn",
     {.shape = fourier_many<Spectrum::kHalf>, .macs = real_to_complex}},
    {"fft_rfftfreq", {.traits = kNoMacs, .shape = real_frequencies}},
    {"istft", {.shape = istft, .macs = inverse_short_time}},
    {"stft", {.shape = stft, .macs = short_time}},
};

}  // namespace

OperatorRows fourier_rows() { return kFourierRows; }

}  // namespace fxtrace::internal
