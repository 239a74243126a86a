// Functions that torch implements in Python only: vmap, autocast and tolist.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

#include "execute/engine_value.h"

// Does what Python functions do to the way in which operators run: torch/_functorch/predispatch.py and
// torch/amp/autocast_mode.py.
namespace fxtrace::internal::execute {
namespace {

using at::functorch::RandomnessType;
using c10::IValue;

// --- autocast ---

struct Autocast {
  at::DeviceType device;
  bool enabled, caches;
  at::ScalarType dtype;
};

std::vector<Autocast>& outer_autocasts() {
  static std::vector<Autocast> before;  // the state before each open region, the innermost last
  return before;
}

IValue enter_autocast(const std::vector<IValue>& values) {
  TORCH_CHECK(!values.empty() && values[0].isString(), "autocast needs a device type");
  const auto given = [&](size_t i) { return i < values.size() && !values[i].isNone(); };
  const at::DeviceType device = c10::Device(values[0].toStringRef()).type();
  const Autocast before{device, at::autocast::is_autocast_enabled(device),
                        at::autocast::is_autocast_cache_enabled(), at::autocast::get_autocast_dtype(device)};
  const at::ScalarType dtype = given(1) ? static_cast<at::ScalarType>(values[1].toInt()) : before.dtype;
  outer_autocasts().push_back(before);
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device, !given(2) || values[2].toBool());
  at::autocast::set_autocast_dtype(device, dtype);
  at::autocast::set_autocast_cache_enabled(given(3) ? values[3].toBool() : before.caches);
  return {};
}

void leave_autocast() {
  const Autocast before = outer_autocasts().back();
  outer_autocasts().pop_back();
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(before.device, before.enabled);
  at::autocast::set_autocast_dtype(before.device, before.dtype);
  at::autocast::set_autocast_cache_enabled(before.caches);
}

IValue exit_autocast(const std::vector<IValue>& /*values*/) {
  TORCH_CHECK(!outer_autocasts().empty(), "no region of autocast was entered");
  leave_autocast();
  return {};
}

// --- vmap ---

RandomnessType randomness_named(const std::string& name) {
  if (name == "same") return RandomnessType::Same;
  if (name == "different") return RandomnessType::Different;
  TORCH_CHECK(name == "error", "vmap has no randomness ", name);
  return RandomnessType::Error;
}

IValue increment_nesting(const std::vector<IValue>& values) {
  return at::functorch::initAndPushDynamicLayer(at::functorch::TransformType::Vmap,
                                                c10::SymInt(values.at(0).toInt()),
                                                randomness_named(values.at(1).toStringRef()));
}

IValue decrement_nesting(const std::vector<IValue>& /*values*/) {
  TORCH_CHECK(!at::functorch::getDynamicLayerStack().empty(), "no vmap was entered");
  return at::functorch::popDynamicLayerAndDeleteMetadata().layerId();
}

IValue add_batch_dim(const std::vector<IValue>& values) {
  const at::Tensor& tensor = values.at(0).toTensor();
  const int64_t dim = c10::maybe_wrap_dim(values.at(1).toInt(), tensor.dim());
  return at::functorch::addBatchDim(tensor, dim, values.at(2).toInt());
}

// Removes a batch dimension; a tensor that is the same for all samples is repeated.
IValue remove_batch_dim(const std::vector<IValue>& values) {
  const at::Tensor& tensor = values.at(0).toTensor();
  const int64_t level = values.at(1).toInt();
  const int64_t dim = c10::maybe_wrap_dim(values.at(3).toInt(), tensor.dim() + 1);
  const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
  if (batched != nullptr && batched->level() == level)
    return at::movedim(batched->value(), batched->bdim(), dim);
  std::vector<int64_t> sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin() + dim, values.at(2).toInt());
  return tensor.unsqueeze(dim).expand(sizes);
}

// --- values ---

c10::TypePtr list_type(const at::Tensor& tensor) {
  c10::TypePtr type = c10::IntType::get();
  if (tensor.is_floating_point()) type = c10::FloatType::get();
  if (tensor.is_complex()) type = c10::ComplexType::get();
  if (tensor.scalar_type() == at::kBool) type = c10::BoolType::get();
  for (int64_t i = 0; i < tensor.dim(); ++i) type = c10::ListType::create(type);
  return type;
}

IValue nested_list(const at::Tensor& tensor) {
  if (tensor.dim() == 0) return tensor.item();
  c10::impl::GenericList list(list_type(tensor)->expectRef<c10::ListType>().getElementType());
  for (const at::Tensor& part : tensor.unbind()) list.push_back(nested_list(part));
  return list;
}

IValue to_list(const std::vector<IValue>& values) { return nested_list(values.at(0).toTensor()); }

using Function = IValue (*)(const std::vector<IValue>&);
constexpr std::pair<std::string_view, Function> kFunctions[] = {
    {"torch._functorch.predispatch._add_batch_dim", add_batch_dim},
    {"torch._functorch.predispatch._remove_batch_dim", remove_batch_dim},
    {"torch._functorch.predispatch._vmap_decrement_nesting", decrement_nesting},
    {"torch._functorch.predispatch._vmap_increment_nesting", increment_nesting},
    {"torch._functorch.predispatch.lazy_load_decompositions",
     [](const std::vector<IValue>&) { return IValue(); }},
    {"torch.Tensor.tolist", to_list},
    {"torch.amp.autocast_mode._enter_autocast", enter_autocast},
    {"torch.amp.autocast_mode._exit_autocast", exit_autocast},
};

}  // namespace

void add_python(FxtraceEngine& engine) {
  engine.call_python = [](const char* name, const FxtraceArguments* arguments) {
    return value_of([&]() -> IValue {
      TORCH_CHECK(arguments->named_count == 0, name, " is called with keywords");
      std::vector<IValue> values;
      for (size_t i = 0; i < arguments->positional_count; ++i)
        values.push_back(arguments->positional[i]->value);
      for (const auto& [known, function] : kFunctions) {
        if (known == name) return function(values);
      }
      TORCH_CHECK(false, "LibTorch has no function that does what ", name, " does");
    });
  };
  engine.leave_modes = [] {
    while (!at::functorch::getDynamicLayerStack().empty()) at::functorch::popDynamicLayerAndDeleteMetadata();
    while (!outer_autocasts().empty()) leave_autocast();
  };
}

}  // namespace fxtrace::internal::execute
