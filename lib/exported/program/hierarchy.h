// The module tree of an exported program and the calls of its modules, reconstructed from the
// "nn_module_stack" of each node: the stack of modules whose forward was running.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/modules/program_graph.h"
#include "trace/tracer/program.h"

namespace fxtrace {

class Hierarchy {
 public:
  struct Call {
    ModuleId module;  // under its first path; known after finish()
    CallId parent = kRootCall;
    std::uint32_t depth = 0;  // 0 for the root's call
    std::string number;       // distinguishes calls with the same path: "", "1", "2"
    std::string path;         // as written in the program
  };

  Hierarchy();

  // While the program is read: declares a path that it lists, in registration order, ...
  void declare(std::string_view path);
  // ... and returns the innermost call of a stack "key,path,type;key,path,type"; nothing when no module runs.
  // Throws Error(kInput) for a malformed stack.  The text must outlive the next call.
  std::optional<CallId> call_of(std::string_view stack);

  // A parameter, buffer or other tensor; tied names have the same number.
  struct NamedTensor {
    std::string name;  // qualified
    std::size_t tensor = 0;
    bool is_empty = false;  // has no elements, and so no storage to share
  };

  // Returns whether two calls of modules with the same tensors may be calls of one module.
  using MayBeOneModule = std::function<bool(CallId, CallId)>;

  // Builds the tree once everything is read.  Throws Error(kInput) for paths beyond the limits of a model.
  void finish(const std::vector<NamedTensor>& tensors, const MayBeOneModule& may_be_one);

  const std::vector<Call>& calls() const { return calls_; }
  std::vector<ModuleInfo>& modules() { return modules_; }
  const std::vector<ModuleInfo>& modules() const { return modules_; }
  // Returns whether the program was exported with strict=True: then a module's key is a number.
  bool is_strict() const;
  // Returns the module with this path, under its first path.
  std::optional<ModuleId> find_module(std::string_view path) const;
  // Rewrites a qualified name below a later name of a shared module to be below the first name.
  std::string first_name(std::string_view name) const;

  // Returns the innermost call that contains both.
  CallId common_call(CallId a, CallId b) const;
  // Returns whether the forward of a call around `call` runs the operation.
  bool is_callers(const Operation& operation, CallId call) const;

 private:
  struct Entry {
    std::string_view key;  // the module's key, without the number of the call
    std::string_view number;
    std::string path;
    std::string_view type;
  };
  static Entry parse(std::string_view item);
  // Returns the innermost call of a stack that has `item` below what gave `outer`.
  std::optional<CallId> enter(std::optional<CallId> outer, std::string_view item);
  CallId add_call(CallId parent, const Entry& entry);
  std::size_t insert(std::string_view path);
  void find_shared_modules(const std::vector<NamedTensor>& tensors);
  void find_equal_modules(const std::vector<NamedTensor>& tensors, const MayBeOneModule& may_be_one);
  void find_uncalled_names(const std::vector<NamedTensor>& tensors);

  std::vector<Call> calls_;
  std::unordered_map<std::string, CallId> known_calls_;  // parent and entry, as text
  // The stack that call_of() was asked last, and its items.
  struct StackItem {
    std::size_t end = 0;         // in the stack
    std::optional<CallId> call;  // innermost one of it and those before
  };
  std::string_view last_stack_;
  std::vector<StackItem> last_items_;

  std::vector<std::string> paths_;  // declared ones, then those of stacks, each once
  std::unordered_map<std::string, std::size_t> path_index_;
  std::vector<std::string> types_;                                 // by path
  std::vector<bool> called_;                                       // by path
  std::unordered_map<std::string, std::set<std::size_t>> by_key_;  // key of a module: its paths
  std::unordered_map<std::string, std::string> shared_;            // later path: first path
  std::unordered_set<std::string> assumed_;  // paths that may be a module's of its own with the same tensors

  std::vector<ModuleInfo> modules_;
  std::unordered_map<std::string, ModuleId> by_path_;
};

}  // namespace fxtrace
