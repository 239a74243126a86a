// What code asks of the process that runs the model, and what it switches there by `with`.
#pragma once

#include "torchscript/part.h"

namespace fxtrace::torchscript {

class Process : Part {
 public:
  using Part::Part;

  // Answered as for an ordinary process, and a guard says so.  False when the node asks for nothing of it.
  bool ask(const IrNode* node);
  void enter_or_exit(const IrNode* node, bool enter);

 private:
  void switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter);
};

}  // namespace fxtrace::torchscript
