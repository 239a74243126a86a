// Findings that the runs of one trace share: calls of modules, attributes that forwards assign, invalid
// calls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "interpreter/state/seen_calls.h"
#include "trace/tracer/diagnostic.h"

namespace fxtrace::internal::interpreter {

class Findings {
 public:
  SeenCalls calls;

  // The findings of the runs of a root's graph about the attributes that its forward assigns.
  struct State {
    std::set<std::pair<const ObjectValue*, std::size_t>> assigned;  // attributes, by slot
    bool needs_shapes = false;  // an assignment can only be checked with shapes
  };
  State& state_of(ModuleId root) { return states_[root.index]; }

  // Notes, once for each node, a call that torch would reject for what is known of its arguments.
  void report_invalid(ModuleId module, const IrNode* node, const std::string& message);
  // Returns the warning about these; absent when there are none.
  std::optional<Diagnostic> invalid_calls() const;

 private:
  std::map<std::uint32_t, State> states_;  // by root
  std::set<std::pair<ModuleId, const IrNode*>> invalid_;
  std::string first_invalid_;
};

}  // namespace fxtrace::internal::interpreter
