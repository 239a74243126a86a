// What the HTML page knows of a collection: JSON that web/src/data.js reads, made small for many nodes.
//
// Texts stand once, in `texts`, and everything else names them by their place there; 0 is the empty one.
// Items of the outline stand in columns, boxes before what is in them, so that `depth` tells who is in whom
// and everything in a box is a range.  A row of `costs` is [MACs, bytes of parameters, bytes of activations,
// whether something is not known, a number to compare with]; MACs and bytes are numbers, or texts of
// expressions.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"
#include "pictures/picture.h"

namespace fxtrace {

// The JSON without a newline; safe between <script> tags.
void write_html_data(const GraphCollection& collection, std::ostream& out, const PictureOptions& options);

}  // namespace fxtrace
