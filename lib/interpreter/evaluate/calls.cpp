#include "interpreter/evaluate/calls.h"

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/program/convert.h"
#include "support/restore.h"

namespace fxtrace::internal::interpreter {

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

}  // namespace fxtrace::internal::interpreter
