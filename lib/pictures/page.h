// An estimate of the size of a picture, before its layout.
#pragma once

#include "pictures/labels.h"
#include "pictures/picture.h"

namespace fxtrace::internal {

struct PageSize {
  double width = 0, height = 0;  // in points
};

// Estimates the size: items are put into the ranks that their edges require, each as large as its label.
// Uses `picture.is_open`, and no edges of the picture.  Takes time linear in the size of the outline.
PageSize estimate_size(const Picture& picture, const Labels& labels);

// Returns whether a picture can be viewed at its own size or by turning the page: it is neither long and
// narrow nor wide and flat.
bool is_page(const PageSize& size);

}  // namespace fxtrace::internal
