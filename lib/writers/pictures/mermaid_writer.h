// Writes a collection as a Mermaid flowchart, which GitHub, GitLab and many editors render within Markdown.
//
// Draws a Picture (pictures/picture.h): open boxes are subgraphs, closed ones nodes with a double border.
#pragma once

#include <cstddef>
#include <ostream>

#include "graph/graph_collection.h"
#include "pictures/picture.h"

namespace fxtrace::internal {

// The limits of GitHub: Mermaid's defaults of maxTextSize and maxEdges, which a diagram cannot change.
inline constexpr std::size_t kMermaidCharacters = 50'000;
inline constexpr std::size_t kMermaidEdges = 500;

// Writes UTF-8 that Mermaid 11 reads, whatever the names in the collection are.  The same collection and
// options give the same bytes.  When the picture exceeds GitHub's limits, a comment at the start says so.
// Identifiers are b<number>.  Throws as make_picture().
void write_mermaid(const GraphCollection& collection, std::ostream& out, const PictureOptions& options);

}  // namespace fxtrace::internal
