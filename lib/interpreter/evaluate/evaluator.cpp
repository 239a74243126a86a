#include "interpreter/evaluate/evaluator.h"

#include <utility>

#include "interpreter/program/convert.h"
#include "interpreter/state/value_form.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {
namespace {

// Returns the function's graph.  Code that cannot be compiled fails the module that runs it, and not the
// file.
const IrGraph& code_of(Function& function, const TorchScriptProgram& program) {
  try {
    return function.graph();
  } catch (const Error& error) {
    Failure failure;
    std::string why = error.what();
    if (const auto* in_source = dynamic_cast<const torchscript::SourceError*>(&error)) {
      why = in_source->message();
      failure.source = program.location(in_source->where(), std::string(function.name()));
    }
    failure.message = "its code cannot be compiled: " + readable_message(why);
    if (!failure.source && !error.place().empty()) failure.message += " (" + error.place() + ")";
    throw TraceFailure(std::move(failure));
  }
}

// The memory that a node takes, in units of the budget.
constexpr std::size_t kUnitsOfNode = 64;

// Returns whether the argument is a list or dict that the operator changes, and not tensors in a list.
bool is_changed_container(const FunctionSchema& schema, const Value& value, const Type& formal) {
  if (!value.is_list() && !value.is_dict()) return false;
  if (schema.name == "aten::remove" || schema.name == "aten::sort") return true;
  if (formal.kind() == TypeKind::kTensor) return false;
  return formal.kind() != TypeKind::kList || formal.contained_types()[0]->kind() != TypeKind::kTensor;
}

}  // namespace

Values Evaluator::run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                            const IrNode* call) {
  const auto& formals = graph.inputs();
  Activation activation{function};
  const std::size_t first = call != nullptr && call->is(Symbol::kPrimCallFunction) ? 1 : 0;
  for (std::size_t i = 0; call != nullptr && i < formals.size() && first + i < call->inputs().size(); ++i) {
    if (frames_.is_constant(call->input(first + i))) activation.constants.insert(formals[i]);
  }
  frames_.push(std::move(activation));
  for (std::size_t i = 0; i < formals.size() && i < inputs.size(); ++i) frames_.set(formals[i], inputs[i]);
  run_block(*graph.block(), {});
  Values result = frames_.outputs(*graph.block());
  const bool gives_constant = call != nullptr && frames_.are_constants(graph.outputs());
  frames_.pop();
  if (gives_constant) frames_.note_constant(call->output());
  return result;
}

void Evaluator::run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out) {
  for (const IrNode* node = *block.nodes().begin(); node != block.return_node(); node = node->next()) {
    if (!left_out.contains(node)) node = run_from(block, node);
  }
}

void Evaluator::run_node(const IrNode* node) {
  run_.budget.spend(1);
  switch (node->kind()) {
    case Symbol::kPrimConstant: {
      Value constant = run_.program.archive().value_of(*node->constant());
      if (constant.is_function()) return;
      if (constant.is_tensor()) propagation_.constants.read(constant.to_tensor());
      return frames_.set(node, std::move(constant));
    }
    case Symbol::kPrimIf:
      return branches_.run(node);
    case Symbol::kPrimLoop:
      return loops_.run(node);
    case Symbol::kPrimRaiseException:
      return branches_.raise(node);
    case Symbol::kPrimCallMethod:
      return calls_.call_method(node);
    case Symbol::kPrimCallFunction:
      return calls_.call_function(node);
    case Symbol::kPrimEnter:
      return process_state_.enter_or_exit(node, true);
    case Symbol::kPrimExit:
      return process_state_.enter_or_exit(node, false);
    case Symbol::kPrimFork:
    case Symbol::kPrimAwaitable: {
      // Nothing runs concurrently here: the result of the body stands for the future.
      const Values result = run_graph(*node->subgraph(), frames_.inputs(node), frames_.top().function);
      return frames_.set(node, result.empty() ? Value() : result[0]);
    }
    case Symbol::kPrimPrint:
    case Symbol::kAtenWarn:
      return;  // no effect on any value
    default:
      if (!value_nodes_.run(node) && !process_state_.answer_query(node)) operator_calls_.run(node);
  }
}

Value Evaluator::follow(Function& function, const Values& arguments, const IrNode* node) {
  if (!function.has_code()) {
    frames_.refuse("a call of " + function.qualified_name() + ", which has no code", node);
  }
  if (static_cast<std::int64_t>(frames_.size()) >= run_.options.limits.call_depth) {
    frames_.fail(FailureKind::kLimit,
                 "calls nested more than " + std::to_string(run_.options.limits.call_depth) + " deep", node,
                 Limit::kCallDepth);
  }
  if (node != nullptr) state_.count_step(node);
  if (const auto* call = run_.program.archive().find_not_followed(function)) {
    Failure failure;
    failure.kind = FailureKind::kUnsupportedOp;
    failure.message = call->why;
    failure.op = call->operator_name;
    failure.source = run_.program.location(call->call, std::string(function.name()));
    throw TraceFailure(std::move(failure));
  }
  const bool is_call =
      node != nullptr && (node->is(Symbol::kPrimCallMethod) || node->is(Symbol::kPrimCallFunction));
  const Values results = run_graph(code_of(function, run_.program), arguments, std::string(function.name()),
                                   is_call ? node : nullptr);
  return results.empty() ? Value() : results[0];
}

const IrNode* Evaluator::run_from(const IrBlock&, const IrNode* node) {
  run_node(node);
  return node;
}

void Evaluator::call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) {
  if (!run_.shapes && !recorder_.records()) {
    for (const IrValue* output : node->outputs()) frames_.set(output, make_proxy(NodeRef{}, output->type()));
    return;
  }
  for (std::size_t i = 0; i < values.size() && i < schema.arguments.size(); ++i) {
    if (!schema.is_written(i)) continue;
    if (values[i].is_tensor()) propagation_.constants.note_write(values[i]);
    if (is_changed_container(schema, values[i], *schema.arguments[i].type)) {
      materialize(values[i], node);
      return call_operator(node, schema, frames_.inputs(node));
    }
  }
  run_.budget.spend(kUnitsOfNode);
  set_results(node, schema, values, propagation_.infer_results(node, schema, values));
}

void Evaluator::materialize(const Value& container, const IrNode* node) {
  const char* target = container.is_list() ? "builtins.list" : "builtins.dict";
  frames_.replace(container, recorder_.apply(target, {container}, dynamic_type(container), node));
  state_.changes.add([this, container] { frames_.take_back_replacement(container); });
}

void Evaluator::set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                            std::vector<AbstractValue> known) {
  const auto& results = node->outputs();
  known.resize(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TypePtr& type = results[i]->type();
    if (results.size() == 1) {
      frames_.set(results[i], Recorder::result({}, type, std::move(known[i])));
    } else if (results[i]->has_uses()) {
      frames_.set(results[i], make_proxy(NodeRef{}, type, std::move(known[i])));
    }
  }
  propagation_.note_results(node, schema, values);
}

Value Evaluator::call_module(const MethodCall& call) {
  return follow(call.method, call.arguments, call.node);
}

Value Evaluator::call_function(Function& function, const Values& arguments, const IrNode* node) {
  return follow(function, arguments, node);
}

bool Evaluator::is_opaque(const Value& value) {
  const Proxy* proxy = find_proxy(value);
  return proxy != nullptr && !proxy->ref.valid();
}

bool Evaluator::is_missing(const Value& value, const Type& type) {
  return value.is_none() && !is_subtype(*none_type(), type);
}

TensorNames::KnownValue Evaluator::known_of_attribute(const AttributePlace& place) const {
  if (!run_.shapes) return nullptr;
  if (place.current.is_tensor()) return state_.names.known_for(place.current.to_tensor());
  return is_opaque(place.current) ? std::make_shared<AbstractValue>(known_of_value(place.current)) : nullptr;
}

Value Evaluator::proxy_of(const AttributePlace& place, const TypePtr& type, NodeRef node,
                          TensorNames::KnownValue known) {
  Value made = make_proxy(node, place.current.is_tensor() ? TypePtr(tensor_type()) : type);
  share_known(made, std::move(known));
  return made;
}

Value Evaluator::attribute(const AttributePlace& place, const TypePtr& type, const IrNode*) {
  const bool is_there = !is_opaque(place.current) && !is_missing(place.current, *type);
  if (!place.current.is_tensor() && is_there) return place.current;
  return proxy_of(place, type, {}, known_of_attribute(place));
}

void Evaluator::set_attribute(const AttributePlace& place, const Value& value, const IrNode*) {
  store(place, value, state_.changes);
}

bool Evaluator::join_conditions(const IrNode* node, const Value&, bool) {
  frames_.set(node, Value::uninitialized());
  return true;
}

void Evaluator::loop(const IrNode* node, const std::string& what, const Value& value,
                     const std::optional<Checkpoint>&) {
  fail(what, value, node);
}

}  // namespace fxtrace::internal::interpreter
