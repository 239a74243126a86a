// Recovers calls of Python functions from recorded operations, for functions that --wrap keeps.
//
// torch.jit.trace and torch.export inline Python functions: a file has only the operations that they ran,
// each with the Python stack under which it was recorded.  RecordedFunctions looks for runs of operations
// that are exactly one call of a function, and RecordedCalls replaces each run by one call_function.
//
// 1. A step is an operation.  Its place names the outermost function on its stack that a rule keeps, and a
//    key: the function and all frames around it.  Steps of one call have equal keys, but so have calls from
//    one line.
// 2. A run is a sequence of consecutive steps with one key in one call of a module.  Steps without a stack
//    inside a run belong to it.  Steps without a stack beside it, other than getitem, module calls and
//    numbers, void it, unless they are known to be in another call of a module.  Computations of numbers may
//    stand anywhere; those that use a result of the run belong to it.
// 3. A run becomes a call only if it cannot be several calls: its lines ascend, no line follows one that
//    begins with `return`, it is not a shorter sequence repeated, and before each step there is a result that
//    it or a later step uses, or the lines show that the function goes on to it (falls_apart()).
// 4. A run that calls a module, has subgraphs, or may write in place to anything never becomes a call.
// 5. The same holds for a run with several results, one of which may be an argument itself (`to` its own
//    dtype): torch lets later readers of the argument read that result.
// 6. Runs of one function that differ in nothing but constants never become calls: a call has no constants,
// so
//    that they would be calls of one function with equal arguments.  Sizes are no constants: they follow from
//    arguments.
// 7. When a run is left as it is, the function is followed, and Followed has the reason, once for each key.
//
// One mistake remains possible where the file has no columns: two calls from one line look like one when the
// second takes the result of the first and runs a later part of the function.
//
// Example: forward is `return rotate(q, cos, sin).relu()` in line 11 of net.py, and rotate is in rope.py.
// With the rule --wrap pkg.rope.*
//
//   %mul = call_function[aten.mul.Tensor](%q, %cos)      # rope.py(6): rotate, net.py(11): forward
//   %add = call_function[aten.add.Tensor](%mul, %sin)    # rope.py(7): rotate, net.py(11): forward
//   %relu = call_function[aten.relu.default](%add)       # net.py(11): forward
//
// %mul and %add have one key and ascending lines, and %add uses %mul.  The place of %relu has no function
// that is kept, so the run ends before it.  The values that enter, in the order of first use, become the
// arguments, and %add, which is used outside, becomes the result:
//
//   %rotate = call_function[pkg.rope.rotate](%q, %cos, %sin)
//   %relu = call_function[aten.relu.default](%rotate)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "trace/tracer/leaf_rules.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

struct StackFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function;
  std::int64_t column = -1;  // the column at which the call begins; -1: unknown
  std::string text;          // the line without its indentation; empty: unknown
};

// Returns the constants among the arguments of an operation as text: floats, flags and texts; integers of
// pointwise operators, as those of others are most often sizes.
template <class Call>
std::string constants_of(const Call& call, bool is_pointwise) {
  std::ostringstream text;
  text << std::hexfloat;
  for_each_argument(call, [&](const auto& argument) {
    for_each_value(argument, [&](const auto& value) {
      if (const auto* number = value.template get_if<double>()) text << *number << ' ';
      if (const auto* flag = value.template get_if<bool>()) text << (*flag ? "True " : "False ");
      if (const auto* word = value.template get_if<std::string>()) text << *word << ' ';
      if (const auto* integer = value.template get_if<std::int64_t>(); integer != nullptr && is_pointwise)
        text << *integer << ' ';
    });
  });
  return text.str();
}

// Finds the calls of functions that rules of the user keep, in a list of steps (1. to 4. above).
class RecordedFunctions {
 public:
  // The place in the Python code at which a step was recorded.
  struct Place {
    std::string function;  // qualified name; empty outside of all functions that are kept
    std::string key;       // the same for all steps of one call, and for all calls from one place
    SourceLocation caller;
    std::int64_t line = 0;      // line in the function
    std::int64_t column = -1;   // -1: unknown
    std::string text;           // text of that line; empty: unknown
    std::string inner;          // the frames inside of the function
    bool is_of_module = false;  // a module that the function calls runs the step
    std::size_t forwards = 0;   // number of forwards on the stack around the function; torch.export only
  };
  enum class StepKind {
    kOperation,
    kNumber,  // computes sizes, at any place; part of a call only if it uses a step of it
    kModule,  // calls a leaf module
    kRegion,  // runs subgraphs
    kWrite,   // may write to something in place
  };
  struct Step {
    const Place* place = nullptr;  // null: unknown
    StepKind kind = StepKind::kOperation;
    std::string target;
    std::size_t module_call = 0;    // number of the module call whose forward runs it
    std::vector<std::size_t> uses;  // the earlier steps whose results it takes
    std::string constants;          // constants_of() its arguments
  };
  struct Call {
    const Place* place;
    std::vector<std::size_t> steps;
  };
  // The reasons why functions are followed, one for each place; only the first few are kept in full.
  class Followed {
   public:
    void add(const Place& place, const Diagnostic& why);
    std::vector<Diagnostic> reasons() const;

   private:
    std::set<std::string> told_;  // keys of places
    std::vector<Diagnostic> reasons_;
  };

  // `rules` and `modules` must outlive this.
  RecordedFunctions(const LeafRules& rules, const std::vector<ModuleInfo>& modules);

  // Returns the place of a step from its stack, innermost frame first.  A stack of torch.jit.trace has frames
  // of torch itself between those of modules; a stack of torch.export has none.
  Place place_in_trace(const std::vector<StackFrame>& stack) const;
  Place place_in_export(const std::vector<StackFrame>& stack) const;

  std::vector<Call> find_calls(const std::vector<Step>& steps, Followed& followed) const;

 private:
  std::string qualified_name(const StackFrame& frame) const;
  // Returns the function's qualified name when a rule keeps it; else empty.
  const std::string& kept_name(const StackFrame& frame) const;
  Place place_of(const std::vector<StackFrame>& stack, std::size_t root) const;

  const LeafRules& rules_;
  std::map<std::string, std::string> files_;                         // "/pkg/rope.py": "pkg.rope"
  std::map<std::string, std::string> roots_;                         // "/pkg/": "pkg"
  mutable std::unordered_map<std::string, std::string> kept_names_;  // by file and function
};

// Replaces the nodes of each call that RecordedFunctions finds by one call_function.  Its arguments are the
// values that enter, in the order of their first use (the function's parameters are unknown), without
// constants; its results are the values used outside, as items of a tuple when there are several.
class RecordedCalls {
 public:
  // `rules` and `modules` must outlive this.
  RecordedCalls(const LeafRules& rules, const std::vector<ModuleInfo>& modules)
      : functions_(rules, modules) {}

  // Notes the stack of torch.jit.trace under which a node was recorded.
  void note(NodeId node, const std::vector<StackFrame>& stack);
  // Edits a finished graph.  Returns the reasons why it left calls as they are, at most a few.
  std::vector<Diagnostic> fold(Graph& graph) const;

 private:
  static void replace(Graph& graph, const RecordedFunctions::Place& place, const std::vector<NodeId>& nodes);

  RecordedFunctions functions_;
  std::unordered_map<std::uint32_t, RecordedFunctions::Place> places_;  // by node
};

}  // namespace fxtrace::internal
