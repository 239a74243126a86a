// Makes the engine: its table of functions, the setup of LibTorch, and values that are not tensors.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/core/GradMode.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include "execute/engine_value.h"

namespace fxtrace::internal::execute {

std::string& failure_text() {
  static std::string text;
  return text;
}

at::ScalarType dtype_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(at::ScalarType::NumOptions); ++i) {
    const auto dtype = static_cast<at::ScalarType>(i);
    if (dtype == at::ScalarType::Undefined) continue;
    const auto [first, second] = c10::getDtypeNames(dtype);
    if (name == first || name == second) return dtype;
  }
  TORCH_CHECK(false, "torch has no dtype ", name);
}

namespace {

c10::Layout layout_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(at::Layout::NumOptions); ++i) {
    std::ostringstream text;
    text << static_cast<at::Layout>(i);
    std::string lower = text.str();
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower == name || lower == name + "_") return static_cast<at::Layout>(i);
  }
  if (name == "sparse_coo") return at::kSparse;
  TORCH_CHECK(false, "torch has no layout ", name);
}

at::MemoryFormat memory_format_named(const std::string& name) {
  if (name == "contiguous_format") return at::MemoryFormat::Contiguous;
  if (name == "preserve_format") return at::MemoryFormat::Preserve;
  if (name == "channels_last") return at::MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return at::MemoryFormat::ChannelsLast3d;
  TORCH_CHECK(false, "torch has no memory format ", name);
}

// Drops warnings of operators: a trace cannot change what they warn of.
class Silent : public c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

// Sets up LibTorch.  It runs some operators once, as these read files about the processor at first use.
bool prepare() {
  return guarded(false, [] {
    static Silent silent;
    c10::WarningUtils::set_warning_handler(&silent);
    at::set_num_threads(1);
    at::set_num_interop_threads(1);
    c10::GradMode::set_enabled(false);
    torch::jit::setPrintHandler([](const std::string& /*text*/) {});  // stdout is for the answer alone
    // An index beyond the sizes would read memory outside of the tensor.
    at::globalContext().setCheckSparseTensorInvariants(true);
    at::manual_seed(0);
    const at::Tensor x = at::randn({1, 4, 8, 8});
    at::conv2d(x, at::randn({4, 4, 3, 3}));
    at::matmul(at::randn({8, 8}), at::randn({8, 8})).softmax(-1).sum().item();
    at::linalg_qr(at::randn({4, 4}));
    at::quantize_per_tensor(x, 0.1, 0, at::kQUInt8).dequantize();
    at::globalContext().qEngine();
    add_quantized_decomposed();
    return true;
  });
}

bool keep_operators(bool (*is_kept)(const char* name)) {
  return guarded(false, [&] {
    const auto is_refused = [&](const auto& known) {
      return !is_kept(c10::toString(known->schema().operator_name()).c_str());
    };
    for (const auto& known : torch::jit::getAllOperators()) {
      if (is_refused(known)) torch::jit::deregisterOperator(known->schema());
    }
    const auto left = torch::jit::getAllOperators();
    const auto found = std::find_if(left.begin(), left.end(), is_refused);
    TORCH_CHECK(found == left.end(), "LibTorch cannot unregister ", (*found)->schema().operator_name());
    return true;
  });
}

at::Tensor copy_of(const at::Tensor& tensor) {
  try {
    return tensor.detach().clone();
  } catch (const c10::Error&) {
    // Dtypes of a few bits, on which no operator computes.
    if (tensor.layout() != at::kStrided || tensor.element_size() != 1) throw;
    return tensor.detach().view(at::kByte).clone().view(tensor.scalar_type());
  }
}

// Returns a deep copy.  Objects are not copied: their content is not a part of a graph.
c10::IValue copy_of(const c10::IValue& value, int depth) {
  constexpr int kDeepest = 1000;
  TORCH_CHECK(depth < kDeepest, "a value is nested too deep");
  if (value.isTensor()) return value.toTensor().defined() ? copy_of(value.toTensor()) : at::Tensor();
  if (value.isList()) {
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue& item : value.toListRef()) list.push_back(copy_of(item, depth + 1));
    return list;
  }
  if (value.isTuple()) {
    std::vector<c10::IValue> items;
    for (const c10::IValue& item : value.toTupleRef().elements()) items.push_back(copy_of(item, depth + 1));
    return c10::ivalue::Tuple::create(std::move(items));
  }
  if (value.isGenericDict()) {
    const auto held = value.toGenericDict();
    c10::impl::GenericDict dict(held.keyType(), held.valueType());
    for (const auto& item : held)
      dict.insert(copy_of(item.key(), depth + 1), copy_of(item.value(), depth + 1));
    return dict;
  }
  if (value.isFuture() && value.toFuture()->hasValue()) return copy_of(value.toFuture()->value(), depth + 1);
  return value;
}

// Returns the type of the items; Any if they have several.
c10::TypePtr common_type(FxtraceValue* const* items, size_t count) {
  c10::TypePtr type;
  for (size_t i = 0; i < count; ++i) {
    c10::TypePtr of =
        items[i]->value.isTensor() ? c10::TypePtr(c10::TensorType::get()) : items[i]->value.type();
    if (type && *type != *of) return c10::AnyType::get();
    type = std::move(of);
  }
  return type ? type : c10::AnyType::get();
}

c10::IValue list_of(FxtraceValue* const* items, size_t count) {
  c10::impl::GenericList list(common_type(items, count));
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.push_back(items[i]->value);
  return list;
}

c10::IValue dict_of(FxtraceValue* const* keys, FxtraceValue* const* values, size_t count) {
  c10::impl::GenericDict dict(count == 0 ? c10::StringType::get() : common_type(keys, count),
                              common_type(values, count));
  for (size_t i = 0; i < count; ++i) dict.insert(keys[i]->value, values[i]->value);
  return dict;
}

FxtraceKind kind_of(const c10::IValue& value) {
  if (value.isNone()) return kFxtraceNone;
  if (value.isBool()) return kFxtraceBool;
  if (value.isInt()) return kFxtraceInt;
  if (value.isDouble()) return kFxtraceFloat;
  if (value.isComplexDouble()) return kFxtraceComplex;
  if (value.isString()) return kFxtraceText;
  if (value.isTensor()) return value.toTensor().defined() ? kFxtraceTensor : kFxtraceNone;
  if (value.isList()) return kFxtraceList;
  if (value.isTuple()) return kFxtraceTuple;
  if (value.isGenericDict()) return kFxtraceDict;
  if (value.isDevice()) return kFxtraceDevice;
  if (value.isObject()) return kFxtraceObject;
  return kFxtraceOther;
}

size_t size_of(const c10::IValue& value) {
  if (value.isTensor()) return static_cast<size_t>(value.toTensor().dim());
  if (value.isList()) return value.toListRef().size();
  if (value.isTuple()) return value.toTupleRef().elements().size();
  if (value.isGenericDict()) return value.toGenericDict().size();
  return 0;
}

c10::IValue item_of(const c10::IValue& value, size_t index, bool key) {
  TORCH_CHECK(index < size_of(value), "there is no item ", index);
  if (value.isList()) return value.toListRef()[index];
  if (value.isTuple()) return value.toTupleRef().elements()[index];
  TORCH_CHECK(value.isGenericDict(), "the value has no items");
  auto it = value.toGenericDict().begin();
  for (size_t i = 0; i < index; ++i) ++it;
  return key ? it->key() : it->value();
}

const char* text_of(FxtraceValue* value) {
  if (value->value.isString()) return value->value.toStringRef().c_str();
  // The text of an object would be its address.
  if (value->value.isObject()) {
    value->text = value->value.toObject()->name();
    return value->text.c_str();
  }
  std::ostringstream text;
  text << value->value;
  value->text = text.str();
  return value->text.c_str();
}

FxtraceEngine make_engine() {
  FxtraceEngine engine{};
  engine.failure = [] { return failure_text().c_str(); };
  engine.prepare = prepare;
  engine.keep_operators = keep_operators;
  engine.seed = [](uint64_t seed) { at::manual_seed(seed); };
  engine.set_grad = [](bool on) { c10::GradMode::set_enabled(on); };
  engine.release = [](FxtraceValue* value) { delete value; };
  engine.none = [] { return make({}); };
  engine.boolean = [](bool value) { return make(value); };
  engine.integer = [](int64_t value) { return make(value); };
  engine.real = [](double value) { return make(value); };
  engine.complex = [](double real, double imaginary) { return make(c10::complex<double>(real, imaginary)); };
  engine.text = [](const char* data, size_t size) { return make(std::string(data, size)); };
  engine.device = [](const char* name) { return value_of([&] { return c10::Device(name); }); };
  engine.dtype = [](const char* name) {
    return value_of([&] { return static_cast<int64_t>(dtype_named(name)); });
  };
  engine.layout = [](const char* name) {
    return value_of([&] { return static_cast<int64_t>(layout_named(name)); });
  };
  engine.memory_format = [](const char* name) {
    return value_of([&] { return static_cast<int64_t>(memory_format_named(name)); });
  };
  engine.list = [](FxtraceValue* const* items, size_t count) {
    return value_of([&] { return list_of(items, count); });
  };
  engine.tuple = [](FxtraceValue* const* items, size_t count) {
    return value_of([&] {
      std::vector<c10::IValue> parts;
      parts.reserve(count);
      for (size_t i = 0; i < count; ++i) parts.push_back(items[i]->value);
      return c10::ivalue::Tuple::create(std::move(parts));
    });
  };
  engine.dict = [](FxtraceValue* const* keys, FxtraceValue* const* values, size_t count) {
    return value_of([&] { return dict_of(keys, values, count); });
  };
  engine.deep_copy = [](FxtraceValue* value) { return value_of([&] { return copy_of(value->value, 0); }); };
  engine.kind = [](FxtraceValue* value) { return kind_of(value->value); };
  engine.as_bool = [](FxtraceValue* value) { return value->value.toBool(); };
  engine.as_int = [](FxtraceValue* value) { return value->value.toInt(); };
  engine.as_text = text_of;
  engine.size = [](FxtraceValue* value) { return size_of(value->value); };
  engine.item = [](FxtraceValue* value, size_t index) {
    return value_of([&] { return item_of(value->value, index, false); });
  };
  engine.key = [](FxtraceValue* value, size_t index) {
    return value_of([&] { return item_of(value->value, index, true); });
  };
  engine.extent = [](FxtraceValue* tensor, size_t dimension) {
    const at::Tensor& of = tensor->value.toTensor();
    if (!of.is_nested()) return of.sizes()[dimension];
    return dimension == 0 ? of.size(0) : -1;
  };
  engine.dtype_of = [](FxtraceValue* tensor) {
    tensor->text = c10::getDtypeNames(tensor->value.toTensor().scalar_type()).first;
    return tensor->text.c_str();
  };
  add_tensors(engine);
  add_calls(engine);
  add_scripts(engine);
  add_memory(engine);
  add_python(engine);
  return engine;
}

}  // namespace
}  // namespace fxtrace::internal::execute

extern "C" __attribute__((visibility("default"))) const FxtraceEngine* fxtrace_engine(size_t size) {
  static const FxtraceEngine engine = fxtrace::internal::execute::make_engine();
  return size == sizeof(FxtraceEngine) ? &engine : nullptr;
}

namespace fxtrace::internal::execute {

// Counts the memory that LibTorch's allocator gives to this thread.

namespace {

// Receives what this thread allocates and releases from the allocator of LibTorch.
class Counter : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*memory*/, int64_t bytes, size_t /*allocated*/, size_t /*reserved*/,
                         c10::Device device) override {
    if (!device.is_cpu()) return;
    if (bytes > 0) total_.allocated += bytes;
    total_.held += bytes;
    total_.peak = std::max(total_.peak, total_.held);
  }
  bool memoryProfilingEnabled() const override { return true; }

  FxtraceMemory ask() {
    const FxtraceMemory now = total_;
    total_.peak = total_.held;
    return now;
  }

 private:
  FxtraceMemory total_{};
};

struct Counting {
  std::shared_ptr<Counter> counter = std::make_shared<Counter>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, counter};
};

std::unique_ptr<Counting>& counting() {
  static std::unique_ptr<Counting> one;
  return one;
}

}  // namespace

void add_memory(FxtraceEngine& engine) {
  engine.count_memory = [](bool on) {
    counting().reset();
    if (on) counting() = std::make_unique<Counting>();
  };
  engine.memory = [] { return counting() ? counting()->counter->ask() : FxtraceMemory{}; };
}

}  // namespace fxtrace::internal::execute
