// Calls: submodules (inlined or left as leaves), methods, functions, hooks and context managers.

#include "operators/target.h"
#include "operators/torch_functions.h"
#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/interpreter.h"

namespace fxtrace::torchscript {
namespace {

// What cannot be compiled fails the module that runs it, and not the file.
const IrGraph& code_of(Function& function, const TorchScriptProgram& program) {
  try {
    return function.graph();
  } catch (const Error& error) {
    Failure failure;
    std::string why = error.what();
    if (const auto* in_source = dynamic_cast<const script::SourceError*>(&error)) {
      why = in_source->message();
      failure.source = program.location(in_source->range(), std::string(function.name()));
    }
    failure.message = "its code cannot be compiled: " + readable_message(why);
    throw TraceFailure(std::move(failure));
  }
}

}  // namespace

Value Interpreter::call_graph_function(Function& function, const Values& arguments, const IrNode* node) {
  if (!function.has_code()) {
    fail(FailureKind::kUnsupportedOp, "a call of " + function.qualified_name() + ", which has no code", node);
  }
  if (static_cast<std::int64_t>(frames_.size()) >= options_.limits.call_depth) {
    fail(FailureKind::kLimit,
         "calls nested more than " + std::to_string(options_.limits.call_depth) + " deep (--max-call-depth)",
         node);
  }
  if (node != nullptr) count_step(node);
  if (const auto* call = program_.archive().find_not_followed(function)) {
    Failure failure;
    failure.kind = FailureKind::kUnsupportedOp;
    failure.message = call->why;
    failure.op = call->operator_name;
    failure.source = program_.location(call->call, std::string(function.name()));
    throw TraceFailure(std::move(failure));
  }
  const Values results = run_graph(code_of(function, program_), arguments, std::string(function.name()),
                                   concrete_arguments(node, arguments.size()));
  return results.empty() ? Value() : results[0];
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
  const std::string& name = node->text();
  const TypePtr& type = node->output()->type();
  const Value receiver = values[0];
  const bool script_object = find_proxy(receiver) != nullptr;
  if (!script_object && !receiver.is_object()) {
    fail(FailureKind::kUnsupportedOp, "method '" + name + "' called on a value that is not an object", node);
  }
  Function* function = script_object ? nullptr : class_of(receiver.to_object()).find_method(name);
  if (script_object || (function != nullptr && !function->has_code())) {
    // A torchbind object, or one that a leaf gave back: its methods are its own business.
    std::vector<Argument> args;
    for (const auto& value : values) args.push_back(argument(value, node));
    if (!records()) return set(node->output(), make_proxy(NodeRef{}, type));
    const NodeId id = tracer_->call_method(name, std::move(args), {}, meta(type), location(node));
    return set(node->output(), type->kind() == TypeKind::kNone ? Value() : make_proxy(ref(id), type));
  }
  if (function == nullptr) fail(FailureKind::kRaised, "AttributeError: no method '" + name + "'", node);
  const auto module = program_.find_module(&receiver.to_object());
  // A scripted module may have a method that it calls forward1 itself.
  const bool is_own = node->input(0) == node->graph()->inputs()[0];
  const bool is_call =
      module && (is_forward(name) || (!is_own && is_traced_call(class_of(receiver.to_object()), name)));
  if (is_call && mode_ != Mode::kState) {
    constexpr std::size_t kUnitsOfKnown = 16;
    for (const Value& argument : values) budget_.spend(kUnitsOfKnown * extent_of(argument).looked);
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

Value Interpreter::call_module(ModuleId module, Function& forward, Values arguments, const IrNode* node) {
  if (!tracer_->is_leaf(module)) {
    Value result;
    if (follow_call(module, [&] { result = call_graph_function(forward, arguments, node); })) {
      if (shapes_) tracer_->module_gives(module, tensors_in(known_of_value(result)));
      return result;
    }
  }
  const auto& schema = forward.schema();
  auto [args, kwargs] = call_arguments(forward, arguments, 1, node);
  const TypePtr type = schema.returns.empty() ? none_type() : schema.returns[0].type;
  auto [known, cost] = result_of(forward, arguments, type_of(module));
  // Hooks may change what forward gives.
  if (!class_of(*program_.object(module)).forward_hooks().empty()) {
    known = AbstractValue{};
    if (cost) cost->unknown[type_of(module)] = 1;
  }
  if (!shapes_ && tracer_->has_failed(module)) run_abstractly(forward, arguments);
  const bool same = program_.does_as_forward(class_of(*program_.object(module)), forward);
  const NodeId id = tracer_->call_leaf(module, std::move(args), std::move(kwargs), meta(type, known),
                                       location(node), same ? "" : std::string(forward.name()));
  if (cost) tracer_->set_cost(id, *std::move(cost));
  if (shapes_ && !known.is_unknown()) tracer_->module_gives(module, tensors_in(known));
  return type->kind() == TypeKind::kNone ? Value() : make_proxy(ref(id), type, std::move(known));
}

namespace {

bool is_hook_of(const ClassType& type, const Function& function) {
  return function.qualified_name() == type.name() + "." + std::string(function.name()) &&
         type.find_method(function.name()) != &function;
}

// The module whose hook the node calls, as a value of the code; null for any other node.
const IrValue* hooked_module(const IrNode* node) {
  constexpr std::size_t kPreHook = 3;  // inputs: the function, the module, its inputs
  constexpr std::size_t kHook = 4;     // and its output
  if (node->kind() != Symbol::kPrimCallFunction) return nullptr;
  if (node->inputs().size() != kPreHook && node->inputs().size() != kHook) return nullptr;
  const auto* type = node->input(1)->type()->as<ClassType>();
  const auto* function = node->input(0)->type()->as<FunctionType>();
  if (type == nullptr || function == nullptr || !type->is_module()) return nullptr;
  return is_hook_of(*type, *function->function()) ? node->input(1) : nullptr;
}

// A hook is called around the module's forward by the code that calls it.  The last node of such a call that
// begins with `first`, and its forward; null when `first` begins none.
struct HookedCall {
  const IrNode* forward = nullptr;
  const IrNode* last = nullptr;
};
HookedCall find_hooked_call(const IrNode* first) {
  HookedCall call;
  const auto is_forward_of = [](const IrNode* node, const IrValue* module) {
    return node->kind() == Symbol::kPrimCallMethod && node->input(0) == module && is_forward(node->text());
  };
  const IrValue* module = hooked_module(first);
  if (module == nullptr) {
    if (first->kind() != Symbol::kPrimCallMethod || !is_forward_of(first, first->input(0))) return call;
    module = first->input(0);
    const auto* type = module->type()->as<ClassType>();
    if (type == nullptr || type->forward_hooks().empty()) return call;
  }
  for (const IrNode* node = first; node->kind() != Symbol::kPrimReturn; node = node->next()) {
    if (is_forward_of(node, module)) {
      if (call.forward != nullptr) break;
      call.forward = node;
    } else if (hooked_module(node) == module) {
      const bool after = node->inputs().size() > 3;
      if (after != (call.forward != nullptr)) break;  // a hook before the next call
      if (after) call.last = node;
    } else if (node->kind() == Symbol::kPrimCallMethod || hooked_module(node) != nullptr) {
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
const IrNode* Interpreter::run_hooked_call(const IrNode* first) {
  if (!records() || options_.hooks != Hooks::kRun) return nullptr;
  const HookedCall call = find_hooked_call(first);
  if (call.last == nullptr) return nullptr;
  const Value& receiver = value(call.forward->input(0));
  const auto module = receiver.is_object() ? program_.find_module(&receiver.to_object()) : std::nullopt;
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
Value Interpreter::call_abstractly(Function& function, const Values& arguments, const IrNode* node) {
  Checkpoint before = checkpoint();
  const CostLog::Mark cost_before = costs_ != nullptr ? costs_->mark() : CostLog::Mark{};
  call_mark_ = before.changes;
  try {
    Value result = call_graph_function(function, arguments, node);
    call_mark_ = before.call_mark;
    return result;
  } catch (const TraceFailure&) {
    back_to(std::move(before));
    if (costs_ != nullptr) {
      costs_->undo_to(cost_before);
      costs_->add_unknown(type_of(module_));
    }
    const TypePtr& type = node->output()->type();
    return type->kind() == TypeKind::kNone ? Value() : make_proxy(NodeRef{}, type);
  }
}

bool Interpreter::skip_hook(Function& function, const Values& arguments, const IrNode* node) {
  if (arguments.size() < 2 || arguments.size() > 3 || !arguments[0].is_object()) return false;
  const ClassType& type = class_of(arguments[0].to_object());
  if (!type.is_module() || !is_hook_of(type, function)) return false;
  // A leaf runs its own hooks, as in torch.fx.
  const auto module = program_.find_module(&arguments[0].to_object());
  const bool leaf = module && records() && tracer_->is_leaf(*module);
  if (options_.hooks == Hooks::kRun && !leaf) return false;
  if (!leaf && bound_ != nullptr) bound_->report_skipped_hook();
  // hook(module, inputs, output) stands for `output`, pre_hook(module, inputs) for `inputs`.
  const TypePtr& type_of_result = node->output()->type();
  Value untouched = arguments.back();
  if (arguments.size() == 2 && type_of_result->kind() != TypeKind::kTuple && untouched.is_tuple() &&
      untouched.items().size() == 1) {
    untouched = untouched.items()[0];
  }
  set(node->output(), type_of_result->kind() == TypeKind::kNone ? Value() : untouched);
  return true;
}

void Interpreter::call_function(const IrNode* node) {
  const auto* function_type = node->input(0)->type()->as<FunctionType>();
  Function& function = *function_type->function();
  Values values;
  for (std::size_t i = 1; i < node->inputs().size(); ++i) values.push_back(value(node->input(i)));
  if (skip_hook(function, values, node)) return;

  const std::string name = demangle(function.qualified_name());
  const TypePtr& type = node->output()->type();
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
      type->kind() == TypeKind::kNone ? Value() : make_proxy(ref(id), type, std::move(known)));
}

void Interpreter::context_manager(const IrNode* node, bool enter) {
  const Value manager = value(node->input(0));
  if (!manager.is_object()) {
    fail(FailureKind::kUnsupportedOp, "a `with` over a value that depends on an input", node);
  }
  Function* function = class_of(manager.to_object()).find_method(enter ? "__enter__" : "__exit__");
  if (function == nullptr)
    fail(FailureKind::kRaised, "a `with` over an object that is not a context manager", node);
  Values values{manager};
  while (values.size() < function->schema().arguments.size()) values.emplace_back();
  set(node->output(), call_graph_function(*function, values, node));
  if (manager.to_object().type->name().ends_with("amp.autocast_mode.autocast"))
    switch_autocast(manager.to_object(), node, enter);
}

// As torch.export records it before it makes a region of it.
void Interpreter::switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter) {
  const TypePtr nothing = none_type();
  if (!enter) {
    if (switches_.autocast.empty()) return;
    const NodeRef entered = switches_.autocast.back().enter;
    if (records() && entered.valid()) {
      record_call("torch.amp.autocast_mode._exit_autocast", {tracer_->use(entered)}, {}, nothing, node);
    }
    switches_.autocast.pop_back();
    return;
  }
  const auto setting = [&](std::string_view name) {
    const auto slot = class_of(manager).find_slot(name);
    return slot ? manager.slots.at(*slot) : Value();
  };
  const Value device = setting("device"), dtype = setting("fast_dtype"), enabled = setting("_enabled");
  if (!device.is_string() || !dtype.is_int() || !enabled.is_bool()) {
    fail(FailureKind::kUnsupportedOp, "`with torch.autocast(...)` with a setting that depends on an input",
         node);
  }
  const auto dtype_argument = find_dtype_name(dtype.to_int());
  if (!dtype_argument)
    fail(FailureKind::kRaised, "there is no dtype " + std::to_string(dtype.to_int()), node);
  Switches::Autocast region{device.to_string(), enabled.to_bool(), {}};
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
Interpreter::Values Interpreter::run_root(ModuleId root, Function& function, Values arguments) {
  const ClassType& type = class_of(*program_.object(root));
  const bool hooks = options_.hooks == Hooks::kRun && std::string(function.name()) == "forward";
  const bool has_hooks = !type.forward_pre_hooks().empty() || !type.forward_hooks().empty();
  if (has_hooks && options_.hooks == Hooks::kSkip && bound_ != nullptr) bound_->report_skipped_hook();
  const Value self = arguments[0];
  const auto inputs_tuple = [&] { return Value(make_tuple(Values(arguments.begin() + 1, arguments.end()))); };
  if (hooks) {
    for (const auto& [name, hook] : type.forward_pre_hooks()) {
      const Value result = call_graph_function(*hook, {self, inputs_tuple()}, nullptr);
      if (result.is_none()) continue;
      arguments = {self};
      if (result.is_tuple()) {
        for (const auto& item : result.items()) arguments.push_back(item);
      } else {
        arguments.push_back(result);
      }
    }
  }
  Value output = call_graph_function(function, arguments, nullptr);
  if (hooks) {
    for (const auto& [name, hook] : type.forward_hooks()) {
      const Value result = call_graph_function(*hook, {self, inputs_tuple(), output}, nullptr);
      if (!result.is_none()) output = result;
    }
  }
  return {output};
}

}  // namespace fxtrace::torchscript
