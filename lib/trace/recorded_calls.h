// Calls of Python functions in what was traced by running it: the functions are inlined there, but each
// operation keeps the stack that it was recorded under.
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

// Puts one call_function in the place of the nodes that one call of a function recorded, where a rule of the
// user keeps the function.  Its arguments are the values that enter, in the order of their first use (the
// parameters are not known), constants left out; its results those that are used outside.
//
//   %mul = call_function[aten.mul.Tensor](%q, %cos)      # rope.py(6): rotate, net.py(11): forward
//   %add = call_function[aten.add.Tensor](%mul, %sin)    # rope.py(7): rotate, net.py(11): forward
// becomes
//   %rotate = call_function[pkg.rope.rotate](%q, %cos, %sin)
//
// Nodes one behind the other are of one call when the function was called from the same place and its own
// lines follow each other.  It declines where they may be of several: lines go back or operations repeat,
// which a loop inside does, and so do several calls from one line, or some of them use nothing of those
// before.  It also declines where a module or a subgraph runs inside, or something may be written in place.
// What it cannot see is that the second of two calls from one line took the result of the first and ran
// another part of the function, further down.
class RecordedCalls {
 public:
  // Both must outlive this.
  RecordedCalls(const LeafRules& rules, const std::vector<ModuleInfo>& modules);

  // `stack` is innermost first.  A node without one belongs to what is around it.
  void note(NodeId node, const std::vector<StackFrame>& stack);
  // Edits a graph that has its output.  Gives a message for each place where it declines, up to a few.
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
  // The function's name when a rule keeps it; else empty.
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
