// What the calls of one trace tell of the modules they call.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "shapes/abstract_value.h"
#include "torchscript/names.h"
#include "trace/program.h"

namespace fxtrace::torchscript {

// A module's arguments in all of its calls, from the graph of any caller: what they have in common is known
// of its inputs where it gets a graph of its own.  A caller that runs again, or takes back what it did,
// forgets its calls from that on.
class SeenCalls {
 public:
  struct Arguments {
    std::vector<AbstractValue> known;
    std::vector<std::optional<Value>> plain;  // flags, numbers, words, and few of them
    std::vector<bool> is_concrete;            // what --concrete gave the root, handed on in some call
    bool operator==(const Arguments& other) const;
  };

  void remember(ModuleId caller, ModuleId module, const std::vector<Value>& arguments,
                std::vector<bool> is_concrete);
  std::size_t count(ModuleId caller) const;
  void forget(ModuleId caller, std::size_t from);

  // For the graph of `module`.
  const Arguments& use(ModuleId module);
  // Whether use() would give something else than it last gave.
  bool changed(ModuleId module) const;

 private:
  struct Call {
    ModuleId module;
    Arguments arguments;
  };
  Arguments common_arguments(ModuleId module) const;

  std::map<ModuleId, std::vector<Call>> calls_;  // by caller
  std::map<ModuleId, Arguments> used_;           // of graphs that were recorded
};

}  // namespace fxtrace::torchscript
