// Model description: the methods and constants of a program, besides its graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// An input or output of a method.
struct PortInfo {
  std::string name;  // for an output, its path in the result: "0", "boxes.1"; "" for the result itself
  Meta meta;         // as far as known
  std::optional<Argument> default_value;  // inputs only
  std::optional<Argument> fixed;          // the only value, when the program was specialized for it
  std::string label = {};                 // the name that someone chose for an output
};

struct MethodInfo {
  std::string name;
  std::vector<PortInfo> inputs, outputs;
};

// A tensor or object that belongs to the code and not to a module.
struct ConstantInfo {
  std::string name;                 // its name in the code
  std::vector<std::int64_t> shape;  // an object has neither shape nor dtype
  std::string dtype;
  std::string type;                     // class of an object
  std::vector<StoredPart> stored = {};  // the tensors that it holds
};

// A description of a model besides its graphs.
struct ModelDescription {
  std::string producer;                          // as Program::producer()
  std::vector<std::vector<MethodInfo>> methods;  // by module
  std::vector<ConstantInfo> constants;
};

}  // namespace fxtrace::internal
