// Batching rules: for each operator, the way in which it computes all samples of torch.vmap in one call.
//
// An exported graph calls a vmapped function between _vmap_increment_nesting() and
// _vmap_decrement_nesting(); its nodes have the shapes of one sample.  The pass remove-batch-dims
// rewrites them for tensors of all samples.  The row of an operator names a rule, which is a member of
// BatchRules, and the pass implements the members (passes/remove_batch_dims/batch_rules.cpp).  The rules
// are those of torch (ATen/functorch).
//
// A level is a call of torch.vmap; a batched tensor is one that varies over one level or more.
// Invariants:
//
// 1. A batched tensor has one dimension for each level over which it varies, the outermost level first,
//    and then the dimensions of the sample.  A tensor that is the same for all samples has only those.
// 2. Arguments that name dimensions (names_dimensions()) name those of the sample, or of the result of a
//    sample if the rule has `of_result`.  In the new call, dimensions from 0 on are shifted by the number
//    of levels; negative ones stay.
// 3. A rule for one batched tensor refuses a call where another argument is batched.
// 4. A rule for several tensors aligns the batched ones: behind its first level, a tensor gets dimensions
//    of size 1 for the levels and leading sample dimensions that it lacks.  For operators that do not
//    broadcast, each tensor is also expanded over all levels.
// 5. An in-place operator takes the rule of its functional twin if that has `may_write`.  The written
//    tensor must vary over all levels of the call and have the most dimensions.
// 6. Arguments in `fixed` must have their defaults, and memory formats with channels last are refused.
// 7. A rule that cannot batch the call throws before the graph is changed (batch_plan.h).
//
// Example: torch.vmap(lambda s: s.sum(0) * y)(x) for x of float32[3,2,4] and y of float32[5,4].
//   %s = _add_batch_dim(x, 0, 1)      a sample of float32[2,4] becomes x itself, with one level
//   %sum = sum.dim_IntList(%s, [0])   kReduce in its row: reduce() gets `dim` and does what leading() does.
//                                     By 2 it becomes sum.dim_IntList(x, [1]), of float32[3,4].
//   %mul = mul.Tensor(%sum, y)        pointwise, so kBroadcast.  The sample has rank 1 and y has rank 2; by 4
//                                     it becomes mul.Tensor(unsqueeze(%sum, 1), y), of [3,1,4] and [5,4].
//   _remove_batch_dim(%mul, 1, 3, 0)  becomes the new %mul, of float32[3,5,4]
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "operators/operators.h"

namespace fxtrace::internal {

// The rules.  Each rewrites a call for tensors of all samples; the pass remove-batch-dims implements them.
class BatchRules {
 public:
  virtual void none() = 0;  // refuses the call: there is no rule
  // ---- Rules for one batched tensor: `argument`, or the first argument if that is empty ----
  virtual void leading() = 0;  // for operators that accept any number of leading dimensions
  virtual void one_hot() = 0;  // the same, if the number of classes is a literal
  virtual void permute() = 0;  // `dims` lists all dimensions of the sample
  virtual void transpose_matrix() = 0;
  virtual void reverse() = 0;  // reverses all dimensions; `target`, if given, does so for matrices
  virtual void squeeze_all() = 0;
  virtual void norm() = 0;    // a vector norm or matrix norm, as order and dimensions say
  virtual void reduce() = 0;  // over `dim`, else over all; `target` has a `dim` if the operator lacks it
  virtual void sizes() = 0;   // a list of sizes is the result's shape (OperatorFacts::sizes)
  virtual void expand() = 0;  // the same; the result may have more dimensions
  virtual void repeat() = 0;  // the list `counts` has one entry for each dimension of the result
  // ---- Rules for several tensors, any of which may be batched ----
  virtual void broadcast() = 0;
  virtual void copy() = 0;   // broadcasts the second to the first; `target` does so for a number per sample
  virtual void equal() = 0;  // expands each tensor over all levels, as the operator does not broadcast
  virtual void join() = 0;   // the same, for tensors of one rank
  virtual void cross() = 0;  // the same, along the first dimension of size 3 when none is named
  virtual void grid() = 0;   // gives each tensor a dimension of its own, along which others are repeated
  virtual void kron() = 0;   // multiplies, and makes one dimension of each pair
  virtual void search_sorted() = 0;  // positions of the second tensor in the last dimension of the first
  virtual void gather() = 0;         // equal(); the result has the shape of `argument`
  virtual void sizes_of() = 0;       // `target` gives the first tensor the shape of the second
  virtual void type_of() = 0;        // converts the first tensor to the dtype and device of the second
  virtual void index() = 0;          // self[indices]
  virtual void index_select() = 0;   // the same, for one dimension
  virtual void embedding() = 0;      // weight[indices]
  virtual void dot() = 0;            // vector * vector
  virtual void outer() = 0;          // all products of two vectors
  virtual void matmul() = 0;         // vectors, matrices and batches of matrices
  virtual void add_matmul() = 0;     // self + a @ b
  virtual void linear() = 0;         // input @ weight.T + bias
  virtual void normalize() = 0;      // normalises the last dimensions, which weight and bias have
  virtual void loss() = 0;           // broadcasts the tensors and reduces the losses
  virtual void cross_entropy() = 0;  // one class for each row
  virtual void einsum() = 0;
  // ---- Rules for operators over [N, C, ...] ----
  virtual void pool() = 0;  // over `spatial` dimensions; N may be absent
  virtual void convolution() = 0;
  virtual void transposed_convolution() = 0;
  virtual void batch_norm() = 0;
  virtual void group_norm() = 0;

 protected:
  ~BatchRules() = default;
};

// The batching rule of an operator, in its row: a member of BatchRules and its parameters.
struct BatchingRule {
  void (BatchRules::*rule)() = nullptr;
  std::string_view argument = {}, target = {}, counts = {};
  std::array<std::string_view, 2> fixed = {};  // arguments that must be absent or equal to their defaults
  std::uint8_t spatial = 0;
  bool of_result = false;     // arguments name dimensions of the result
  bool keeps_dtypes = false;  // each result has the dtype of its tensor: no promotion
  bool may_write = false;     // the rule also holds for the in-place form

  bool empty() const { return rule == nullptr; }
};

// Returns whether the parameter names one dimension or several, by its name: "dim", "dims", ...
bool names_dimensions(const SchemaArgument& argument);

// The functions that torch.vmap calls around the operators of its function (torch/_functorch/predispatch.py).
enum class VmapFunction : std::uint8_t {
  kNone,
  kLoad,    // lazy_load_decompositions()
  kOpen,    // _vmap_increment_nesting(size, randomness)
  kAdd,     // _add_batch_dim(tensor, dim, level)
  kRemove,  // _remove_batch_dim(tensor, level, size, dim)
  kClose    // _vmap_decrement_nesting()
};
VmapFunction vmap_function(std::string_view target);

}  // namespace fxtrace::internal
