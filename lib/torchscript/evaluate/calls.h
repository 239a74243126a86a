// Calls of methods and functions of the code.
#pragma once

#include "torchscript/evaluate/part.h"

namespace fxtrace::torchscript {

class Calls : Part {
 public:
  using Part::Part;

  void call_method(const IrNode* node);
  void call_function(const IrNode* node);

 private:
  void remember(ModuleId module, const Values& values, const IrNode* node);
};

}  // namespace fxtrace::torchscript
