// Propagates what is known of values that depend on inputs (shapes, sizes, small constants), and answers
// queries about them without recording nodes.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "costs/custom_costs.h"
#include "torchscript/interpreter/propagate/constant_tensors.h"
#include "torchscript/interpreter/state/context.h"

namespace fxtrace::interpreter {

class ShapePropagation {
 public:
  explicit ShapePropagation(Context& context)
      : constants(context.program), context_(context), frames_(context.frames), changes_(context.changes) {}

  ConstantTensors constants;

  // Returns the traits of the node's operator.
  Traits traits_of(const IrNode* node);
  bool has_trait(const IrNode* node, Traits trait) { return (traits_of(node) & trait) != 0; }

  // Answers a query from what is known, with no node or with simpler ones, and sets the node's output.
  // Returns false when it cannot.
  bool answer(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // Returns what is known of an operator's results, and updates what is known of arguments that it writes,
  // for all their aliases.
  std::vector<AbstractValue> infer_results(const IrNode* node, const FunctionSchema& schema,
                                           const Values& values);
  // Links the node's results, already set, with arguments that they are, may be, or are contained in.
  void note_results(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // Notes that `part` was taken out of `whole`: a list, tuple, dict or object, or of unknown form.  Returns
  // the part.
  Value note_part(const Value& whole, std::optional<std::size_t> index, Value part);
  // Notes that `result`, of a call that was followed with these arguments, stands for `inner`, which may
  // alias them.
  void note_call(const Value& result, const Value& inner, const Values& arguments);
  // Returns what is known of a value that is one of the two.
  AbstractValue either(const Value& first, const Value& second);
  // Notes that `result` is one of the values `of`.
  void note_choice(const Value& result, const Values& of);
  // Keeps the value of a recorded node that depends on no data, for traces without shapes.
  void keep_answer(const IrNode* node, const FunctionSchema& schema, const Values& values,
                   const NodeRef& recorded);
  // Returns the number, bool or string that keep_answer() kept for a recorded value, if nothing can have
  // changed it.
  std::optional<Value> find_answer(const Value& value) const;

 private:
  bool answer_dict(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool answer_sizes(const IrNode* node, const Values& values);
  bool asks_size_of_constant(const IrNode* node, const Values& values);
  AbstractValue unpacked(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool knows_gradient(const Value& value) const;
  void check_gradient(const IrNode* node, const Value& value) const;
  void note_gradients(const FunctionSchema& schema, const Values& values);
  void drop_gradients(const FunctionSchema& schema, const Values& values,
                      std::vector<AbstractValue>& results) const;
  void add_custom_cost(const CustomCosts::Rule& rule, const FunctionSchema& schema, const Values& values,
                       std::vector<AbstractValue>& results);
  void add_cost(const IrNode* node, const FunctionSchema& schema, const Values& values,
                std::vector<AbstractValue>& results);
  TensorNames::Known shared_known(const Value& value);
  void add_shared(const Value& value, std::vector<TensorNames::Known>& all, int depth = 0);
  void link(const TensorNames::Known& one, const TensorNames::Known& other);
  void share(const Value& argument, const Value& result);
  bool with_current_shapes(const Values& values, Values& changed) const;
  void change_arguments(const IrNode* node, const FunctionSchema& schema, const Values& values,
                        const std::vector<AbstractValue>& results);
  void change_known(const TensorNames::Known& target, AbstractValue known);
  void change_others(const TensorNames::Known& changed);
  bool change_list(const FunctionSchema& schema, const Values& values, std::vector<AbstractValue>& results);

  Context& context_;
  Frames& frames_;
  Changes& changes_;
  std::unordered_map<const torchscript::FunctionSchema*, Traits> traits_;  // of operators that were run
};

}  // namespace fxtrace::interpreter
