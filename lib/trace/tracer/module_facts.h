// Facts about the modules of a program that all graphs of a trace share, and the modules that have failed.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph_collection.h"
#include "trace/tracer/program.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
