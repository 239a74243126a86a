// A picture of a collection: which boxes are open, and the edges between visible items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pictures/outline.h"
#include "pictures/repeats.h"

namespace fxtrace::internal {

struct PictureOptions {
  bool plumbing = false;    // show sizes, asserts, constants and the like
  bool parameters = false;  // show all parameters and buffers
  bool order = false;       // show the order of use of modules and parameters
  bool fold = true;
  std::optional<std::int64_t> depth;  // levels of open boxes; as many as fit when absent
  std::optional<std::string> focus;   // a module's path: draw only it and its neighbours
  std::size_t max_label = 60;         // characters in one line of a label; 0: no limit
  std::size_t most_boxes = 0;  // the limit on boxes that are drawn, which overrides `depth`; 0: no limit
};

// The number of boxes and nodes beyond which boxes are closed: about what fits on a page.
inline constexpr std::size_t kBoxesOfPicture = 40;
// The number of siblings in a box beyond which they are grouped into parts.
inline constexpr std::size_t kSiblings = 40;

struct Picture {
  using Index = Outline::Index;
  struct Edge {
    Index from = Outline::kNone, to = Outline::kNone;  // visible items at both ends
    bool operator==(const Edge&) const = default;
  };

  Outline outline;
  std::vector<Index> tops;       // the items drawn: graphs, or the module of `focus`
  std::vector<Index> neighbors;  // for `focus`: nodes outside that provide or use its values
  std::vector<bool> is_open;     // by item, for boxes that are drawn
  // By item: for a box that is closed because an open box has the same structure, that open box; else kNone.
  std::vector<Index> same_as;
  // By item: its visible representative: itself, the closed box that contains it, or kNone.
  std::vector<Index> seen;
  std::vector<Edge> edges;  // each once, ordered by their ends in the outline
  std::string note;         // the reason why boxes are closed; empty when only repeats are
};

// Makes a picture.  `collection` must outlive it and not change.  Deterministic.  Throws Error(kUsage), with
// similar names, when `focus` is not the path of a module that has a box.  `distinction` keeps equal items
// apart for further reasons.
Picture make_picture(const GraphCollection& collection, const PictureOptions& options,
                     const Distinction& distinction = {});

// Returns the outline for interactive pictures: repeats are folded, and no box has too many children.
Outline make_folded_outline(const GraphCollection& collection, const PictureOptions& options,
                            const Distinction& distinction = {});

}  // namespace fxtrace::internal
