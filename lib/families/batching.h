// How an operator is done for all samples of torch.vmap at once, when the dimensions of the batch come first:
// torch's batching rules (ATen/functorch), in the form that a graph needs.
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
    // One tensor is batched: `argument`, the first if that is empty.
    kLeading,       // it may have any dimensions in front
    kOneHot,        // likewise, where the number of classes stands there
    kPermute,       // `dims` are all of its dimensions
    kTransposeOne,  // t()
    kSqueezeAll,    // squeeze()
    kReduce,        // over `dim`, else over all dimensions: by `target`, where the operator has no `dim`
    kSizes,         // the list `sizes` has those of the result
    kExpand,        // likewise; the result may have more dimensions
    kRepeat,        // the list `sizes` has a number for each dimension of the result
    // Several may be.
    kBroadcast,     // they are broadcast
    kCopy,          // the second is broadcast to the first; a number of each sample by `target`
    kEqual,         // they are not: each gets all dimensions of the batch
    kJoin,          // likewise; all have the same number of dimensions
    kGather,        // likewise; the result has the sizes of `argument`
    kSizesOf,       // `target` gives the first the sizes of the second
    kTypeOf,        // the first gets the dtype and device of the second
    kIndex,         // self[indices]
    kIndexSelect,   // likewise, by one index of a dimension
    kEmbedding,     // weight[indices]
    kDot,           // of vectors
    kOuter,         // likewise
    kMatmul,        // of vectors, matrices and batches of matrices
    kAddMatmul,     // self + a @ b
    kLinear,        // input @ weight.T + bias
    kNormalize,     // the last dimensions, which weight and bias have
    kLoss,          // they are broadcast, and what comes of it is reduced
    kCrossEntropy,  // of a class for each row
    kEinsum,
    // Over [N, C, ...]; see passes/remove_batch_dims/batch_channels.cpp.
    kPool,  // over `spatial` dimensions; N may be missing
    kConvolution,
    kTransposedConvolution,
    kBatchNorm,
    kGroupNorm
  } form = Form::kUnknown;
  std::string_view argument = {}, target = {};
  std::string_view sizes = {};
  std::array<std::string_view, 2> fixed = {};  // arguments that must be left out or have their defaults
  std::uint8_t spatial = 0;
  bool of_result = false;     // dimensions that arguments name are those of the result
  bool keeps_dtypes = false;  // each result has that of its tensor

  bool empty() const { return form == Form::kUnknown; }
};

// kBroadcast for what is pointwise and has no row that says otherwise; never kUnknown.
BatchingRule batching_rule(const Operator& op);

// Says a dimension, or several: from 0, or from -1 at the end.
bool names_dimensions(const SchemaArgument& argument);

// What stands in a graph around the operators of a function that torch.vmap runs
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
