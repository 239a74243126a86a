// A part of the interpreter that calls others, and is called by them.
#pragma once

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

class Part {
 public:
  // All outlive the part; `run` need not be complete yet.
  Part(Run& run, Frames& frames, Recording& recording) : run_(run), frames_(frames), recording_(recording) {}

 protected:
  Run& run_;
  Frames& frames_;
  Recording& recording_;
};

}  // namespace fxtrace::torchscript
