// Draws the titles of boxes last, on a background: Graphviz draws edges across the titles of boxes that they
// lead into, and now the edges pass behind them.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::internal::cli {

// Returns Graphviz's SVG with the titles at its end.
std::string svg_with_titles_last(std::string_view svg);

// Returns a layout, as `dot -Tdot` writes it, for `dot -Knop2` to draw: titles become nodes at their places.
std::string layout_with_titles_last(std::string_view layout);

}  // namespace fxtrace::internal::cli
