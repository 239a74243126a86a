// How the values of a graph came to share memory: for each of them the tensor that it is, and for each tensor
// whether it has memory of its own, or is a view, and of what.
//
// Made for passes that take writes away.  Only for regions of memory that are written (see memory.h), and
// only where all that happens to a region is understood; of the others it tells what stands in the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "passes/support/memory.h"

namespace fxtrace {

using TensorNumber = std::uint32_t;
inline constexpr TensorNumber kNoTensor = UINT32_MAX;

struct Tensor {
  NodeId node;                      // that made it
  TensorNumber parent = kNoTensor;  // of a view; its memory is that of the root above
  bool is_view = false;
  bool from_outside = false;  // an input, a parameter, a buffer: what it holds at the end is seen
  std::size_t lives_to = 0;   // position of the last node that uses it or a view of it
};

// A node that writes.
struct Write {
  enum class Kind : std::uint8_t {
    kInPlace,  // an operator with a functional form: add_
    kOut,      // likewise, into its argument `out`
    kReshape,  // changes sizes or strides in place: transpose_
    kOption,   // a function whose `inplace` is True
    kConsumes  // a leaf that writes what nobody uses afterwards
  };
  NodeId node;
  NodeId target;  // the argument that is written
  Kind kind = Kind::kInPlace;
};

class Tensors {
 public:
  // `is_subgraph`: nobody sees from outside what is written to an input.
  Tensors(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph);

  struct Obstacle {
    NodeId node;  // the write that stays
    std::string reason;
  };
  const std::vector<Obstacle>& obstacles() const { return obstacles_; }

  // Values of regions that are not written, or not understood, have none.  After a write that changed sizes
  // in place the names of that tensor mean the one that find_write() tells, which is the caller's to follow.
  TensorNumber tensor_of(NodeId value) const;
  const Tensor& tensor(TensorNumber number) const { return tensors_[number]; }
  TensorNumber root_of(TensorNumber number) const;  // the tensor that a view is of in the end
  std::size_t size() const { return tensors_.size(); }
  const Write* find_write(NodeId node) const;
  // Writes to what the value holds stay in the graph.
  bool is_still_written(NodeId value) const;

 private:
  void read(NodeId id);
  void read_operator(const Node& node, const OperatorInfo& info, const Effects& effects);
  void read_write(const Node& node, const OperatorInfo& info, const Effects& effects);
  bool is_input(const Node& node, const OperatorInfo& info, NodeId parent) const;
  void read_function(const Node& node, const Effects& effects);
  void read_item(const Node& node);
  void read_leaf(const Node& node, const Effects& effects);
  bool is_watched(NodeId value) const;
  void make(NodeId node, TensorNumber parent, bool is_view, bool from_outside = false);
  void same(NodeId node, NodeId as);
  void write(NodeId node, NodeId target, Write::Kind kind);
  void new_tensor(const Node& node, const Effects& effects);
  void check_outputs();
  void check_dtype_of_output(const Write& write);
  // Of the region: it stays as it is.
  void refuse(NodeId value, const std::string& reason);
  void use(const Node& node);
  // What the value is where the reading has come to; kNoTensor for none.
  TensorNumber now(NodeId value) const;
  bool can_be_undone(TensorNumber number) const;
  std::string reason_of_no_undo(TensorNumber number) const;
  bool is_final_copy(NodeId node) const;
  void check_copies();
  void finish();

  const ModuleGraph& graph_;
  Semantics& semantics_;
  Memory memory_;
  bool is_subgraph_;
  std::vector<Tensor> tensors_;
  std::vector<TensorNumber> of_node_;          // by node; kNoTensor for most
  std::vector<TensorNumber> became_;           // by tensor: what it is since its sizes were changed in place
  std::vector<Write> writes_;                  // in the order of execution
  std::vector<std::uint32_t> write_of_;        // by node: its place in `writes_`
  std::unordered_set<std::uint32_t> bundles_;  // nodes that give several new tensors
  std::map<std::pair<std::uint32_t, std::int64_t>, NodeId> items_;  // of those, by node and index
  std::vector<bool> has_copies_;  // by region: something in it may be a copy, or share memory
  struct Writer {
    NodeId node, value;
  };
  std::vector<Writer> writers_;                           // of any kind
  std::unordered_map<std::string, NodeId> attributes_;    // by their first name
  std::unordered_map<std::size_t, std::string> refused_;  // by region: why it stays as it is
  std::vector<bool> left_;                                // by region: it stays as it is
  std::vector<Obstacle> obstacles_;
};

}  // namespace fxtrace
