// Marks: what a picture says of its items besides what they are, such as how two models differ.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "compare/comparison.h"
#include "pictures/outline.h"
#include "pictures/repeats.h"

namespace fxtrace::internal {

struct MarkStyle {
  std::string name;     // a class of the page's style sheet: "added"
  std::string sign;     // in front of titles: "+"; may be empty
  std::string meaning;  // the text in a legend
  const char* border;   // more words for DOT's style: ",bold"
  std::string fill;
  std::string line;  // the colour of the border
  // The fill of an open box, which tells the text too, as tooltips do; empty: as without a mark.
  std::string box_fill = {};
  std::string colour = {};  // for the page; empty: that of its class
};

struct Mark {
  std::size_t style = 0;   // 1 plus the index of the style; 0: not marked
  bool is_within = false;  // only content of the box is marked, which shows while it is closed
  std::string text = {};   // about the mark: "3 differ"; may be empty
};

struct Marking {
  std::vector<MarkStyle> styles;
  bool has_all = false;  // items are marked as a rule, so legends leave out looks that only marked ones have
  Distinction distinction;  // keeps items apart that are marked in different ways when repeats are folded
  std::function<std::vector<Mark>(const Outline&)> marks;  // by item
};

// The differences between two models as marks of a picture of both.

// Returns the marks of merged.collection: of an item that of its node, or else of the module that it is or
// calls.  An added item has a bold border and "+" in front of its title, a removed one a dashed border and
// "-", a changed or moved one "~"; a module that has other weights alone has a dotted border.  A closed box
// gives the number of differences in it.  `merged` must
// outlive the result.
Marking mark_differences(const MergedCollection& merged);

}  // namespace fxtrace::internal
