// Graphviz, where it is installed: DOT to a picture.
#pragma once

#include <string>

#include "app/isolation.h"

namespace fxtrace::cli {

class Graphviz {
 public:
  // Looks for `dot` in PATH.  Throws Error(kInput) that says what to do where there is none.
  Graphviz();

  // Reads DOT from one descriptor, from its beginning, and writes the picture to the other.  `format` is that
  // of dot's -T: "svg", "png".  Throws Error(kInput) when dot fails, or takes more memory or processor time
  // than the isolation allows, which also takes all rights from it but to read files.
  void draw(const std::string& format, int dot_text, int picture, const IsolationArguments& isolation) const;

 private:
  std::string program_;
};

}  // namespace fxtrace::cli
