// Interface to the graph that a run records: adds nodes and guards, and answers questions about values by the
// graph.  A Recording has a graph; NoRecorder has none, and is used where only the value of a call is asked
// for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "interpreter/program/symbolic_value.h"
#include "symbolic/shape_env.h"

namespace fxtrace::interpreter {

class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  // --- nodes ---
  // Returns the proxy that `value` is, when it stands for a node of the graph; else null.
  virtual const Proxy* find_recorded(const Value& value) const = 0;
  // Returns the value as an argument of a node; None without a graph.  `meaning` is that of integers.
  virtual Argument argument(const Value& value, const IrNode* node,
                            NumberMeaning meaning = NumberMeaning::kNumber) = 0;
  // Returns the node of the call; an invalid one without a graph.  `type` is null when it is not known.
  virtual NodeRef call_function(std::string target, std::vector<Argument> args, Kwargs kwargs,
                                const TypePtr& type, const AbstractValue& known, const IrNode* node) = 0;
  virtual NodeRef call_method(const std::string& method, std::vector<Argument> args, const TypePtr& type,
                              const IrNode* node) = 0;
  // Returns the result of a call, with `known` as what is known of it; None when its type is None.
  Value call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
             AbstractValue known = {}, Kwargs kwargs = {});
  Value apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
              AbstractValue known = {});
  static Value result(NodeRef node, const TypePtr& type, AbstractValue known = {});

  // --- guards ---
  virtual void guard(Expression condition, const std::optional<SourceLocation>& source,
                     GuardReason reason) = 0;
  // Adds the guards for an answer that the operator `question` at `node` gives about the values; `ranges` are
  // the dimensions whose ranges were used for it.
  virtual void rely_on(const IrNode* node, std::string_view question, const Values& values,
                       const AbstractValue& answer, const std::set<std::string>& ranges) = 0;
  // Throws InputsAsked when the value depends on inputs of the graph that can be fixed.
  virtual void record_query(const Value& value) const = 0;
  // Warns, once for each node, that the call `what` raises `error`.
  virtual void report_invalid(const IrNode* node, const std::string& what, const std::string& error) = 0;

  // --- questions about values ---
  // Return texts for messages: the value as an expression, and what it depends on ("an input").
  virtual std::string describe(const Value& value) const = 0;
  virtual std::string what_decides(const Value& value) const = 0;
  // Returns the value as an expression for guards; see guard_expression().
  virtual Expression condition_of(const Value& value, bool* over_inputs = nullptr) const = 0;
  // Returns the condition's value when the code, earlier guards or an enclosing branch determine it.
  virtual std::optional<bool> decide(const Value& condition) const = 0;
  // Returns the integer when the code determines it without shapes of inputs.
  virtual std::optional<std::int64_t> number_of(const Value& value) = 0;
  // Returns whether nothing has written to the tensors that the value is computed from.
  virtual bool is_unwritten(const Value& value) const = 0;
  // Returns whether the value is an input or an attribute of the graph.
  virtual bool is_given(const Value& value) const = 0;
  // Returns whether a subgraph of control flow is being recorded, which may run more than once or not at all.
  virtual bool in_body() const = 0;
  // Returns whether the current code runs once in each run of the graph: it is neither in a subgraph nor in a
  // branch of an `if` within a leaf that nothing decides.
  virtual bool runs_once() const = 0;
  // Returns whether a leaf is followed: its writes to tensors are not nodes, and are not undone after it.
  virtual bool is_in_leaf() const = 0;

  // --- rollback ---
  struct State {
    std::size_t seen_calls = 0;
    ShapeEnv dimensions;
    std::map<std::string, bool> assumed;
  };
  virtual std::optional<State> state() const = 0;
  virtual void go_back_to(State state) = 0;
};

class NoRecorder : public Recorder {
 public:
  const Proxy* find_recorded(const Value&) const override { return nullptr; }
  Argument argument(const Value&, const IrNode*, NumberMeaning) override { return Argument::None{}; }
  NodeRef call_function(std::string, std::vector<Argument>, Kwargs, const TypePtr&, const AbstractValue&,
                        const IrNode*) override {
    return {};
  }
  NodeRef call_method(const std::string&, std::vector<Argument>, const TypePtr&, const IrNode*) override {
    return {};
  }
  void guard(Expression, const std::optional<SourceLocation>&, GuardReason) override {}
  void rely_on(const IrNode*, std::string_view, const Values&, const AbstractValue&,
               const std::set<std::string>&) override {}
  void record_query(const Value&) const override {}
  void report_invalid(const IrNode*, const std::string&, const std::string&) override {}
  std::string describe(const Value&) const override { return "a value"; }
  std::string what_decides(const Value&) const override { return "an input"; }
  Expression condition_of(const Value&, bool*) const override { return Expression::variable("a value"); }
  std::optional<bool> decide(const Value&) const override { return std::nullopt; }
  std::optional<std::int64_t> number_of(const Value&) override { return std::nullopt; }
  bool is_unwritten(const Value&) const override { return false; }
  bool is_given(const Value&) const override { return false; }
  bool in_body() const override { return false; }
  bool runs_once() const override { return false; }
  bool is_in_leaf() const override { return false; }
  std::optional<State> state() const override { return std::nullopt; }
  void go_back_to(State) override {}
};

}  // namespace fxtrace::interpreter
