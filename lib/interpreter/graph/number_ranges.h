// The ranges of numbers that a graph computes, as far as the nodes that make them tell.
#pragma once

#include "interpreter/evaluate/evaluator.h"
#include "opinfo/python_spelling.h"

namespace fxtrace::internal::interpreter {

class NumberRanges : RecordingPart {
 public:
  using RecordingPart::RecordingPart;

  // Returns whether Python may compute something else for the values than the operator does.  If the ranges
  // of dimensions exclude that, guards say so.
  bool differs_in_python(const IrNode* node, const FunctionSchema& schema, const Schema& plain_schema,
                         const Values& values);

 private:
  bool is_boolean_of_code(const Value& value) const;
  NumberRange of_value(const Value& value, const SchemaType& type);
  NumberRange of_argument(const NodeRef& user, const Argument& argument, int depth);
  NumberRange of_node(const NodeRef& ref, int depth);

  bool uses_dimensions_ = false;  // whether the ranges of dimensions count
  int steps_ = 0;
};

}  // namespace fxtrace::internal::interpreter
