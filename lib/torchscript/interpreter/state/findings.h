// What the runs of one trace find out for one another.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "torchscript/interpreter/state/seen_calls.h"
#include "trace/tracer/diagnostic.h"

namespace fxtrace::interpreter {

class Findings {
 public:
  SeenCalls calls;

  // What the runs of a root's graph have found out about what its forward assigns.
  struct State {
    std::set<std::pair<const ObjectValue*, std::size_t>> assigned;  // attributes, by slot
    bool needs_shapes = false;
  };
  State& state_of(ModuleId root) { return states_[root.index]; }

  // Notes, once for each node, an operator that torch would reject for what is known of its arguments.
  void report_invalid(ModuleId module, const IrNode* node, const std::string& message);
  // The warning about these; absent when there are none.
  std::optional<Diagnostic> invalid_calls() const;

 private:
  std::map<std::uint32_t, State> states_;  // by root
  std::set<std::pair<ModuleId, const IrNode*>> invalid_;
  std::string first_invalid_;
};

}  // namespace fxtrace::interpreter
