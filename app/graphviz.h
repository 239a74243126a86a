// Graphviz, where it is installed: DOT to a picture.
#pragma once

#include <cstdint>
#include <string>

namespace fxtrace::cli {

class Graphviz {
 public:
  // Looks for `dot` in PATH.  Throws Error(kInput) that says what to do where there is none.
  Graphviz();

  // Reads DOT from one descriptor, from its beginning, and writes the picture to the other.  `format` is that
  // of dot's -T: "svg", "png".  Throws Error(kInput) when dot fails, or takes more processor time than
  // `seconds`, where that is not 0.
  void draw(const std::string& format, int dot_text, int picture, std::uint64_t seconds) const;

 private:
  std::string program_;
};

}  // namespace fxtrace::cli
