// Calls of operators, which are computed when all arguments are known.
#pragma once

#include "torchscript/evaluate/part.h"

namespace fxtrace::torchscript {

class OperatorCalls : Part {
 public:
  using Part::Part;

  void run(const IrNode* node);

 private:
  // Throws TraceFailure when an integer is passed for a dtype, layout or memory format and represents none.
  void check_numbers(const FunctionSchema& schema, const Values& values, const IrNode* node) const;
  bool is_structural(const IrNode* node, const FunctionSchema& schema, const Values& values);
  void execute(const IrNode* node, Values values);
};

}  // namespace fxtrace::torchscript
