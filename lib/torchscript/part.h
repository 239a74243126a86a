// Base of the parts of the interpreter that call one another.
#pragma once

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

class Part {
 public:
  // All arguments must outlive the part; `run` may still be under construction.
  Part(Run& run, Frames& frames, Recording& recording) : run_(run), frames_(frames), recording_(recording) {}

 protected:
  Run& run_;
  Frames& frames_;
  Recording& recording_;
};

}  // namespace fxtrace::torchscript
