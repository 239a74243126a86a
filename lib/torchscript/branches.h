// `if`, and exceptions: followed where plain values decide, assumed where only an exception hangs on them,
// else a node higher_order.cond with a subgraph for each way.
#pragma once

#include <functional>
#include <string>

#include "torchscript/recording.h"

namespace fxtrace::torchscript {

struct Run;

class Branches {
 public:
  Branches(Run& run, Frames& frames, Recording& recording)
      : run_(run), frames_(frames), recording_(recording) {}

  void run(const IrNode* node);
  [[noreturn]] void raise(const IrNode* node);

 private:
  using OnDifference = std::function<Value(const Value&, const Value&)>;

  void choose(const IrNode* node, bool branch);
  bool assume(const IrNode* node, const Value& condition);
  void leave_out(const IrNode* node, const Value& condition, bool is_and);
  bool run_both(const IrNode* node);
  void record(const IrNode* node, const Value& condition);
  Argument predicate(const IrNode* node, const Value& condition);
  Value combined(const Value& first, const Value& second, const std::string& name, const IrNode* node,
                 const OnDifference& on_difference);
  AbstractValue merged(const Value& first, const Value& second);

  Run& run_;
  Frames& frames_;
  Recording& recording_;
};

}  // namespace fxtrace::torchscript
