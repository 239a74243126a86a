// Conditions that depend on inputs: what decides them, what is assumed of them, how Python writes them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "torchscript/recording.h"
#include "trace/condition.h"

namespace fxtrace::torchscript {

class Conditions {
 public:
  using Assumed = std::map<std::string, bool>;

  Conditions(Context& context, Frames& frames, Recording& recording)
      : context_(context), frames_(frames), recording_(recording) {}

  // What the code, earlier guards and what runs here leave no choice about.
  std::optional<bool> decide(const Value& condition) const;
  // Of what runs from now on.
  void expect(const Value& condition, bool holds);
  // Likewise, with a guard: the condition is what the node asks for.
  void assume(const IrNode* node, const Value& condition, bool holds);
  // Whether this is new; `fact` is any text that tells it from others.
  bool assume_fact(std::string fact) { return assumed_.emplace(std::move(fact), true).second; }
  const Assumed& assumed() const { return assumed_; }
  void set_assumed(Assumed assumed) { assumed_ = std::move(assumed); }

  // As Python writes it: of a part of an expression that was left out too.  Nothing where that cannot be
  // told.
  std::optional<Expression> find_expression(const IrValue* name, const Value& condition) const;
  // What the value would have been, had it been worked out.
  void leave_out(const IrValue* name, Expression expression);
  void leave_out_as(const IrValue* name,
                    const IrValue* other);  // the same as another, where that was left out
  void forget_left_out(const IrValue* name) { left_out_.erase(name); }

  // `x is None`: control flow of torch has no operand that may be None.
  bool asks_for_none(const Value& condition) const;
  // " (batch > 1, with batch in 0..)"; empty when the value is no comparison of sizes.
  std::string explain(const Value& value) const;

  // A placeholder that could be fixed to what the input would be.
  void add_fixable(NodeId placeholder, FixedInput input) {
    fixable_.emplace(placeholder.index, std::move(input));
  }
  // Throws InputsAsked when the value depends on inputs of the graph that can be fixed.
  void ask(const Value& value) const;

 private:
  std::optional<Comparison> comparison(const Value& condition) const;
  // Two conditions that have the same key have the same value.  Empty when there is no telling; `opposite` is
  // turned round when the key is that of the opposite.
  std::string key_of(const Value& condition, bool& opposite) const;

  Context& context_;
  Frames& frames_;
  Recording& recording_;
  Assumed assumed_;                                          // by key_of()
  std::unordered_map<const IrValue*, Expression> left_out_;  // conditions that were not followed
  std::unordered_map<std::uint32_t, FixedInput> fixable_;    // by placeholder
};

}  // namespace fxtrace::torchscript
