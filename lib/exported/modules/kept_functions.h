// Calls of functions that rules of the user keep, found by the stack traces of an exported program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "exported/program/exported_program.h"
#include "trace/modules/program_graph.h"
#include "trace/modules/recorded_calls.h"
#include "trace/tracer/leaf_rules.h"

namespace fxtrace {

struct KeptCall {
  std::string function;  // qualified name
  SourceLocation caller;
  std::vector<std::uint32_t> operations;  // in program order
  // What enters and leaves it, without sizes that follow from the tensors that enter.  Sizes that it computes
  // and that others use as well are no operations of it.
  Boundary boundary;
};

class KeptFunctions {
 public:
  // Both must outlive this.
  KeptFunctions(const LeafRules& rules, const ExportedProgram& program)
      : program_(program), functions_(rules, program.modules()) {}

  // Returns the calls in `graph`.  leaf_of() returns the leaf that the operation belongs to, or kRootCall;
  // is_own() whether a value is a constant of the code.  `uses` is count_uses(graph).
  std::vector<KeptCall> find_calls(const ProgramGraph& graph, const std::vector<std::uint32_t>& uses,
                                   const std::function<CallId(const Operation&)>& leaf_of,
                                   const std::function<bool(ValueId)>& is_own);

  // Why other calls of these functions are followed.
  std::vector<Diagnostic> followed() const { return followed_.reasons(); }
  // Returns whether the program tells of functions: strict ones do.  Others only have frames of `forward`.
  bool are_told() const { return program_.hierarchy().is_strict() || has_seen_strict_ || has_seen_function_; }

 private:
  // Innermost first; empty when nothing is known.
  std::vector<StackFrame> stack_of(const Operation& operation);
  bool is_of_torch(CallId call) const;
  // Calls of modules around what is called in `call`, itself included, whose forward has a frame.
  std::size_t forwards(CallId call) const;

  const ExportedProgram& program_;
  RecordedFunctions functions_;
  RecordedFunctions::Followed followed_;
  bool has_seen_function_ = false;
  bool has_seen_strict_ = false;
};

}  // namespace fxtrace
