// Reconstructs the call of a leaf: the arguments of the module's forward, and the place of each value in its
// result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/modules/program_graph.h"

namespace fxtrace {

struct CallSignature;

struct LeafCall {
  std::vector<Operand> args;
  NamedOperands kwargs;
  struct Result {
    ValueId value;
    std::vector<Argument> path;  // indices and keys that lead to it; empty when it is the result itself
  };
  std::vector<Result> results;
  std::vector<std::pair<ValueId, ValueId>> handed_on;  // see Boundary
};

// The operations that a call stands for.
struct LeafOperations {
  const ProgramGraph& graph;
  const std::vector<std::uint32_t>& operations;
  const Boundary& boundary;
};

// Returns the default form: entering values are positional arguments in the order of first use; several
// leaving values form a tuple in order of definition.
LeafCall plain_call(const Boundary& boundary);

// Returns the call as the program recorded it.  Nothing when these operations are not the whole call, or when
// an argument is missing.
std::optional<LeafCall> recorded_call(const LeafOperations& leaf, const CallSignature& signature,
                                      const std::function<bool(ValueId)>& is_there);

struct LeafNames {
  std::function<std::string_view(ValueId)> own;  // qualified name of a tensor of the model; empty for others
  std::function<std::string_view(const Operation&)> call;  // path of the module that runs the operation
};

// Returns the call of a torch.nn module whose forward takes nested, optional or repeated arguments, or
// returns nested results: recurrent modules, attention, transformers, distances, losses.  `type` is the
// module's type.  Nothing for other modules, and when the operations are not those of such a module.
std::optional<LeafCall> torch_nn_call(const LeafOperations& leaf, std::string_view type,
                                      const LeafNames& names);

}  // namespace fxtrace
