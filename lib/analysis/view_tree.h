// Strides of tensors where they are certain, and which tensors are views of which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/alias_regions.h"
#include "analysis/layout/stride_rules.h"

namespace fxtrace::internal {

// Stride analysis: the strides of tensors, where they are certain, which decide whether reshape() returns a
// view or a copy.

class Strides {
 public:
  // `is_subgraph`: inputs are not assumed to be contiguous.  All three references must outlive this.
  Strides(const ModuleGraph& graph, Semantics& semantics, const AliasRegions& memory, bool is_subgraph)
      : graph_(graph), semantics_(semantics), memory_(memory), is_subgraph_(is_subgraph) {}

  struct Reshaped {
    ReshapeResult result = ReshapeResult::kUnknown;
    std::vector<NodeId> contiguous = {};  // the inputs of the graph that were assumed to be contiguous
  };
  // Returns what reshape(), flatten(), contiguous() and the like return: a view of the first argument if its
  // strides allow one, the argument itself, or a copy.
  Reshaped reshaped(const Node& node);

 private:
  struct KnownStrides {
    SizesAndStrides tensor;
    std::set<std::uint32_t> inputs;  // as `contiguous` above
  };

  std::optional<KnownStrides> strides_of(const Node& node) const;
  // Returns the call; what it asks for is added to the inputs.
  StridedCall call(const Node& node, const OperatorEntry& info, std::set<std::uint32_t>& inputs) const;

  const ModuleGraph& graph_;
  Semantics& semantics_;
  const AliasRegions& memory_;
  bool is_subgraph_;
  bool is_read_ = false;
  std::unordered_map<std::uint32_t, KnownStrides> known_;  // by node
};

// View analysis for functionalization: maps each value of a written region to a tensor, and each tensor
// either to memory of its own or to the base that it is a view of.
//
// alias_regions.h says that values may share memory.  To replace a write by a new value, remove_inplace.cpp
// must know exactly which tensor a value is at each node, and by which chain of views it lies in which base.
// ViewTree finds that in one walk in the order of execution, or gives the reason why it is not certain.
//
// Invariants:
// 1. All or nothing: a region (see alias_regions.h) is either covered or excluded.  In an excluded region no
//    value has a tensor, find_write() finds no write, and each node that writes there is an Obstacle with the
//    first reason that was found.  The one region excluded without an obstacle is one whose only write is
//    the copy_ that updates an input, parameter or buffer at its last use: remove_inplace.cpp itself leaves
//    such a write.
// 2. Only regions that are written are covered; tensor_of() is kNoTensor for all other values, and for nodes
//    that return several new tensors (their items have tensors).
// 3. A tensor is a root (memory of its own) or a view of a tensor with a smaller number, so that tensors form
//    a forest in the order in which they are made.
// 4. Several values may be one tensor: the result of add_ is its first argument, and a get_attr or an item
//    that is read again is what it was the first time.
// 5. A write that changes sizes in place makes the target's successor: a view of it, for which all names of
//    the target stand from there on.
// 6. A covered write has exactly one target.  Each view between the target and its root has an inverse
//    (view_undo.h), except where sizes are changed in place, which needs none, and where a leaf writes an
//    input that nobody uses later.
// 7. An operator may return a view or a copy, depending on strides (reshape).  A region with such results is
//    covered only if no other root of it is used after any of its writes: then the difference is not
//    observable.  Otherwise the walk is repeated with strides (view_tree.h), for which inputs may be assumed
//    to be contiguous; these are the assumptions().
//
// Example:
//
//   %c = aten.clone(%x)                  tensor 0, a root (%x has none: its region is not written)
//   %s = aten.slice(%c, 1, 1, 3)         tensor 1, a view of 0
//   %k = aten.copy_(%s, %y)              tensor 1; a write with the target %s, kind kInPlace.  The inverse of
//                                        the slice is slice_scatter
//   %t = aten.transpose_(%c, 0, 1)       tensor 2, a view of 0 and its successor; kind kReshape
//   output(%c)                           %c stands for tensor 2
//
// Without the clone, %c would be the input %x, whose sizes would change for the caller: transpose_ is
// refused, and with it all of the region, the copy_ included.

using TensorNumber = std::uint32_t;
inline constexpr TensorNumber kNoTensor = UINT32_MAX;

struct Tensor {
  NodeId node;                      // the node that makes it
  TensorNumber parent = kNoTensor;  // the base of a view
  bool is_view = false;
  bool from_outside = false;  // an input, parameter or buffer, whose final content is visible
  std::size_t lives_to = 0;   // position of the last use of it or of a view of it
};

// A node that writes to a tensor of a covered region.
struct Write {
  enum class Kind : std::uint8_t {
    kInPlace,  // an operator with a functional variant: add_
    kOut,      // likewise, writing to its argument `out`
    kBeside,   // likewise, with a result of its own: the variant returns the result, then the written value
    kReshape,  // changes sizes or strides in place: transpose_
    kOption,   // a function whose `inplace` is True
    kConsumes  // a leaf that writes to a value without later uses
  };
  NodeId node;
  NodeId target;  // the argument written to
  Kind kind = Kind::kInPlace;
};

class ViewTree {
 public:
  // `is_subgraph`: the graph is a subgraph; its inputs must not be written, and nothing is known of their
  // strides.
  static ViewTree build(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph);

  struct Obstacle {
    NodeId node;  // the write that is kept
    std::string reason;
  };
  const std::vector<Obstacle>& obstacles() const { return obstacles_; }

  // The inputs of the graph that are assumed to be contiguous: otherwise `node` might be a copy instead of a
  // view, or the other way round.
  struct Assumption {
    NodeId node;
    std::vector<NodeId> inputs;
  };
  const std::vector<Assumption>& assumptions() const { return assumptions_; }

  // Returns the value's tensor; kNoTensor in regions that are not covered.  After a write that changes sizes
  // in place, the value stands for the tensor of the writing node; callers must follow that.
  TensorNumber tensor_of(NodeId value) const;
  const Tensor& tensor(TensorNumber number) const { return tensors_[number]; }
  TensorNumber root_of(TensorNumber number) const;  // the end of the chain of bases
  std::size_t size() const { return tensors_.size(); }
  const Write* find_write(NodeId node) const;
  // Returns whether writes to the value's memory stay in the graph.
  bool is_still_written(NodeId value) const;

 private:
  // `by_strides`: the regions where strides decide what is a view and what is a copy; empty for none.
  ViewTree(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph, std::vector<bool> by_strides);
  void read(NodeId id);
  void read_operator(const Node& node, const OperatorEntry& info, const Effects& effects);
  void read_write(const Node& node, const OperatorEntry& info, const Effects& effects);
  bool is_input(const Node& node, const OperatorEntry& info, NodeId parent) const;
  bool read_reshape(const Node& node, NodeId parent);
  void read_function(const Node& node, const Effects& effects);
  void read_item(const Node& node);
  void read_leaf(const Node& node, const Effects& effects);
  bool is_watched(NodeId value) const;
  void make(NodeId node, TensorNumber parent, bool is_view, bool from_outside = false);
  void set_same_tensor(NodeId node, NodeId as);
  void write(NodeId node, NodeId target, Write::Kind kind);
  void new_tensor(const Node& node, const Effects& effects);
  void check_outputs();
  void check_dtype_of_output(const Write& write);
  // Excludes the value's region for this reason, unless it is excluded already.
  void refuse(NodeId value, const std::string& reason);
  void use(const Node& node);
  // Returns the tensor that the value stands for at the current node; kNoTensor for none.
  TensorNumber now(NodeId value) const;
  bool can_be_undone(TensorNumber number) const;
  std::string reason_of_no_undo(TensorNumber number) const;
  bool is_final_copy(NodeId node) const;
  void check_copies();
  void finish();

  const ModuleGraph& graph_;
  Semantics& semantics_;
  AliasRegions memory_;
  bool is_subgraph_;
  std::vector<bool> by_strides_;
  Strides* strides_ = nullptr;  // while nodes are read
  std::vector<Tensor> tensors_;
  std::vector<TensorNumber> of_node_;          // by node; kNoTensor for most
  std::vector<TensorNumber> became_;           // by tensor: its successor after a change of sizes in place
  std::vector<Write> writes_;                  // in the order of execution
  std::vector<std::uint32_t> write_of_;        // by node: index in `writes_`
  std::unordered_set<std::uint32_t> bundles_;  // nodes that return several new tensors
  std::map<std::pair<std::uint32_t, std::int64_t>, NodeId> items_;  // items of bundles, by node and index
  std::vector<bool> has_copies_;  // by region: a result in it is a copy or a view, depending on data
  struct Writer {
    NodeId node, value;
  };
  std::vector<Writer> writers_;                         // all nodes that write, of any kind
  std::unordered_map<std::string, NodeId> attributes_;  // get_attr nodes, by first name
  std::unordered_map<std::string, std::string>
      memories_;  // the first name of the first get_attr node, by memory_name()
  std::unordered_map<std::size_t, std::string> refused_;  // by region: why it is excluded
  std::vector<bool> left_;                                // by region: it is excluded
  std::vector<Obstacle> obstacles_;
  std::vector<Assumption> assumptions_;
};

}  // namespace fxtrace::internal
