// The intermediate representation (IR) of TorchScript code, in LibTorch's form: a graph has a block, a block
// has parameters, nodes in order and results, a node may have nested blocks.  Every value has one producer
// (SSA).
//
// The graph owns everything in it, in arenas: removed nodes are unlinked and live as long as the graph, so
// that no pointer dangles and destruction does not recurse.  Only loads and stores of variables, which are
// half of the nodes at first, are freed once the graph is in SSA form.  Source texts must outlive the graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "torchscript/language/constant.h"
#include "torchscript/language/source.h"
#include "torchscript/language/symbol.h"
#include "torchscript/language/types.h"

namespace fxtrace::internal::torchscript {

class IrBlock;
class IrGraph;
class IrNode;
struct FunctionSchema;

struct IrUse {
  IrNode* user = nullptr;
  std::size_t offset = 0;  // index among the user's inputs
  bool operator==(const IrUse&) const = default;
};

class IrValue {
 public:
  IrNode* node() const { return node_; }
  std::size_t offset() const { return offset_; }  // index among its node's outputs
  const TypePtr& type() const { return type_; }
  IrValue* set_type(TypePtr type);
  // The variable's name in the code; empty for temporaries.  Not unique in a graph.
  const std::string& name() const { return name_; }
  bool has_name() const { return !name_.empty(); }
  IrValue* set_name(std::string_view name);
  const std::vector<IrUse>& uses() const { return uses_; }  // in no order
  bool has_uses() const { return !uses_.empty(); }
  void replace_all_uses_with(IrValue* other);
  std::uint32_t id() const { return id_; }  // unique in the graph

 private:
  friend class IrNode;
  friend class IrGraph;
  IrNode* node_ = nullptr;
  std::size_t offset_ = 0;
  TypePtr type_;
  std::string name_;
  std::vector<IrUse> uses_;
  std::uint32_t id_ = 0;
};

struct IrAttribute {
  using Value =
      std::variant<std::int64_t, std::string, ScriptConstant, std::vector<TypePtr>, std::shared_ptr<IrGraph>>;
  Symbol name = Symbol::kNone;
  Value value;
};

class IrNode {
 public:
  Symbol kind() const { return kind_; }
  bool is(Symbol kind) const { return kind_ == kind; }
  IrGraph* graph() const { return graph_; }
  IrBlock* owning_block() const { return block_; }
  bool is_inside(const IrNode& holder) const;  // in one of its blocks, or nested in one
  IrNode* next() const { return next_; }       // the block's return node after the last
  IrNode* previous() const { return previous_; }

  const std::vector<IrValue*>& inputs() const { return inputs_; }
  IrValue* input(std::size_t i = 0) const { return inputs_.at(i); }
  const std::vector<IrValue*>& outputs() const { return outputs_; }
  IrValue* output(std::size_t i = 0) const { return outputs_.at(i); }
  const std::vector<IrBlock*>& blocks() const { return blocks_; }

  void add_input(IrValue* value);
  void insert_input(std::size_t i, IrValue* value);
  void remove_input(std::size_t i);
  void remove_all_inputs();
  IrValue* add_output(TypePtr type = nullptr);                  // Tensor unless given
  void erase_output(std::size_t i);                             // the output must have no uses
  void permute_outputs(const std::vector<std::size_t>& order);  // the new i-th is the old order[i]-th
  void permute_inputs(const std::vector<std::size_t>& order);
  IrBlock* add_block();
  void erase_block(std::size_t i);  // with the nodes in it

  // The node must be in no block yet.
  IrNode* insert_before(IrNode* other);
  IrNode* insert_after(IrNode* other);
  void move_before(IrNode* other);
  void destroy();  // none of its outputs may have uses; its blocks are destroyed too

  const IrAttribute* find_attribute(Symbol name) const;
  IrNode* set_attribute(Symbol name, IrAttribute::Value value);
  void remove_attribute(Symbol name);
  const std::vector<IrAttribute>& attributes() const { return attributes_; }
  // These return the value of an attribute; throw Error(kInput) when there is none of the type.
  const std::string& text(Symbol name = Symbol::kAttrName) const;
  const std::vector<TypePtr>& types() const;
  const std::shared_ptr<IrGraph>& subgraph() const;

  // Returns the value of a prim::Constant; null for other nodes.
  const ScriptConstant* constant() const;
  bool must_be_none() const;

  // The overload that was resolved; null for nodes without a schema (prim::If, prim::GetAttr, ...).
  const FunctionSchema* operator_schema() const { return schema_; }
  IrNode* set_operator_schema(const FunctionSchema* schema);
  void set_kind(Symbol kind) { kind_ = kind; }

  const SourceRange& source_range() const { return range_; }
  IrNode* set_source_range(const SourceRange& range);

 private:
  friend class IrBlock;
  friend class IrGraph;
  friend class IrValue;
  void drop_use(std::size_t i);
  void renumber_uses(std::size_t from);
  void unlink();

  Symbol kind_ = Symbol::kNone;
  IrGraph* graph_ = nullptr;
  IrBlock* block_ = nullptr;
  IrNode* next_ = nullptr;
  IrNode* previous_ = nullptr;
  const FunctionSchema* schema_ = nullptr;
  SourceRange range_;
  std::vector<IrValue*> inputs_, outputs_;
  std::vector<std::uint32_t> use_slots_;  // index of this use in inputs_[i]->uses()
  std::vector<IrBlock*> blocks_;
  std::vector<IrAttribute> attributes_;
};

// Returns the constant if the value is the output of a prim::Constant of type T; nothing otherwise.
template <class T>
std::optional<T> constant_of(const IrValue& value) {
  const ScriptConstant* constant = value.node()->constant();
  const T* found = constant == nullptr ? nullptr : constant->get_if<T>();
  return found == nullptr ? std::nullopt : std::optional<T>(*found);
}

// The nodes of a block in order, without its parameter and return nodes.
class IrNodeList {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = IrNode*;
    using difference_type = std::ptrdiff_t;
    using pointer = IrNode* const*;
    using reference = IrNode*;

    explicit Iterator(IrNode* node) : node_(node) {}
    IrNode* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = node_->next();
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    IrNode* node_;
  };
  IrNodeList(IrNode* first, IrNode* end) : first_(first), end_(end) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  bool empty() const { return first_ == end_; }
  IrNode* front() const { return first_; }
  IrNode* back() const { return end_->previous(); }

 private:
  IrNode* first_;
  IrNode* end_;
};

class IrBlock {
 public:
  // While iterating, nodes may be inserted after the current one, and other nodes removed.
  IrNodeList nodes() const { return {return_node_->next_, return_node_}; }
  const std::vector<IrValue*>& inputs() const { return param_node_->outputs(); }
  const std::vector<IrValue*>& outputs() const { return return_node_->inputs(); }
  IrNode* param_node() const { return param_node_; }
  IrNode* return_node() const { return return_node_; }
  IrNode* owning_node() const { return owning_node_; }  // null for the graph's block
  IrGraph* graph() const { return return_node_->graph(); }

  IrValue* add_input(TypePtr type, std::string_view name = {});
  void add_output(IrValue* value) { return_node_->add_input(value); }
  void erase_input(std::size_t i) { param_node_->erase_output(i); }  // must have no uses
  void erase_output(std::size_t i) { return_node_->remove_input(i); }
  void insert_output(std::size_t i, IrValue* value) { return_node_->insert_input(i, value); }
  IrNode* append(IrNode* node) { return node->insert_before(return_node_); }
  IrNode* prepend(IrNode* node) { return node->insert_before(return_node_->next_); }

 private:
  friend class IrGraph;
  friend class IrNode;
  IrNode* param_node_ = nullptr;
  IrNode* return_node_ = nullptr;
  IrNode* owning_node_ = nullptr;
};

// An arena: objects have stable addresses and are freed together.  Allocates in chunks that start small, so
// that small graphs stay small.
template <class T>
class IrArena {
 public:
  T& add() {
    if (used_ == capacity_) {
      constexpr std::size_t kMost = 256;
      capacity_ = capacity_ == 0 ? 8 : std::min(capacity_ * 2, kMost);
      chunks_.push_back(std::make_unique<T[]>(capacity_));
      used_ = 0;
    }
    return chunks_.back()[used_++];
  }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t used_ = 0, capacity_ = 0;  // of the current chunk
};

class IrGraph {
 public:
  IrGraph();
  ~IrGraph();
  IrGraph(const IrGraph&) = delete;
  IrGraph& operator=(const IrGraph&) = delete;

  IrBlock* block() const { return block_; }
  const std::vector<IrValue*>& inputs() const { return block_->inputs(); }
  const std::vector<IrValue*>& outputs() const { return block_->outputs(); }
  IrNodeList nodes() const { return block_->nodes(); }
  IrNode* return_node() const { return block_->return_node(); }
  IrNode* param_node() const { return block_->param_node(); }

  // Makes a node that is in no block yet.
  IrNode* create(Symbol kind, const std::vector<IrValue*>& inputs = {}, std::size_t outputs = 1);
  IrNode* create_constant(ScriptConstant value, TypePtr type);
  // Frees the nodes that load and store variables, all of which must have been destroyed.
  void free_variables();

  // The number of nodes, inputs of nodes and statements made so far, bodies of forks included.  Exceeding the
  // limit throws Error(kInput), as code can be written that unfolds to any size.
  std::size_t size() const { return size_; }
  std::size_t limit() const { return limit_; }
  void set_limit(std::size_t limit) { limit_ = limit; }
  void spend(std::size_t count) {
    size_ += count;
    if (size_ > limit_) refuse();
  }

  // The node before which insert() puts nodes.
  IrNode* insert_point() const { return insert_point_; }
  void set_insert_point(IrNode* node) { insert_point_ = node; }
  IrNode* insert(IrNode* node) { return node->insert_before(insert_point_); }

 private:
  friend class IrNode;
  IrNode* new_node(Symbol kind);
  [[noreturn]] static void refuse();
  IrValue* new_value(IrNode* node, TypePtr type);
  IrBlock* new_block(IrNode* owner);

  struct Nodes {
    IrArena<IrNode> nodes;
    IrArena<IrValue> values;  // outputs of the nodes
  };
  Nodes kept_, variables_;
  std::uint32_t values_ = 0;  // made so far
  IrArena<IrBlock> blocks_;
  IrBlock* block_ = nullptr;
  IrNode* insert_point_ = nullptr;
  std::size_t size_ = 0, limit_ = SIZE_MAX;
};

// Copies nodes with their blocks into `graph`, which may be another one.  `map` returns the replacement for a
// value that is not copied itself; it is called in the order of the nodes.
class IrCloner {
 public:
  using Map = std::function<IrValue*(IrValue*)>;
  IrCloner(IrGraph& graph, Map map) : graph_(graph), map_(std::move(map)) {}
  IrNode* clone(const IrNode& node);  // the copy is in no block yet
  // Copies all nodes of the block before `place`; returns the copies of its results.
  std::vector<IrValue*> clone_nodes(const IrBlock& block, IrNode* place);
  void clone_block(const IrBlock& from, IrBlock& into);  // appends nodes and results
  IrValue* value(IrValue* original);

 private:
  IrGraph& graph_;
  Map map_;
  std::unordered_map<const IrValue*, IrValue*> copies_;
};

// Moves the nodes of a block before `place`, in the same graph; the block keeps its results.
void move_nodes(const IrBlock& block, IrNode* place);

// Restores the insert point at the end of the scope.
class InsertPointGuard {
 public:
  InsertPointGuard(IrGraph& graph, IrNode* node) : graph_(graph), before_(graph.insert_point()) {
    graph.set_insert_point(node);
  }
  InsertPointGuard(IrGraph& graph, IrBlock* block) : InsertPointGuard(graph, block->return_node()) {}
  ~InsertPointGuard() { graph_.set_insert_point(before_); }
  InsertPointGuard(const InsertPointGuard&) = delete;
  InsertPointGuard& operator=(const InsertPointGuard&) = delete;

 private:
  IrGraph& graph_;
  IrNode* before_;
};

}  // namespace fxtrace::internal::torchscript
