// Operators: carried out where everything is known, recorded as nodes where it is not.
#pragma once

#include <vector>

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

class OperatorCalls {
 public:
  OperatorCalls(Run& run, Frames& frames, Recording& recording)
      : run_(run), frames_(frames), recording_(recording) {}

  void run(const IrNode* node);

 private:
  bool is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values);
  void list_elements(const IrNode* node);
  void execute(const IrNode* node, Values values);
  void record(const IrNode* node, const FunctionSchema& schema, const Values& values);
  bool record_container_change(const IrNode* node, const FunctionSchema& schema, const Values& values,
                               const AbstractValue& result);
  bool record_in_python(const IrNode* node, const FunctionSchema& schema, const Values& values);
  Value formatted(const Values& values, const IrNode* node);
  void set_recorded(const IrNode* node, NodeId recorded, NumberMeaning meaning,
                    std::vector<AbstractValue> known);
  NumberMeaning compared_meaning(const IrNode* node, const Values& values);
  // Turns a list or dict made while tracing into one that the graph makes: what happens to it from now on
  // depends on an input.
  void materialize(const Value& container, const IrNode* node);

  Run& run_;
  Frames& frames_;
  Recording& recording_;
};

}  // namespace fxtrace::torchscript
