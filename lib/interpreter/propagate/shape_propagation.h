// Shape propagation: what is known of values that depend on inputs (shapes, dtypes, sizes, elements of small
// tensors), and answers to questions about them that leave no node in the graph.
//
// A proxy carries an AbstractValue (Proxy::known).  For each operator that is not computed on plain values
// the evaluator asks answer() first: if what is known decides the result, as of `x.size(1)` or `n > 0`, that
// is a plain value, with which control flow can be followed.  Else the operator is recorded, or followed
// within a leaf: infer_results() works out what is known of its results by the rules of lib/opinfo and
// applies what the operator writes to its arguments; when the results are set, note_results() notes their
// aliases.
//
// Invariants:
//
// 1. What is known of a value is true of it in every run with inputs as --input and --dim describe them.  A
//    question that is answered by sizes, dtypes or the like is handed to Recorder::rely_on(), with the
//    dimensions whose ranges the answer took; that writes guards for what the graph relies on from then on.
// 2. Knowledge belongs to the value and not to a name of it: names of one value share a Known
//    (state/tensor_names.h).
// 3. An operator that writes changes what is known of its arguments for all their aliases: certain aliases
//    have the new shape, and of possible ones nothing is known (change_arguments(), change_others()).  Of an
//    argument that may get another shape, and whose new shape no rule tells, nothing is known either.
// 4. A Known that others may share is changed by change_known() alone, which adds the inverse to the undo
//    log.  In a leaf the inverse does not bring the old knowledge back, as the leaf's write stays although
//    the run that followed it is undone: only what holds before and after the write is left.
// 5. Elements of a tensor are known until something writes to memory that the tensor may be in; each write
//    counts there (operator_evaluation.h).
// 6. Without shapes (Run::shapes) no result is inferred.  Then answers are sizes of constants of the
//    code, and values that depend on constants alone, which keep_answer() keeps by node.
//
// Example, from tests/interpreter/sizes_in_place.txt, with --input x=float32[4,n]:
//
//   x1 = x.add_(1)         infer_results(): float32[4,n], as x is.  note_results(): the result of add_ is
//                          always its first argument, so x1 shares x's Known
//   x2 = x1.unsqueeze_(0)  infer_results(): float32[1,4,n].  change_arguments() writes that to x1's Known,
//                          and so to x's; note_results() has x2 share it too
//   a = x.relu()           float32[1,4,n]: x has the new shape
//   ...
//   size = p0.size(1)      answer(): p0 is float32[1,2,n], so the size is the plain number 2, without a node.
//                          rely_on() guards what it follows from: x.dim() == 2, x.size(0) == 4
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter/propagate/operator_evaluation.h"
#include "interpreter/record/recorder.h"

namespace fxtrace::internal::interpreter {

class ShapePropagation {
 public:
  explicit ShapePropagation(Recorder& its_recorder)
      : recorder(its_recorder),
        constants(recorder.state.run.program),
        state_(recorder.state),
        run_(state_.run),
        frames_(state_.frames),
        changes_(state_.changes) {}

  Recorder& recorder;
  ConstantTensors constants;

  // Returns the traits of the node's operator.
  Traits traits_of(const IrNode* node);
  bool has_trait(const IrNode* node, Traits trait) { return (traits_of(node) & trait) != 0; }

  // Answers a query from what is known, with no node or with simpler ones, and sets the node's output.
  // Returns false when what is known does not decide the answer.
  bool answer(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // Returns what is known of an operator's results, and updates what is known of arguments that it writes,
  // for all their aliases.
  std::vector<AbstractValue> infer_results(const IrNode* node, const FunctionSchema& schema,
                                           const Values& values);
  // Notes the aliases of the node's results, which are set already: arguments that they are, may be, or are
  // contained in.
  void note_results(const IrNode* node, const FunctionSchema& schema, const Values& values);
  // Notes that `part` was taken out of `whole`: a list, tuple, dict or object.  `index` is absent when it is
  // not known.  Returns the part.
  Value note_part(const Value& whole, std::optional<std::size_t> index, Value part);
  // Returns, once, whether a guard says how many elements the list has that the node gives.
  bool take_counted(const IrNode* node) { return counted_.erase(node) != 0; }
  // Notes that `result` is the result of a call with these arguments.  `inner` is the value that the callee
  // returned when it was followed, and may alias them.
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
  TensorNames::KnownValue shared_known(const Value& value);
  void add_shared(const Value& value, std::vector<TensorNames::KnownValue>& all, int depth = 0);
  void link(const TensorNames::KnownValue& one, const TensorNames::KnownValue& other);
  void share(const Value& argument, const Value& result);
  bool with_current_shapes(const Values& values, Values& changed) const;
  void change_arguments(const IrNode* node, const FunctionSchema& schema, const Values& values,
                        const std::vector<AbstractValue>& results);
  void change_known(const TensorNames::KnownValue& target, AbstractValue known);
  void change_others(const TensorNames::KnownValue& changed);
  bool change_list(const FunctionSchema& schema, const Values& values, std::vector<AbstractValue>& results);

  RunState& state_;
  const Run& run_;
  Frames& frames_;
  Changes& changes_;
  std::unordered_map<const torchscript::FunctionSchema*, Traits>
      traits_;  // the traits of operators that were run
  std::unordered_set<const IrNode*> counted_;
};

}  // namespace fxtrace::internal::interpreter
