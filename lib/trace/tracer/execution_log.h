// Modules during a trace: facts that all graphs share, those that failed, and the order of calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_collection.h"
#include "support/shared.h"
#include "trace/tracer/graph_builder.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

// Facts about the modules of a program that all graphs of a trace share, and the modules that have failed.

// The facts about a program, worked out once.
class ModuleFacts {
 public:
  explicit ModuleFacts(const Program& program);

  // Returns the id of the module under its first path.
  ModuleId first(ModuleId module) const;
  const ModuleInfo& info(ModuleId module) const { return (*modules_)[module.index]; }
  std::size_t size() const { return modules_->size(); }
  // Returns the parameters (not buffers) of the module and all its submodules, as indices into
  // Program::parameters(), in the order of named_parameters(); tied ones once.
  const std::vector<std::size_t>& parameters_of(ModuleId module) const;
  // Returns the index of the parameter's first name; absent when the name is not a parameter's.
  std::optional<std::size_t> find_parameter(const std::string& qualified_name) const;
  const std::string& parameter_name(std::size_t index) const { return (*parameters_)[index].name; }

 private:
  const std::vector<ModuleInfo>* modules_;
  const std::vector<ParameterRecord>* parameters_;
  std::vector<std::size_t> first_parameter_;  // by parameter: index of its first name
  std::unordered_map<std::string, std::size_t> by_name_;
  mutable std::vector<std::optional<std::vector<std::size_t>>> subtree_parameters_;  // by module
  // By parameter and by module: the number of the last walk of parameters_of() that visited it.
  mutable std::vector<std::size_t> parameter_marks_, module_marks_;
  mutable std::size_t last_mark_ = 0;
};

// The modules that failed, in order of discovery.
class FailedModules {
 public:
  bool contains(ModuleId module) const { return failures_.count(module) != 0; }
  void add(ModuleId module, Failure failure);
  const std::vector<ModuleId>& order() const { return order_; }
  const Failure& failure(ModuleId module) const { return failures_.at(module); }
  // Removes all but the first `count` modules.
  void resize(std::size_t count);

 private:
  std::vector<ModuleId> order_;
  std::map<ModuleId, Failure> failures_;
};

// Execution log: the order in which a run uses modules and parameters, and by which module, as FSDP's
// _ExecOrderTracer records it (torch/distributed/fsdp/_trace_utils.py).

class ExecutionLog {
 public:
  // `root` is the module whose forward runs.  `facts` and `journal` must outlive this.
  ExecutionLog(const ModuleFacts& facts, Journal& journal, ModuleId root);

  // Records a call of `module` in the forward of `caller`; returns its number among the calls of `module`,
  // from 1. `code` is the path of the module whose code has the call.  It differs from `caller` inside
  // methods other than forward, whose uses of parameters count as the caller's.
  std::int64_t begin_call(ModuleId caller, ModuleId module, const Shared<std::string>& code);
  // Records a call of a method other than forward; returns its number among the calls of that method, from 1.
  std::int64_t begin_method(ModuleId module, const std::string& method, const Shared<std::string>& code);
  // Records that `user` uses `parameters` (indices into Program::parameters()) together, in its own code or
  // in a call of `module`.
  void add_use(ModuleId user, ModuleId module, std::vector<std::size_t> parameters);
  void visit(const std::vector<std::size_t>& parameters);

  std::size_t calls() const { return module_order_.size(); }
  Execution take_result();

 private:
  struct MethodCall {
    ModuleId module;
    std::string method;
    std::size_t position = 0;
    Shared<std::string> code;
  };
  using Uses = std::vector<std::pair<ModuleId, std::vector<std::size_t>>>;  // module, its parameters

  const ModuleFacts& facts_;
  Journal& journal_;
  std::vector<ModuleId> module_order_;
  std::vector<Shared<std::string>> callers_;                    // by call in module_order_
  std::unordered_map<std::uint32_t, std::int64_t> call_count_;  // by module, in module_order_
  std::vector<MethodCall> method_calls_;
  std::map<std::pair<ModuleId, std::string>, std::int64_t> method_count_;
  std::vector<std::size_t> parameter_order_;
  std::vector<bool> visited_;  // by parameter
  std::vector<ModuleId> first_calls_;
  std::unordered_map<std::uint32_t, Uses> uses_;  // by module; uses in its last call only
};

}  // namespace fxtrace::internal
