// The strategy of abstract_calls.h: follows the code of a leaf without recording it.  Where nothing decides
// an `if`, both branches are run.
#pragma once

#include "interpreter/strategies/basic_strategy.h"

namespace fxtrace::interpreter {

// The recorder within a leaf; `outer` is the recorder of the graph that calls the leaf.
class LeafRecorder final : public NoRecorder {
 public:
  LeafRecorder(Context& context, const Recorder& outer) : context_(context), outer_(outer) {}

  void report_invalid(const IrNode* node, const std::string& what, const std::string& error) override {
    if (!runs_both_ways) context_.report_invalid(node, what, error);
  }
  bool runs_once() const override { return !runs_both_ways && outer_.runs_once(); }
  bool is_in_leaf() const override { return true; }

  bool runs_both_ways = false;  // both branches of an `if` are run, so one of them may be unreachable

 private:
  Context& context_;
  const Recorder& outer_;
};

class AbstractStrategy final : public BasicStrategy {
 public:
  AbstractStrategy(Context& context, ShapePropagation& propagation, CodeRunner& code, const Recorder& outer)
      : BasicStrategy(context, propagation, code), recorder_(context, outer) {}

  LeafRecorder& leaf_recorder() { return recorder_; }
  // Notes that a callee with these arguments cannot be followed, and may have written to them.
  void note_unknown_writes(const Values& arguments);

  const IrNode* run(const IrBlock& block, const IrNode* node) override;
  Value call_module(const MethodCall& call) override;
  Value attribute(const AttributePlace& place, const TypePtr& type, const IrNode* node) override;
  void set_attribute(const AttributePlace& place, const Value& value, const IrNode* node) override;
  void branch(const IrNode* node, const Value& condition) override;

 private:
  void materialize(const Value& container, const IrNode* node) override;
  bool run_both(const IrNode* node);

  LeafRecorder recorder_;
  std::int64_t nodes_run_ = 0;  // the number of nodes that all runs together have run
};

}  // namespace fxtrace::interpreter
