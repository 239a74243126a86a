// Loops: unrolled when plain values determine the number of iterations.
#pragma once

#include "torchscript/evaluate/part.h"

namespace fxtrace::torchscript {

class Loops : Part {
 public:
  using Part::Part;

  void run(const IrNode* node);
};

}  // namespace fxtrace::torchscript
