// Runs an installed Graphviz to convert DOT to a picture.
#pragma once

#include <cstddef>
#include <string>

#include "app/console.h"
#include "app/output/output.h"
#include "app/process/isolation.h"

namespace fxtrace::internal::cli {

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

}  // namespace fxtrace::internal::cli
