// Small tensors that no data goes into: those of the code, and what operators make of them.  With shapes they
// are part of what is known of a value; without, they stand here by the node, and are asked for where control
// flow depends on one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "families/aliases.h"
#include "operators/operators.h"
#include "shapes/abstract_value.h"
#include "torchscript/symbolic_value.h"
#include "torchscript/torchscript_program.h"

namespace fxtrace::torchscript {

class ConstantTensors {
 public:
  explicit ConstantTensors(const TorchScriptProgram& program) : program_(program) {}

  // A tensor that stands in the code.
  void read(const TensorValue& tensor);
  // A recorded operator changes the tensor.
  void note_write(const TensorValue& tensor) { written_.insert(&tensor); }
  // No parameter, and not written to.
  bool is_as_in_code(const TensorValue& tensor) const;
  // With its elements, where they are known; null for others.
  TensorRef find(const Value& value) const;
  // What the node gives, until forget(); for nodes that are in the graph.
  void keep(const NodeRef& node, Value value) { made_.insert_or_assign(key_of(node), std::move(value)); }
  void forget(const NodeRef& node) { made_.erase(key_of(node)); }
  // Of a proxy that stands for such a node; null for other values.
  const Value* find_kept(const Value& value) const;
  // Whether any of the values stands in the code or is kept, or in a list among them.
  bool is_any_known(const Values& values) const;
  // What the operator gives for tensors that are known in numbers, or for none at all.
  std::optional<Values> compute(const FunctionSchema& schema, Traits traits, const Values& values) const;
  // Adds to what is known of an operator's results what is in them.
  void add_contents(const FunctionSchema& schema, Traits traits, const Values& values,
                    std::vector<AbstractValue>& results) const;
  // The results may share memory with arguments of which more is known than their shape: whoever writes them
  // writes those.
  void note_shared(const FunctionSchema& schema, const Values& values,
                   std::vector<AbstractValue>& results) const;
  // A tensor is written to of which more is known than its shape, or that may share memory with one.
  void forget_contents();

 private:
  bool is_known(const TensorValue& tensor) const {
    return in_code_.contains(&tensor) && is_as_in_code(tensor);
  }

  static std::uint64_t key_of(const NodeRef& node) {
    constexpr unsigned kBitsOfNode = 32;
    return std::uint64_t{node.graph.index} << kBitsOfNode | node.node.index;
  }

  const TorchScriptProgram& program_;
  std::unordered_set<const TensorValue*> in_code_;
  std::unordered_set<const TensorValue*> written_;
  std::unordered_map<std::uint64_t, Value> made_;  // by key_of()
  std::shared_ptr<bool> contents_valid_ = std::make_shared<bool>(true);
};

}  // namespace fxtrace::torchscript
