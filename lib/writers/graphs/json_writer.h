// Writes a collection as JSON, format "fxtrace.graph_collection", version 1:
// schemas/graph_collection.schema.json.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"

namespace fxtrace::internal {

// Writes the document and a newline.  The same collection gives the same bytes: UTF-8, keys in a fixed order,
// one node, module and parameter a line.  Malformed UTF-8 in strings becomes U+FFFD; unknown values are null.
// `options_json` is inserted unchanged.  Throws Error(kInternal) when a constant's elements do not match its
// shape; the caller must check the stream.
void write_json(const GraphCollection& collection, std::ostream& out);

}  // namespace fxtrace::internal
