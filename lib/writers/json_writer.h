// A collection as JSON, format "fxtrace.graph_collection", version 1: schemas/graph_collection.schema.json.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace {

// Writes the document and a newline.  The same collection gives the same bytes: UTF-8, keys in a fixed order,
// one node, module and parameter a line.  What is no UTF-8 in the collection's strings becomes U+FFFD, what
// is not known is null.  `options_json` is inserted as it is.  Throws Error(kInternal) when a constant's
// elements do not match its shape; the stream's state is the caller's to look at.
void write_json(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace
