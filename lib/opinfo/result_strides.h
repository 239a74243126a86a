// Stride rules: for each operator, how the strides of its result follow from those of its tensors, as torch
// lays them out on a CPU.
#pragma once

#include <vector>

#include "symbolic/sym_int.h"

namespace fxtrace {

// The rules.  The row of an operator names one, which is a member; analysis/layout/stride_rules.cpp
// implements them.
class StrideRules {
 public:
  using Strides = std::vector<SymInt>;

  // ---- Views ----
  virtual Strides same() const = 0;      // those of the first tensor
  virtual Strides permuted() const = 0;  // the dimensions in another order: the shape rule tells which
  virtual Strides expanded() const = 0;
  virtual Strides complex_part() const = 0;  // every other number, where there are two
  virtual Strides pairs() const = 0;         // the last dimension has the two numbers of a complex one
  virtual Strides sliced() const = 0;
  virtual Strides selected() const = 0;
  virtual Strides unsqueezed() const = 0;
  virtual Strides squeezed() const = 0;
  virtual Strides viewed() const = 0;
  virtual Strides reshaped() const = 0;  // a view, or a contiguous copy
  virtual Strides diagonal() const = 0;
  virtual Strides windows() const = 0;   // unfold()
  virtual Strides as_given() const = 0;  // by the argument `stride`
  // ---- Copies ----
  virtual Strides copied() const = 0;       // in the memory format that the call names, else in the first's
  virtual Strides contiguous() const = 0;   // or in the memory format that the call names
  virtual Strides converted() const = 0;    // to(): the tensor itself if nothing changes
  virtual Strides dropped_out() const = 0;  // the tensor itself outside of training
  // ---- Kernels: another version of torch, or another device, may do it in another way ----
  virtual Strides pointwise() const = 0;  // by TensorIterator
  virtual Strides complex() const = 0;    // the same
  virtual Strides attended() const = 0;   // [batch, heads, length, features] as [batch, length, heads, ...]
  virtual Strides recurrent() const = 0;  // with batch_first, the sequence is still outermost in memory
  virtual Strides images() const = 0;  // in the memory format that the first tensor, or the weight, suggests
  virtual Strides joined() const = 0;  // in the format that all tensors suggest

 protected:
  ~StrideRules() = default;
};

using StrideRule = StrideRules::Strides (StrideRules::*)() const;

}  // namespace fxtrace
