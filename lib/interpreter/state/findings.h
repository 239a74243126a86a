// What the runs of a trace find out for later runs: the arguments with which modules are called, and more.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/program/names.h"
#include "shapes/abstract_value.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal::interpreter {

// Collects the arguments with which the calls of one trace call each module.

// The arguments of each module in all of its calls, from any graph; their join describes the module's inputs
// when it gets a graph of its own.  A caller that runs again, or rolls back, forgets its calls from that
// point on.
class SeenCalls {
 public:
  struct Arguments {
    std::vector<AbstractValue> known;
    std::vector<std::optional<Value>> plain;  // short plain values: flags, numbers, strings
    std::vector<bool> is_roots;               // whether --concrete may have decided the argument
    bool operator==(const Arguments& other) const;
  };

  // Notes a call.  `may_be_roots` says which arguments --concrete may have decided; remember_open() takes
  // that back for those that are the same without it.
  void remember(ModuleId caller, ModuleId module, const std::vector<Value>& arguments,
                std::vector<bool> may_be_roots);
  // Notes a call of a run in which the inputs that options give values to are unknown.
  void remember_open(ModuleId module, const std::vector<Value>& arguments);
  void forget_open() { open_.clear(); }
  std::size_t count(ModuleId caller) const;
  void forget(ModuleId caller, std::size_t from);

  // Returns the common arguments for the graph of `module`.
  const Arguments& use(ModuleId module);
  // Returns whether use() would now return other arguments than last time.
  bool changed(ModuleId module) const;

 private:
  struct Call {
    ModuleId module;
    Arguments arguments;
  };
  static Arguments seen(const std::vector<Value>& arguments);
  static void join(Arguments& common_of, const Arguments& other);
  Arguments common_arguments(ModuleId module) const;

  std::map<ModuleId, std::vector<Call>> calls_;                            // by caller
  std::map<ModuleId, std::set<std::pair<ModuleId, std::size_t>>> places_;  // by module: its calls in calls_
  std::map<ModuleId, Arguments> open_;  // by module: the join of open calls
  std::map<ModuleId, Arguments> used_;  // by module: the last result of use()
};

// Findings that the runs of one trace share: calls of modules, attributes that forwards assign, invalid
// calls.

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
