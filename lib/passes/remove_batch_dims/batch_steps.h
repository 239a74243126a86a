// What several batching rules are made of: calls that are planned in the place of one node.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "passes/remove_batch_dims/batch_plan.h"

namespace fxtrace {

Meta with_shape(Meta meta, Shape shape);
Argument::List range(std::size_t from, std::size_t count);
std::size_t max_rank(const std::vector<Batched>& values);
Meta::Dim product(const Shape& shape);
// Of a sample.
Shape broadcast_shape(const std::vector<Batched>& values);

// All of it throws CannotBatch where a shape is needed that is not known, or has not enough dimensions.
// `sample` is what is known of the result.
class BatchSteps {
 public:
  BatchSteps(const Node& node, BatchPlan& plan) : node_(node), plan_(plan) {}

  // At that place of a sample, from 0.
  Batched unsqueezed(const Batched& value, std::size_t dim);
  Batched transposed(const Batched& value);  // a matrix, or several
  Batched flattened(const Batched& value);
  // The first dimensions of the tensor that holds all samples as one.
  NodeId rows(const Batched& value, std::size_t dimensions);
  // Of a tensor that holds all samples in one dimension of a sample: what is known of it, ...
  Meta joined_meta(const Levels& levels, const Meta& sample, std::size_t dim) const;
  // ... and the samples by themselves.
  Batched parted(NodeId joined, const Levels& levels, const Meta& sample, std::size_t dim);
  // The sizes of the levels in front of that one.
  void insert_extents(Shape& shape, const Levels& levels, std::size_t dim) const;
  // Of values that are broadcast, with further arguments.
  Batched elementwise(std::string target, const std::vector<Batched>& values, Meta sample,
                      std::vector<Argument> more = {});
  // Over all dimensions of a sample, by an operator that takes a list of them.
  Batched reduced(std::string target, const Batched& value, Meta sample);
  Batched dot(const Batched& a, const Batched& b, Meta sample);
  Batched matmul(const Batched& a, const Batched& b, Meta sample);

 private:
  Batched plain_matmul(const Batched& a, const Batched& b, Meta sample);

  const Node& node_;
  BatchPlan& plan_;
};

}  // namespace fxtrace
