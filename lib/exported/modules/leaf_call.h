// Reconstruction of a leaf's call: the arguments of the module's forward, and the place of each value in its
// result.
//
// An exported program is flat.  Nodes name the module that runs them, but nothing says how its forward was
// called, so a call_module needs arguments and results that are worked out from the operations.  Three
// functions do that; module_graph.cpp tries them in this order and takes the first answer:
//
//   recorded_call()  the file has the call's signature (torch.export's preserve_module_call_signature)
//   torch_nn_call()  the type is a class of torch.nn whose forward is known, and the operations fit it
//   plain_call()     always: the entering values by position, in the order of first use
//
// Invariants:
// 1. Every value of Boundary::entering is among the arguments, on its own or nested.  Where a signature or
//    the pattern of a torch.nn class leaves one out, the function returns nothing.
// 2. `results` has the values of Boundary::leaving, in their order, each once.  The path of a result leads to
//    it in the call's result; it is empty for the result itself.
// 3. No argument is a value that the operations make.
// 4. An argument that does not enter (the forward was given it and does not use it) comes from a recorded
//    signature only, and only if is_there() says that the graph can refer to it.
// 5. plain_call() never knows whether forward returned a tuple of one: a single leaving value is the result
//    itself.
//
// Example: y, (h, c) = self.lstm(x, (h0, c0)), of which y and h are used:
//
//   lstm = aten.lstm.input(x, [h0, c0], [weights], True, 1, 0.0, False, False, False)  # results y, h, c
//
// x, h0 and c0 enter, and y and h leave; the weights are the leaf's own and do neither.  plain_call() gives
// lstm(x, h0, c0) with y at [0] and h at [1], which is not how nn.LSTM is called.  torch_nn_call() finds the
// operator (recurrent_call.h), makes a tuple of its list of states, and gives lstm(x, (h0, c0)) with y at [0]
// and h at [1][0].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"

namespace fxtrace::internal {

struct CallSignature;

struct LeafCall {
  std::vector<Argument> args;
  Kwargs kwargs;
  struct Result {
    NodeId value;
    std::vector<Argument> path;  // indices and keys that lead to it; empty when it is the result itself
  };
  std::vector<Result> results;
  std::vector<std::pair<NodeId, NodeId>> handed_on;  // see Boundary
};

// The operations that a call stands for, in program order.
struct LeafOperations {
  const ProgramView graph;
  const std::vector<NodeId>& operations;
  const Boundary& boundary;
};

// Returns the call with the entering values as positional arguments, in the order of first use; several
// leaving values form a tuple, in the order of definition.
LeafCall plain_call(const Boundary& boundary);

// Returns the call as the program recorded it; nothing when these operations are not the whole call, or when
// is_there() is false for an argument.
std::optional<LeafCall> recorded_call(const LeafOperations& leaf, const CallSignature& signature,
                                      const std::function<bool(NodeId)>& is_there);

struct LeafNames {
  std::function<std::string_view(NodeId)> own;   // qualified name of a tensor of the model; empty for others
  std::function<std::string_view(NodeId)> call;  // path of the module that runs the operation
};

// Returns the call of a torch.nn module whose forward takes nested, optional or repeated arguments, or
// returns nested results: recurrent modules, attention, transformers, distances, losses.  `type` is the
// qualified name of the module's class.  Returns nothing for other modules, and when the operations are not
// those of such a module.
std::optional<LeafCall> torch_nn_call(const LeafOperations& leaf, std::string_view type,
                                      const LeafNames& names);

}  // namespace fxtrace::internal
