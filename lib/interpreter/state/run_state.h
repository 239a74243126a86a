// The state of one run of the interpreter: what is fixed, what changes, and the values of the functions
// that run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "costs/cost_log.h"
#include "costs/custom_costs.h"
#include "interpreter/program/symbolic_value.h"
#include "interpreter/program/torchscript_program.h"
#include "interpreter/state/changes.h"
#include "interpreter/state/tensor_names.h"
#include "symbolic/shape_env.h"
#include "trace/options/options.h"

namespace fxtrace::internal::interpreter {

// The stack of activations: the values of the functions that run, and the current place in their code.

struct Checkpoint;

struct Activation {
  std::string function;
  std::unordered_map<const IrValue*, Value> values = {};
  // The values that LibTorch's optimizer makes constants, besides those of prim::Constant.
  std::unordered_set<const IrValue*> constants = {};
  // The state before the condition of a loop is computed, by loop.
  std::unordered_map<const IrNode*, std::shared_ptr<Checkpoint>> loop_starts = {};
};

class Frames {
 public:
  explicit Frames(const TorchScriptProgram& program) : program_(program) {}

  void push(Activation activation) { frames_.push_back(std::move(activation)); }
  void pop() { frames_.pop_back(); }
  void pop_to(std::size_t size) { frames_.resize(size); }
  std::size_t size() const { return frames_.size(); }
  Activation& top() { return frames_.back(); }

  // Returns a value of the innermost activation: None when it is not set, and the proxy for a list or dict
  // that was passed to replace().
  const Value& value(const IrValue* name) const;
  const Value& input(const IrNode* node, std::size_t i) const { return value(node->input(i)); }
  Values inputs(const IrNode* node) const { return values(node->inputs()); }
  Values outputs(const IrBlock& block) const { return values(block.outputs()); }
  void set(const IrValue* name, Value value) { frames_.back().values[name] = std::move(value); }
  void set(const IrNode* node, Value value) { set(node->output(), std::move(value)); }  // its only output
  // LibTorch inlines calls before it optimizes the code that it runs: arguments and results that are
  // constants, and what it computes of constants alone, are constants then.  Values of tuples, loops and
  // undecided branches are not, whatever they are in this run.
  bool is_constant(const IrValue* name) const {
    return name->node()->is(Symbol::kPrimConstant) || frames_.back().constants.contains(name);
  }
  bool are_constants(const std::vector<IrValue*>& names) const;
  void note_constant(const IrValue* name) { frames_.back().constants.insert(name); }
  // Returns the values of the activations up to `frame`, without those computed in the blocks of `node`
  // there.
  Values values_around(const IrNode* node, std::size_t frame) const;
  // Returns whether the container itself is one of these values in activation `frame`.
  bool holds_around(const Value& container, const IrNode* node, std::size_t frame) const;

  // Replaces a list or dict that was made while tracing by `proxy`, under every name that refers to it.
  void replace(const Value& container, Value proxy);
  void take_back_replacement(const Value& container) { made_.erase(container.identity()); }
  const Value* find_replacement(const Value& container) const;
  // Ends the use of a list or dict that the graph cannot share with a call: whoever uses it as an argument
  // later is refused, and `why` says so.
  void give_away(const Value& container, std::string why);
  void take_back(const Value& container);
  const std::string* why_given_away(const Proxy& proxy) const;

  Shared<std::optional<SourceLocation>> location(const IrNode* node) const;
  [[noreturn]] void fail(FailureKind kind, const std::string& message, const IrNode* node,
                         Limit limit = Limit::kOther) const;
  // Throws TraceFailure for an exception of the model's code.
  [[noreturn]] void raise(const std::string& message, const IrNode* node) const {
    fail(FailureKind::kRaised, message, node);
  }
  // Throws TraceFailure for an operation that cannot be followed.
  [[noreturn]] void refuse(const std::string& message, const IrNode* node) const {
    fail(FailureKind::kUnsupportedOp, message, node);
  }

 private:
  struct Replaced {
    Value container, proxy;  // the container keeps the identity alive
  };
  Values values(const std::vector<IrValue*>& names) const;

  const TorchScriptProgram& program_;
  std::vector<Activation> frames_;
  std::unordered_map<const void*, Replaced> made_;  // by identity
  struct GivenAway {
    NodeRef ref;         // of a value that the graph makes
    const Proxy* proxy;  // in the place of any other
    std::string why;
  };
  std::vector<GivenAway> given_away_;
};

// What is fixed of one run of the interpreter.

struct Run {
  const TorchScriptProgram& program;
  const TraceOptions& options;
  Budget& budget;
  ModuleId root = {};  // the root of the graph that is traced
  // Whether shapes are propagated through values that depend on inputs.
  bool shapes = !options.inputs.empty() || options.param_shapes_constant;
  CustomCosts custom_costs{options.custom_costs};

  const std::string& type_of(ModuleId of) const { return program.modules()[of.index].type; }
};

// What changes in the course of a run: all that holds at the current point of the code.
// Recorder::checkpoint() and back_to() take it back, but for what says otherwise.

// The modes that `with` switches for the operators inside.
struct Switches {
  struct Autocast {
    std::string device;
    bool enabled = false;
    NodeRef enter;
  };
  bool grad = true;
  std::vector<Autocast> autocast = {};  // innermost last
  bool casts() const { return !autocast.empty() && autocast.back().enabled; }
};

// Events so far after which the gradients of tensors may be others than inferred: writes to tensors hand
// gradients on, and autograd knows more aliases than the interpreter does.  Never undone, as a branch that
// was given up may have had effects that stay.
struct GradientWrites {
  bool any = false;         // tensors were written: each may depend on each input
  bool may_gain = false;    // something that carries a gradient was written into a tensor
  bool may_change = false;  // requires_grad_() or the like
  bool disabled = false;    // torch.no_grad() was entered, which the graph does not show
};

struct RunState {
  explicit RunState(const Run& of);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // Returns the extent of the value; throws TraceFailure when it holds too many others to walk through.
  Extent measure(const Value& value, const IrNode* node);
  // Counts a step; throws TraceFailure when one module call takes too many.
  void count_step(const IrNode* node);
  // Notes the dimensions whose ranges were used since the last call; take_ranges() returns all that were
  // noted.
  void note_ranges() { ranges.merge(dimensions.take_relied()); }
  std::set<std::string> take_ranges() {
    note_ranges();
    return std::exchange(ranges, {});
  }

  const Run& run;
  Frames frames{run.program};
  Changes changes{run.budget};
  AssignedAttributes assigned{changes};
  ModuleId module = run.root;  // the module whose forward runs
  std::int64_t steps = 0;      // loop iterations and function calls in the innermost module call
  Switches switches{run.options.grad};
  GradientWrites gradient_writes;
  CostLog* costs = nullptr;  // the costs of the leaf that is followed; null when not wanted
  ShapeEnv dimensions;
  std::set<std::string> ranges;  // dimensions; see note_ranges().  Never undone
  TensorNames names;             // likewise
};

}  // namespace fxtrace::internal::interpreter
