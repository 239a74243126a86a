// Calls: submodules (inlined or left as leaves), methods, functions, hooks and context managers.
#include <torch/csrc/jit/api/function_impl.h>

#include "torchscript/convert.h"
#include "torchscript/interpreter.h"
#include "torchscript/shapes/size_arithmetic.h"

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
  const Values results =
      run_graph(*torch::jit::toGraphFunction(function).graph(), arguments, function.qualname().name());
  return results.empty() ? at::IValue() : results[0];
}

void Interpreter::call_method(const IrNode* node) {
  Values values = inputs(node);
  const std::string& name = node->s(c10::attr::name);
  const c10::TypePtr& type = node->output()->type();
  const at::IValue receiver = values[0];
  const bool script_object = find_proxy(receiver) != nullptr;
  if (!script_object && !receiver.isObject()) {
    fail(FailureKind::kUnsupportedOp, "method '" + name + "' of a value that is no object is called", node);
  }
  torch::jit::Function* function = script_object ? nullptr : receiver.toObjectRef().type()->findMethod(name);
  if (script_object || (function != nullptr && !function->isGraphFunction())) {
    // A torchbind object, or one that a leaf gave back: its methods are its own business.
    std::vector<Argument> args;
    for (const auto& value : values) args.push_back(argument(value, node));
    if (tracer_ == nullptr) return set(node->output(), make_proxy(NodeId{}, type));
    const NodeId id = tracer_->call_method(name, std::move(args), {}, meta(type), location(node));
    return set(node->output(), type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(id, type));
  }
  if (function == nullptr) fail(FailureKind::kRaised, "AttributeError: no method '" + name + "'", node);
  const auto module = program_.find_module(&receiver.toObjectRef());
  if (module && is_forward(name) && shapes_) {
    std::vector<Known> known;
    for (std::size_t i = 1; i < values.size(); ++i) known.push_back(known_of_value(values[i]));
    program_.remember_call(root_, *module, std::move(known));
  }
  if (module && is_forward(name) && tracer_ != nullptr) {
    return set(node->output(), call_module(*module, *function, std::move(values), node));
  }
  set(node->output(), call_graph_function(*function, values, node));
}

at::IValue Interpreter::call_module(ModuleId module, torch::jit::Function& forward, Values arguments,
                                    const IrNode* node) {
  if (!tracer_->is_leaf(module)) {
    const std::size_t changes = mark();
    const std::size_t frames = frames_.size();
    const std::size_t outer_mark = std::exchange(call_mark_, changes);
    const std::int64_t outer_steps = std::exchange(steps_, 0);
    const bool outer_grad = grad_enabled_;
    std::optional<Dimensions> dimensions;
    if (shapes_) dimensions = dimensions_;
    at::IValue result;
    const bool followed =
        tracer_->inline_call(module, [&] { result = call_graph_function(forward, arguments, node); });
    call_mark_ = outer_mark;
    steps_ = outer_steps;
    if (followed) return result;
    frames_.resize(frames);
    grad_enabled_ = outer_grad;
    roll_back(changes);
    if (dimensions) dimensions_ = std::move(*dimensions);
    // A leaf runs its own hooks; those before the call are recorded already.
    const auto& type = *program_.object(module)->type();
    if (options_.hooks == Hooks::kRun && !type.getForwardPreHooks().empty()) tracer_->mark_stale();
  }
  const auto& schema = forward.getSchema();
  auto [args, kwargs] = call_arguments(forward, arguments, 1, node);
  const c10::TypePtr type = schema.returns().empty() ? c10::NoneType::get() : schema.returns()[0].type();
  // Hooks may change what forward gives.
  const bool has_hooks = !program_.object(module)->type()->getForwardHooks().empty();
  Known known = has_hooks ? Known{} : result_of(forward, arguments);
  const NodeId id =
      tracer_->call_leaf(module, std::move(args), std::move(kwargs), meta(type, known), location(node));
  return type->kind() == c10::TypeKind::NoneType ? at::IValue() : make_proxy(id, type, std::move(known));
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
  const bool leaf = module && tracer_ != nullptr && tracer_->is_leaf(*module);
  if (options_.hooks == Hooks::kRun && !leaf) return false;
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
  if (plain || tracer_ == nullptr || !tracer_->rules().is_wrapped(name)) {
    return set(node->output(), call_graph_function(function, values, node));
  }
  if (std::all_of(values.begin(), values.end(), is_plain)) {
    // _canonical_mask(None, ...) is None.
    auto result = run_silently(function, values);
    if (result && is_plain(*result)) return set(node->output(), std::move(*result));
  }
  auto [args, kwargs] = call_arguments(function, values, 0, node);
  set(node->output(),
      record_call(name, std::move(args), std::move(kwargs), type, node, result_of(function, values)));
}

void Interpreter::context_manager(const IrNode* node, bool enter) {
  const at::IValue manager = value(node->input(0));
  if (!manager.isObject()) {
    fail(FailureKind::kUnsupportedOp, "a `with` over a value that depends on an input", node);
  }
  torch::jit::Function* function = manager.toObjectRef().type()->findMethod(enter ? "__enter__" : "__exit__");
  if (function == nullptr)
    fail(FailureKind::kRaised, "a `with` over an object that is no context manager", node);
  Values values{manager};
  while (values.size() < function->getSchema().arguments().size()) values.emplace_back();
  set(node->output(), call_graph_function(*function, values, node));
}

// The root's own hooks are no part of its forward's code: whoever calls the module runs them.
Interpreter::Values Interpreter::run_root(ModuleId root, torch::jit::Function& function, Values arguments) {
  const auto& type = *program_.object(root)->type();
  const bool hooks = options_.hooks == Hooks::kRun && function.qualname().name() == "forward";
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
