// Conditions that depend on inputs: decides them, assumes them under guards, and writes them as Python.
//
// An `if` that only guards an exception (`if x.dim() != 2: raise ...`, `assert n > 0`) is followed as if
// nothing raised.  The graph must say so: assume() writes a guard over the inputs, or, where inputs alone do
// not tell, records a node aten._assert_async.  From then on the condition is decided, under whatever
// spelling the code asks for it again.  In the branches of a higher_order.cond its condition is decided
// likewise, without a guard (expect()).
//
// Invariants:
//
// 1. Whatever is assumed outside of branches is a guard or an assertion of the graph.
// 2. Conditions with one key are equal, or each other's negations (`opposite`): `n > m`, `m < n`, `not n <=
//    m`.  Conditions over values that may have changed in between have no key in common
//    (trace/options/condition.h), and neither have conditions of different graphs.
// 3. A comparison of integers is also assumed in the ranges of dimensions (RunState::dimensions), which
// decide
//    others: `n > 4` decides `n > 2`.
// 4. Assumptions are undone with what was recorded under them: they are part of a Checkpoint, and
//    Subgraphs::record() restores those that held before the subgraph.
// 5. Within a subgraph no guard is written, as its body may not run: find_expression() returns nothing there,
//    and an assertion is recorded in the body.
//
// Example, of a forward(self, x: Tensor, n: int, m: int):
//
//   if n <= m: raise ...        assume(n <= m, false): guard `not n <= m`
//   if m < n:                   decide(): the key is that of `n <= m`, negated, so it is true
//       y = y + 1
//   b = bool(y.sum() > 0)       a node of the graph, as nothing decides it
//   assert b                    assume(b, true): guard `bool(x.mul(2).add(1).sum().gt(0))`, as y is x * 2 + 1
//   if b:                       decide(): assumed to be true
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "interpreter/state/run_state.h"
#include "trace/options/condition.h"
#include "trace/tracer/graph_tracer.h"

namespace fxtrace::internal::interpreter {

class Recorder;

class Conditions {
 public:
  using Assumed = std::map<std::string, bool>;

  // `tracer` is null where nothing is recorded.
  Conditions(RunState& state, Recorder& recorder, GraphTracer* tracer)
      : state_(state), frames_(state.frames), recorder_(recorder), tracer_(tracer) {}

  // Returns the condition's value when the code, earlier guards or an enclosing branch determine it.
  std::optional<bool> decide(const Value& condition) const;
  // Takes the condition to hold, or not to hold, in what runs from now on.
  void expect(const Value& condition, bool holds);
  // Does the same as expect(), and records a guard or, where the inputs do not tell, an assertion.  `node` is
  // the `if` that asks for the condition.
  void assume(const IrNode* node, const Value& condition, bool holds);
  // Records likewise that the list has so many elements, which a guard or an assertion of the same kind says.
  // Returns false where the length is known from shapes and the inputs do not tell it.
  bool assume_length(const IrNode* node, const Value& list, std::size_t length);
  // Records likewise that the tensor, whose shape is not known, has no dimensions and, if asked, no floats.
  void assume_scalar(const IrNode* node, const Value& tensor, bool is_integer);
  // Notes a fact, which its text identifies; returns whether it is new.  For guards that are written once.
  bool assume_fact(std::string fact) { return assumed_.emplace(std::move(fact), true).second; }
  const Assumed& assumed() const { return assumed_; }
  void set_assumed(Assumed assumed) { assumed_ = std::move(assumed); }

  // Returns the condition as a Python expression over the inputs, also for an operand of `and` or `or` that
  // was not computed (see note_uncomputed()).  Absent where the inputs alone do not tell: it depends on a
  // module, a parameter, a random number, or a value that is assigned or written in place, or the expression
  // would be too long.  Absent also within a body of control flow, which may not run.
  std::optional<Expression> find_expression(const IrValue* name, const Value& condition) const;
  // Notes the expression of a value that was not computed: `a and b` of two conditions on inputs makes no
  // node.
  void note_uncomputed(const IrValue* name, Expression expression);
  // Gives `name` the expression of `other`, if that was not computed.
  void note_uncomputed_as(const IrValue* name, const IrValue* other);
  void forget_uncomputed(const IrValue* name) { uncomputed_.erase(name); }

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
  bool is_over_inputs(const Value& value, bool names_inputs_only) const;
  void record_assertion(const IrNode* node, const Value& condition, bool holds);
  std::optional<Comparison> comparison(const Value& condition) const;
  // Returns a key that conditions of equal value share; empty when there is none.  Flips `opposite` when the
  // key is that of the negation.
  std::string key_of(const Value& condition, bool& opposite) const;

  RunState& state_;
  Frames& frames_;
  Recorder& recorder_;
  GraphTracer* const tracer_;
  Assumed assumed_;  // by key_of()
  std::unordered_map<const IrValue*, Expression>
      uncomputed_;                                         // expressions of conditions that were not computed
  std::unordered_map<std::uint32_t, FixedInput> fixable_;  // by placeholder
};

}  // namespace fxtrace::internal::interpreter
