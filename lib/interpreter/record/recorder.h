// What a run leaves behind: nodes, the guards under which the graph is valid, and findings that the runs of a
// trace share.  Converts values of the code to arguments, and describes values by expressions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreter/record/conditions.h"
#include "interpreter/record/input_guards.h"
#include "interpreter/state/findings.h"
#include "interpreter/state/run_state.h"
#include "trace/modules/recorded_calls.h"
#include "trace/tracer/graph_tracer.h"
#include "trace/tracer/guard_expression.h"

namespace fxtrace::internal::interpreter {

// A point of a run to which Recorder::back_to() goes back.
struct Checkpoint {
  Journal::Mark changes = 0;
  std::size_t frames = 0;
  Journal::Mark stretch = 0;  // that of the undo log
  std::int64_t steps = 0;
  Switches switches;
  struct Recorded {
    Journal::Mark nodes = 0;
    std::size_t first_node = 0;  // the least id of later nodes
    std::size_t seen_calls = 0;
    ShapeEnv dimensions;
    Conditions::Assumed assumed;
  };
  std::optional<Recorded> recorded;  // absent where nothing is recorded
};

class Recorder {
 public:
  // What becomes of that which runs now.
  enum class Mode {
    kGraph,  // it is recorded
    kLeaf,   // only its value is asked for.  Its writes to tensors are no nodes, and are not undone after it
    kBothWays,  // likewise, in a branch of an `if` that nothing decides, which may be unreachable
    kNothing,   // there is no graph
  };
  using Arguments = std::pair<std::vector<Argument>, Kwargs>;

  // `findings` are those of all runs of a trace.  Both are null where an object's __setstate__ is followed.
  explicit Recorder(RunState& its_state, Findings* its_findings = nullptr, GraphTracer* its_tracer = nullptr)
      : state(its_state),
        mode(its_tracer != nullptr ? Mode::kGraph : Mode::kNothing),
        conditions(its_state, *this, its_tracer),
        input_guards(its_state, *this, its_tracer, conditions),
        run_(its_state.run),
        tracer_(its_tracer),
        findings_(its_findings) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool records() const { return mode == Mode::kGraph; }
  bool is_in_leaf() const { return mode == Mode::kLeaf || mode == Mode::kBothWays; }
  // Returns whether a subgraph of control flow is being recorded, which may run more than once or not at all.
  bool in_body() const { return records() && tracer_->in_subgraph(); }
  // Returns whether the current code runs once in each run of the graph: it is neither in a subgraph nor in a
  // branch of an `if` within a leaf that nothing decides.
  bool runs_once() const { return (records() || mode == Mode::kLeaf) && !tracer_->in_subgraph(); }
  // Of a graph only:
  GraphTracer& tracer() const { return *tracer_; }
  Findings& findings() const { return *findings_; }

  // --- nodes ---
  // Returns the proxy that `value` is, when it stands for a node of the graph; else null.
  const Proxy* find_recorded(const Value& value) const;
  // Returns the value as an argument of a node; None where nothing is recorded.  `meaning` is that of
  // integers.
  Argument argument(const Value& value, const IrNode* node, NumberMeaning meaning = NumberMeaning::kNumber);
  // Returns positional and keyword-only arguments, without those at their defaults.  `meaning` gives the
  // meaning of integers.
  Arguments arguments(const FunctionSchema& schema, const Values& values, std::size_t first,
                      const IrNode* node, const std::function<NumberMeaning(std::size_t)>& meaning = nullptr);
  // Returns the arguments of a call of a function or method that has code.
  Arguments call_arguments(Function& function, const Values& values, std::size_t first, const IrNode* node);
  // Returns the integer as an argument; throws TraceFailure when it stands for a dtype, layout or memory
  // format that does not exist.
  Argument number(std::int64_t number, NumberMeaning meaning, const IrNode* node) const;
  // Returns the node of the call; an invalid one where nothing is recorded.  `type` is null when it is not
  // known.
  NodeRef call_function(std::string target, std::vector<Argument> args, Kwargs kwargs, const TypePtr& type,
                        const AbstractValue& known, const IrNode* node);
  NodeRef call_method(const std::string& method, std::vector<Argument> args, const TypePtr& type,
                      const IrNode* node);
  // Returns the result of a call, with `known` as what is known of it; None when its type is None.
  Value call(std::string target, std::vector<Argument> args, const TypePtr& type, const IrNode* node,
             AbstractValue known = {}, Kwargs kwargs = {});
  Value apply(std::string target, const Values& operands, const TypePtr& type, const IrNode* node,
              AbstractValue known = {});
  static Value result(NodeRef node, const TypePtr& type, AbstractValue known = {});

  // --- guards ---
  void guard(Expression condition, const std::optional<SourceLocation>& source, GuardReason reason);
  // Adds the guards for an answer that the operator `question` at `node` gives about the values; `ranges` are
  // the dimensions whose ranges were used for it.
  void rely_on(const IrNode* node, std::string_view question, const Values& values,
               const AbstractValue& answer, const std::set<std::string>& ranges) {
    if (records()) input_guards.rely_on(node, question, values, answer, ranges);
  }
  // Assume that the condition holds, or does not hold, or that the list has so many elements, as an exception
  // is raised otherwise.
  void assume(const IrNode* node, const Value& condition, bool holds) {
    if (records()) conditions.assume(node, condition, holds);
  }
  void assume_length(const IrNode* node, const Value& list, std::size_t length);
  // Notes that the order of keys of these values may decide something.
  void note_key_order(const Value& value);

  // --- findings for other runs of the trace ---
  // Notes, once for each node of the module that runs, that the call `what` raises `error`.
  void report_invalid(const IrNode* node, const std::string& what, const std::string& error);
  // Notes the arguments of a module's call, which describe the inputs of the module's own graph.
  void remember_call(ModuleId module, const Values& values, const IrNode* node);

  // --- questions about values ---
  // Return texts for messages: the value as an expression, and what it depends on ("an input").
  std::string describe(const Value& value) const;
  std::string what_decides(const Value& value) const;
  // Returns the value as an expression for guards; see guard_expression().
  Expression condition_of(const Value& value, bool* over_inputs = nullptr) const;
  // Returns the length of a list in the same way.
  Expression length_of(const Value& list, bool* over_inputs) const;
  // Returns the integer when the code determines it without shapes of inputs.
  std::optional<std::int64_t> number_of(const Value& value);
  // Returns whether nothing has written to the tensors that the value is computed from.
  bool is_unwritten(const Value& value) const;
  // Returns whether the value is an input or an attribute of the graph.
  bool is_given(const Value& value) const;
  // Returns the answer of `question` about the graph of the node, and spends the budget that it takes.
  template <typename Question>
  auto ask_graph(const NodeRef& about, const Question& question) const {
    constexpr std::size_t kUsersOfUnit = 4;
    const NumberedGraph graph{tracer_->graph_of(about), about.graph.index};
    auto answer = question(graph);
    run_.budget.spend(graph.looked_at / kUsersOfUnit);
    return answer;
  }

  // --- rollback ---
  // Begins a part of the run that back_to() takes back or keep() keeps: a stretch of the undo log (Changes).
  Checkpoint checkpoint();
  // Rolls back to the checkpoint.
  void back_to(Checkpoint before);
  // Goes on with the stretch around the part since the checkpoint.
  void keep(const Checkpoint& before) { state.changes.begin_stretch(before.stretch); }

  RunState& state;
  Mode mode;
  bool has_concrete = false;     // options give values to inputs of the graph's root
  bool inputs_are_open = false;  // this run takes these inputs for unknown
  // Guards on the order of the keys of dicts among the inputs, by the dict: until something asks for it.
  std::map<const void*, Expression> key_orders;
  Conditions conditions;
  InputGuards input_guards;

 private:
  GuardSize guard_size() const;
  Argument number_of_attribute(const Proxy& attribute, const IrNode* node);
  Argument argument_part(const Value& value, const IrNode* node, NumberMeaning meaning);
  bool is_default(const torchscript::ScriptConstant& literal, const Value& value, const Argument& given,
                  NumberMeaning meaning, const IrNode* node);

  const Run& run_;
  GraphTracer* const tracer_;
  Findings* const findings_;
  mutable std::size_t guards_length_ = 0;  // characters of all conditions so far
};

// Tracks the Python stack under which torch.jit.trace recorded the operation of each node, for rules that
// keep Python functions as one call.

class RecordedStacks {
 public:
  RecordedStacks(const Run& run, GraphTracer& tracer) : run_(run), tracer_(tracer) {}

  // Begins a graph; stacks are kept only if there are such rules.
  void begin();
  bool are_kept() const { return calls_.has_value(); }
  // Notes the stack of `node` for the nodes of the graph from `first` on, which it recorded; nothing for a
  // call of a method.
  void note(const IrNode* node, std::size_t first);
  // Notes for the nodes from `first` on, which are the call of a leaf, the stack of an operation within the
  // leaf.
  void note_leaf(const IrNode* node, std::size_t first);
  // Folds each call of a kept function in the finished graph into one node.
  void fold();

 private:
  void note(std::size_t first, const std::vector<StackFrame>& stack);
  const IrGraph* called_method(const IrNode* node) const;
  std::vector<StackFrame> stack_inside(const IrGraph& graph, int depth, int& nodes) const;

  const Run& run_;
  GraphTracer& tracer_;
  std::optional<RecordedCalls> calls_;
};

}  // namespace fxtrace::internal::interpreter
