// How the call of a leaf is written: what the module's forward takes, and where in its result each value is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "exported/program_graph.h"

namespace fxtrace {

struct CallSignature;

struct LeafCall {
  std::vector<Operand> args;
  NamedOperands kwargs;
  struct Result {
    ValueId value;
    std::vector<Argument> path;  // indices and keys that lead to it; none when it is the result itself
  };
  std::vector<Result> results;
  std::vector<std::pair<ValueId, ValueId>> handed_on;  // see Boundary
};

// The operations that the call stands for.
struct LeafOperations {
  const ProgramGraph& graph;
  const std::vector<std::uint32_t>& operations;
  const Boundary& boundary;
};

// Values that enter by position, in the order of their first use; several that leave are a tuple, in the
// order in which they are made.
LeafCall plain_call(const Boundary& boundary);

// As the program recorded the call.  Nothing when these operations are not all of that call, or when
// something it was given is not there.
std::optional<LeafCall> recorded_call(const LeafOperations& leaf, const CallSignature& signature,
                                      const std::function<bool(ValueId)>& is_there);

struct LeafNames {
  std::function<std::string_view(ValueId)> own;            // qualified name of a tensor of the model's own
  std::function<std::string_view(const Operation&)> call;  // path of the module that runs the operation
};

// The call of a module of torch.nn whose forward takes nested, optional or repeated arguments, or gives
// nested results: recurrent modules, attention, transformers, distances, losses.  `type` is the module's.
// Nothing for other modules, and where the operations are not what such a module does.
std::optional<LeafCall> torch_nn_call(const LeafOperations& leaf, std::string_view type,
                                      const LeafNames& names);

}  // namespace fxtrace
