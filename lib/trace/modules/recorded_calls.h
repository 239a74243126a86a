// Recovers calls of Python functions in models whose files have only what the functions did: torch.jit.trace
// and torch.export inline them, but keep the Python stack under which each operation was recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "trace/tracer/leaf_rules.h"
#include "trace/tracer/program.h"

namespace fxtrace {

struct StackFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function;
  std::int64_t column = -1;  // where the call begins in its line; -1: unknown
  std::string text;          // of the line, without its indentation; empty: unknown
};

// Finds the calls of functions that rules of the user keep.
//
// Consecutive steps belong to one call when the function was called from the same place in the same call of a
// module, and its own lines ascend.  Steps that may belong to several calls make none: lines descend or
// operations repeat (a loop inside the function, or several calls from one line), some steps use nothing of
// those before and the lines do not lead from these to them, or one stands behind a line that returns.  Nor
// do calls inside which a module or a subgraph runs, or something may be written in place.  One mistake
// remains possible where the file has no columns: two calls from one line look like one when the second takes
// the result of the first and runs a later part of the function.
class RecordedFunctions {
 public:
  // Where Python stood when a step was recorded.
  struct Place {
    std::string function;  // qualified name; empty outside of all functions that are kept
    std::string key;       // the same for all steps of one call, and for calls from one place
    SourceLocation caller;
    std::int64_t line = 0;      // in the function
    std::int64_t column = -1;   // -1: unknown
    std::string text;           // of that line; empty: unknown
    std::string inner;          // the stack inside of it
    bool is_of_module = false;  // that the function calls
    std::size_t forwards = 0;   // of modules, around the function
  };
  enum class StepKind {
    kOperation,
    kNumber,  // computes sizes of what there is, which may be computed anywhere: of a call if it needs it
    kModule,  // a leaf
    kRegion,  // runs subgraphs
    kWrite,   // may change what is not its own
  };
  struct Step {
    const Place* place = nullptr;  // null: nothing is known
    StepKind kind = StepKind::kOperation;
    std::string target;
    std::size_t module_call = 0;    // the call whose forward it is of
    std::vector<std::size_t> uses;  // earlier steps
  };
  struct Call {
    const Place* place;
    std::vector<std::size_t> steps;
  };
  // Why calls are followed, up to a few.
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

  // Stacks are innermost first.  That of torch.jit.trace has frames of torch's own between those of modules,
  // ...
  Place place_in_trace(const std::vector<StackFrame>& stack) const;
  // ... and that of torch.export has none.
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

// Replaces the nodes that one call of a function recorded by one call_function, where a rule of the user
// keeps the function.  The arguments are the values that enter, in the order of their first use (the
// function's parameters are unknown), without constants; the results are the values used outside.
//
//   %mul = call_function[aten.mul.Tensor](%q, %cos)      # rope.py(6): rotate, net.py(11): forward
//   %add = call_function[aten.add.Tensor](%mul, %sin)    # rope.py(7): rotate, net.py(11): forward
// becomes
//   %rotate = call_function[pkg.rope.rotate](%q, %cos, %sin)
class RecordedCalls {
 public:
  // `rules` and `modules` must outlive this.
  RecordedCalls(const LeafRules& rules, const std::vector<ModuleInfo>& modules)
      : functions_(rules, modules) {}

  // `stack` is that of torch.jit.trace.  A node without a stack belongs to the same call as its neighbours.
  void note(NodeId node, const std::vector<StackFrame>& stack);
  // Edits a finished graph.  Returns why it left calls alone, up to a few.
  std::vector<Diagnostic> fold(Graph& graph) const;

 private:
  static void replace(Graph& graph, const RecordedFunctions::Place& place, const std::vector<NodeId>& nodes);

  RecordedFunctions functions_;
  std::unordered_map<std::uint32_t, RecordedFunctions::Place> places_;  // by node
};

}  // namespace fxtrace
