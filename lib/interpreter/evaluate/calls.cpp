#include "interpreter/evaluate/calls.h"

#include "interpreter/evaluate/strategy.h"
#include "interpreter/program/convert.h"
#include "support/restore.h"

namespace fxtrace::interpreter {

// The arguments that all calls of a module have in common describe the inputs of its own graph.
void Calls::remember(ModuleId module, const Values& values, const IrNode* node) {
  if (context_.findings == nullptr) return;
  constexpr std::size_t kUnitsOfKnown = 16;
  for (const Value& argument : values) context_.budget.spend(kUnitsOfKnown * extent_of(argument).looked);
  SeenCalls& calls = context_.findings->calls;
  const Values given(values.begin() + 1, values.end());
  if (context_.inputs_are_open) return calls.remember_open(module, given);
  std::vector<bool> may_be_roots;
  for (std::size_t i = 1; context_.has_concrete && i < node->inputs().size(); ++i)
    may_be_roots.push_back(!node->input(i)->node()->is(Symbol::kPrimConstant));
  calls.remember(context_.root, module, given, std::move(may_be_roots));
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
  if (is_bound && name == "__init__" && strategy().make_object(node, values)) return;
  if (script_object || (function != nullptr && !function->has_code())) {
    // Methods of a torchbind object, or of an object that a leaf returned, have no code that can be followed.
    std::vector<Argument> args;
    for (const auto& value : values) args.push_back(recorder().argument(value, node));
    return frames_.set(node,
                       Recorder::result(recorder().call_method(name, std::move(args), type, node), type));
  }
  if (function == nullptr) frames_.raise("AttributeError: no method '" + name + "'", node);
  const auto module = context_.program.find_module(&receiver.to_object());
  if (!module) return frames_.set(node, code_.follow(*function, values, node));
  // A scripted module may have a method of its own named forward1.
  const bool is_own = node->input(0) == node->graph()->inputs()[0];
  const bool is_call = is_forward(name) || (!is_own && is_traced_call(class_of(receiver.to_object()), name));
  if (is_call) remember(*module, values, node);
  const ModuleId caller = std::exchange(context_.module, *module);
  const Restore restore([&] { context_.module = caller; });
  frames_.set(node, strategy().call_module({*module, caller, *function, values, node, is_call}));
}

void Calls::call_function(const IrNode* node) {
  Function& function = *node->input(0)->type()->as<FunctionType>()->function();
  Values values;
  for (std::size_t i = 1; i < node->inputs().size(); ++i) values.push_back(frames_.input(node, i));
  frames_.set(node, strategy().call_function(function, values, node));
}

}  // namespace fxtrace::interpreter
