// Writes a collection as one Graphviz graph, to be rendered by dot -Tsvg.
//
// Draws a Picture (pictures/picture.h): open boxes are clusters, closed ones nodes with a double border.
// Tooltips (in SVG) show what a short label leaves out: the whole target, the type, the source line.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"
#include "pictures/picture.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

// Writes UTF-8 that Graphviz reads without a warning, whatever the names in the collection are.  The same
// collection and options give the same bytes.  Identifiers are b<number>.  Throws
// as make_picture().
void write_dot(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
               const Marking& marking = {});

}  // namespace fxtrace::internal
