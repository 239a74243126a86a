// Runs TorchScript code on values that may be proxies: operations on plain values are computed.  Virtual
// functions decide what happens to code that plain values do not determine; here nothing is recorded of it.
// GraphEvaluator records a graph; AbstractCalls works out what is known of the result of a leaf; ObjectStates
// follows the __setstate__ of objects.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "interpreter/evaluate/control_flow.h"
#include "interpreter/evaluate/operator_calls.h"
#include "interpreter/evaluate/value_nodes.h"

namespace fxtrace::internal::interpreter {

// A call of a method of a module.
struct MethodCall {
  ModuleId module, caller;
  Function& method;
  const Values& arguments;  // the module first
  const IrNode* node = nullptr;
  bool is_forward = false;
};

class Evaluator : protected EvaluatorPart {
 public:
  explicit Evaluator(ShapePropagation& propagation) : EvaluatorPart(propagation, *this) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;
  virtual ~Evaluator() = default;

  // Runs the graph in a new activation, which is left on the stack when the run fails.  `call` is the node of
  // its call; null when the caller's constants are none in the graph.
  Values run_graph(const IrGraph& graph, const Values& inputs, const std::string& function,
                   const IrNode* call = nullptr);
  // Runs the nodes of the block, without those left out, in the innermost activation.
  void run_block(const IrBlock& block, const std::unordered_set<const IrNode*>& left_out = {});
  void run_node(const IrNode* node);
  // Takes one branch of the `if`.
  void choose(const IrNode* node, bool branch) { branches_.choose(node, branch); }
  // Runs the function's code; `node` is the call, null when the code has none.
  Value follow(Function& function, const Values& arguments, const IrNode* node);

  // Runs the node of the block, with others that belong to it; returns the last one.
  virtual const IrNode* run_from(const IrBlock& block, const IrNode* node);
  // Sets the results of an operator that is not computed.
  virtual void call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // Called before each operator that writes to a value, and before each that changes a list or dict.
  virtual void note_write(const Value&, const IrNode*) {}
  virtual void note_change(const Value&, const std::string&, const IrNode*) {}
  // Constructs an object of torch.classes at `node`.  Returns false when its __init__ is to be an ordinary
  // call.
  virtual bool make_object(const IrNode*, const Values&) { return false; }
  virtual Value call_module(const MethodCall& call);
  virtual Value call_function(Function& function, const Values& arguments, const IrNode* node);
  virtual Value attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node);
  virtual void set_attribute(const AttributePlace& place, const Value& value, const IrNode* node);
  // Sets the result of `a and b` or `a or b` that decides about exceptions only.  `condition` is a.  Returns
  // false when that must be an `if`.
  virtual bool join_conditions(const IrNode* node, const Value& condition, bool is_and);
  // Runs an `if` whose condition nothing decides.
  virtual void branch(const IrNode* node, const Value& condition) { fail("an `if`", condition, node); }
  // Runs a loop that depends on an input through `value`; `what` says what it is: "the length of a loop".
  // `start` is the state before the loop if iterations may have been run since.
  virtual void loop(const IrNode* node, const std::string& what, const Value& value,
                    const std::optional<Checkpoint>& start);

 protected:
  // Replaces a list or dict that the code made by one that the graph makes, as later changes of it depend on
  // an input.
  virtual void materialize(const Value& container, const IrNode* node);
  // Sets the results of the operator; `known` is what is known of each.
  virtual void set_results(const IrNode* node, const FunctionSchema& schema, const Values& values,
                           std::vector<AbstractValue> known);
  // Returns what is known of the attribute's value, which all its proxies share; null when nothing is.
  TensorNames::KnownValue known_of_attribute(const AttributePlace& place) const;
  // Returns whether the value is one that __setstate__ would have computed, or None only because it was not
  // run: the type does not allow None.
  static bool is_opaque(const Value& value);
  static bool is_missing(const Value& value, const Type& type);
  // Returns a proxy for the attribute's value.
  static Value proxy_of(const AttributePlace& place, const TypePtr& type, NodeRef node,
                        TensorNames::KnownValue known);

 private:
  Branches branches_{propagation_, *this};
  Calls calls_{propagation_, *this};
  Loops loops_{propagation_, *this};
  OperatorCalls operator_calls_{propagation_, *this};
  ProcessState process_state_{propagation_, *this};
  ValueNodes value_nodes_{propagation_, *this};
};

// Base class of the parts of the interpreter that record code as nodes.

class RecordingPart : protected EvaluatorPart {
 public:
  explicit RecordingPart(const EvaluatorPart& around) : EvaluatorPart(around), tracer_(recorder_.tracer()) {}

 protected:
  GraphTracer& tracer_;
};

}  // namespace fxtrace::internal::interpreter
