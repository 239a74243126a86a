// Batching rules: how an operator computes all samples of torch.vmap at once, with the batch dimensions in
// front.  These are torch's rules (ATen/functorch) in a form for graphs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "operators/operators.h"

namespace fxtrace {

struct BatchingRule {
  enum class Form : std::uint8_t {
    kUnknown,
    kNone,
    // Rules for one batched tensor: `argument`, or the first one if that is empty.
    kLeading,       // the operator accepts any leading dimensions
    kOneHot,        // likewise, if the number of classes is a literal
    kPermute,       // `dims` lists all dimensions of the sample
    kTransposeOne,  // t()
    kReverse,       // all dimensions in reverse order; `target` is for matrices alone
    kSqueezeAll,    // squeeze()
    kNorm,          // of a vector, or of a matrix, as the order and the dimensions say
    kReduce,  // reduces over `dim`, else over all dimensions; by `target` when the operator has no `dim`
    kSizes,   // the list `sizes` is the result's shape
    kExpand,  // likewise; the result may have more dimensions
    kRepeat,  // the list `sizes` has one entry for each dimension of the result
    // Rules for several tensors, any of which may be batched.
    kBroadcast,     // they are broadcast
    kCopy,          // the second is broadcast to the first; a scalar per sample uses `target`
    kEqual,         // the tensors are not broadcast: each is expanded over all batch dimensions
    kJoin,          // likewise; all have the same rank
    kCross,         // likewise; of vectors along the first dimension of size 3 when none is named
    kGrid,          // each gets a dimension of its own, along which the others are repeated
    kKron,          // each pair of dimensions becomes one
    kSearchSorted,  // positions of the second in the last dimension of the first
    kGather,        // likewise; the result has the shape of `argument`
    kSizesOf,       // `target` gives the first the shape of the second
    kTypeOf,        // the first gets the dtype and device of the second
    kIndex,         // self[indices]
    kIndexSelect,   // likewise, by one index tensor for a dimension
    kEmbedding,     // weight[indices]
    kDot,           // of vectors
    kOuter,         // likewise
    kMatmul,        // of vectors, matrices and batches of matrices
    kAddMatmul,     // self + a @ b
    kLinear,        // input @ weight.T + bias
    kNormalize,     // normalises the last dimensions, those of weight and bias
    kLoss,          // the tensors are broadcast and the result is reduced
    kCrossEntropy,  // with one class for each row
    kEinsum,
    // Rules for operators over [N, C, ...]; see passes/remove_batch_dims/batch_channels.cpp.
    kPool,  // over `spatial` dimensions; N may be absent
    kConvolution,
    kTransposedConvolution,
    kBatchNorm,
    kGroupNorm
  } form = Form::kUnknown;
  std::string_view argument = {}, target = {};
  std::string_view sizes = {};
  std::array<std::string_view, 2> fixed = {};  // arguments that must be absent or have their defaults
  std::uint8_t spatial = 0;
  bool of_result = false;     // dimensions named by arguments are those of the result
  bool keeps_dtypes = false;  // each result has the dtype of its tensor

  bool empty() const { return form == Form::kUnknown; }
};

using BatchForm = BatchingRule::Form;

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
