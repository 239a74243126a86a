// The totals of tensors in the JSON of several reports.
#pragma once

#include "graph/collection_fields.h"
#include "summaries/parameter_sizes.h"

namespace fxtrace::internal {

void describe(auto& io, const TensorTotal& total) {
  io.field("tensors", total.tensors);
  io.field("elements", total.elements);
  io.field("bytes", total.bytes);
}

}  // namespace fxtrace::internal
