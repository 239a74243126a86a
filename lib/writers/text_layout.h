// The place that a text for people is written to.
#pragma once

#include <cstddef>

namespace fxtrace {

struct TextLayout {
  std::size_t width = 100;  // columns of the terminal; lines of notes and totals may be longer
  bool colour = false;      // also enables bars of each row's share
};

}  // namespace fxtrace
