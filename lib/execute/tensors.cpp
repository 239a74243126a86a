#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "execute/value.h"

namespace fxtrace::execute {
namespace {

at::Tensor view_of(const char* dtype_name, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset,
                   void* data, size_t bytes) {
  const at::ScalarType dtype = dtype_named(dtype_name);
  const auto item = static_cast<int64_t>(c10::elementSize(dtype));
  const int64_t room = static_cast<int64_t>(bytes) / item;
  bool is_empty = false;
  int64_t last = offset;
  TORCH_CHECK(offset >= 0 && offset <= room, "it begins outside of its storage");
  for (size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(sizes[i] >= 0 && strides[i] >= 0, "a size or stride is negative");
    is_empty = is_empty || sizes[i] == 0;
    int64_t reach = 0;
    TORCH_CHECK(sizes[i] == 0 || (!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                                  !__builtin_add_overflow(last, reach, &last)),
                "it is too large");
  }
  TORCH_CHECK(is_empty || last < room, "it reaches beyond its storage");
  return at::from_blob(static_cast<char*>(data) + offset * item, sizes, strides,
                       at::TensorOptions().dtype(dtype));
}

at::Tensor random_of(at::ScalarType dtype, at::IntArrayRef sizes, int64_t low, int64_t high, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  const auto as_double = at::TensorOptions().dtype(at::kDouble);
  if (c10::isComplexType(dtype))
    return at::randn(sizes, generator, at::TensorOptions().dtype(at::kComplexDouble)).to(dtype);
  if (c10::isFloatingType(dtype)) return at::randn(sizes, generator, as_double).to(dtype);
  return at::randint(low, high + 1, sizes, generator, at::TensorOptions().dtype(at::kLong)).to(dtype);
}

// Dense, on the CPU, one element behind the other.
at::Tensor plain(const at::Tensor& tensor) {
  at::Tensor result = tensor.detach();
  if (result.is_quantized()) result = result.int_repr();
  if (result.layout() != at::kStrided) result = result.to_dense();
  if (result.is_conj() || result.is_neg()) result = result.resolve_conj().resolve_neg();
  return result.cpu().contiguous();
}

constexpr uint64_t kPrime = 0x9E3779B97F4A7C15;
uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kPrime;
  return hash ^ (hash >> 29);
}

uint64_t digest_of(const at::Tensor& tensor) {
  at::DisableRecordFunctionGuard quiet;
  const at::Tensor values = plain(tensor);
  uint64_t hash = mix(kPrime, static_cast<uint64_t>(tensor.scalar_type()));
  for (const int64_t size : values.sizes()) hash = mix(hash, static_cast<uint64_t>(size));
  const char* bytes = static_cast<const char*>(values.data_ptr());
  const size_t count = values.nbytes();
  for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min(sizeof(word), count - at));
    hash = mix(hash, word);
  }
  return hash;
}

at::Tensor numbers_of(const at::Tensor& tensor) {
  at::Tensor values = tensor.detach();
  if (values.is_quantized()) values = values.dequantize();
  values = plain(values);
  return values.is_complex() ? values.abs().to(at::kDouble) : values.to(at::kDouble);
}

FxtraceStatistics statistics_of(const at::Tensor& tensor) {
  const at::Tensor values = numbers_of(tensor).flatten();
  const at::Tensor finite = values.masked_select(values.isfinite());
  FxtraceStatistics result{values.numel(), values.numel() - finite.numel(), 0, 0, 0};
  if (finite.numel() == 0) return result;
  result.least = finite.min().item<double>();
  result.greatest = finite.max().item<double>();
  result.mean = finite.mean().item<double>();
  return result;
}

bool same_form(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes();
}

FxtraceDifference difference_of(const at::Tensor& a, const at::Tensor& b, double absolute, double relative) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!same_form(a, b)) return {std::max(a.numel(), b.numel()), infinity};
  const at::Tensor left = plain(a);
  const at::Tensor right = plain(b);
  if (left.nbytes() == 0 || std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0) return {0, 0};
  at::Tensor distance;
  if (left.is_complex()) {
    distance = (left.to(at::kComplexDouble) - right.to(at::kComplexDouble)).abs();
  } else {
    distance = (numbers_of(a) - numbers_of(b)).abs();
  }
  at::Tensor is_close = left.eq(right);
  const bool bits = absolute == 0 && relative == 0;
  if (bits) {
    const size_t item = left.element_size();
    const char* one = static_cast<const char*>(left.data_ptr());
    const char* other = static_cast<const char*>(right.data_ptr());
    int64_t count = 0;
    for (int64_t i = 0; i < left.numel(); ++i)
      count += std::memcmp(one + i * item, other + i * item, item) != 0;
    const at::Tensor finite = distance.masked_select(distance.isfinite());
    const bool all_finite = finite.numel() == distance.numel();
    return {count, all_finite ? finite.max().item<double>() : infinity};
  }
  if (left.is_floating_point() || left.is_complex()) {
    is_close = is_close.logical_or(left.isnan().logical_and(right.isnan()));
  }
  is_close = is_close.logical_or(distance.le(numbers_of(b).abs() * relative + absolute));
  const at::Tensor far = distance.masked_select(is_close.logical_not());
  if (far.numel() == 0) return {0, 0};
  const auto greatest = far.max().item<double>();
  return {far.numel(), std::isfinite(greatest) ? greatest : infinity};
}

}  // namespace

void add_tensors(FxtraceEngine& engine) {
  engine.tensor = [](const char* dtype, const int64_t* sizes, const int64_t* strides, size_t dims,
                     int64_t offset, void* data, size_t bytes) {
    return value_of([&] { return view_of(dtype, {sizes, dims}, {strides, dims}, offset, data, bytes); });
  };
  engine.random_tensor = [](const char* dtype, const int64_t* sizes, size_t dims, int64_t low, int64_t high,
                            uint64_t seed) {
    return value_of([&] { return random_of(dtype_named(dtype), {sizes, dims}, low, high, seed); });
  };
  engine.unpickle = [](const char* data, size_t size) {
    return value_of([&] { return torch::jit::pickle_load(std::vector<char>(data, data + size)); });
  };
  engine.digest = [](FxtraceValue* tensor) {
    return guarded<uint64_t>(0, [&] { return digest_of(tensor->value.toTensor()); });
  };
  engine.statistics = [](FxtraceValue* tensor, FxtraceStatistics* to) {
    return guarded(false, [&] {
      *to = statistics_of(tensor->value.toTensor());
      return true;
    });
  };
  engine.compare = [](FxtraceValue* a, FxtraceValue* b, double absolute, double relative,
                      FxtraceDifference* to) {
    return guarded(false, [&] {
      *to = difference_of(a->value.toTensor(), b->value.toTensor(), absolute, relative);
      return true;
    });
  };
  static FxtraceMade made = nullptr;
  static void* made_context = nullptr;
  static at::CallbackHandle handle = 0;
  engine.watch = [](FxtraceMade callback, void* context) {
    if (made != nullptr) at::removeCallback(handle);
    made = callback;
    made_context = context;
    if (made == nullptr) return;
    handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(nullptr,
                                   [](const at::RecordFunction& function, at::ObserverContext*) {
                                     const auto tell = [](const at::Tensor& tensor) {
                                       if (tensor.defined()) made(made_context, digest_of(tensor));
                                     };
                                     guarded(false, [&] {
                                       for (const c10::IValue& output : function.outputs()) {
                                         if (output.isTensor()) tell(output.toTensor());
                                         if (!output.isTensorList()) continue;
                                         for (const at::Tensor& tensor : output.toTensorVector())
                                           tell(tensor);
                                       }
                                       return true;
                                     });
                                   })
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  };
}

}  // namespace fxtrace::execute
