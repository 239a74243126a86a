#include "torchscript/shapes/infer.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/jit/runtime/symbolic_shape_registry.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "torchscript/convert.h"
#include "torchscript/shapes/checks.h"
#include "torchscript/shapes/rule_helpers.h"
#include "torchscript/shapes/rules.h"
#include "torchscript/shapes/size_arithmetic.h"
#include "torchscript/value.h"

namespace fxtrace {

namespace {

using Results = std::optional<std::vector<Known>>;

std::vector<Known> unknown_results(const c10::FunctionSchema& schema) {
  return std::vector<Known>(schema.returns().size());
}

// ---- Arguments with numbers for everything that is known ----

// Of a parameter: Tensor for Tensor[] and Tensor?.
c10::TypePtr element_type(const c10::TypePtr& type) {
  if (const auto list = type->cast<c10::ListType>()) return list->getElementType();
  if (const auto optional = type->cast<c10::OptionalType>()) return element_type(optional->getElementType());
  return type;
}

// What stands for a tensor in a call.
using MakeTensor = at::IValue (*)(const TensorInfo& info);

std::vector<std::int64_t> numbers(const TensorInfo& info) {
  std::vector<std::int64_t> result;
  for (const SymInt& size : info.sizes) result.push_back(number_of(size));
  return result;
}

at::IValue meta_tensor(const TensorInfo& info) {
  if (!info.dtype || c10::isQIntType(*info.dtype) || info.sparse_dim) throw CannotTell{};
  return at::Tensor(at::detail::empty_meta(numbers(info), *info.dtype));
}

at::IValue size_list(const TensorInfo& info) { return numbers(info); }

// Throws CannotTell when a number or a size is missing.  `type` is the parameter's.
at::IValue concrete(const Known& known, const c10::TypePtr& type, MakeTensor make_tensor) {
  if (const TensorInfo* info = known.tensor()) return make_tensor(*info);
  if (const SymInt* integer = known.integer()) return number_of(*integer);
  const Known::Sequence* sequence = known.sequence();
  const auto* list_type = without_optional(type.get())->castRaw<c10::ListType>();
  if (sequence == nullptr || !list_type) throw CannotTell{};
  std::vector<at::IValue> items;
  for (const Known& item : *sequence)
    items.push_back(concrete(item, list_type->getElementType(), make_tensor));
  c10::TypePtr item_type = list_type->getElementType();
  if (!items.empty() && items[0].isIntList()) item_type = c10::ListType::ofInts();
  c10::impl::GenericList list(item_type);
  for (at::IValue& item : items) list.push_back(std::move(item));
  return list;
}

at::IValue concrete(const at::IValue& value, const c10::TypePtr& type, MakeTensor make_tensor) {
  if (value.isNone() || is_plain(value)) return value;
  if (!value.isList()) return concrete(known_of_value(value), type, make_tensor);
  // Not through Known: elements may be None.
  c10::TypePtr item_type = element_type(type);
  std::vector<at::IValue> items;
  for (const at::IValue& item : value.toListRef()) items.push_back(concrete(item, item_type, make_tensor));
  if (!items.empty() && items[0].isIntList()) item_type = c10::ListType::ofInts();
  c10::impl::GenericList list(item_type);
  for (at::IValue& item : items) list.push_back(std::move(item));
  return list;
}

// ---- LibTorch's meta kernels ----

Known known_result(const at::IValue& value) {
  if (value.isTensor() || value.isInt() || value.isTensorList() || value.isIntList())
    return known_of_value(value);
  return {};
}

// Kernels warn about what the model does; that is for who runs it.
class Silent : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

bool has_meta_kernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::Meta);
}

bool is_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
}

// Whether what a kernel complains of is that there is no data, and not what it was given.
bool is_about_meta(std::string_view message) {
  static constexpr std::array<std::string_view, 6> kTexts{"meta",    "Meta",    "data pointer",
                                                          "storage", "backend", "not implemented"};
  return std::ranges::any_of(
      kTexts, [&](std::string_view text) { return message.find(text) != std::string_view::npos; });
}

// No data can be touched: every tensor is on the device meta, and so is every device that is asked for.
// Raises what the kernel says of the arguments.
Results run_on_meta(const c10::OperatorHandle& op, const std::vector<at::IValue>& values) {
  const c10::FunctionSchema& schema = op.schema();
  if (values.size() != schema.arguments().size()) return std::nullopt;
  torch::jit::Stack stack;
  bool on_meta = false;
  try {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const c10::Argument& argument = schema.arguments()[i];
      if (argument.name() == "device") {
        stack.emplace_back(at::Device(at::kMeta));
        on_meta = true;
      } else if (argument.name() == "pin_memory") {
        stack.emplace_back();
      } else {
        stack.push_back(concrete(values[i], argument.type(), meta_tensor));
        on_meta = on_meta || stack.back().isTensor() || stack.back().isTensorList();
      }
    }
  } catch (const CannotTell&) {
    return std::nullopt;  // something is no number
  }
  // What takes neither a tensor nor a device would work on the CPU.
  if (!on_meta) return std::nullopt;
  Silent silent;
  const c10::WarningUtils::WarningHandlerGuard quiet(&silent);
  const at::NoGradGuard no_grad;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  try {
    op.callBoxed(&stack);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  } catch (const c10::Error& error) {
    std::string message = readable_message(error.what_without_backtrace());
    if (is_about_meta(message)) return std::nullopt;
    throw Raises{std::move(message)};
  } catch (const std::exception&) {
    return std::nullopt;
  }
  std::vector<Known> results;
  for (const at::IValue& value : stack) results.push_back(known_result(value));
  return results;
}

// ---- LibTorch's JIT shape functions ----

// Null when there is none for this operator.
const torch::jit::Code* find_shape_function(const c10::OperatorName& name) {
  static std::unordered_map<c10::OperatorName, std::unique_ptr<torch::jit::Code>> known;
  // The registry knows operators by the address of their schema.
  const std::shared_ptr<torch::jit::Operator> op = torch::jit::findOperatorFor(name);
  if (op == nullptr) return nullptr;
  const auto [place, is_new] = known.try_emplace(name);
  if (!is_new) return place->second.get();
  if (const auto graph = torch::jit::shapeComputeGraphForSchema(op->schema())) {
    place->second = std::make_unique<torch::jit::Code>(*graph, "shape of " + name.name);
  }
  return place->second.get();
}

std::vector<Known> run_shape_function(const RuleArguments& args) {
  const c10::FunctionSchema& schema = args.schema();
  const torch::jit::Code* code = find_shape_function(schema.operator_name());
  if (code == nullptr) throw CannotTell{};
  torch::jit::Stack stack;
  Dtype dtype;
  bool has_tensor = false;
  for (std::size_t i = 0; i < args.values().size() && stack.size() < code->num_inputs(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (!has_tensor && args.is_tensor(argument.name())) {
      dtype = args.tensor(argument.name()).dtype;
      has_tensor = true;
    }
    stack.push_back(concrete(args.values()[i], argument.type(), size_list));
  }
  torch::jit::InterpreterState(*code).run(stack);
  std::vector<Known> results;
  for (const at::IValue& value : stack) {
    if (!value.isIntList()) throw CannotTell{};
    TensorInfo info;
    for (const std::int64_t size : value.toIntVector()) info.sizes.emplace_back(size);
    info.dtype = dtype;
    results.push_back(make_known(std::move(info)));
  }
  return results;
}

// ---- Rules by tag ----

// Not in the tables; nearly all of these give floats of the type they take.
std::vector<Known> pointwise(const RuleArguments& args) {
  Dtype dtype;
  bool same = true;
  for (const c10::Argument& argument : args.schema().arguments()) {
    if (!args.is_tensor(argument.name())) continue;
    const Dtype other = args.tensor(argument.name()).dtype;
    same = same && other && c10::isFloatingType(*other) && dtype.value_or(*other) == *other;
    dtype = other;
  }
  return make(broadcast_all(args), same ? dtype : std::nullopt);
}

// ---- Everything together ----

bool changes_shape(std::string_view name) {
  static constexpr std::array kNames{"as_strided_", "detach_",   "rename_",   "resize_",
                                     "resize_as_",  "set_",      "squeeze_",  "t_",
                                     "transpose_",  "swapaxes_", "swapdims_", "unsqueeze_"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Operators whose saved statistics are others on the CPU than their meta kernels say.
bool differs_from_cpu(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames{"native_batch_norm", "_native_batch_norm_legit",
                                                          "_batch_norm_with_update", "native_layer_norm"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool returns_list(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
    return result.type()->kind() == c10::TypeKind::ListType;
  });
}

std::string_view written_argument(const c10::FunctionSchema& schema) {
  const c10::AliasInfo* result = schema.returns().empty() ? nullptr : schema.returns()[0].alias_info();
  if (result == nullptr || !result->isWrite()) return {};
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::AliasInfo* info = argument.alias_info();
    if (info != nullptr && info->isWrite() && info->beforeSets() == result->beforeSets())
      return argument.name();
  }
  return {};
}

bool is_sparse(const at::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() && value.toTensor().layout() != at::kStrided;
  const TensorInfo* info = known_of(value).tensor();
  return info != nullptr && info->sparse_dim.has_value();
}

bool takes_sparse(const RuleArguments& args) {
  return std::ranges::any_of(args.values(), [](const at::IValue& value) {
    return value.isList() ? std::ranges::any_of(value.toListRef(), is_sparse) : is_sparse(value);
  });
}

// A layout that the call asks for, other than strided.
bool asks_for_layout(const RuleArguments& args) {
  return args.given("layout") &&
         !(args.value("layout").isInt() && args.value("layout").toInt() == static_cast<int>(at::kStrided));
}

std::vector<Known> infer(const RuleArguments& args) {
  const c10::FunctionSchema& schema = args.schema();
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.is_out()) throw CannotTell{};
  }
  const std::optional<c10::OperatorHandle> op =
      c10::Dispatcher::singleton().findSchema(schema.operator_name());
  std::string_view name = schema.name();
  if (takes_sparse(args)) {
    const Rule rule = find_sparse_rule(name);
    if (rule == nullptr) throw CannotTell{};
    return rule(args);
  }
  check_call(args);
  if (asks_for_layout(args) && name.find("sparse") == std::string_view::npos) throw CannotTell{};
  const std::string_view written = written_argument(schema);
  if (!written.empty()) {
    if (op && (has_meta_kernel(*op) || is_composite(*op))) run_on_meta(*op, args.values());
    if (!changes_shape(without_namespace(name))) return make(args.tensor(written));
    name.remove_suffix(1);
    const Rule rule = find_rule(name);
    if (rule == nullptr) throw CannotTell{};
    return rule(args);
  }
  const Rule rule = find_rule(name);
  // A list may be long, and its length a hostile file's choice: a rule has a limit.
  const bool meta_first = op && has_meta_kernel(*op) && !differs_from_cpu(without_namespace(name)) &&
                          (rule == nullptr || !returns_list(schema));
  if (meta_first) {
    if (Results results = run_on_meta(*op, args.values())) return std::move(*results);
  }
  if (rule != nullptr) {
    try {
      std::vector<Known> results = rule(args);
      // A rule knows more, but does not check all that LibTorch does.
      if (!meta_first && op && is_composite(*op) && !returns_list(schema)) run_on_meta(*op, args.values());
      return results;
    } catch (const CannotTell&) {
      // Sizes may be numbers that LibTorch knows more about; but it makes every part of a list.
      if (returns_list(schema)) throw;
    }
  } else if (op && op->hasTag(at::Tag::pointwise)) {
    return pointwise(args);
  }
  // After the rules: what is composed of other operators takes as many calls.
  if (!meta_first && op && is_composite(*op)) {
    if (Results results = run_on_meta(*op, args.values())) return std::move(*results);
  }
  if (rule == nullptr) return run_shape_function(args);
  throw CannotTell{};
}

// The device that `args` ask for, or that of the first tensor.
std::optional<at::Device> result_device(const RuleArguments& args) {
  const std::string_view name = without_namespace(args.schema().name());
  if (name == "cpu") return at::Device(at::kCPU);
  if (name == "cuda") return at::Device(at::kCUDA);
  if (args.given("device")) {
    // x.device, when nothing was said of it.
    return args.value("device").isDevice() ? std::optional(args.device("device")) : std::nullopt;
  }
  const bool takes_device_of_other = name == "to" || name == "type_as";
  if (takes_device_of_other && args.is_tensor("other")) return args.tensor("other").device;
  std::optional<at::Device> result;
  const auto consider = [&](const TensorInfo& info) {
    // A number on the CPU may be combined with a tensor elsewhere.
    if (!result || (result->is_cpu() && !info.device.is_cpu())) result = info.device;
  };
  for (const c10::Argument& argument : args.schema().arguments()) {
    if (!args.given(argument.name())) continue;
    const at::IValue& value = args.value(argument.name());
    if (is_plain(value)) continue;
    const Known known = known_of_value(value);
    if (known.tensor() != nullptr) consider(*known.tensor());
    if (known.sequence() == nullptr) continue;
    for (const Known& element : *known.sequence()) {
      if (element.tensor() != nullptr) consider(*element.tensor());
    }
  }
  return result;
}

void finish(Known& known, at::Device device, const Dimensions& dimensions) {
  if (auto* info = std::get_if<TensorInfo>(&known.value)) {
    info->device = device;
    info->requires_grad.reset();
    info->contiguous.reset();
    info->contiguity_assumed = false;
    info->content = nullptr;
    for (SymInt& size : info->sizes) {
      if (!size.is_number()) size = dimensions.simplify(size);
      if (size.number().value_or(0) < 0) throw Raises{"a size of the result would be " + size.text()};
    }
  }
  if (auto* sequence = std::get_if<Known::Sequence>(&known.value)) {
    for (Known& element : *sequence) finish(element, device, dimensions);
  }
}

// ---- Order in memory ----

bool is_ordinary_format(const RuleArguments& args) {
  if (!args.given("memory_format")) return true;
  const at::IValue& format = args.value("memory_format");
  return format.isInt() && format.toInt() == static_cast<std::int64_t>(at::MemoryFormat::Contiguous);
}

// What makes a tensor in the order of its dimensions; and what does that for one that is so already.
bool is_contiguous(const RuleArguments& args, const TensorInfo& result) {
  static const std::unordered_set<std::string_view> makers{
      "contiguous", "zeros",    "ones",     "empty",     "full",         "rand",   "randn",
      "randint",    "arange",   "eye",      "linspace",  "randperm",     "tensor", "one_hot",
      "new_zeros",  "new_ones", "new_full", "new_empty", "scalar_tensor"};
  static const std::unordered_set<std::string_view> keepers{"view",  "_unsafe_view", "reshape", "flatten",
                                                            "ravel", "unsqueeze",    "detach",  "alias",
                                                            "clone", "to",           "dropout"};
  const std::string_view name = without_namespace(args.schema().name());
  if (makers.contains(name)) return is_ordinary_format(args);
  if (name == "clone" && args.given("memory_format")) return is_ordinary_format(args);
  if (keepers.contains(name)) {
    return args.is_tensor("self") && args.tensor("self").contiguous == true &&
           (!args.given("memory_format") || is_ordinary_format(args));
  }
  const auto op = c10::Dispatcher::singleton().findSchema(args.schema().operator_name());
  if (!op || !op->hasTag(at::Tag::pointwise)) return false;
  bool any = false;
  for (const c10::Argument& argument : args.schema().arguments()) {
    if (!args.is_tensor(argument.name())) continue;
    const TensorInfo info = args.tensor(argument.name());
    if (info.sizes.empty()) continue;
    if (info.contiguous != true || info.sizes != result.sizes) return false;
    any = true;
  }
  return any;
}

}  // namespace

Inferred infer_shapes(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                      Dimensions& dimensions) {
  const RuleArguments args(schema, values, dimensions);
  try {
    std::vector<Known> results = infer(args);
    if (results.size() != schema.returns().size()) return {unknown_results(schema), {}};
    const at::Device device = result_device(args).value_or(at::kCPU);
    for (Known& result : results) finish(result, device, dimensions);
    if (auto* info = std::get_if<TensorInfo>(&results[0].value)) {
      if (is_contiguous(args, *info)) {
        info->contiguous = true;
        info->contiguity_assumed = std::ranges::any_of(values, [](const at::IValue& value) {
          const TensorInfo* taken = known_of(value).tensor();
          return taken != nullptr && taken->contiguity_assumed;
        });
      }
    }
    return {std::move(results), {}};
  } catch (const Raises& raises) {
    return {unknown_results(schema), raises.message};
  } catch (const CannotTell&) {
  } catch (const std::exception&) {
    // LibTorch's or SymbolicError: this call cannot be told either.
  }
  return {unknown_results(schema), {}};
}

}  // namespace fxtrace
