// Records calls of operators as nodes, spelled as Python calls them.
#pragma once

#include <string>
#include <vector>

#include "interpreter/evaluate/evaluator.h"
#include "interpreter/graph/number_ranges.h"
#include "opinfo/python_spelling.h"

namespace fxtrace::internal::interpreter {

class GraphOperators : RecordingPart {
 public:
  using RecordingPart::RecordingPart;

  void record(const IrNode* node, const FunctionSchema& schema, const Values& values,
              std::vector<AbstractValue> results);

 private:
  // Record certain operators, and return false for others.
  bool record_container_change(const IrNode* node, const FunctionSchema& schema, const Values& values,
                               const AbstractValue& result);
  bool record_dict_change(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool record_in_python(const IrNode* node, const FunctionSchema& schema, const Values& values);
  void spell_tensor_of_numbers(const IrNode* node, const Values& values, const AbstractValue& result,
                               Recorder::Arguments& arguments, PythonTarget& target);
  void check_implicit_conversion(const IrNode* node, const FunctionSchema& schema, const Values& values);
  Value plain_text(const Value& value, const std::string& format, const IrNode* node);
  Value text_of(const Value& value, const IrNode* node);
  Value joined(const Value& text, const Value& more, const IrNode* node);
  Value formatted(const Values& values, const IrNode* node);
  Value percent_formatted(const Values& values, const IrNode* node);
  void set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                    std::vector<AbstractValue> known);
  NumberMeaning compared_meaning(const IrNode* node, const Values& values);

  NumberRanges ranges_{*this};
};

}  // namespace fxtrace::internal::interpreter
