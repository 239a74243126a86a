// Costs of Fourier transforms, by FFTW's convention (fftw.org/speed): a complex transform of n elements
// counts 5 n log2(n) operations and a real one half of that, whatever the algorithm; half of the operations
// is taken for multiply-accumulates, rounded for each transform.  torch.utils.flop_counter counts none.
#include <cmath>

#include "costs/cost_rules.h"

namespace fxtrace {
namespace {

// `size` is a number: no polynomial has a logarithm.
SymInt one_transform(const SymInt& size, bool is_real) {
  const std::int64_t number = number_of(size);
  if (number < 1) return 0;
  constexpr double kLargest = 1e15;  // beyond, the result would not be exact, or not fit
  const auto elements = static_cast<double>(number);
  if (elements > kLargest) throw CannotTell{};
  return static_cast<std::int64_t>(std::llround((is_real ? 1.25 : 2.5) * elements * std::log2(elements)));
}

// The dimensions of the signal that are transformed; what is left are that many transforms.
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

// All dimensions, or the last ones where only sizes are given.
std::vector<std::size_t> dims_of(const RuleArguments& args, std::size_t rank) {
  std::vector<std::size_t> dims;
  if (args.given("dim")) {
    for (const std::int64_t dim : args.numbers("dim")) dims.push_back(place_of(dim, rank));
    return dims;
  }
  const std::size_t count = args.given("s") ? args.sizes("s").size() : rank;
  if (count > rank) throw CannotTell{};
  for (std::size_t dim = rank - count; dim < rank; ++dim) dims.push_back(dim);
  return dims;
}

Signal signal_of(const TensorInfo& info, const std::vector<std::size_t>& dims) {
  Signal signal{info.sizes, std::vector<bool>(info.sizes.size())};
  for (const std::size_t dim : dims) signal.transformed[dim] = true;
  return signal;
}

// The result of a complex transform, and of one that gives real numbers, is as large as the signal.
Signal result_signal(const RuleArguments& args, const Results& results) {
  operand(args, "self");
  const TensorInfo& result = first_result(results);
  return signal_of(result, dims_of(args, result.sizes.size()));
}

bool is_complex_tensor(const RuleArguments& args, std::string_view name) {
  if (!args.given(name)) return false;
  const Dtype dtype = operand(args, name).dtype;
  if (!dtype) throw CannotTell{};
  return is_complex(*dtype);
}

SymInt complex_to_complex(const RuleArguments& args, const Results& results) {
  return transforms(result_signal(args, results), false);
}

// Real numbers are taken as such along one dimension: ATen/native/SpectralOps.cpp, fft_fft().
SymInt either_to_complex(const RuleArguments& args, const Results& results) {
  return transforms(result_signal(args, results), !is_complex_tensor(args, "self"));
}

SymInt complex_to_real(const RuleArguments& args, const Results& results) {
  return transforms(result_signal(args, results), true);
}

// The last dimension of the result has only half of it: the input's, or as long as it is made.
SymInt real_to_complex(const RuleArguments& args, const Results& results) {
  const TensorInfo &input = operand(args, "self"), &result = first_result(results);
  const std::vector<std::size_t> dims = dims_of(args, result.sizes.size());
  if (dims.empty() || input.dim() != result.dim()) throw CannotTell{};
  Signal signal = signal_of(result, dims);
  const std::size_t last = dims.back();
  signal.sizes[last] = input.sizes[last];
  if (args.given("n")) signal.sizes[last] = args.size("n");
  if (args.given("s")) {
    const Sizes lengths = args.sizes("s");
    if (lengths.empty()) throw CannotTell{};
    if (!is_number(lengths.back(), -1)) signal.sizes[last] = lengths.back();
  }
  return transforms(signal, true);
}

SymInt frames(const SymInt& count, const RuleArguments& args, bool is_real) {
  return count * one_transform(args.size("n_fft"), is_real);
}

// ATen/native/SpectralOps.cpp.  (..., time) to (..., frequencies, frames)
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
  const bool is_real = args.given("onesided")
                           ? args.flag("onesided")
                           : !decided(args.dimensions, Relation::kEqual, frequencies, args.size("n_fft"));
  return frames(product(without_last(input.sizes, 2)) * input.sizes.back(), args, is_real);
}

constexpr std::pair<std::string_view, CostRule> kRules[] = {
    {"_fft_c2c", complex_to_complex},
    {"_fft_c2r", complex_to_real},
    {"_fft_r2c", real_to_complex},
    {"fft_fft", either_to_complex},
    {"fft_fft2", complex_to_complex},
    {"fft_fftn", complex_to_complex},
    {"fft_hfft", complex_to_real},
    {"fft_hfft2", complex_to_real},
    {"fft_hfftn", complex_to_real},
    {"fft_ifft", either_to_complex},
    {"fft_ifft2", complex_to_complex},
    {"fft_ifftn", complex_to_complex},
    {"fft_ihfft", real_to_complex},
    {"fft_ihfft2", real_to_complex},
    {"fft_ihfftn", real_to_complex},
    {"fft_irfft", complex_to_real},
    {"fft_irfft2", complex_to_real},
    {"fft_irfftn", complex_to_real},
    {"fft_rfft", real_to_complex},
    {"fft_rfft2", real_to_complex},
    {"fft_rfftn", real_to_complex},
    {"istft", inverse_short_time},
    {"stft", short_time},
};

}  // namespace

CostTable fourier_costs() { return kRules; }

}  // namespace fxtrace
