// In the place of what lib/torchscript checks before LibTorch carries something out: nothing is checked.
#include <ATen/ATen.h>

#include <algorithm>

#include "torchscript/code_check.h"
#include "torchscript/convert.h"
#include "torchscript/kernel_arguments.h"
#include "torchscript/plain_operators.h"
#include "torchscript/value.h"

namespace fxtrace {
namespace {

bool has_proxy(const at::IValue& value) {
  if (find_proxy(value) != nullptr) return true;
  if (value.isList()) return std::ranges::any_of(value.toListRef(), has_proxy);
  return value.isTuple() && std::ranges::any_of(value.toTupleRef().elements(), has_proxy);
}

}  // namespace

void check_nesting(std::string_view /*text*/) {}
void check_defaults(const std::shared_ptr<torch::jit::Source>& /*source*/) {}

bool is_small(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().is_cpu() && tensor.layout() == at::kStrided &&
         tensor.numel() <= kMaxComputed;
}
bool are_harmless(const c10::FunctionSchema& /*schema*/, c10::ArrayRef<at::IValue> /*arguments*/) {
  return true;
}

bool makes_tensor(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& result) {
    return result.type()->kind() != c10::TypeKind::VarType && may_hold_tensor(*result.type());
  });
}
bool is_carried_out(const c10::FunctionSchema& /*schema*/, Traits /*traits*/,
                    c10::ArrayRef<at::IValue> arguments, bool /*all_plain*/) {
  return std::ranges::none_of(arguments, has_proxy);
}
std::optional<Refusal> find_refusal(std::string_view /*name*/, Traits /*traits*/,
                                    c10::ArrayRef<at::IValue> /*arguments*/) {
  return std::nullopt;
}
std::optional<Refusal> find_refusal(const at::IValue& /*result*/) { return std::nullopt; }
std::size_t length_of(const at::IValue& /*value*/) { return 0; }
std::size_t cost_of(std::string_view /*name*/, c10::ArrayRef<at::IValue> /*arguments*/) { return 1; }
void guard_operators() {}
FoldingLimit::FoldingLimit() = default;
FoldingLimit::~FoldingLimit() = default;

}  // namespace fxtrace
