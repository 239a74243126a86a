// The differences between two models as marks of a picture of both.
#pragma once

#include "compare/merged_collection.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

// Returns the marks of merged.collection: of an item that of its node, or else of the module that it is or
// calls.  An added item has a bold border and "+" in front of its title, a removed one a dashed border and
// "-", a changed or moved one "~".  A closed box gives the number of differences in it.  `merged` must
// outlive the result.
Marking mark_differences(const MergedCollection& merged);

}  // namespace fxtrace::internal
