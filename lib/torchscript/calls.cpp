#include "torchscript/calls.h"

#include <algorithm>

#include "operators/target.h"
#include "operators/torch_functions.h"
#include "support/identifier.h"
#include "support/restore.h"
#include "torchscript/abstract.h"
#include "torchscript/convert.h"
#include "torchscript/hooks.h"
#include "torchscript/run.h"

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
    if (!failure.source && !error.place().empty()) failure.message += " (" + error.place() + ")";
    throw TraceFailure(std::move(failure));
  }
}

}  // namespace

Value Calls::follow(Function& function, const Values& arguments, const IrNode* node) {
  if (!function.has_code()) {
    frames_.refuse("a call of " + function.qualified_name() + ", which has no code", node);
  }
  if (static_cast<std::int64_t>(frames_.size()) >= run_.options.limits.call_depth) {
    frames_.fail(FailureKind::kLimit,
                 "calls nested more than " + std::to_string(run_.options.limits.call_depth) +
                     " deep (--max-call-depth)",
                 node, Limit::kCallDepth);
  }
  if (node != nullptr) run_.count_step(node);
  if (const auto* call = run_.program.archive().find_not_followed(function)) {
    Failure failure;
    failure.kind = FailureKind::kUnsupportedOp;
    failure.message = call->why;
    failure.op = call->operator_name;
    failure.source = run_.program.location(call->call, std::string(function.name()));
    throw TraceFailure(std::move(failure));
  }
  const Values results =
      run_.blocks.run_graph(code_of(function, run_.program), arguments, std::string(function.name()));
  return results.empty() ? Value() : results[0];
}

void Calls::call_method(const IrNode* node) {
  Values values = frames_.inputs(node);
  const std::string& name = node->text();
  const TypePtr& type = node->output()->type();
  const Value receiver = values[0];
  const bool script_object = find_proxy(receiver) != nullptr;
  if (!script_object && !receiver.is_object()) {
    frames_.refuse("method '" + name + "' called on a value that is not an object", node);
  }
  Function* function = script_object ? nullptr : class_of(receiver.to_object()).find_method(name);
  const bool is_bound = !script_object && class_of(receiver.to_object()).is_torchbind();
  if (is_bound && name == "__init__" && run_.records() &&
      run_.program.find_path(&receiver.to_object()) == nullptr)
    return make_object(node, values);
  if (script_object || (function != nullptr && !function->has_code())) {
    // A torchbind object, or one that a leaf gave back: its methods are its own business.
    std::vector<Argument> args;
    for (const auto& value : values) args.push_back(recording_.argument(value, node));
    if (!run_.records()) return frames_.set(node, make_proxy(NodeRef{}, type));
    const NodeId id =
        run_.tracer->call_method(name, std::move(args), {}, meta_of(type), frames_.location(node));
    return frames_.set(node, recording_.result(id, type));
  }
  if (function == nullptr) frames_.raise("AttributeError: no method '" + name + "'", node);
  const auto module = run_.program.find_module(&receiver.to_object());
  // A scripted module may have a method that it calls forward1 itself.
  const bool is_own = node->input(0) == node->graph()->inputs()[0];
  const bool is_call =
      module && (is_forward(name) || (!is_own && is_traced_call(class_of(receiver.to_object()), name)));
  if (is_call && run_.mode != Mode::kState) {
    constexpr std::size_t kUnitsOfKnown = 16;
    for (const Value& argument : values) run_.budget.spend(kUnitsOfKnown * extent_of(argument).looked);
    const Values given(values.begin() + 1, values.end());
    if (run_.inputs_are_open) {
      run_.bound->calls().remember_open(*module, given);
    } else {
      std::vector<bool> may_be_roots;
      for (std::size_t i = 1; run_.has_concrete && i < node->inputs().size(); ++i)
        may_be_roots.push_back(!node->input(i)->node()->is(Symbol::kPrimConstant));
      run_.bound->calls().remember(run_.root, *module, given, std::move(may_be_roots));
    }
  }
  const ModuleId caller = run_.module;
  if (module) run_.module = *module;
  const Restore restore([&] { run_.module = caller; });
  if (module && run_.mode == Mode::kAbstract) {
    return frames_.set(node, run_.abstract_calls.call_inside(*function, values, node));
  }
  if (is_call && run_.records() && open_calls_.count(node) == 0) {
    return frames_.set(node, call_module(*module, *function, std::move(values), node));
  }
  if (module && *module != caller && run_.records() && open_calls_.count(node) == 0) {
    run_.tracer->enter_method(*module, name);
    const Restore leave([&] { run_.tracer->leave_call(); });
    return frames_.set(node, follow_and_note(*function, values, node));
  }
  frames_.set(node, follow(*function, values, node));
}

// An object of torch.classes: the graph makes it where it is constructed, right behind prim::CreateObject.
void Calls::make_object(const IrNode* node, const Values& values) {
  const TypePtr& type = values[0].to_object().type;
  std::vector<Argument> args;
  for (std::size_t i = 1; i < values.size(); ++i) args.push_back(recording_.argument(values[i], node));
  frames_.set(node->input(0), recording_.call(type_name(*type), std::move(args), type, node));
  frames_.set(node, Value());
}

// Runs `body` as a call of the module; false when that failed, and then nothing is left of it: as a leaf it
// is followed once more.
bool Calls::inline_module(ModuleId module, const std::function<void()>& body) {
  Checkpoint before = run_.checkpoint();
  run_.changes.begin_stretch(before.changes);
  run_.steps = 0;
  const bool followed = run_.tracer->inline_call(module, body);
  run_.changes.begin_stretch(before.stretch);
  run_.steps = before.steps;
  if (!followed) run_.back_to(std::move(before));
  return followed;
}

// What forward calls the nodes that it is given; those in a list, tuple or dict have its name and their own.
GraphTracer::CallNodes Calls::inputs_of(Function& function, const Values& arguments) {
  GraphTracer::CallNodes nodes;
  if (run_.tracer->in_subgraph()) return nodes;
  constexpr std::size_t kMostItems = 32;
  const auto add = [&](const std::string& name, const Value& value) {
    run_.budget.spend(1);
    const Proxy* proxy = recording_.find_recorded(value);
    if (proxy != nullptr && is_identifier(name)) nodes.inputs.emplace_back(name, proxy->ref.node);
    return proxy != nullptr;
  };
  const auto& formals = function.schema().arguments;
  for (std::size_t i = 1; i < std::min(arguments.size(), formals.size()); ++i) {
    const std::string& name = formals[i].name;
    const Value& value = arguments[i];
    if (add(name, value)) continue;
    if (value.is_dict()) {
      for (const auto& entry : value.to_dict().entries()) {
        if (entry.key.is_string() && value.to_dict().entries().size() <= kMostItems)
          add(name + "_" + entry.key.to_string(), entry.value);
      }
    } else if ((value.is_list() || value.is_tuple()) && value.items().size() <= kMostItems) {
      const auto fields = value.is_tuple() ? tuple_names(value.to_tuple().type.get()) : nullptr;
      for (std::size_t k = 0; k < value.items().size(); ++k)
        add(name + "_" + (fields != nullptr ? fields->fields[k] : std::to_string(k)), value.items()[k]);
    }
  }
  return nodes;
}

// Of a named tuple, or a dict, that holds nodes alone.
void Calls::name_results(const Value& result, GraphTracer::CallNodes& nodes) {
  const auto add = [&](const std::string& name, const Value& value) {
    run_.budget.spend(1);
    const Proxy* proxy = recording_.find_recorded(value);
    if (proxy != nullptr) nodes.results.emplace_back(name, proxy->ref.node);
    return proxy != nullptr;
  };
  bool has_all = !run_.tracer->in_subgraph();
  if (result.is_dict()) {
    for (const auto& entry : result.to_dict().entries())
      has_all = has_all && entry.key.is_string() && add(entry.key.to_string(), entry.value);
  } else if (const auto names = result.is_tuple() ? tuple_names(result.to_tuple().type.get()) : nullptr) {
    nodes.type = names->type;
    for (std::size_t i = 0; i < result.items().size(); ++i)
      has_all = has_all && add(names->fields[i], result.items()[i]);
  }
  if (!has_all) nodes.results.clear();
}

Value Calls::follow_and_note(Function& function, const Values& arguments, const IrNode* node) {
  auto nodes = inputs_of(function, arguments);
  Value result = follow(function, arguments, node);
  name_results(result, nodes);
  run_.tracer->note_call(run_.tracer->current_scope(), std::move(nodes));
  return result;
}

Value Calls::call_module(ModuleId module, Function& forward, Values arguments, const IrNode* node) {
  if (!run_.tracer->is_leaf(module)) {
    Value result;
    if (inline_module(module, [&] { result = follow_and_note(forward, arguments, node); })) {
      if (run_.shapes) run_.tracer->module_gives(module, tensors_in(known_of_value(result)));
      return result;
    }
  }
  run_.assignments.check_leaf(module, node);
  const auto& schema = forward.schema();
  auto [args, kwargs] = recording_.call_arguments(forward, arguments, 1, node);
  const TypePtr type = schema.returns.empty() ? none_type() : schema.returns[0].type;
  auto [known, cost, inner] = run_.abstract_calls.result_of(forward, arguments, run_.type_of(module));
  // Hooks may change what forward gives.
  if (run_.options.hooks == Hooks::kRun && !class_of(*run_.program.object(module)).forward_hooks().empty()) {
    known = AbstractValue{};
    if (cost) cost->unknown[run_.type_of(module)] = 1;
  }
  if (!run_.shapes && run_.tracer->has_failed(module)) run_.abstract_calls.run(forward, arguments);
  const std::size_t first = run_.tracer->graph().mark().ids;
  const bool same = run_.program.does_as_forward(class_of(*run_.program.object(module)), forward);
  const NodeId id = run_.tracer->call_leaf(module, std::move(args), std::move(kwargs), meta_of(type, known),
                                           frames_.location(node), same ? "" : std::string(forward.name()));
  run_.input_guards.made(run_.ref(id));
  if (cost) run_.tracer->set_cost(id, *std::move(cost));
  if (!run_.tracer->in_subgraph())
    run_.tracer->note_call(run_.tracer->graph().node(id).scope, inputs_of(forward, arguments));
  if (run_.shapes && !known.is_unknown()) run_.tracer->module_gives(module, tensors_in(known));
  Value result = recording_.result(id, type, std::move(known));
  if (run_.stacks.are_kept()) run_.stacks.note_leaf(node, first);
  run_.knowledge.note_call(result, inner, arguments);
  return result;
}

namespace {

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

const IrNode* Calls::run_hooked(const IrNode* first) {
  if (!run_.records() || run_.options.hooks != Hooks::kRun) return nullptr;
  const HookedCall call = find_hooked_call(first);
  if (call.last == nullptr) return nullptr;
  const Value& receiver = frames_.value(call.forward->input(0));
  const auto module = receiver.is_object() ? run_.program.find_module(&receiver.to_object()) : std::nullopt;
  if (!module || run_.tracer->is_leaf(*module)) return nullptr;
  const bool followed = inline_module(*module, [&] {
    open_calls_.insert(call.forward);
    const Restore close([&] { open_calls_.erase(call.forward); });
    for (const IrNode* node = first;; node = node->next()) {
      run_.blocks.run_node(node);
      if (node == call.last) break;
    }
    Values arguments;  // what the hooks gave
    for (const IrValue* input : call.forward->inputs()) arguments.push_back(frames_.value(input));
    Function& forward = *class_of(*run_.program.object(*module)).find_method(call.forward->text());
    auto nodes = inputs_of(forward, arguments);
    if (call.last->outputs().size() == 1) name_results(frames_.value(call.last->output()), nodes);
    run_.tracer->note_call(run_.tracer->current_scope(), std::move(nodes));
  });
  if (followed && run_.shapes && call.last->outputs().size() == 1) {
    run_.tracer->module_gives(*module, tensors_in(known_of_value(frames_.value(call.last->output()))));
  }
  return followed ? call.last : nullptr;  // a leaf runs its own hooks
}

bool Calls::skip_hook(Function& function, const Values& arguments, const IrNode* node) {
  if (arguments.size() < 2 || arguments.size() > 3 || !arguments[0].is_object()) return false;
  const ClassType& type = class_of(arguments[0].to_object());
  if (!type.is_module() || !is_hook_of(type, function)) return false;
  if (!run_.records()) return false;  // inside of a leaf, whose code calls it
  // Who calls a leaf runs its own hooks or leaves them out, as in torch.fx.
  const auto module = run_.program.find_module(&arguments[0].to_object());
  if (run_.options.hooks == Hooks::kRun && !(module && run_.tracer->is_leaf(*module))) return false;
  // hook(module, inputs, output) stands for `output`, pre_hook(module, inputs) for `inputs`.
  const TypePtr& type_of_result = node->output()->type();
  Value untouched = arguments.back();
  if (arguments.size() == 2 && type_of_result->kind() != TypeKind::kTuple && untouched.is_tuple() &&
      untouched.items().size() == 1) {
    untouched = untouched.items()[0];
  }
  frames_.set(node, type_of_result->kind() == TypeKind::kNone ? Value() : untouched);
  return true;
}

void Calls::call_function(const IrNode* node) {
  const auto* function_type = node->input(0)->type()->as<FunctionType>();
  Function& function = *function_type->function();
  Values values;
  for (std::size_t i = 1; i < node->inputs().size(); ++i) values.push_back(frames_.input(node, i));
  if (skip_hook(function, values, node)) return;

  const std::string name = demangle(function.qualified_name());
  const TypePtr& type = node->output()->type();
  const bool plain = std::all_of(values.begin(), values.end(), is_plain) && !may_hold_tensor(*type);
  const bool is_models_own = !is_torch_function(name);
  if (plain || !run_.records() || !run_.tracer->rules().is_wrapped(name) ||
      (is_models_own && is_reserved_target(name))) {
    return frames_.set(node, follow(function, values, node));
  }
  if (std::all_of(values.begin(), values.end(), is_plain)) {
    // _canonical_mask(None, ...) is None.
    auto result = run_.abstract_calls.run(function, values);
    if (result && is_plain(result->value)) return frames_.set(node, std::move(result->value));
  }
  auto [args, kwargs] = recording_.call_arguments(function, values, 0, node);
  auto [known, cost, inner] = run_.abstract_calls.result_of(function, values, name);
  Meta result_meta = meta_of(type, known);
  const NodeId id = is_models_own
                        ? run_.tracer->call_model_function(name, std::move(args), std::move(kwargs),
                                                           std::move(result_meta), frames_.location(node))
                        : run_.tracer->call_function(name, std::move(args), std::move(kwargs),
                                                     std::move(result_meta), frames_.location(node));
  run_.input_guards.made(run_.ref(id));
  if (cost) run_.tracer->set_cost(id, *std::move(cost));
  Value result = recording_.result(id, type, std::move(known));
  run_.knowledge.note_call(result, inner, values);
  frames_.set(node, std::move(result));
}

// The root's own hooks are no part of its forward's code: whoever calls the module runs them.
Value Calls::run_root(Function& function, Values arguments) {
  const ClassType& type = class_of(*run_.program.object(run_.root));
  if (run_.options.hooks != Hooks::kRun || function.name() != "forward")
    return follow(function, arguments, nullptr);
  const Value self = arguments[0];
  const auto inputs_tuple = [&] { return make_tuple({arguments.begin() + 1, arguments.end()}); };
  for (const auto& [name, hook] : type.forward_pre_hooks()) {
    const Value result = follow(*hook, {self, inputs_tuple()}, nullptr);
    if (result.is_none()) continue;
    arguments = {self};
    if (result.is_tuple()) {
      arguments.insert(arguments.end(), result.items().begin(), result.items().end());
    } else {
      arguments.push_back(result);
    }
  }
  Value output = follow(function, arguments, nullptr);
  for (const auto& [name, hook] : type.forward_hooks()) {
    const Value result = follow(*hook, {self, inputs_tuple(), output}, nullptr);
    if (!result.is_none()) output = result;
  }
  return output;
}

}  // namespace fxtrace::torchscript
