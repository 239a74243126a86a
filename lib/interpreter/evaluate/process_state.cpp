#include "interpreter/evaluate/process_state.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/convert.h"

namespace fxtrace::internal::interpreter {

bool ProcessState::answer_query(const IrNode* node) {
  // Symbols that have no enumerator.
  static const Symbol is_grad_enabled = torchscript::intern("aten::is_grad_enabled");
  static const Symbol set_grad_enabled = torchscript::intern("aten::set_grad_enabled");
  static const std::unordered_map<Symbol, std::string> off = {
      {torchscript::intern("aten::is_autocast_enabled"), "is_autocast_enabled"},
      {torchscript::intern("aten::is_autocast_cpu_enabled"), "is_autocast_cpu_enabled"},
      {torchscript::intern("aten::is_vulkan_available"), "is_vulkan_available"},
      {torchscript::intern("aten::_nnpack_available"), "_nnpack_available"},
      {torchscript::intern("aten::_use_cudnn_rnn_flatten_weight"), "_use_cudnn_rnn_flatten_weight"},
  };
  if (node->kind() == set_grad_enabled) {
    const Value& enabled = frames_.input(node, 0);
    if (enabled.is_bool()) state_.switches.grad = enabled.to_bool();
    if (!state_.switches.grad && recorder_.records()) state_.gradient_writes.disabled = true;
    return true;
  }
  const auto found = off.find(node->kind());
  if (node->kind() != is_grad_enabled && found == off.end()) return false;
  // Within `with torch.autocast(...)` the model itself has switched it on.
  static const Symbol is_autocast_enabled = torchscript::intern("aten::is_autocast_enabled");
  static const Symbol is_autocast_cpu_enabled = torchscript::intern("aten::is_autocast_cpu_enabled");
  const bool is_about_cpu = node->kind() == is_autocast_cpu_enabled;
  const bool is_about_autocast = node->kind() == is_autocast_enabled || is_about_cpu;
  const bool casts = is_about_autocast && state_.switches.casts() &&
                     (state_.switches.autocast.back().device == "cpu") == is_about_cpu;
  const bool answer = found == off.end() ? state_.switches.grad : casts;
  frames_.set(node, answer);
  // `with torch.no_grad()` only stores the answer in an attribute, which decides nothing.  Where gradients
  // are off, the model itself has switched them off, unless an option says so.
  const auto& uses = node->output()->uses();
  const bool decides = std::any_of(uses.begin(), uses.end(),
                                   [](const auto& use) { return use.user->kind() != Symbol::kPrimSetAttr; });
  if (decides && !casts && (answer || found != off.end() || !run_.options.grad)) {
    Expression question =
        Expression::method(Expression::name("torch"), found == off.end() ? "is_grad_enabled" : found->second);
    recorder_.guard(answer ? question : Expression::negation(question), std::nullopt, GuardReason::kDefault);
  }
  return true;
}

void ProcessState::enter_or_exit(const IrNode* node, bool enter) {
  const Value manager = frames_.input(node, 0);
  if (!manager.is_object()) {
    frames_.refuse("a `with` over a value that depends on an input", node);
  }
  Function* function = class_of(manager.to_object()).find_method(enter ? "__enter__" : "__exit__");
  if (function == nullptr) frames_.raise("a `with` over an object that is not a context manager", node);
  Values values{manager};
  while (values.size() < function->schema().arguments.size()) values.emplace_back();
  frames_.set(node, code_.follow(*function, values, node));
  if (manager.to_object().type->name().ends_with("amp.autocast_mode.autocast"))
    switch_autocast(manager.to_object(), node, enter);
}

// Records the calls that enter and leave autocast, as torch.export does before it makes a region of them.
void ProcessState::switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter) {
  if (!enter) {
    if (state_.switches.autocast.empty()) return;
    const NodeRef entered = state_.switches.autocast.back().enter;
    if (entered.valid()) {
      const Value region = make_proxy(entered, none_type());
      recorder_.apply("torch.amp.autocast_mode._exit_autocast", {region}, none_type(), node);
    }
    state_.switches.autocast.pop_back();
    return;
  }
  const auto setting = [&](std::string_view name) {
    const auto slot = class_of(manager).find_slot(name);
    return slot ? manager.slots.at(*slot) : Value();
  };
  const Value device = setting("device"), dtype = setting("fast_dtype"), enabled = setting("_enabled");
  if (!device.is_string() || !dtype.is_int() || !enabled.is_bool()) {
    frames_.refuse("`with torch.autocast(...)` with a setting that depends on an input", node);
  }
  const auto dtype_argument = find_dtype_name(dtype.to_int());
  if (!dtype_argument) frames_.raise("unknown dtype " + std::to_string(dtype.to_int()), node);
  Switches::Autocast region{device.to_string(), enabled.to_bool(), {}};
  region.enter = recorder_.call_function(
      "torch.amp.autocast_mode._enter_autocast",
      {region.device, Argument::Dtype{*dtype_argument}, region.enabled, Argument::None{}}, {}, nullptr, {},
      node);
  state_.switches.autocast.push_back(std::move(region));
}

}  // namespace fxtrace::internal::interpreter
