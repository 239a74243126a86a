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
#include <functional>
#include <unordered_map>

#include "operators/operators.h"
#include "shapes/rule_helpers.h"
#include "torchscript/convert.h"
#include "torchscript/kernel_arguments.h"
#include "torchscript/value.h"

namespace fxtrace {
namespace {

// ---- Operators ----

// By LibTorch itself: what a library adds is never run.
bool is_registered(const c10::FunctionSchema& schema) {
  const Operator* row = find_operator(schema);
  const std::span<const Operator> rows = registered_operators();
  const std::less<> before;
  return !before(row, rows.data()) && before(row, rows.data() + rows.size());
}

// Rows are read once; what others declare may change with the archive.
const CalledOperator& called_operator(const c10::FunctionSchema& schema, CalledOperator& other) {
  static std::unordered_map<const Operator*, CalledOperator> known;
  const Operator* row = find_operator(schema);
  if (is_registered(schema)) {
    const auto [place, is_new] = known.try_emplace(row);
    if (is_new) place->second = CalledOperator::of(*row);
    return place->second;
  }
  other = {schema.name(), converted_schema(schema), fxtrace::traits_of(row)};
  const auto op = c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (op && op->hasTag(at::Tag::pointwise)) other.traits |= traits::kPointwise;
  return other;
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
  if (!info.dtype || is_quantized(*info.dtype) || info.sparse_dim) throw CannotTell{};
  return at::Tensor(at::detail::empty_meta(numbers(info), libtorch_type(*info.dtype)));
}

at::IValue size_list(const TensorInfo& info) { return numbers(info); }

// Throws CannotTell when a number or a size is missing.  `type` is the parameter's.
at::IValue concrete(const AbstractValue& known, const c10::TypePtr& type, MakeTensor make_tensor) {
  if (const TensorInfo* info = known.tensor()) return make_tensor(*info);
  if (const SymInt* integer = known.integer()) return number_of(*integer);
  const AbstractValue::Sequence* sequence = known.sequence();
  const auto* list_type = without_optional(type.get())->castRaw<c10::ListType>();
  if (sequence == nullptr || !list_type) throw CannotTell{};
  std::vector<at::IValue> items;
  for (const AbstractValue& item : *sequence)
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
  // Not through AbstractValue: elements may be None.
  c10::TypePtr item_type = element_type(type);
  std::vector<at::IValue> items;
  for (const at::IValue& item : value.toListRef()) items.push_back(concrete(item, item_type, make_tensor));
  if (!items.empty() && items[0].isIntList()) item_type = c10::ListType::ofInts();
  c10::impl::GenericList list(item_type);
  for (at::IValue& item : items) list.push_back(std::move(item));
  return list;
}

// ---- LibTorch's meta kernels ----

AbstractValue known_result(const at::IValue& value) {
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
std::optional<Results> run_on_meta(const c10::OperatorHandle& op, const std::vector<at::IValue>& values) {
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
  if (!on_meta || !are_harmless(schema, stack)) return std::nullopt;
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
  Results results;
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

Results run_shape_function(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values) {
  const torch::jit::Code* code = find_shape_function(schema.operator_name());
  if (code == nullptr) throw CannotTell{};
  const InterpreterArguments args(values);
  torch::jit::Stack stack;
  Dtype dtype;
  bool has_tensor = false;
  for (std::size_t i = 0; i < values.size() && stack.size() < code->num_inputs(); ++i) {
    if (!has_tensor && args.type(i).lists == 0 && args[i].tensor() != nullptr) {
      dtype = args[i].tensor()->dtype;
      has_tensor = true;
    }
    stack.push_back(concrete(values[i], schema.arguments()[i].type(), size_list));
  }
  torch::jit::InterpreterState(*code).run(stack);
  Results results;
  for (const at::IValue& value : stack) {
    if (!value.isIntList()) throw CannotTell{};
    TensorInfo info;
    for (const std::int64_t size : value.toIntVector()) info.sizes.emplace_back(size);
    info.dtype = dtype;
    results.push_back({std::move(info)});
  }
  return results;
}

// Kernels for everybody's use.  What LibTorch calls itself, and what autograd calls, takes its arguments for
// granted: some read beyond the end of the lists that they are given.
bool may_be_run(const c10::FunctionSchema& schema) {
  // In archives all the same, and checked as the others are.
  static constexpr std::array<std::string_view, 18> kInternal{"_adaptive_avg_pool2d",
                                                              "_adaptive_avg_pool3d",
                                                              "_batch_norm_impl_index",
                                                              "_cdist_forward",
                                                              "_convolution",
                                                              "_convolution_mode",
                                                              "_embedding_bag",
                                                              "_log_softmax",
                                                              "_native_batch_norm_legit",
                                                              "_safe_softmax",
                                                              "_softmax",
                                                              "_unsafe_view",
                                                              "_upsample_bicubic2d_aa",
                                                              "_upsample_bilinear2d_aa",
                                                              "_upsample_nearest_exact1d",
                                                              "_upsample_nearest_exact2d",
                                                              "_upsample_nearest_exact3d",
                                                              "_weight_norm"};
  std::string_view name = schema.name();
  constexpr std::string_view kSpace = "aten::";
  if (!is_registered(schema) || !name.starts_with(kSpace)) return false;
  name.remove_prefix(kSpace.size());
  const bool is_public = !name.starts_with('_') && name.find("backward") == std::string_view::npos;
  return is_public || std::ranges::find(kInternal, name) != kInternal.end();
}

class LibTorchKernels final : public Kernels {
 public:
  LibTorchKernels(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values)
      : schema_(schema),
        values_(values),
        op_(may_be_run(schema) ? c10::Dispatcher::singleton().findSchema(schema.operator_name())
                               : std::nullopt) {}

  bool has_meta_kernel() const override { return op_ && fxtrace::has_meta_kernel(*op_); }
  bool is_composite() const override { return op_ && fxtrace::is_composite(*op_); }
  std::optional<Results> run_on_meta() override { return fxtrace::run_on_meta(*op_, values_); }
  // Last because the first use of their registry takes 200 ms.
  Results run_shape_function() override { return fxtrace::run_shape_function(schema_, values_); }

 private:
  const c10::FunctionSchema& schema_;
  const std::vector<at::IValue>& values_;
  std::optional<c10::OperatorHandle> op_;
};

// Remembered are sizes, tensors and what they are in: plain numbers and strings stand in the code.
void forget_literals(AbstractValue& value) {
  const bool is_literal = value.get_if<double>() != nullptr || value.get_if<bool>() != nullptr ||
                          value.get_if<std::string>() != nullptr ||
                          value.get_if<std::complex<double>>() != nullptr;
  if (is_literal) value = {};
  if (auto* items = std::get_if<AbstractValue::Sequence>(&value.value))
    std::ranges::for_each(*items, forget_literals);
  if (auto* dict = std::get_if<AbstractValue::Dict>(&value.value))
    std::ranges::for_each(dict->values, forget_literals);
}

}  // namespace

Inferred infer_shapes(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                      ShapeEnv& dimensions) {
  const InterpreterArguments arguments(values);
  CalledOperator other;
  LibTorchKernels kernels(schema, values);
  return infer_shapes(RuleArguments(called_operator(schema, other), arguments, dimensions), kernels);
}

Evaluated evaluate_plain(const c10::FunctionSchema& schema, const std::vector<at::IValue>& values,
                         const ShapeEnv& dimensions) {
  Evaluated result = evaluate_plain(schema.name(), InterpreterArguments(values), dimensions);
  forget_literals(result.known);
  return result;
}

std::optional<ChangedList> changed_list(const c10::FunctionSchema& schema,
                                        const std::vector<at::IValue>& values) {
  std::optional<ChangedList> result = changed_list(schema.name(), InterpreterArguments(values));
  if (result) std::ranges::for_each(result->rest, forget_literals);
  return result;
}

std::optional<SymInt> evaluate_element(const c10::FunctionSchema& schema,
                                       const std::vector<at::IValue>& values, const ReadConstant& constant) {
  return evaluate_element(schema.name(), InterpreterArguments(values, constant));
}

}  // namespace fxtrace
