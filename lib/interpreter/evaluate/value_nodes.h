// Runs nodes that build, unpack or forward values: containers, attributes, casts, `is`, isinstance.
#pragma once

#include <string>

#include "interpreter/evaluate/evaluator_part.h"

namespace fxtrace::internal::interpreter {

class ValueNodes : EvaluatorPart {
 public:
  using EvaluatorPart::EvaluatorPart;

  // Runs the node; returns false when it is of another kind.
  bool run(const IrNode* node);

 private:
  void construct(const IrNode* node);
  void unpack(const IrNode* node);
  void cast(const IrNode* node);
  void index_tuple(const IrNode* node);
  void index_modules(const IrNode* node);
  void is_instance(const IrNode* node);
  bool compare_identity(const IrNode* node);
  bool compare_tensors(const IrNode* node, const Value& left, const Value& right);
  void get_attribute(const IrNode* node);
  void set_attribute(const IrNode* node);
  AttributePlace place_of(const Value& object, const IrNode* node) const;
  // Returns an element of a sequence that is a proxy.  `fits` is false when the code unpacks another number
  // of elements than the sequence is known to have.
  Value item(const Value& sequence, std::size_t index, const TypePtr& type, const IrNode* node,
             bool fits = true);
};

}  // namespace fxtrace::internal::interpreter
