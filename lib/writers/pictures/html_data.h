// Writes the data of the HTML page: a compact JSON form of a collection, read by web/src/data.js.
//
// Strings are stored once, in `texts`, and referred to by index; 0 is the empty string.  Items of the outline
// are stored by column in pre-order, so that `depth` gives the nesting and the content of a box is a range.
// A row of `costs` is [MACs, bytes of parameters, bytes of activations, whether something is unknown, a
// number for comparisons]; MACs and bytes are numbers, or expressions as people read them.
#pragma once

#include <ostream>

#include "compare/merged_collection.h"
#include "graph/graph_collection.h"
#include "pictures/picture.h"

namespace fxtrace {

// Writes the JSON without a newline; it is safe inside <script> tags.  `merged`: where the collection is that
// of two models; then there is a column `mark`: 1 what was added, 2 removed, 3 changed, 4 to 6 the same of
// boxes in which something was.
void write_html_data(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                     const MergedCollection* merged = nullptr);

}  // namespace fxtrace
