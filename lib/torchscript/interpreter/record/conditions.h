// Conditions that depend on inputs: deciding them, assuming them under guards, and writing them as Python.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "torchscript/interpreter/record/recording.h"
#include "trace/options/condition.h"

namespace fxtrace::interpreter {

class Conditions {
 public:
  using Assumed = std::map<std::string, bool>;

  Conditions(Context& context, Recording& recording)
      : context_(context), frames_(context.frames), recording_(recording), tracer_(recording.tracer) {}

  // Returns the condition's value when the code, earlier guards or an enclosing branch determine it.
  std::optional<bool> decide(const Value& condition) const;
  // Takes the condition to hold, or not to hold, in what runs from now on.
  void expect(const Value& condition, bool holds);
  // Does the same as expect() and records a guard, or, where the inputs do not tell, an assertion; `node` is
  // what asks for the condition.
  void assume(const IrNode* node, const Value& condition, bool holds);
  // Notes a fact, which any text identifies; returns whether it is new.
  bool assume_fact(std::string fact) { return assumed_.emplace(std::move(fact), true).second; }
  const Assumed& assumed() const { return assumed_; }
  void set_assumed(Assumed assumed) { assumed_ = std::move(assumed); }

  // Returns the condition as Python expression over the inputs, also for an operand of `and` or `or` that was
  // not computed (see leave_out()).  Absent where the inputs alone do not tell: it asks a module or a
  // parameter, what is random, assigned or written in place, or takes too long an expression.  Absent also
  // within a body of control flow, which may not run.
  std::optional<Expression> find_expression(const IrValue* name, const Value& condition) const;
  // Notes the expression of a value that was not computed.
  void leave_out(const IrValue* name, Expression expression);
  void leave_out_as(const IrValue* name,
                    const IrValue* other);  // copies the entry of `other`, if any
  void forget_left_out(const IrValue* name) { left_out_.erase(name); }

  // Returns whether the condition is `x is None`, which torch's control flow cannot take: no operand may be
  // None.
  bool asks_for_none(const Value& condition) const;

  // Declares a placeholder that can be replaced by a fixed value of its input.
  void add_fixable(NodeId placeholder, FixedInput input) {
    fixable_.emplace(placeholder.index, std::move(input));
  }
  // Throws InputsAsked when the value depends on inputs of the graph that can be fixed.
  void record_query(const Value& value) const;

 private:
  void record_assertion(const IrNode* node, const Value& condition, bool holds);
  std::optional<Comparison> comparison(const Value& condition) const;
  // Returns a key that conditions of equal value share; empty when there is none.  Flips `opposite` when the
  // key is that of the negation.
  std::string key_of(const Value& condition, bool& opposite) const;

  Context& context_;
  Frames& frames_;
  Recording& recording_;
  GraphTracer& tracer_;
  Assumed assumed_;                                          // by key_of()
  std::unordered_map<const IrValue*, Expression> left_out_;  // of conditions that were not computed
  std::unordered_map<std::uint32_t, FixedInput> fixable_;    // by placeholder
};

}  // namespace fxtrace::interpreter
