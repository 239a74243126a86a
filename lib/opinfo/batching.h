// Batching rules: how an operator computes all samples of torch.vmap at once, with the batch dimensions in
// front.  These are torch's rules (ATen/functorch) in a form for graphs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "operators/operators.h"

namespace fxtrace {

// What becomes of a call when its tensors hold all samples: the pass remove-batch-dims carries it out.
class BatchRules {
 public:
  virtual void none() = 0;  // there is no rule
  // Of one batched tensor: `argument`, or the first one if that is empty.
  virtual void leading() = 0;  // the operator accepts any leading dimensions
  virtual void one_hot() = 0;  // likewise, if the number of classes is a literal
  virtual void permute() = 0;  // `dims` lists all dimensions of the sample
  virtual void transpose_matrix() = 0;
  virtual void reverse() = 0;  // all dimensions in reverse order; `target` is for matrices alone
  virtual void squeeze_all() = 0;
  virtual void norm() = 0;    // of a vector, or of a matrix, as the order and the dimensions say
  virtual void reduce() = 0;  // over `dim`, else over all dimensions; by `target` when it has no `dim`
  virtual void sizes() = 0;   // a list of sizes is the result's shape (OperatorFacts::sizes)
  virtual void expand() = 0;  // likewise; the result may have more dimensions
  virtual void repeat() = 0;  // the list `counts` has one entry for each dimension of the result
  // Of several tensors, any of which may be batched.
  virtual void broadcast() = 0;
  virtual void copy() = 0;   // the second is broadcast to the first; a scalar per sample uses `target`
  virtual void equal() = 0;  // the tensors are not broadcast: each is expanded over all batch dimensions
  virtual void join() = 0;   // likewise; all have the same rank
  virtual void cross() = 0;  // likewise; of vectors along the first dimension of size 3 when none is named
  virtual void grid() = 0;   // each gets a dimension of its own, along which the others are repeated
  virtual void kron() = 0;   // each pair of dimensions becomes one
  virtual void search_sorted() = 0;  // positions of the second in the last dimension of the first
  virtual void gather() = 0;         // likewise; the result has the shape of `argument`
  virtual void sizes_of() = 0;       // `target` gives the first the shape of the second
  virtual void type_of() = 0;        // the first gets the dtype and device of the second
  virtual void index() = 0;          // self[indices]
  virtual void index_select() = 0;   // likewise, by one index tensor for a dimension
  virtual void embedding() = 0;      // weight[indices]
  virtual void dot() = 0;            // of vectors
  virtual void outer() = 0;          // likewise
  virtual void matmul() = 0;         // of vectors, matrices and batches of matrices
  virtual void add_matmul() = 0;     // self + a @ b
  virtual void linear() = 0;         // input @ weight.T + bias
  virtual void normalize() = 0;      // normalises the last dimensions, those of weight and bias
  virtual void loss() = 0;           // the tensors are broadcast and the result is reduced
  virtual void cross_entropy() = 0;  // with one class for each row
  virtual void einsum() = 0;
  // Of operators over [N, C, ...].
  virtual void pool() = 0;  // over `spatial` dimensions; N may be absent
  virtual void convolution() = 0;
  virtual void transposed_convolution() = 0;
  virtual void batch_norm() = 0;
  virtual void group_norm() = 0;

 protected:
  ~BatchRules() = default;
};

struct BatchingRule {
  void (BatchRules::*rule)() = nullptr;
  std::string_view argument = {}, target = {}, counts = {};
  std::array<std::string_view, 2> fixed = {};  // arguments that must be absent or have their defaults
  std::uint8_t spatial = 0;
  bool of_result = false;     // dimensions named by arguments are those of the result
  bool keeps_dtypes = false;  // each result has the dtype of its tensor
  bool may_write = false;     // holds also for the form that writes its first argument

  bool empty() const { return rule == nullptr; }
};

// Returns whether the parameter names one or several dimensions: counted from 0, or from -1 at the end.
bool names_dimensions(const SchemaArgument& argument);

// The calls that torch.vmap leaves in a graph around the operators of its function
// (torch/_functorch/predispatch.py).
enum class VmapFunction : std::uint8_t {
  kNone,
  kLoad,    // lazy_load_decompositions()
  kOpen,    // _vmap_increment_nesting(size, randomness)
  kAdd,     // _add_batch_dim(tensor, dim, level)
  kRemove,  // _remove_batch_dim(tensor, level, size, dim)
  kClose    // _vmap_decrement_nesting()
};
VmapFunction vmap_function(std::string_view target);

}  // namespace fxtrace
