// Runs calls of submodules (inlined or kept as leaves) with their hooks, of methods and of functions.
#pragma once

#include <functional>
#include <unordered_set>

#include "torchscript/part.h"

namespace fxtrace::torchscript {

class Calls : Part {
 public:
  using Part::Part;

  void call_method(const IrNode* node);
  void call_function(const IrNode* node);
  // Runs the module call that begins with the hook at `first`, if any, with its hooks inside the call, so
  // that their nodes and uses belong to the module.  Returns the last node of the call; null when `first`
  // begins no such call, or when the hooks are not run here (leaves, skipped hooks).
  const IrNode* run_hooked(const IrNode* first);
  // Runs the root's method, with the module's hooks if hooks run.
  Value run_root(Function& function, Values arguments);
  // Runs the function's code; `node` is the call, null when the code has none.
  Value follow(Function& function, const Values& arguments, const IrNode* node);

 private:
  void make_object(const IrNode* node, const Values& values);
  Value call_module(ModuleId module, Function& forward, Values arguments, const IrNode* node);
  // As the call of the module that is entered: the nodes that it takes and gives are noted under their names.
  Value follow_and_note(Function& function, const Values& arguments, const IrNode* node);
  GraphTracer::CallNodes inputs_of(Function& function, const Values& arguments);
  void name_results(const Value& result, GraphTracer::CallNodes& nodes);
  bool inline_module(ModuleId module, const std::function<void()>& body);
  bool skip_hook(Function& function, const Values& arguments, const IrNode* node);

  std::unordered_set<const IrNode*> open_calls_;  // calls of forward that a hook has begun
};

}  // namespace fxtrace::torchscript
