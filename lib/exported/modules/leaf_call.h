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
// operator (leaf_call.h), makes a tuple of its list of states, and gives lstm(x, (h0, c0)) with y at [0]
// and h at [1][0].
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/program_operations.h"
#include "support/text/qualified_name.h"

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

// The data flow through the operations of a leaf, as torch_nn_call.cpp and leaf_call.cpp ask for it.

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using Values = std::vector<NodeId>;
inline Values used_by(const Node& operation) {
  Values used;
  for_each_input(operation, [&](NodeId value) { used.push_back(value); });
  return used;
}

class Flow {
 public:
  Flow(const LeafOperations& leaf, const LeafNames& names) : leaf_(leaf), names_(names) {
    for (const NodeId id : leaf.operations) {
      const Node& operation = leaf.graph.node(id);
      leaf.graph.for_each_result(id, [&](NodeId value) { makers_.emplace(value.index, &operation); });
    }
  }

  template <class F>
  void for_each_operation(F&& f) const {
    for (const NodeId operation : leaf_.operations) f(leaf_.graph.node(operation));
  }
  const Node* find_operation(std::string_view name) const {
    for (const NodeId operation : leaf_.operations) {
      if (aten_name(leaf_.graph.node(operation)) == name) return &leaf_.graph.node(operation);
    }
    return nullptr;
  }
  std::vector<ProgramResult> results(const Node& operation) const {
    return leaf_.graph.results(operation.id);
  }
  const Node* maker(NodeId value) const {
    const auto found = makers_.find(value.index);
    return found == makers_.end() ? nullptr : found->second;
  }
  bool enters(NodeId value) const {
    const auto& entering = leaf_.boundary.entering;
    return std::find(entering.begin(), entering.end(), value) != entering.end();
  }
  bool is_tensor(NodeId value) const { return meta(value).kind() == ValueKind::kTensor; }
  const Meta& meta(NodeId value) const { return leaf_.graph.meta(value); }
  // Returns the last part of the qualified name of a parameter or buffer ("weight"); empty for other values.
  std::string_view own(NodeId value) const {
    return maker(value) == nullptr && !enters(value) ? QualifiedName(names_.own(value)).last()
                                                     : std::string_view();
  }
  std::string_view call(const Node& operation) const { return names_.call(operation.id); }

  // Follows a value back through operations on a single tensor (views, casts).  Returns the first value that
  // enters, belongs to the model, is made of several tensors, or whose operation satisfies stop().
  template <class Stop>
  NodeId source(NodeId value, Stop&& stop) const {
    while (const Node* made_by = maker(value)) {
      if (stop(*made_by)) break;
      std::optional<NodeId> only;
      bool several = false;
      for (const NodeId used : used_by(*made_by)) {
        if (!is_tensor(used)) continue;
        several = several || (only && *only != used);
        only = used;
      }
      if (!only || several) break;
      value = *only;
    }
    return value;
  }
  NodeId source(NodeId value) const {
    return source(value, [](const Node&) { return false; });
  }

 private:
  const LeafOperations& leaf_;
  const LeafNames& names_;
  std::unordered_map<std::uint32_t, const Node*> makers_;  // by value
};

// Returns the entering value from which an operator's argument is made; nothing when there is none.
inline std::optional<NodeId> given_value(const Flow& flow, const Argument& argument) {
  const auto* value = argument.get_if<NodeId>();
  if (value == nullptr) return std::nullopt;
  const NodeId source = flow.source(*value);
  return flow.enters(source) ? std::optional(source) : std::nullopt;
}

// Reconstruction of calls of recurrent torch.nn modules (RNN, LSTM, GRU and their cells) from one operator,
// or from its decomposition.

// Returns the call of a recurrent module; `module` is the name of its class in torch.nn.  Returns nothing for
// other classes, and when the operations are not those of such a module.
std::optional<LeafCall> recurrent_call(const LeafOperations& leaf, const Flow& flow, std::string_view module);

}  // namespace fxtrace::internal
