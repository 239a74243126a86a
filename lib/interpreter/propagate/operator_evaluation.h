// What is known of results: elements of small tensors, and answers about shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "interpreter/program/symbolic_value.h"
#include "interpreter/program/torchscript_program.h"
#include "interpreter/state/value_form.h"
#include "operators/operators.h"
#include "opinfo/infer.h"
#include "opinfo/rules/shape_rules.h"
#include "shapes/abstract_value.h"

namespace fxtrace::internal::interpreter {

// Constant propagation of small tensors: constants of the code, and the results of operators on them.  When
// shapes are propagated, elements are part of the abstract value (TensorContent); otherwise they are kept
// here by node, for control flow that depends on them.
//
// Each memory block has a counter of writes.  A tensor with known elements refers to the counters of all
// memory that it may be in, with the count that it saw; if one has changed, the elements are unknown.

class ConstantTensors {
 public:
  explicit ConstantTensors(const TorchScriptProgram& program) : program_(program) {}

  // Notes a tensor constant of the code.
  void read(const TensorValue& tensor);
  // Notes a write to a tensor, or to those in a list: their elements, and those of their aliases, are unknown
  // from then on.
  void note_write(const Value& value);
  static void note_write(const AbstractValue& value);
  // Returns the content as that which a tensor has after the last write to it.
  static std::shared_ptr<const TensorContent> written(TensorContent content);
  // Returns whether the tensor is not a parameter and was not written to.
  bool is_as_in_code(const TensorValue& tensor) const;
  // Returns the elements of a tensor, or null when they are unknown.
  std::shared_ptr<const Array> find_elements(const Value& value) const;
  // Keeps the known value of a recorded node until forget().
  void keep_value(const NodeRef& node, AbstractValue value) {
    made_.insert_or_assign(key_of(node), std::move(value));
  }
  void forget(const NodeRef& node) { made_.erase(key_of(node)); }
  // Returns the kept value of a proxy's node; null for other values.
  const AbstractValue* find_kept(const Value& value) const;
  // Returns whether any of the values, or an item of a list among them, is a constant of the code or is kept.
  bool is_any_known(const Values& values) const;
  // Evaluates the operator on known arguments; returns nothing when its results cannot be computed.
  std::optional<Results> compute(const FunctionSchema& schema, const Values& values) const;
  // Adds known elements to the abstract results of an operator.  The elements that an in-place operator
  // leaves are valid after written().
  void add_contents(const FunctionSchema& schema, const Values& values,
                    std::vector<AbstractValue>& results) const;
  // Notes that results may alias arguments whose elements are known, so that a write to one invalidates the
  // other.
  void note_shared(const FunctionSchema& schema, const Values& values,
                   std::vector<AbstractValue>& results) const;
  // Notes that `result` is one of the values.
  void note_choice(AbstractValue& result, const Values& of) const;
  // Returns the elements of a constant of the code; null for others.
  std::shared_ptr<const Array> find_elements(const TensorValue& tensor) const;

 private:
  bool is_known(const TensorValue& tensor) const;
  template <typename Found>
  void for_each_memory(const Value& value, const Found& found) const;
  AbstractValue argument(const Value& value) const;

  static std::uint64_t key_of(const NodeRef& node) {
    constexpr unsigned kBitsOfNode = 32;
    return std::uint64_t{node.graph.index} << kBitsOfNode | node.node.index;
  }

  const TorchScriptProgram& program_;
  std::unordered_map<const TensorValue*, std::shared_ptr<std::size_t>> in_code_;  // constant -> writes to it
  std::unordered_set<const TensorValue*> written_;
  std::unordered_map<std::uint64_t, AbstractValue> made_;  // by key_of()
};

// Applies the shape rules of lib/opinfo to values of the interpreter: plain values, tensors of the archive
// (sizes and dtype only), proxies (symbolic_value.h) and containers of them.  Each function is the one of
// lib/opinfo with that name.

Inferred infer_shapes(const FunctionSchema& schema, const std::vector<Value>& values, ShapeEnv& dimensions,
                      const ReadConstant& constant);

std::optional<Pieces> pieces_of(const FunctionSchema& schema, const std::vector<Value>& values,
                                ShapeEnv& dimensions, std::int64_t count);

Evaluated evaluate_plain(const FunctionSchema& schema, const std::vector<Value>& values,
                         ShapeEnv& dimensions);

std::optional<ChangedList> changed_list(const FunctionSchema& schema, const std::vector<Value>& values);

}  // namespace fxtrace::internal::interpreter
