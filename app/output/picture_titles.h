// Graphviz draws edges across the titles of boxes that they lead into.  Here titles come last, on a ground of
// their own, so that the edges pass behind them.
#pragma once

#include <string>
#include <string_view>

namespace fxtrace::cli {

// Of Graphviz's SVG.
std::string svg_with_titles_last(std::string_view svg);

// Of a layout, as `dot -Tdot` writes it: what `dot -Knop2` is to draw.  Titles become nodes in their places.
std::string layout_with_titles_last(std::string_view layout);

}  // namespace fxtrace::cli
