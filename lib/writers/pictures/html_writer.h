// Writes the data of the HTML page: a compact JSON form of a collection, read by web/src/data.js.
//
// The page must show graphs of 100,000 nodes, so the data is stored by columns.  An item is a box or a node
// of the outline (pictures/outline.h); its place is its index in every column.
//
// Invariants:
// 1. Items are in pre-order: a box stands before its content.  `depth` is the number of boxes around an item,
//    so that the content of a box is the range up to the next item whose depth is not larger.
// 2. Texts of items, modules, sources and parameters are stored once, in `texts`, and referred to by index;
//    text 0 is empty.  Pieces of arguments are strings in place, as numbers there are places of items.
// 3. Rows of `modules`, `sources` and `costs` are referred to by index from 1; 0 stands for none.  In the
//    columns of lists (inputs, weights, arguments) 0 stands for an empty list.
// 4. `inputs` and `like` are relative: the place of the item minus that of the other one.  An input is
//    negative where a node stands before its input, as in loops.
// 5. `kind` is the number of Outline::Kind; `op` is 0 for boxes without a node, else 1 plus the number of
//    Opcode.
// 6. A row of `costs` is [MACs, bytes of parameters, bytes of activations, 1 if something is unknown, a
//    number for comparisons].  MACs and bytes of activations are numbers, or strings for expressions and for
//    numbers from 2^53 on, which JavaScript does not hold exactly.  The cost of a box is the sum of its
//    content, except for control flow and graphs that have a cost of their own.
// 7. `failures` is [place, text] for the items that failed.
// 8. Only where items are marked (marks.h), `marks` has [class, sign, meaning] of each style, and its colour
// if that is not the class's.  The column `mark`
//    is 0 for items without a mark, 1 plus the index of the style, or that plus the number of styles where
//    only content of a box is marked; `mark_text` is the text about it.
//
// Example: b = x.clone(); r = b[0]; return r, with some of the columns.
//
//   place      0             1     2       3         4
//   item       box (root)    x     clone   select    output
//   "kind"     0             7     7       7         7
//   "depth"    0             1     1       1         1
//   "op"       0             1     3       3         6
//   "inputs"   0             0     [1]     [1]       [1]
//   "title"    1             2     3       4         5          with "texts": ["","(root)","x","clone",...]
//   "source"   0             0     1       1         0          with "sources": [[file, line, ...]]
#pragma once

#include <ostream>

#include "graph/graph_collection.h"
#include "pictures/picture.h"
#include "writers/pictures/marks.h"

namespace fxtrace::internal {

// Writes the JSON without a newline; it is safe inside <script> tags.
void write_html_data(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                     const Marking& marking = {});

// Writes a collection as one interactive HTML file; web/ has the page itself.

// Writes the page.  It needs no network and no other file, and restricts itself by a content security policy.
// `depth`, `focus`, `order` and `max_label` of the options are ignored, as boxes are opened in the page.  The
// same collection gives the same bytes.
void write_html(const GraphCollection& collection, std::ostream& out, const PictureOptions& options,
                const Marking& marking = {});

}  // namespace fxtrace::internal
