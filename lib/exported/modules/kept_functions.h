// Calls of Python functions that the user's rules keep as nodes (--wrap), found by the stack traces of an
// exported program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/program_operations.h"
#include "exported/program/exported_program.h"
#include "trace/modules/recorded_calls.h"
#include "trace/tracer/leaf_rules.h"

namespace fxtrace::internal {

struct KeptCall {
  std::string function;  // qualified name
  SourceLocation caller;
  // In program order, without the computations of sizes that other operations use as well.
  std::vector<NodeId> operations;
  // The values that enter and leave the call, without sizes that follow from the tensors that enter.
  Boundary boundary;
};

class KeptFunctions {
 public:
  // Both must outlive this.
  KeptFunctions(const LeafRules& rules, const ExportedProgram& program)
      : program_(program), functions_(rules, program.modules()) {}

  // Returns the calls in `graph`.  leaf_of() returns the leaf that the operation belongs to, or kRootCall;
  // is_own() whether a value is a constant of the code.  `uses` is count_uses(graph).
  std::vector<KeptCall> find_calls(const ProgramView& graph, const std::vector<std::uint32_t>& uses,
                                   const std::function<CallId(NodeId)>& leaf_of,
                                   const std::function<bool(NodeId)>& is_own);

  // Returns why other calls of these functions are traced into.
  std::vector<Diagnostic> followed() const { return followed_.reasons(); }
  // Returns whether the program's stack traces name functions, as those of strict=True do; others only have
  // frames of `forward`.
  bool are_known() const {
    return program_.hierarchy().is_strict() || has_seen_strict_ || has_seen_function_;
  }

 private:
  // Returns the frames of an operation, innermost first; empty when they are not known.
  std::vector<StackFrame> stack_of(const ProgramView& graph, NodeId operation);
  bool is_of_torch(CallId call) const;
  // Returns the number of `call` and the calls that contain it whose forward has a frame.
  std::size_t forwards(CallId call) const;

  const ExportedProgram& program_;
  RecordedFunctions functions_;
  RecordedFunctions::Followed followed_;
  bool has_seen_function_ = false;
  bool has_seen_strict_ = false;
};

}  // namespace fxtrace::internal
