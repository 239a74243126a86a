// Writes a collection as one interactive HTML file; web/ has the page itself.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"
#include "pictures/picture.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

// Writes the page.  It needs no network and no other file, and restricts itself by a content security policy.
// `depth`, `focus`, `order` and `max_label` of the options are ignored, as boxes are opened in the page.  The
// same collection gives the same bytes.
void write_html(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                const Marking& marking = {});

}  // namespace fxtrace::internal
