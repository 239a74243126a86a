#include "interpreter/state/recorder.h"

#include <utility>

namespace fxtrace::interpreter {

Value Recorder::call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
                     AbstractValue known, Kwargs kwargs) {
  const NodeRef made =
      call_function(std::move(target), std::move(args), std::move(kwargs), type, known, node);
  return result(made, type, std::move(known));
}

Value Recorder::apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
                      AbstractValue known) {
  std::vector<Argument> args;
  for (const Value& operand : operands) args.push_back(argument(operand, node));
  return call(std::move(target), std::move(args), type, node, std::move(known));
}

Value Recorder::result(NodeRef node, const TypePtr& type, AbstractValue known) {
  return type->kind() == TypeKind::kNone ? Value() : make_proxy(node, type, std::move(known));
}

}  // namespace fxtrace::interpreter
