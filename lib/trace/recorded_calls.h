// Recovers calls of Python functions in models that were traced by running them: tracing inlines the
// functions, but each operation keeps the Python stack under which it was recorded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "trace/leaf_rules.h"
#include "trace/program.h"

namespace fxtrace {

struct StackFrame {
  std::string file;
  std::int64_t line = 0;
  std::string function;
};

// Replaces the nodes that one call of a function recorded by one call_function, where a rule of the user
// keeps the function.  The arguments are the values that enter, in the order of their first use (the
// function's parameters are unknown), without constants; the results are the values used outside.
//
//   %mul = call_function[aten.mul.Tensor](%q, %cos)      # rope.py(6): rotate, net.py(11): forward
//   %add = call_function[aten.add.Tensor](%mul, %sin)    # rope.py(7): rotate, net.py(11): forward
// becomes
//   %rotate = call_function[pkg.rope.rotate](%q, %cos, %sin)
//
// Consecutive nodes belong to one call when the function was called from the same place and its own lines
// ascend.  Nodes that may belong to several calls are left alone: lines descend or operations repeat (a loop
// inside the function, or several calls from one line), or some nodes use nothing of those before.  So are
// calls inside which a module or a subgraph runs, or something may be written in place.  One mistake remains
// possible: two calls from one line look like one when the second takes the result of the first and runs a
// later part of the function.
class RecordedCalls {
 public:
  // `rules` and `modules` must outlive this.
  RecordedCalls(const LeafRules& rules, const std::vector<ModuleInfo>& modules);

  // `stack` is innermost first.  A node without a stack belongs to the same call as its neighbours.
  void note(NodeId node, const std::vector<StackFrame>& stack);
  // Edits a finished graph.  Returns a message for each call that it left alone, up to a few.
  std::vector<std::string> fold(Graph& graph) const;

 private:
  struct Place {
    std::string function;  // qualified name; empty outside of all functions that are kept
    std::string key;       // the same for all nodes of one call, and for calls from one place
    SourceLocation caller;
    std::int64_t line = 0;      // in the function
    std::string inner;          // the stack inside of it
    bool is_of_module = false;  // that the function calls
  };
  struct Run {
    const Place* place = nullptr;
    std::vector<NodeId> nodes;
  };

  Place place_of(const std::vector<StackFrame>& stack) const;
  std::string qualified_name(const StackFrame& frame) const;
  // Returns the function's qualified name when a rule keeps it; else empty.
  const std::string& kept_name(const StackFrame& frame) const;
  std::optional<std::string> why_not(const Graph& graph, const Run& run) const;
  static void replace(Graph& graph, const Run& run);

  const LeafRules& rules_;
  std::map<std::string, std::string> files_;                         // "/pkg/rope.py": "pkg.rope"
  std::map<std::string, std::string> roots_;                         // "/pkg/": "pkg"
  mutable std::unordered_map<std::string, std::string> kept_names_;  // by file and function
  std::unordered_map<std::uint32_t, Place> places_;                  // by node
};

}  // namespace fxtrace
