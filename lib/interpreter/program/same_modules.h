// Modules and functions of an archive that were one in Python.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "interpreter/program/names.h"
#include "interpreter/program/torchscript_archive.h"

namespace fxtrace::internal::interpreter {

// Finds shared modules: module objects of an archive that were one module in Python.

// Returns a key that is equal exactly for tied tensors, which an archive has as separate tensors over the
// same storage.
std::string tensor_identity(const TensorValue& tensor);

using ModuleObject = Ref<ObjectValue>;

struct SameModules {
  // Maps each module object that is one of several copies of a shared module to the copy that stands for all.
  std::unordered_map<const ObjectValue*, ModuleObject> first;
  // Maps each module object but the root's to the object that has it, and the slot.
  struct Holder {
    const ObjectValue* object = nullptr;
    std::size_t slot = 0;
  };
  std::unordered_map<const ObjectValue*, Holder> holders;

  const ModuleObject& first_of(const ModuleObject& object) const;
  // Returns the qualified name that the archive has the object under.
  std::string name_of(const ObjectValue* object) const;
};

// Finds the copies of shared modules.  torch.jit.script saves a module with two names as two objects of one
// type, over the same tensors, with equal attributes, and so it does two modules whose tensors are all tied;
// torch.jit.trace gives the code to the last name alone.  The first that has code stands for all; one without
// code that may be a name of several modules with code is none of theirs.  Modules without any tensor, even
// below, are only the same where modules around them are, as two ReLUs look the same as a shared one.
// Modules that keep plain state of their own are never the same: the archive has it once for each name.
// `has_state` returns whether an object's attributes are not filled in yet, and cannot be compared;
// `keeps_state` whether the code of its class gives one other values, and is asked of equal modules alone.
SameModules find_same_modules(const ModuleObject& root,
                              const std::function<bool(const ObjectValue*)>& has_state,
                              const std::function<bool(const ClassType&)>& keeps_state);

// Compares the code of two functions.

// Returns whether two functions have the same code, up to the names of values.  Functions and methods that
// they call are compared in the same way; methods of different modules differ.
bool have_same_code(const TorchScriptArchive& archive, Function& first, Function& second);

}  // namespace fxtrace::internal::interpreter
