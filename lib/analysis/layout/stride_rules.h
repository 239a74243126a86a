// The strides of results, as torch lays them out on a CPU, by the rule in the operator's row
// (opinfo/operator_row.h).
//
// Views follow from the sizes and strides of the first argument, copies keep its order if its elements fill
// one block of memory, pointwise operators follow TensorIterator, and kernels for images have the memory
// format that their input suggests.  Strides are expressions of sizes.
//
// Two users ask:
// - view_tree.h, whether reshape() gives a view or a copy.  Its answers are certain, and hold for all values
// of
//   the dimensions: a rule that needs a number which is not known gives nothing.
// - convert/lower/metadata.h, for the strides that a program states for every tensor.  Where rules need
//   numbers, to sort strides or to look for sizes of 1, an open dimension counts as one of 7 elements.
//
// Example: channel_shuffle() of a ShuffleNet on %cat, float32[batch, 48, 28, 28], which is contiguous.
//
//     view(cat, [batch, 2, 24, 28, 28])    [37632, 18816, 784, 28, 1]  the input is contiguous
//     transpose.int(view, 1, 2)            [37632, 784, 18816, 28, 1]  strides 1 and 2 swapped
//     contiguous(transpose)                [37632, 1568, 784, 28, 1]   contiguous for [batch, 24, 2, 28, 28]
//     view(contiguous, [batch, 48, 28, 28])  [37632, 784, 28, 1]
//
// A relu of the transpose would have its strides: TensorIterator keeps those of a dense operand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "opinfo/operator_entry.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

struct SizesAndStrides {
  std::vector<SymInt> sizes, strides;  // of the same length
};

enum class Certainty : std::uint8_t { kCertain, kLikely };

// An operator's call; its operands are nodes of the graph.
struct StridedCall {
  const Graph& graph;
  const Node& node;
  const OperatorEntry& info;
  std::function<std::optional<SizesAndStrides>(NodeId)> find;  // those of an operand; nothing if not known
  Certainty certainty;
};

// Returns the strides of a result with these sizes; nothing if no rule tells.  `item` is its place among
// several results, else 0.  That a result is an argument which the call writes is not looked at.
std::optional<std::vector<SymInt>> strides_of_result(const StridedCall& call,
                                                     const std::vector<SymInt>& sizes, std::size_t item);

enum class ReshapeResult : std::uint8_t { kUnknown, kView, kCopy, kSame };
// Returns whether a call of reshape(), flatten(), ravel() or contiguous() gives a view of its first argument,
// the argument itself, or a copy.  The call's certainty must be kCertain.
ReshapeResult result_of_reshape(const StridedCall& call, const std::vector<SymInt>& sizes);

}  // namespace fxtrace::internal
