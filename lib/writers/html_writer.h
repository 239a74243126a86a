// A collection as one HTML file that people look into: web/ has the page itself.
#pragma once

#include <ostream>

#include "graph/graph_collection.h"
#include "pictures/picture.h"

namespace fxtrace {

// Writes the page.  It needs no network and no other file, and what it may do it says itself (a content
// security policy).  `depth`, `focus`, `order` and `max_label` of the options are not looked at: who reads
// the page opens boxes there.  The same collection gives the same bytes.
void write_html(const GraphCollection& collection, std::ostream& out, const PictureOptions& options);

}  // namespace fxtrace
