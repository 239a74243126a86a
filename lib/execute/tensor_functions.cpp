// Functions of the engine on tensors: views of memory, random tensors, digests, statistics and comparison.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "execute/engine_value.h"

namespace fxtrace::internal::execute {
namespace {

at::Tensor view_of(const char* dtype_name, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset,
                   void* data, size_t bytes) {
  const at::ScalarType dtype = dtype_named(dtype_name);
  const auto item = static_cast<int64_t>(c10::elementSize(dtype));
  const int64_t room = static_cast<int64_t>(bytes) / item;
  bool is_empty = false;
  int64_t last = offset;
  TORCH_CHECK(offset >= 0 && offset <= room, "the tensor begins outside of its storage");
  for (size_t i = 0; i < sizes.size(); ++i) {
    TORCH_CHECK(sizes[i] >= 0 && strides[i] >= 0, "a size or a stride of the tensor is negative");
    is_empty = is_empty || sizes[i] == 0;
    int64_t reach = 0;
    TORCH_CHECK(sizes[i] == 0 || (!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                                  !__builtin_add_overflow(last, reach, &last)),
                "the tensor is too large");
  }
  TORCH_CHECK(is_empty || last < room, "the tensor reaches beyond its storage");
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

// Returns the dense parts of a tensor, contiguous and on the CPU: its elements, or indices and values of a
// sparse one.
std::vector<at::Tensor> parts_of(const at::Tensor& tensor) {
  at::Tensor whole = tensor.detach();
  // Within vmap the parts have all samples.
  while (const auto* batched = at::functorch::maybeGetBatchedImpl(whole)) whole = batched->value();
  std::vector<at::Tensor> parts;
  if (whole.is_meta()) return parts;
  if (whole.is_nested()) {
    for (const at::Tensor& part : whole.unbind()) {
      for (at::Tensor& inner : parts_of(part)) parts.push_back(std::move(inner));
    }
    return parts;
  }
  switch (whole.layout()) {
    case at::kSparse:
      whole = whole.coalesce();
      parts = {whole.indices(), whole.values()};
      break;
    case at::kSparseCsr:
    case at::kSparseBsr:
      parts = {whole.crow_indices(), whole.col_indices(), whole.values()};
      break;
    case at::kSparseCsc:
    case at::kSparseBsc:
      parts = {whole.ccol_indices(), whole.row_indices(), whole.values()};
      break;
    case at::kStrided:
      parts = {whole};
      break;
    default:
      parts = {whole.to_dense()};
  }
  for (at::Tensor& part : parts) {
    if (part.is_quantized()) part = part.int_repr();
    if (part.scalar_type() == at::kBool)
      part = part.view(at::kByte).ne(0);  // the bytes of a bool in a file may have any value
    part = part.resolve_conj().resolve_neg().cpu().contiguous();
  }
  return parts;
}

// Returns all elements of the parts as numbers in one dimension; absolute values of complex ones.
at::Tensor numbers_of(const at::Tensor& tensor) {
  const std::vector<at::Tensor> parts = parts_of(tensor);
  if (parts.empty()) return at::empty({0}, at::kDouble);
  const at::Tensor values = tensor.is_quantized() ? tensor.dequantize() : parts.back();
  return (values.is_complex() ? values.abs() : values).to(at::kDouble).flatten();
}

constexpr uint64_t kPrime = 0x9E3779B97F4A7C15;
uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kPrime;
  return hash ^ (hash >> 29);
}

uint64_t digest_of(const at::Tensor& tensor) {
  at::DisableRecordFunctionGuard quiet;
  uint64_t hash = mix(kPrime, static_cast<uint64_t>(tensor.scalar_type()));
  if (tensor.is_meta()) {
    for (const int64_t size : tensor.sizes()) hash = mix(hash, static_cast<uint64_t>(size));
  }
  for (const at::Tensor& values : parts_of(tensor)) {
    for (const int64_t size : values.sizes()) hash = mix(hash, static_cast<uint64_t>(size));
    const char* bytes = static_cast<const char*>(values.data_ptr());
    const size_t count = values.nbytes();
    for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min(sizeof(word), count - at));
      hash = mix(hash, word);
    }
  }
  return hash;
}

FxtraceStatistics statistics_of(const at::Tensor& tensor) {
  const at::Tensor values = numbers_of(tensor);
  const at::Tensor finite = values.masked_select(values.isfinite());
  FxtraceStatistics result{values.numel(), values.numel() - finite.numel(), 0, 0, 0};
  if (finite.numel() == 0) return result;
  result.least = finite.min().item<double>();
  result.greatest = finite.max().item<double>();
  result.mean = finite.mean().item<double>();
  return result;
}

bool same_form(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.layout() == b.layout() && a.is_nested() == b.is_nested() &&
         (a.is_nested() || a.sizes() == b.sizes());
}

// Compares dense tensors of one shape and dtype.
FxtraceDifference difference_of_part(const at::Tensor& a, const at::Tensor& b, double absolute,
                                     double relative) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (a.nbytes() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0) return {0, 0};
  const auto wide = a.is_complex() ? at::kComplexDouble : at::kDouble;
  const at::Tensor left = a.to(wide);
  const at::Tensor right = b.to(wide);
  const at::Tensor distance = (left - right).abs();
  if (absolute == 0 && relative == 0) {
    const size_t item = a.element_size();
    const char* one = static_cast<const char*>(a.data_ptr());
    const char* other = static_cast<const char*>(b.data_ptr());
    int64_t count = 0;
    for (int64_t i = 0; i < a.numel(); ++i) count += std::memcmp(one + i * item, other + i * item, item) != 0;
    const at::Tensor finite = distance.masked_select(distance.isfinite());
    const bool all_finite = finite.numel() == distance.numel();
    return {count, all_finite ? finite.max().item<double>() : infinity};
  }
  at::Tensor is_close = left.eq(right).logical_or(left.isnan().logical_and(right.isnan()));
  is_close = is_close.logical_or(distance.le(right.abs() * relative + absolute));
  const at::Tensor far = distance.masked_select(is_close.logical_not());
  if (far.numel() == 0) return {0, 0};
  const auto greatest = far.max().item<double>();
  return {far.numel(), std::isfinite(greatest) ? greatest : infinity};
}

FxtraceDifference difference_of(const at::Tensor& a, const at::Tensor& b, double absolute, double relative) {
  const int64_t elements = std::max(a.numel(), b.numel());
  const FxtraceDifference all{elements == 0 ? 1 : elements, std::numeric_limits<double>::infinity()};
  if (!same_form(a, b)) return all;
  const std::vector<at::Tensor> ours = a.is_quantized() ? std::vector{a.dequantize()} : parts_of(a);
  const std::vector<at::Tensor> theirs = b.is_quantized() ? std::vector{b.dequantize()} : parts_of(b);
  if (ours.size() != theirs.size()) return all;
  FxtraceDifference sum{0, 0};
  for (size_t i = 0; i < ours.size(); ++i) {
    if (!same_form(ours[i], theirs[i])) return all;
    const FxtraceDifference part = difference_of_part(ours[i], theirs[i], absolute, relative);
    sum.elements += part.elements;
    sum.greatest = std::max(sum.greatest, part.greatest);
  }
  return sum;
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
  engine.unpickle_object = [](const char* data, size_t size) {
    return value_of([&] { return torch::jit::pickle_load_obj({data, size}); });
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

}  // namespace fxtrace::internal::execute
