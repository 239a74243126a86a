// In which order modules and parameters are used, and by whom: what FSDP's _ExecOrderTracer keeps
// (torch/distributed/fsdp/_trace_utils.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/journal.h"
#include "trace/module_facts.h"

namespace fxtrace {

class ExecutionLog {
 public:
  // `root` runs.  References must outlive this.
  ExecutionLog(const ModuleFacts& facts, Journal& journal, ModuleId root);

  // A call of `module` in the forward of `caller`; gives its number among those of the module, from 1.
  std::int64_t begin_call(ModuleId caller, ModuleId module);
  // `user` uses parameters together, for itself or in a call of `module`; by index into
  // Program::parameters().
  void add_use(ModuleId user, ModuleId module, std::vector<std::size_t> parameters);
  void visit(const std::vector<std::size_t>& parameters);

  std::size_t calls() const { return module_order_.size(); }
  Execution take();

 private:
  using Uses = std::vector<std::pair<ModuleId, std::vector<std::size_t>>>;  // module, its parameters

  const ModuleFacts& facts_;
  Journal& journal_;
  std::vector<ModuleId> module_order_;
  std::unordered_map<std::uint32_t, std::int64_t> call_count_;  // by module, in module_order_
  std::vector<std::size_t> parameter_order_;
  std::vector<bool> visited_;  // by parameter
  std::vector<ModuleId> first_calls_;
  std::unordered_map<std::uint32_t, Uses> uses_;  // by module: of its last call
};

}  // namespace fxtrace
