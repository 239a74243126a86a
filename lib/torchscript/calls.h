// Calls: submodules (inlined or left as leaves) with their hooks, methods and functions.
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
  // Hooks run inside the call of their module: their nodes and what they use are the module's.  Gives the
  // last node of the call that begins with `first`; null when none does, or nothing needs to be done about
  // its hooks.
  const IrNode* run_hooked(const IrNode* first);
  // The method of the graph that is traced, with the module's hooks where they run.
  Value run_root(Function& function, Values arguments);
  // Runs its code; `node` is the call, null where none is in the code.
  Value follow(Function& function, const Values& arguments, const IrNode* node);

 private:
  void make_object(const IrNode* node, const Values& values);
  Value call_module(ModuleId module, Function& forward, Values arguments, const IrNode* node);
  bool inline_module(ModuleId module, const std::function<void()>& body);
  bool skip_hook(Function& function, const Values& arguments, const IrNode* node);

  std::unordered_set<const IrNode*> open_calls_;  // of forward, whose hooks have begun the module's call
};

}  // namespace fxtrace::torchscript
