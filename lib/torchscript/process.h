// What code asks of the process that runs the model, and what it switches there by `with`.
#pragma once

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

class Process {
 public:
  Process(Run& run, Frames& frames, Recording& recording)
      : run_(run), frames_(frames), recording_(recording) {}

  // Answered as for an ordinary process, and a guard says so.  False when the node asks for nothing of it.
  bool ask(const IrNode* node);
  void enter_or_exit(const IrNode* node, bool enter);

 private:
  void switch_autocast(const ObjectValue& manager, const IrNode* node, bool enter);

  Run& run_;
  Frames& frames_;
  Recording& recording_;
};

}  // namespace fxtrace::torchscript
