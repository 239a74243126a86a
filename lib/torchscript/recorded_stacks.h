// Where rules keep functions of traced code: under which stack of Python nodes were recorded.
#pragma once

#include <optional>
#include <vector>

#include "torchscript/context.h"
#include "trace/recorded_calls.h"

namespace fxtrace::torchscript {

class RecordedStacks {
 public:
  explicit RecordedStacks(Context& context) : context_(context) {}

  // Where there are such rules.
  void begin();
  bool are_kept() const { return calls_ && context_.records(); }
  // Of the nodes from `first` on, which the node of the code made.
  void note(const IrNode* node, std::size_t first);
  // Makes the functions of the finished graph one node each.
  void fold();

 private:
  const IrGraph* called_method(const IrNode* node) const;
  std::vector<StackFrame> stack_inside(const IrGraph& graph, int depth, int& nodes) const;

  Context& context_;
  std::optional<RecordedCalls> calls_;
};

}  // namespace fxtrace::torchscript
