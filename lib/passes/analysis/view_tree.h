// A precise alias analysis for functionalization: maps each value to a tensor, and each tensor either to
// memory of its own or to the base that it is a view of.
//
// Covers only regions that are written (see alias_regions.h) and in which every node is understood; for other
// regions it gives the reason.
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

#include "passes/analysis/alias_regions.h"
#include "passes/analysis/strides.h"

namespace fxtrace {

using TensorNumber = std::uint32_t;
inline constexpr TensorNumber kNoTensor = UINT32_MAX;

struct Tensor {
  NodeId node;                      // the node that makes it
  TensorNumber parent = kNoTensor;  // base of a view, whose memory is that of its root
  bool is_view = false;
  bool from_outside = false;  // an input, parameter or buffer, whose final content is visible
  std::size_t lives_to = 0;   // position of the last use of it or of a view of it
};

// A write.
struct Write {
  enum class Kind : std::uint8_t {
    kInPlace,  // an operator with a functional variant: add_
    kOut,      // likewise, writing to its argument `out`
    kBeside,   // likewise, giving a result of its own: the variant gives that, and what is written behind it
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
  // `is_subgraph` says that writes to inputs are not visible outside.
  static ViewTree build(const ModuleGraph& graph, Semantics& semantics, bool is_subgraph);

  struct Obstacle {
    NodeId node;  // the write that is kept
    std::string reason;
  };
  const std::vector<Obstacle>& obstacles() const { return obstacles_; }

  // Inputs of the graph that are taken to be contiguous, where a write needs that: else `node` would be a
  // copy instead of a view, or the other way.
  struct Assumption {
    NodeId node;
    std::vector<NodeId> inputs;
  };
  const std::vector<Assumption>& assumptions() const { return assumptions_; }

  // Returns the value's tensor; kNoTensor in regions that are not written or not understood.  After a write
  // that changes sizes in place, the value stands for the tensor that find_write() gives; callers must follow
  // that.
  TensorNumber tensor_of(NodeId value) const;
  const Tensor& tensor(TensorNumber number) const { return tensors_[number]; }
  TensorNumber root_of(TensorNumber number) const;  // end of the chain of bases
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
  // Excludes the value's region, for a reason.
  void refuse(NodeId value, const std::string& reason);
  void use(const Node& node);
  // Returns the tensor that the value is at the current node; kNoTensor for none.
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
      memories_;  // of these, that name of the first, by memory_name()
  std::unordered_map<std::size_t, std::string> refused_;  // by region: the reason for which it is excluded
  std::vector<bool> left_;                                // by region: it is excluded
  std::vector<Obstacle> obstacles_;
  std::vector<Assumption> assumptions_;
};

}  // namespace fxtrace
