// Marks of a picture for a partition: what takes each call.
#pragma once

#include "graph/graph_collection.h"
#include "partition/partition.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

// Returns a style for each set, in colours that repeat after six; one for calls that are left, with "×" in
// front of titles; and "~" for boxes of several of these, with texts such as "parts 1 to 3, 2 left".
// The texts of other items are "npu, part 3" and "left, part 2: not in the set", with the numbers of the
// report. Both arguments must outlive the result, the collection unchanged since it was partitioned.
Marking mark_parts(const Partition& partition, const GraphCollection& collection);

}  // namespace fxtrace::internal
