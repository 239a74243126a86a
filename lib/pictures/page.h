// How large a picture gets, before anybody has laid it out.
#pragma once

#include "pictures/labels.h"
#include "pictures/picture.h"

namespace fxtrace {

struct PageSize {
  double width = 0, height = 0;  // in points
};

// A guess: items in the ranks that their edges ask for, each as large as its label.  Of what is open by
// `picture.is_open`; edges of the picture need not be known.  Takes time linear in the size of the outline.
PageSize estimate_size(const Picture& picture, const Labels& labels);

// Whether people see all of it at its own size, or can turn the page: neither long and narrow nor the
// reverse.
bool is_page(const PageSize& size);

}  // namespace fxtrace
