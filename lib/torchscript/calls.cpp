// Calls: submodules (inlined or left as leaves), methods, functions, hooks and context managers.
#include <torch/csrc/jit/api/function_impl.h>

#include "operators/target.h"
#include "operators/torch_functions.h"
#include "support/restore.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/shapes/abstract.h"

namespace fxtrace {
at::IValue Interpreter::call_graph_function(torch::jit::Function& function, const Values& arguments,
                                            const IrNode* node) {
  if (!function.isGraphFunction()) {
    fail(FailureKind::kUnsupportedOp,
         "a call of " + function.qualname().qualifiedName() + ", which has no code", node);
  }
  if (static_cast<std::int64_t>(frames_.size()) >= options_.limits.call_depth) {
    fail(FailureKind::kLimit,
         "calls nested more than " + std::to_string(options_.limits.call_depth) + " deep (--max-call-depth)",
         node);
  }
  if (node != nullptr) count_step(node);
  const Values results = run_graph(*torch::jit::toGraphFunction(function).graph(), arguments,
                                   function.qualname().name(), concrete_arguments(node, arguments.size()));
  return results.empty() ? at::IValue() : results[0];
}

std::vector<bool> Interpreter::concrete_arguments(const IrNode* node, std::size_t count) const {
  if (frames_.empty()) return concrete_inputs_;
  const auto& concrete = frames_.back().concrete;
  if (node == nullptr || concrete.empty() || node->inputs().size() < count) return {};
  std::vector<bool> result;
  const std::size_t first = node->inputs().size() - count;
  for (std::size_t i = 0; i < count; ++i) result.push_back(concrete.contains(node->input(first + i)));
  return result;
}

void Interpreter::call_method(const IrNode* node) {
  Values values = inputs(node);
  const std::string& name = node->s(c10::attr::name);
  const c10::TypePtr& type = node->output()->type();
  const at::IValue receiver = values[0];
  const bool script_object = find_proxy(receiver) != nullptr;
  if (!script_object && !receiver.isObject()) {
    fail(FailureKind::kUnsupportedOp, "method '" + name + "' called on a value that is not an object", node);
  }
  torch::jit::Function* function = script_object ? nullptr : receiver.toObjectRef().type()->findMethod(name);
  if (script_object || (function != nullptr && !function->isGraphFunction())) {
    // A torchbind object, or one that a leaf gave back: its methods are its own business.
    std::vector<Argument> args;
    for (const auto& value : values) args.push_back(argument(value, node));
    if (!records()) return set(node->output(), make_proxy(NodeRef{}, type));
    const NodeId id = tracer_->call_method(name, std::move(args), {}, meta(type), location(node));
    return set(node->output(),
               type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(ref(id), type));
  }
  if (function == nullptr) fail(FailureKind::kRaised, "AttributeError: no method '" + name + "'", node);
  const auto module = program_.find_module(&receiver.toObjectRef());
  // A scripted module may have a method that it calls forward1 itself.
  const bool is_own = node->input(0) == node->owningGraph()->inputs()[0];
  const bool is_call =
      module && (is_forward(name) || (!is_own && is_traced_call(*receiver.toObjectRef().type(), name)));
  if (is_call && mode_ != Mode::kState) {
    constexpr std::size_t kUnitsOfKnown = 16;
    for (const at::IValue& argument : values) budget_.spend(kUnitsOfKnown * extent_of(argument).looked);
    bound_->calls().remember(root_, *module, {values.begin() + 1, values.end()},
                             concrete_arguments(node, values.size() - 1));
  }
  const ModuleId caller = module_;
  if (module) module_ = *module;
  const Restore restore([&] { module_ = caller; });
  if (module && mode_ == Mode::kAbstract) {
    return set(node->output(), call_abstractly(*function, values, node));
  }
  if (is_call && records() && open_calls_.count(node) == 0) {
    return set(node->output(), call_module(*module, *function, std::move(values), node));
  }
  set(node->output(), call_graph_function(*function, values, node));
}

// Runs `body` as a call of the module; false when that failed, and then nothing is left of it: as a leaf it
// is followed once more.
bool Interpreter::follow_call(ModuleId module, const std::function<void()>& body) {
  Checkpoint before = checkpoint();
  call_mark_ = before.changes;
  steps_ = 0;
  const bool followed = tracer_->inline_call(module, body);
  call_mark_ = before.call_mark;
  steps_ = before.steps;
  if (!followed) back_to(std::move(before));
  return followed;
}

at::IValue Interpreter::call_module(ModuleId module, torch::jit::Function& forward, Values arguments,
                                    const IrNode* node) {
  if (!tracer_->is_leaf(module)) {
    at::IValue result;
    if (follow_call(module, [&] { result = call_graph_function(forward, arguments, node); })) {
      if (shapes_) tracer_->module_gives(module, tensors_in(known_of_value(result)));
      return result;
    }
  }
  const auto& schema = forward.getSchema();
  auto [args, kwargs] = call_arguments(forward, arguments, 1, node);
  const c10::TypePtr type = schema.returns().empty() ? c10::NoneType::get() : schema.returns()[0].type();
  auto [known, cost] = result_of(forward, arguments, type_of(module));
  // Hooks may change what forward gives.
  if (!program_.object(module)->type()->getForwardHooks().empty()) {
    known = AbstractValue{};
    if (cost) cost->unknown[type_of(module)] = 1;
  }
  if (!shapes_ && tracer_->has_failed(module)) run_abstractly(forward, arguments);
  const bool same = program_.does_as_forward(*program_.object(module)->type(), forward);
  const NodeId id = tracer_->call_leaf(module, std::move(args), std::move(kwargs), meta(type, known),
                                       location(node), same ? "" : forward.name());
  if (cost) tracer_->set_cost(id, *std::move(cost));
  if (shapes_ && !known.is_unknown()) tracer_->module_gives(module, tensors_in(known));
  return type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(ref(id), type, std::move(known));
}

namespace {

// The module whose hook the node calls, as a value of the code; null for any other node.
const torch::jit::Value* hooked_module(const torch::jit::Node* node) {
  constexpr std::size_t kPreHook = 3;  // inputs: the function, the module, its inputs
  constexpr std::size_t kHook = 4;     // and its output
  if (node->kind() != c10::prim::CallFunction) return nullptr;
  if (node->inputs().size() != kPreHook && node->inputs().size() != kHook) return nullptr;
  const auto type = node->input(1)->type()->cast<c10::ClassType>();
  const auto function = node->input(0)->type()->cast<c10::FunctionType>();
  if (!type || !function || !type->is_module() || !type->name()) return nullptr;
  const auto& name = function->function()->qualname();
  const bool is_hook =
      name.prefix() == type->name()->qualifiedName() && type->findMethod(name.name()) != function->function();
  return is_hook ? node->input(1) : nullptr;
}

// A hook is called around the module's forward by the code that calls it.  The last node of such a call that
// begins with `first`, and its forward; null when `first` begins none.
struct HookedCall {
  const torch::jit::Node* forward = nullptr;
  const torch::jit::Node* last = nullptr;
};
HookedCall find_hooked_call(const torch::jit::Node* first) {
  HookedCall call;
  const auto is_forward_of = [](const torch::jit::Node* node, const torch::jit::Value* module) {
    return node->kind() == c10::prim::CallMethod && node->input(0) == module &&
           is_forward(node->s(c10::attr::name));
  };
  const torch::jit::Value* module = hooked_module(first);
  if (module == nullptr) {
    if (first->kind() != c10::prim::CallMethod || !is_forward_of(first, first->input(0))) return call;
    module = first->input(0);
    const auto type = module->type()->cast<c10::ClassType>();
    if (!type || type->getForwardHooks().empty()) return call;
  }
  for (const torch::jit::Node* node = first; node->kind() != c10::prim::Return; node = node->next()) {
    if (is_forward_of(node, module)) {
      if (call.forward != nullptr) break;
      call.forward = node;
    } else if (hooked_module(node) == module) {
      const bool after = node->inputs().size() > 3;
      if (after != (call.forward != nullptr)) break;  // a hook before the next call
      if (after) call.last = node;
    } else if (node->kind() == c10::prim::CallMethod || hooked_module(node) != nullptr) {
      break;
    }
  }
  if (call.forward == nullptr || (call.last == nullptr && first == call.forward)) return {};
  if (call.last == nullptr) call.last = call.forward;
  return call;
}

}  // namespace

// Hooks run inside the call of their module: their nodes and what they use are the module's.  Gives the last
// node of the call that begins with `first`; null when none does, or nothing needs to be done about its
// hooks.
const torch::jit::Node* Interpreter::run_hooked_call(const IrNode* first) {
  if (!records() || options_.hooks != Hooks::kRun) return nullptr;
  const HookedCall call = find_hooked_call(first);
  if (call.last == nullptr) return nullptr;
  const at::IValue& receiver = value(call.forward->input(0));
  const auto module = receiver.isObject() ? program_.find_module(&receiver.toObjectRef()) : std::nullopt;
  if (!module || tracer_->is_leaf(*module)) return nullptr;
  const bool followed = follow_call(*module, [&] {
    open_calls_.insert(call.forward);
    const Restore close([&] { open_calls_.erase(call.forward); });
    for (const IrNode* node = first;; node = node->next()) {
      run_node(node);
      if (node == call.last) break;
    }
  });
  if (followed && shapes_ && call.last->outputs().size() == 1) {
    tracer_->module_gives(*module, tensors_in(known_of_value(value(call.last->output()))));
  }
  return followed ? call.last : nullptr;  // a leaf runs its own hooks
}

// In a module that is followed for what it knows: one that cannot be followed inside of it gives a value of
// which nothing is known, as a leaf does.
at::IValue Interpreter::call_abstractly(torch::jit::Function& function, const Values& arguments,
                                        const IrNode* node) {
  Checkpoint before = checkpoint();
  const CostLog::Mark cost_before = costs_ != nullptr ? costs_->mark() : CostLog::Mark{};
  call_mark_ = before.changes;
  try {
    at::IValue result = call_graph_function(function, arguments, node);
    call_mark_ = before.call_mark;
    return result;
  } catch (const TraceFailure&) {
    back_to(std::move(before));
    if (costs_ != nullptr) {
      costs_->undo_to(cost_before);
      costs_->add_unknown(type_of(module_));
    }
    const c10::TypePtr& type = node->output()->type();
    return type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(NodeRef{}, type);
  }
}

bool Interpreter::skip_hook(torch::jit::Function& function, const Values& arguments, const IrNode* node) {
  if (arguments.size() < 2 || arguments.size() > 3 || !arguments[0].isObject()) return false;
  const auto& type = *arguments[0].toObjectRef().type();
  if (!type.is_module() || !type.name() || function.qualname().prefix() != type.name()->qualifiedName() ||
      type.findMethod(function.qualname().name()) == &function) {
    return false;
  }
  // A leaf runs its own hooks, as in torch.fx.
  const auto module = program_.find_module(&arguments[0].toObjectRef());
  const bool leaf = module && records() && tracer_->is_leaf(*module);
  if (options_.hooks == Hooks::kRun && !leaf) return false;
  if (!leaf && bound_ != nullptr) bound_->report_skipped_hook();
  // hook(module, inputs, output) stands for `output`, pre_hook(module, inputs) for `inputs`.
  const c10::TypePtr& type_of_result = node->output()->type();
  at::IValue untouched = arguments.back();
  if (arguments.size() == 2 && type_of_result->kind() != c10::TypeKind::TupleType && untouched.isTuple() &&
      untouched.toTupleRef().size() == 1) {
    untouched = untouched.toTupleRef().elements()[0];
  }
  set(node->output(), type_of_result->kind() == c10::TypeKind::NoneType ? at::IValue() : untouched);
  return true;
}

void Interpreter::call_function(const IrNode* node) {
  const auto function_type = node->input(0)->type()->expect<c10::FunctionType>();
  torch::jit::Function& function = *function_type->function();
  Values values;
  for (std::size_t i = 1; i < node->inputs().size(); ++i) values.push_back(value(node->input(i)));
  if (skip_hook(function, values, node)) return;

  const std::string name = demangle(function.qualname().qualifiedName());
  const c10::TypePtr& type = node->output()->type();
  const bool plain = std::all_of(values.begin(), values.end(), is_plain) && !may_hold_tensor(*type);
  const bool is_models_own = !is_torch_function(name);
  if (plain || !records() || !tracer_->rules().is_wrapped(name) ||
      (is_models_own && is_reserved_target(name))) {
    return set(node->output(), call_graph_function(function, values, node));
  }
  if (std::all_of(values.begin(), values.end(), is_plain)) {
    // _canonical_mask(None, ...) is None.
    auto result = run_abstractly(function, values);
    if (result && is_plain(*result)) return set(node->output(), std::move(*result));
  }
  auto [args, kwargs] = call_arguments(function, values, 0, node);
  auto [known, cost] = result_of(function, values, name);
  Meta result_meta = meta(type, known);
  const NodeId id = is_models_own ? tracer_->call_model_function(name, std::move(args), std::move(kwargs),
                                                                 std::move(result_meta), location(node))
                                  : tracer_->call_function(name, std::move(args), std::move(kwargs),
                                                           std::move(result_meta), location(node));
  if (cost) tracer_->set_cost(id, *std::move(cost));
  set(node->output(),
      type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(ref(id), type, std::move(known)));
}

void Interpreter::context_manager(const IrNode* node, bool enter) {
  const at::IValue manager = value(node->input(0));
  if (!manager.isObject()) {
    fail(FailureKind::kUnsupportedOp, "a `with` over a value that depends on an input", node);
  }
  torch::jit::Function* function = manager.toObjectRef().type()->findMethod(enter ? "__enter__" : "__exit__");
  if (function == nullptr)
    fail(FailureKind::kRaised, "a `with` over an object that is not a context manager", node);
  Values values{manager};
  while (values.size() < function->getSchema().arguments().size()) values.emplace_back();
  set(node->output(), call_graph_function(*function, values, node));
  const auto& name = manager.toObjectRef().type()->name();
  if (name && name->qualifiedName().ends_with("amp.autocast_mode.autocast"))
    switch_autocast(manager.toObjectRef(), node, enter);
}

// As torch.export records it before it makes a region of it.
void Interpreter::switch_autocast(const c10::ivalue::Object& manager, const IrNode* node, bool enter) {
  const c10::TypePtr nothing = c10::NoneType::get();
  if (!enter) {
    if (switches_.autocast.empty()) return;
    const NodeRef entered = switches_.autocast.back().enter;
    if (records() && entered.valid()) {
      record_call("torch.amp.autocast_mode._exit_autocast", {tracer_->use(entered)}, {}, nothing, node);
    }
    switches_.autocast.pop_back();
    return;
  }
  const at::IValue device = manager.getAttr("device"), dtype = manager.getAttr("fast_dtype"),
                   enabled = manager.getAttr("_enabled");
  if (!device.isString() || !dtype.isInt() || !enabled.isBool()) {
    fail(FailureKind::kUnsupportedOp, "`with torch.autocast(...)` with a setting that depends on an input",
         node);
  }
  const auto dtype_argument = find_dtype_name(dtype.toInt());
  if (!dtype_argument) fail(FailureKind::kRaised, "there is no dtype " + std::to_string(dtype.toInt()), node);
  Switches::Autocast region{device.toStringRef(), enabled.toBool(), {}};
  if (records()) {
    Meta unknown;
    region.enter = ref(tracer_->call_function(
        "torch.amp.autocast_mode._enter_autocast",
        {region.device, Argument::Dtype{*dtype_argument}, region.enabled, Argument::None{}}, {}, unknown,
        location(node)));
  }
  switches_.autocast.push_back(std::move(region));
}

// The root's own hooks are no part of its forward's code: whoever calls the module runs them.
Interpreter::Values Interpreter::run_root(ModuleId root, torch::jit::Function& function, Values arguments) {
  const auto& type = *program_.object(root)->type();
  const bool hooks = options_.hooks == Hooks::kRun && function.qualname().name() == "forward";
  const bool has_hooks = !type.getForwardPreHooks().empty() || !type.getForwardHooks().empty();
  if (has_hooks && options_.hooks == Hooks::kSkip && bound_ != nullptr) bound_->report_skipped_hook();
  const at::IValue self = arguments[0];
  const auto inputs_tuple = [&] {
    return at::IValue(c10::ivalue::Tuple::create(Values(arguments.begin() + 1, arguments.end())));
  };
  if (hooks) {
    for (torch::jit::Function* hook : type.getForwardPreHooks()) {
      const at::IValue result = call_graph_function(*hook, {self, inputs_tuple()}, nullptr);
      if (result.isNone()) continue;
      arguments = {self};
      if (result.isTuple()) {
        for (const auto& item : result.toTupleRef().elements()) arguments.push_back(item);
      } else {
        arguments.push_back(result);
      }
    }
  }
  at::IValue output = call_graph_function(function, arguments, nullptr);
  if (hooks) {
    for (torch::jit::Function* hook : type.getForwardHooks()) {
      const at::IValue result = call_graph_function(*hook, {self, inputs_tuple(), output}, nullptr);
      if (!result.isNone()) output = result;
    }
  }
  return {output};
}

}  // namespace fxtrace
