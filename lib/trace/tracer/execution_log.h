// Execution log: the order in which a run uses modules and parameters, and by which module, as FSDP's
// _ExecOrderTracer records it (torch/distributed/fsdp/_trace_utils.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/shared.h"
#include "trace/tracer/journal.h"
#include "trace/tracer/module_facts.h"

namespace fxtrace::internal {

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
