#include "interpreter/graph/graph_calls.h"

#include <algorithm>
#include <utility>

#include "interpreter/code/code_effects.h"
#include "interpreter/code/module_calls.h"
#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "operators/names/allow_lists.h"
#include "operators/target.h"
#include "support/scope_guard.h"
#include "support/text/identifier.h"

namespace fxtrace::internal::interpreter {

// The graph makes an object of torch.classes where the code calls its __init__, right after
// prim::CreateObject.
bool GraphCalls::make_object(const IrNode* node, const Values& values) {
  if (run_.program.find_path(&values[0].to_object()) != nullptr) return false;
  const TypePtr& type = values[0].to_object().type;
  std::vector<Argument> args;
  for (std::size_t i = 1; i < values.size(); ++i) args.push_back(recorder_.argument(values[i], node));
  frames_.set(node->input(0), recorder_.call(type_name(*type), std::move(args), type, node));
  frames_.set(node, Value());
  return true;
}

Value GraphCalls::call_module(const MethodCall& call) {
  if (open_calls_.contains(call.node) || (!call.is_forward && call.module == call.caller))
    return code_.follow(call.method, call.arguments, call.node);
  if (call.is_forward) return call_forward(call.module, call.method, call.arguments, call.node);
  tracer_.enter_method(call.module, std::string(call.method.name()));
  const Restore leave([&] { tracer_.leave_call(); });
  return follow_and_note(call.method, call.arguments, call.node);
}

// The call is a stretch of the undo log, so that a failed module can be undone alone; as a leaf it is
// followed once more.
bool GraphCalls::inline_module(ModuleId module, const std::function<void()>& body) {
  Checkpoint before = recorder_.checkpoint();
  state_.steps = 0;
  const bool followed = tracer_.inline_call(module, body);
  recorder_.keep(before);
  state_.steps = before.steps;
  if (!followed) recorder_.back_to(std::move(before));
  return followed;
}

// Returns the nodes of the arguments by the names of forward's parameters; those in a list, tuple or dict
// have the name of the parameter and their own.
GraphTracer::CallNodes GraphCalls::inputs_of(Function& function, const Values& arguments) {
  GraphTracer::CallNodes nodes;
  if (tracer_.in_subgraph()) return nodes;
  constexpr std::size_t kMostItems = 32;
  const auto add = [&](const std::string& name, const Value& value) {
    run_.budget.spend(1);
    const Proxy* proxy = recorder_.find_recorded(value);
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

// Adds the nodes of the result by name, if it is a named tuple or a dict that holds nodes only.
void GraphCalls::name_results(const Value& result, GraphTracer::CallNodes& nodes) {
  const auto add = [&](const std::string& name, const Value& value) {
    run_.budget.spend(1);
    const Proxy* proxy = recorder_.find_recorded(value);
    if (proxy != nullptr) nodes.results.emplace_back(name, proxy->ref.node);
    return proxy != nullptr;
  };
  bool has_all = !tracer_.in_subgraph();
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

Value GraphCalls::follow_and_note(Function& function, const Values& arguments, const IrNode* node) {
  auto nodes = inputs_of(function, arguments);
  Value result = code_.follow(function, arguments, node);
  name_results(result, nodes);
  tracer_.note_call(tracer_.current_scope(), std::move(nodes));
  return result;
}

Value GraphCalls::result_of(NodeId call, const TypePtr& type, AbstractCalls::Outcome outcome,
                            const Values& arguments) {
  recorder_.input_guards.note_made(tracer_.ref(call));
  if (outcome.cost) tracer_.set_cost(call, *std::move(outcome.cost));
  Value result = Recorder::result(tracer_.ref(call), type, std::move(outcome.result));
  propagation_.note_call(result, outcome.value, arguments);
  return result;
}

namespace {

// Adds the lists and dicts that the value is or holds, and values of the graph that may be such.
void add_containers(const Value& value, Values& found) {
  if (const Proxy* proxy = find_proxy(value)) {
    if (proxy->static_type->kind() != TypeKind::kClass && may_hold_container(*proxy->static_type))
      found.push_back(value);
  } else if (value.is_dict()) {
    found.push_back(value);
    for (const auto& entry : value.to_dict().entries()) add_containers(entry.value, found);
  } else if (value.is_list() || value.is_tuple()) {
    if (value.is_list()) found.push_back(value);
    for (const Value& item : value.items()) add_containers(item, found);
  }
}

// Returns forward, and the hooks that run with it: hook(module, inputs), hook(module, inputs, output).
std::vector<Function*> codes_of(const ClassType& type, Function& forward) {
  std::vector<Function*> codes{&forward};
  for (const auto& [name, hook] : type.forward_pre_hooks()) codes.push_back(hook);
  for (const auto& [name, hook] : type.forward_hooks()) codes.push_back(hook);
  return codes;
}

}  // namespace

Values GraphCalls::find_lent(const std::vector<Function*>& functions, const Values& arguments) {
  const auto may_share = [&](const std::vector<bool>& given) {
    return std::ranges::any_of(functions, [&](Function* function) {
      const bool is_hook = function != functions[0];
      const ContainerUse use = container_use(run_.program.archive(), *function,
                                             is_hook ? std::vector<bool>{false, true, true} : given);
      return use.keeps || use.gives;
    });
  };
  Values lent;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Values containers;
    add_containers(arguments[i], containers);
    run_.budget.spend(containers.size());
    std::vector<bool> given(arguments.size());
    given[i] = true;
    if (!containers.empty() && may_share(given))
      lent.insert(lent.end(), containers.begin(), containers.end());
  }
  return lent;
}

// A node's arguments are what a list or dict holds when the call is made, and a module of the archive that is
// called from Python gets a copy: neither sees what the other does to it later.
void GraphCalls::check_lent(const std::string& callee, const Values& lent, const IrNode* node) {
  const std::string what = callee + ", which stays one call, may change or keep a list or dict";
  for (const Value& container : lent) {
    const Proxy* proxy = recorder_.find_recorded(container);
    const bool is_held = proxy == nullptr
                             ? run_.program.holds(container.identity())
                             : tracer_.graph_of(proxy->ref).node(proxy->ref.node).op == Opcode::kGetAttr;
    if (is_held) frames_.refuse(what + " that the model holds", node);
    if (proxy == nullptr) {
      if (makes_subgraphs()) subgraphs_.check_change(container, what, node);
    } else if (&tracer_.graph_of(proxy->ref) != &tracer_.graph()) {
      frames_.refuse(what + " inside an `if` or a loop that depends on an input", node);
    }
  }
}

void GraphCalls::give_away(const std::string& callee, const Values& lent) {
  for (const Value& container : lent) {
    frames_.give_away(container, "a list or dict that was passed to " + callee +
                                     " is used again, and this call, which is one node, may have changed or "
                                     "kept it");
    state_.changes.add([this, container] { frames_.take_back(container); });
  }
}

Value GraphCalls::call_forward(ModuleId module, Function& forward, Values arguments, const IrNode* node) {
  if (!tracer_.is_leaf(module)) {
    Value result;
    if (inline_module(module, [&] { result = follow_and_note(forward, arguments, node); })) {
      if (run_.shapes) tracer_.module_gives(module, tensors_in(known_of_value(result)));
      return result;
    }
  }
  assignments_.check_leaf(module, node);
  const auto& schema = forward.schema();
  auto [args, kwargs] = recorder_.call_arguments(forward, arguments, 1, node);
  const ClassType& its_class = class_of(*run_.program.object(module));
  const std::string& path = run_.program.modules()[module.index].path;
  const Values lent = find_lent(codes_of(its_class, forward), arguments);
  check_lent(path, lent, node);
  const TypePtr type = schema.results.empty() ? none_type() : schema.results[0];
  auto outcome = abstract_calls_.result_of(forward, arguments, run_.type_of(module));
  // Hooks may change forward's result.
  if (run_.options.hooks == Hooks::kRun && !its_class.forward_hooks().empty()) {
    outcome.result = AbstractValue{};
    if (outcome.cost) outcome.cost->unknown[run_.type_of(module)] = 1;
  }
  if (!run_.shapes && tracer_.has_failed(module)) abstract_calls_.run(forward, arguments);
  const std::size_t first = tracer_.graph().mark().ids;
  const bool same = run_.program.does_as_forward(its_class, forward);
  const NodeId id =
      tracer_.call_leaf(module, std::move(args), std::move(kwargs), meta_of(type, outcome.result),
                        frames_.location(node), same ? "" : std::string(forward.name()));
  if (!tracer_.in_subgraph())
    tracer_.note_call(tracer_.graph().node(id).scope, inputs_of(forward, arguments));
  if (run_.shapes && !outcome.result.is_unknown()) tracer_.module_gives(module, tensors_in(outcome.result));
  if (stacks_.are_kept()) stacks_.note_leaf(node, first);
  give_away(path, lent);
  if (may_hold_container(*type) && container_use(run_.program.archive(), forward, {true}).gives)
    assignments_.note_owned(tracer_.ref(id), path);
  return result_of(id, type, std::move(outcome), arguments);
}

namespace {

// The code that calls a module's forward also calls its hooks, before and after it.  A HookedCall is such a
// sequence of calls that begins with `first`: the call of forward and the last node; null pointers when there
// is none.
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

const IrNode* GraphCalls::run_hooked(const IrNode* first) {
  if (run_.options.hooks != Hooks::kRun) return nullptr;
  const HookedCall call = find_hooked_call(first);
  if (call.last == nullptr) return nullptr;
  const Value& receiver = frames_.value(call.forward->input(0));
  const auto module = receiver.is_object() ? run_.program.find_module(&receiver.to_object()) : std::nullopt;
  if (!module || tracer_.is_leaf(*module)) return nullptr;
  const bool followed = inline_module(*module, [&] {
    open_calls_.insert(call.forward);
    const Restore close([&] { open_calls_.erase(call.forward); });
    for (const IrNode* node = first;; node = node->next()) {
      code_.run_node(node);
      if (node == call.last) break;
    }
    Values arguments;  // as the hooks left them
    for (const IrValue* input : call.forward->inputs()) arguments.push_back(frames_.value(input));
    Function& forward = *class_of(*run_.program.object(*module)).find_method(call.forward->text());
    auto nodes = inputs_of(forward, arguments);
    if (call.last->outputs().size() == 1) name_results(frames_.value(call.last->output()), nodes);
    tracer_.note_call(tracer_.current_scope(), std::move(nodes));
  });
  if (followed && run_.shapes && call.last->outputs().size() == 1) {
    tracer_.module_gives(*module, tensors_in(known_of_value(frames_.value(call.last->output()))));
  }
  return followed ? call.last : nullptr;  // a leaf runs its own hooks
}

std::optional<Value> GraphCalls::skip_hook(Function& function, const Values& arguments,
                                           const IrNode* node) const {
  if (arguments.size() < 2 || arguments.size() > 3 || !arguments[0].is_object()) return std::nullopt;
  const ClassType& type = class_of(arguments[0].to_object());
  if (!type.is_module() || !is_hook_of(type, function)) return std::nullopt;
  // The caller of a leaf runs the leaf's hooks or leaves them out, as in torch.fx.
  const auto module = run_.program.find_module(&arguments[0].to_object());
  if (run_.options.hooks == Hooks::kRun && !(module && tracer_.is_leaf(*module))) return std::nullopt;
  // hook(module, inputs, output) stands for `output`, pre_hook(module, inputs) for `inputs`.
  const TypePtr& type_of_result = node->output()->type();
  Value untouched = arguments.back();
  if (arguments.size() == 2 && type_of_result->kind() != TypeKind::kTuple && untouched.is_tuple() &&
      untouched.items().size() == 1) {
    untouched = untouched.items()[0];
  }
  return type_of_result->kind() == TypeKind::kNone ? Value() : untouched;
}

Value GraphCalls::call_function(Function& function, const Values& values, const IrNode* node) {
  if (auto skipped = skip_hook(function, values, node)) return *std::move(skipped);
  const std::string name = demangle(function.qualified_name());
  const TypePtr& type = node->output()->type();
  const bool all_plain = std::ranges::all_of(values, [](const Value& value) { return is_plain(value); });
  const bool is_models_own = !is_torch_function(name);
  if ((all_plain && !may_hold_tensor(*type)) || !tracer_.rules().is_wrapped(name) ||
      (is_models_own && is_reserved_target(name))) {
    return code_.follow(function, values, node);
  }
  if (all_plain) {
    // _canonical_mask(None, ...) is None.
    auto result = abstract_calls_.run(function, values);
    if (result && is_plain(result->value)) return std::move(result->value);
  }
  if (!find_lent({&function}, values).empty()) {
    tracer_.add_unwrapped_calls(
        {{"--wrap: {} is traced into: it may change, keep or give back a list or dict that it is given",
          {name}}});
    return code_.follow(function, values, node);
  }
  auto [args, kwargs] = recorder_.call_arguments(function, values, 0, node);
  auto outcome = abstract_calls_.result_of(function, values, name);
  Meta result_meta = meta_of(type, outcome.result);
  const NodeId id = is_models_own
                        ? tracer_.call_model_function(name, std::move(args), std::move(kwargs),
                                                      std::move(result_meta), frames_.location(node))
                        : tracer_.call_function(name, std::move(args), std::move(kwargs),
                                                std::move(result_meta), frames_.location(node));
  return result_of(id, type, std::move(outcome), values);
}

// The root's hooks are not part of its forward's code, as the caller of a module runs them; so they are run
// here.
Value GraphCalls::run_root(Function& function, Values arguments) {
  const ClassType& type = class_of(*run_.program.object(run_.root));
  if (run_.options.hooks != Hooks::kRun || function.name() != "forward")
    return code_.follow(function, arguments, nullptr);
  const Value self = arguments[0];
  const auto inputs_tuple = [&] { return make_tuple({arguments.begin() + 1, arguments.end()}); };
  for (const auto& [name, hook] : type.forward_pre_hooks()) {
    const Value result = code_.follow(*hook, {self, inputs_tuple()}, nullptr);
    if (result.is_none()) continue;
    arguments = {self};
    if (result.is_tuple()) {
      arguments.insert(arguments.end(), result.items().begin(), result.items().end());
    } else {
      arguments.push_back(result);
    }
  }
  Value output = code_.follow(function, arguments, nullptr);
  for (const auto& [name, hook] : type.forward_hooks()) {
    const Value result = code_.follow(*hook, {self, inputs_tuple(), output}, nullptr);
    if (!result.is_none()) output = result;
  }
  return output;
}

}  // namespace fxtrace::internal::interpreter
