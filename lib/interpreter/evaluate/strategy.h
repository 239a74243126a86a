// Interface of strategies, which decide what happens to code that plain values do not determine.
// GraphStrategy records a graph; AbstractStrategy works out what is known of the result of a leaf;
// StateStrategy follows the __setstate__ of an object.
#pragma once

#include <memory>
#include <string>

#include "interpreter/state/attributes.h"
#include "trace/tracer/program.h"

namespace fxtrace::interpreter {

struct Attempt;

// A call of a method of a module.
struct MethodCall {
  ModuleId module, caller;
  Function& method;
  const Values& arguments;  // the module first
  const IrNode* node = nullptr;
  bool is_forward = false;
};

class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  // Runs the node of the block, with others that belong to it; returns the last one.
  virtual const IrNode* run(const IrBlock& block, const IrNode* node) = 0;
  // Sets the results of an operator that is not computed.
  virtual void call_operator(const IrNode* node, const FunctionSchema& schema, const Values& values) = 0;
  // Called before each operator that writes to a value, and before each that changes a list or dict.
  virtual void note_write(const Value&, const IrNode*) {}
  virtual void note_change(const Value&, const std::string&, const IrNode*) {}
  // Constructs an object of torch.classes at `node`.  Returns false when its __init__ is to be an ordinary
  // call.
  virtual bool make_object(const IrNode*, const Values&) { return false; }
  virtual Value call_module(const MethodCall& call) = 0;
  virtual Value call_function(Function& function, const Values& arguments, const IrNode* node) = 0;
  virtual Value attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) = 0;
  virtual void set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) = 0;
  // Called when `name` becomes another name of the value `of`.
  virtual void note_name(const IrValue* /*name*/, const IrValue* /*of*/) {}
  // Assumes that the condition holds, or does not hold, as an exception is raised otherwise.
  virtual void assume(const IrNode*, const Value&, bool /*holds*/) {}
  // Assumes that the list has so many elements, as an exception is raised otherwise.
  virtual void assume_length(const IrNode*, const Value& /*list*/, std::size_t /*length*/) {}
  // Sets the result of `a and b` or `a or b` that decides about exceptions only.  `condition` is a.  Returns
  // false when that must be an `if`.
  virtual bool join_conditions(const IrNode* node, const Value& condition, bool is_and) = 0;
  // Runs an `if` whose condition nothing decides.
  virtual void branch(const IrNode* node, const Value& condition) = 0;
  // Returns the state before a loop, for loop(); null when loops are not recorded.
  virtual std::shared_ptr<Attempt> begin_loop() { return nullptr; }
  // Runs a loop that depends on an input through `value`; `what` says what it is: "the length of a loop".
  // `start` is the state from begin_loop() if iterations may have been run since, else null.
  virtual void loop(const IrNode* node, const std::string& what, const Value& value,
                    const std::shared_ptr<Attempt>& start) = 0;
  // Called when torch.no_grad() begins, for which there is no node.
  virtual void note_no_grad() {}
};

}  // namespace fxtrace::interpreter
