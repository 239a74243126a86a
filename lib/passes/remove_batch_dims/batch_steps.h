// Building blocks of batching rules: calls that are planned in the place of one node.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "passes/remove_batch_dims/batch_plan.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
