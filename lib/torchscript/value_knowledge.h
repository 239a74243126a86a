// What is known of values that depend on inputs: sizes that operators give, and questions that they answer.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "torchscript/changes.h"
#include "torchscript/constant_tensors.h"
#include "torchscript/input_guards.h"
#include "torchscript/tensor_names.h"

namespace fxtrace::torchscript {

class Knowledge {
 public:
  Knowledge(Context& context, Frames& frames, Changes& changes, Recording& recording, InputGuards& guards,
            ConstantTensors& constants)
      : context_(context),
        frames_(frames),
        changes_(changes),
        recording_(recording),
        guards_(guards),
        constants_(constants) {}

  // What the table says of the node's operator.
  Traits traits_of(const IrNode* node);
  bool has_trait(const IrNode* node, Traits trait) { return (traits_of(node) & trait) != 0; }

  // A question that what is known answers, without a node or with a few others: sets the node's output.
  bool answer(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // What is known of an operator's results; and of arguments that it changes, by all of their names.
  std::vector<AbstractValue> infer_results(const IrNode* node, const FunctionSchema& schema,
                                           const Values& values);
  // The node's results are set: which of them are arguments of it, or may be, or are in them.
  void note_results(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // `part` was taken out of `whole`, which is a list, tuple, dict or object, or of no known form.  Gives it.
  Value note_part(const Value& whole, std::optional<std::size_t> index, Value part);
  // What `result` stands for is `inner` where a call was followed that got the arguments.
  void note_call(const Value& result, const Value& inner, const Values& arguments);
  // `result` is one of them.
  void note_choice(const Value& result, const Values& of);
  // Keeps what a node that was recorded gives, where no data goes into it; without shapes.
  void keep_answer(const IrNode* node, const FunctionSchema& schema, const Values& values,
                   const NodeRef& recorded);
  // The number, bool or text that a recorded value is, where it is kept and nothing can have changed it.
  const Value* find_answer(const Value& value) const;
  // `what` raises: said once for each place.
  void report_invalid(const IrNode* node, const std::string& what, const std::string& error);

 private:
  bool answer_dict(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool answer_sizes(const IrNode* node, const Values& values);
  bool asks_size_of_constant(const IrNode* node, const Values& values);
  void add_cost(const IrNode* node, const FunctionSchema& schema, const Values& values,
                std::vector<AbstractValue>& results);
  TensorNames::Known shared_known(const Value& value);
  void add_shared(const Value& value, std::vector<TensorNames::Known>& all, int depth = 0);
  void link(const TensorNames::Known& one, const TensorNames::Known& other);
  void share(const Value& argument, const Value& result);
  const Values& as_they_are(const Values& values, Values& changed) const;
  void change_arguments(const IrNode* node, const FunctionSchema& schema, const Values& values,
                        const std::vector<AbstractValue>& results);
  void change_known(const TensorNames::Known& target, AbstractValue known);
  void change_others(const TensorNames::Known& changed);
  bool change_list(const FunctionSchema& schema, const Values& values, std::vector<AbstractValue>& results);

  Context& context_;
  Frames& frames_;
  Changes& changes_;
  Recording& recording_;
  InputGuards& guards_;
  ConstantTensors& constants_;
  std::unordered_map<const script::OperatorSchema*, Traits> traits_;  // of operators that were run
};

}  // namespace fxtrace::torchscript
