// Queries about the process that runs the model, and the modes that `with` switches in it.
#pragma once

#include "torchscript/evaluate/part.h"

namespace fxtrace::torchscript {

class Process : Part {
 public:
  using Part::Part;

  // Answers a query as for an ordinary process and records a guard.  Returns false when the node is not such
  // a query.
  bool ask(const IrNode* node);
  void enter_or_exit(const IrNode* node, bool enter);

 private:
  void switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter);
};

}  // namespace fxtrace::torchscript
