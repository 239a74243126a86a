// Runs an installed Graphviz on DOT, which is checked before, and gives pictures titles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "app/console.h"
#include "app/output/output.h"
#include "app/process/isolation.h"

namespace fxtrace::internal::cli {

// Runs an installed Graphviz to convert DOT to a picture.

class Graphviz {
 public:
  static constexpr std::size_t kMostBoxes = 4000;  // takes about a minute

  // Searches `dot` in PATH.  Throws Error(kInput), with advice, if there is none.
  Graphviz();

  // Reads DOT from the start of one descriptor and writes the picture to the other.  `format` is dot's -T:
  // "svg", "png".  dot runs with the limits of `isolation` on memory and processor time, and may only read
  // files.  Warns if the picture takes longer than seconds.  Throws Error(kInput) when dot fails or exceeds a
  // limit.
  void draw(const std::string& format, int dot_text, int picture, const IsolationArguments& isolation,
            Console& console) const;

  // One run of dot.
  struct Drawing {
    const char* layout;  // -Kdot, or another
    std::string format;
    int in, out;  // descriptors
    std::size_t boxes;
  };

 private:
  // Returns the first line of dot's messages.
  std::string run(const Drawing& drawing, const IsolationArguments& isolation) const;

  std::string program_;
};

// Lets Graphviz convert what is written to the output; a null `format` leaves it as it is.  Throws as
// Graphviz(), and Error(kUsage) for a PNG that would go to a terminal.  `isolation` and `console` must
// outlive the output.
void connect_graphviz(Output& output, const char* format, const IsolationArguments& isolation,
                      Console& console);

// Checks that DOT contains only what write_dot() writes.  The text comes from the untrusted process that read
// the model, and some attributes of Graphviz are dangerous: `image` and `shapefile` read files, `href` makes
// links.

// Describes the first foreign part: "the attribute 'image'"; empty when there is none.
std::string find_foreign_dot(std::string_view text);

// Draws the titles of boxes last, on a background: Graphviz draws edges across the titles of boxes that they
// lead into, and now the edges pass behind them.

// Returns Graphviz's SVG with the titles at its end.
std::string svg_with_titles_last(std::string_view svg);

// Returns a layout, as `dot -Tdot` writes it, for `dot -Knop2` to draw: titles become nodes at their places.
std::string layout_with_titles_last(std::string_view layout);

}  // namespace fxtrace::internal::cli
