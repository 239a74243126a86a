// Building blocks of batching rules: calls that are planned in the place of one node, and their arguments
// by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/effects.h"
#include "graph/node.h"
#include "opinfo/batching.h"
#include "opinfo/operator_entry.h"
#include "passes/remove_batch_dims/batch_plan.h"

namespace fxtrace::internal {

// Building blocks of batching rules: calls that are planned in the place of one node.

Meta with_shape(Meta meta, Shape shape);
Argument::List range(std::size_t from, std::size_t count);
std::size_t max_rank(const std::vector<Batched>& values);
Meta::Dim product(const Shape& shape);
// Returns the broadcast shape of one sample.
Shape broadcast_shape(const std::vector<Batched>& values);

// Plans calls in the place of a node.  All functions throw CannotBatch when a shape that they need is
// unknown, or has too few dimensions.  `sample` is the metadata of the result for one sample.
class BatchSteps {
 public:
  BatchSteps(const Node& node, BatchPlan& plan) : node_(node), plan_(plan) {}

  // Inserts a dimension of size 1 at index `dim` of the sample.
  Batched unsqueezed(const Batched& value, std::size_t dim);
  Batched transposed(const Batched& value);  // a matrix, or a batch of matrices
  Batched flattened(const Batched& value);
  // Flattens the first `dimensions` of the tensor that holds all samples into one.
  NodeId rows(const Batched& value, std::size_t dimensions);
  // Returns the metadata of a joined tensor: one whose dimension `dim` of a sample holds all samples.
  Meta joined_meta(const Levels& levels, const Meta& sample, std::size_t dim) const;
  // Separates the samples of a joined tensor.
  Batched parted(NodeId joined, const Levels& levels, const Meta& sample, std::size_t dim);
  // Inserts the sizes of the levels before dimension `dim`.
  void insert_extents(Shape& shape, const Levels& levels, std::size_t dim) const;
  // Plans an operator over broadcast values, with further arguments.
  Batched elementwise(std::string target, const std::vector<Batched>& values, Meta sample,
                      std::vector<Argument> more = {});
  // Plans a reduction over all dimensions of a sample, by an operator that takes a list of dimensions.
  Batched reduced(std::string target, const Batched& value, Meta sample);
  Batched dot(const Batched& a, const Batched& b, Meta sample);
  Batched matmul(const Batched& a, const Batched& b, Meta sample);

 private:
  Batched plain_matmul(const Batched& a, const Batched& b, Meta sample);

  const Node& node_;
  BatchPlan& plan_;
};

// The arguments of a call, by the parameter names of the operator's schema.

class NamedArguments {
 public:
  // Starts without arguments.  For both constructors, the operator must outlive this.
  explicit NamedArguments(const OperatorEntry& op) : op_(&op), values_(op.schema.arguments.size()) {}
  NamedArguments(const Node& node, const OperatorEntry& op);

  // Returns a parameter, which the schema must have.
  const SchemaArgument& formal(std::string_view name) const { return op_->schema.arguments.at(place(name)); }
  // Returns the argument; null when it is left out or None, or the schema does not have it.
  const Argument* find_argument(std::string_view name) const;
  // Returns an integer argument or its default; nothing when it is not an integer literal.
  std::optional<std::int64_t> integer(std::string_view name) const;
  // Sets an argument for a parameter, which the schema must have.
  void set(std::string_view name, Argument value);
  // Copies the arguments of another call, as far as the schema has them.
  void copy(const NamedArguments& other);
  // Calls f(name, Argument&) for each given argument that is a tensor or a list of tensors.
  template <class F>
  void for_each_tensor(F&& f) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const SchemaArgument& argument = op_->schema.arguments[i];
      if (values_[i] && argument.type.innermost().name == "Tensor") f(argument.name, *values_[i]);
    }
  }

  // Returns the positional arguments, as many as can be positional; kwargs() returns the others.
  std::vector<Argument> args() const;
  Kwargs kwargs() const;

 private:
  // Returns the index of a parameter; the number of parameters when the schema does not have it.
  std::size_t place(std::string_view name) const;
  std::size_t positional() const;

  const OperatorEntry* op_;
  std::vector<std::optional<Argument>> values_;  // by index in the schema
};

// The base class of batching rules: plans one call of a function under torch.vmap for the whole batch.

// Gives access to the call's arguments, and functions that set its result.  All functions throw CannotBatch
// when they need an unknown shape, dtype or argument.
class BatchCall {
 public:
  BatchCall(const Node& node, const OperatorEntry& info, BatchPlan& plan)
      : node_(node),
        info_(info),
        rule_(is_in_place(info) ? entry_of(*info.twin).batch : info.batch),
        plan_(plan),
        steps_(node, plan),
        args_(node, info) {}

 protected:
  // Returns whether the operator writes and returns its first argument and has a functional variant, whose
  // rule applies.
  static bool is_in_place(const OperatorEntry& info) {
    const auto& arguments = info.schema.arguments;
    return info.twin != nullptr && !arguments.empty() && arguments.front().is_written;
  }

  // --- arguments ---
  const std::string& name_at(std::size_t i) const { return info_.schema.arguments.at(i).name; }
  // Returns a tensor argument.
  Batched tensor(std::string_view name) const;
  Batched first() const { return tensor(name_at(0)); }
  Batched second() const { return tensor(name_at(1)); }
  bool is_batched(std::string_view name) const;
  // Returns the one tensor that may be batched; throws CannotBatch when another one is.
  Batched only() const;
  // Returns all tensor arguments.
  std::vector<Batched> tensors();
  // Replaces each tensor argument by f(Batched).
  template <class F>
  void replace_tensors(F&& f) {
    args_.for_each_tensor([&](const std::string&, Argument& argument) {
      argument = map_references(argument, [&](NodeId id) -> Argument { return f(plan_.value(id)); });
    });
  }
  void replace_tensors() {
    replace_tensors([](const Batched& value) { return value.tensor; });
  }

  // --- results ---
  BatchPlan::Call call(std::string target, const NamedArguments& args) const {
    return {std::move(target), args.args(), args.kwargs()};
  }
  // Sets the result: the same operator with the arguments as they are now.
  void finish(Levels levels);
  void finish(Batched value) { plan_.set(node_, std::move(value)); }

  const Node& node_;
  const OperatorEntry& info_;
  const BatchingRule rule_;
  BatchPlan& plan_;
  BatchSteps steps_;
  NamedArguments args_;
};

}  // namespace fxtrace::internal
