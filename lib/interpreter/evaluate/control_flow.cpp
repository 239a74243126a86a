#include "interpreter/evaluate/control_flow.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>

#include "interpreter/code/code_effects.h"
#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/convert.h"
#include "support/scope_guard.h"
#include "support/text/qualified_name.h"

namespace fxtrace::internal::interpreter {
namespace {

bool always_raises(const IrBlock& block) {
  return std::any_of(block.nodes().begin(), block.nodes().end(), [](const IrNode* node) {
    if (node->kind() == Symbol::kPrimRaiseException) return true;
    return node->kind() == Symbol::kPrimIf && always_raises(*node->blocks()[0]) &&
           always_raises(*node->blocks()[1]);
  });
}

// Returns the constant that is the block's only result, if it is one.
std::optional<bool> constant_result(const IrBlock& block) {
  if (block.outputs().size() != 1) return std::nullopt;
  return constant_of<bool>(*block.outputs()[0]);
}

// Returns the branch of an `if` whose other branch always raises; nothing when none or both do.
std::optional<bool> branch_without_raise(const IrNode* node) {
  const bool first = always_raises(*node->blocks()[0]);
  const bool second = always_raises(*node->blocks()[1]);
  if (first == second) return std::nullopt;
  return second;
}

// The form of `a and b` and `a or b` in the IR: an `if` with one boolean result, one branch of which is a
// constant.
struct ShortCircuit {
  bool is_and;
};
std::optional<ShortCircuit> short_circuit(const IrNode* node) {
  if (node->outputs().size() != 1 || node->output()->type()->kind() != TypeKind::kBool) return std::nullopt;
  if (constant_result(*node->blocks()[1]) == false) return ShortCircuit{true};
  if (constant_result(*node->blocks()[0]) == true) return ShortCircuit{false};
  return std::nullopt;
}

// Returns the value that the condition must have for no exception to be raised; nothing when it decides
// anything else.
std::optional<bool> required(const IrValue* value) {
  if (value->uses().size() != 1) return std::nullopt;
  const IrNode* user = value->uses()[0].user;
  if (user->kind() == Symbol::kAtenNot) {
    const auto negated = required(user->output());
    return negated ? std::optional<bool>(!*negated) : std::nullopt;
  }
  // The value is the result of a block: the `if` around it must have the required result.
  if (user->kind() == Symbol::kPrimReturn && user->owning_block()->owning_node() != nullptr) {
    const IrNode* outer = user->owning_block()->owning_node();
    if (outer->kind() == Symbol::kPrimIf && short_circuit(outer)) return required(outer->output());
    return std::nullopt;
  }
  if (user->kind() != Symbol::kPrimIf) return std::nullopt;
  if (const auto branch = branch_without_raise(user)) return branch;
  const auto circuit = short_circuit(user);
  if (!circuit) return std::nullopt;
  const auto result = required(user->output());
  if (!result) return std::nullopt;
  if (circuit->is_and && *result) return true;
  if (!circuit->is_and && !*result) return false;
  return std::nullopt;
}

// Returns whether the value decides about exceptions only, through any `and` and `or`.
bool only_guards(const IrValue* value) {
  return std::all_of(value->uses().begin(), value->uses().end(), [](const IrUse& use) {
    const IrNode* user = use.user;
    if (user->kind() == Symbol::kPrimReturn && user->owning_block()->owning_node() != nullptr) {
      const IrNode* outer = user->owning_block()->owning_node();
      return outer->kind() == Symbol::kPrimIf && short_circuit(outer) && only_guards(outer->output());
    }
    if (user->kind() != Symbol::kPrimIf) return false;
    return branch_without_raise(user).has_value() || (short_circuit(user) && only_guards(user->output()));
  });
}

}  // namespace

void Branches::choose(const IrNode* node, bool branch) {
  const IrBlock& block = *node->blocks()[branch ? 0 : 1];
  code_.run_block(block);
  Values results = frames_.outputs(block);
  const bool is_only_one = frames_.is_constant(node->input(0));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (is_only_one && frames_.is_constant(block.outputs()[i])) frames_.note_constant(node->outputs()[i]);
    frames_.set(node->outputs()[i], std::move(results[i]));
    if (recorder_.records()) recorder_.conditions.note_uncomputed_as(node->outputs()[i], block.outputs()[i]);
  }
}

void Branches::run(const IrNode* node) {
  const Value condition = frames_.input(node, 0);
  if (condition.is_bool()) return choose(node, condition.to_bool());
  if (const auto decided = recorder_.conditions.decide(condition)) return choose(node, *decided);
  if (!assume(node, condition)) code_.branch(node, condition);
}

// Takes the branch that does not raise.
bool Branches::assume(const IrNode* node, const Value& condition) {
  if (const auto branch = branch_without_raise(node)) {
    recorder_.assume(node, condition, *branch);
    choose(node, *branch);
    return true;
  }
  const auto circuit = short_circuit(node);
  if (!circuit) return false;
  const auto result = required(node->output());
  const bool known = find_proxy(condition) != nullptr;  // a condition that was not computed has none
  if (known && result && *result == circuit->is_and) {
    // `assert a and b`: both must hold.  `if a or b: raise`: neither may.
    recorder_.assume(node, condition, circuit->is_and);
    choose(node, circuit->is_and);
    return true;
  }
  // It need not be known which operand decides: the guard is the whole expression.
  return only_guards(node->output()) && is_pure(*node->blocks()[0]) && is_pure(*node->blocks()[1]) &&
         code_.join_conditions(node, condition, circuit->is_and);
}

void Branches::raise(const IrNode* node) {
  const Value& message = frames_.input(node, 0);
  std::string type = "Exception";
  if (node->inputs().size() > 1 && frames_.input(node, 1).is_string()) {
    type = frames_.input(node, 1).to_string();
    type = std::string(QualifiedName(type).last());
  }
  std::string text = message.is_string() ? message.to_string() : "";
  if (text.rfind("AssertionError: ", 0) == 0 || type.empty()) {
    frames_.raise(readable_message(text), node);
  }
  frames_.raise(text.empty() ? type : type + ": " + readable_message(text), node);
}

void Calls::call_method(const IrNode* node) {
  const Values values = frames_.inputs(node);
  const std::string& name = node->text();
  const TypePtr& type = node->output()->type();
  const Value& receiver = values[0];
  const bool script_object = find_proxy(receiver) != nullptr;
  if (!script_object && !receiver.is_object()) {
    frames_.refuse("method '" + name + "' called on a value that is not an object", node);
  }
  Function* function = script_object ? nullptr : class_of(receiver.to_object()).find_method(name);
  const bool is_bound = !script_object && class_of(receiver.to_object()).is_torchbind();
  if (is_bound && name == "__init__" && code_.make_object(node, values)) return;
  if (script_object || (function != nullptr && !function->has_code())) {
    // Methods of a torchbind object, or of an object that a leaf returned, have no code that can be followed.
    std::vector<Argument> args;
    for (const auto& value : values) args.push_back(recorder_.argument(value, node));
    return frames_.set(node,
                       Recorder::result(recorder_.call_method(name, std::move(args), type, node), type));
  }
  if (function == nullptr) frames_.raise("AttributeError: no method '" + name + "'", node);
  const auto module = run_.program.find_module(&receiver.to_object());
  if (!module) return frames_.set(node, code_.follow(*function, values, node));
  // A scripted module may have a method of its own named forward1.
  const bool is_own = node->input(0) == node->graph()->inputs()[0];
  const bool is_call = is_forward(name) || (!is_own && is_traced_call(class_of(receiver.to_object()), name));
  if (is_call) recorder_.remember_call(*module, values, node);
  const ModuleId caller = std::exchange(state_.module, *module);
  const Restore restore([&] { state_.module = caller; });
  frames_.set(node, code_.call_module({*module, caller, *function, values, node, is_call}));
}

void Calls::call_function(const IrNode* node) {
  Function& function = *node->input(0)->type()->as<FunctionType>()->function();
  Values values;
  for (std::size_t i = 1; i < node->inputs().size(); ++i) values.push_back(frames_.input(node, i));
  frames_.set(node, code_.call_function(function, values, node));
}

void Loops::run(const IrNode* node) {
  Value limit = frames_.input(node, 0);
  Value condition = frames_.input(node, 1);
  if (const auto number = recorder_.number_of(limit)) limit = *number;
  const auto settle = [&](Value& value) {
    if (const auto answer = propagation_.find_answer(value)) value = *answer;
  };
  settle(limit);
  if (!limit.is_int()) return code_.loop(node, "the length of a loop", limit, std::nullopt);
  const IrBlock& body = *node->blocks()[0];
  std::optional<Checkpoint> start;
  if (makes_subgraphs()) start = recorder_.checkpoint();
  Values carried;
  for (std::size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(frames_.input(node, i));
  for (std::int64_t trip = 0; trip < limit.to_int(); ++trip) {
    settle(condition);
    if (!condition.is_bool()) return code_.loop(node, "the condition of a loop", condition, start);
    if (!condition.to_bool()) break;
    state_.count_step(node);
    frames_.set(body.inputs()[0], trip);
    for (std::size_t i = 0; i < carried.size(); ++i) frames_.set(body.inputs()[i + 1], std::move(carried[i]));
    code_.run_block(body);
    Values results = frames_.outputs(body);
    condition = std::move(results[0]);
    carried.assign(std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.end()));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) frames_.set(node->outputs()[i], std::move(carried[i]));
}

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
