// What one picture shows of a collection: which boxes are open, and the edges between what can be seen.
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

namespace fxtrace {

struct PictureOptions {
  bool plumbing = false;    // with sizes, asserts, constants and the like
  bool parameters = false;  // with all parameters and buffers
  bool order = false;       // labels say when modules and parameters are used
  bool fold = true;
  std::optional<std::int64_t> depth;  // boxes within boxes, from what is drawn; absent: as many as fit
  std::optional<std::string> focus;   // a module's path: it alone, and what stands next to it
  std::size_t max_label = 60;         // characters in one line of a label; 0 is no limit
};

// Boxes and nodes that one picture may show before some are closed: about what a page holds.
inline constexpr std::size_t kBoxesOfPicture = 80;
// Siblings that one box may have before they become parts.
inline constexpr std::size_t kSiblings = 40;

struct Picture {
  using Index = Outline::Index;
  struct Edge {
    Index from = Outline::kNone, to = Outline::kNone;  // what is seen of both ends
    bool operator==(const Edge&) const = default;
  };

  Outline outline;
  std::vector<Index> tops;       // what is drawn: graphs, or the module of `focus`
  std::vector<Index> neighbors;  // of the module of `focus`: nodes outside that give it a value or take one
  std::vector<bool> is_open;     // by item; of boxes that are drawn
  // By item that is closed because an open one has the same structure: that one; else kNone.
  std::vector<Index> same_as;
  // By item: what is seen of it: itself, the closed box around it, or kNone.
  std::vector<Index> seen;
  std::vector<Edge> edges;  // each once, in the order of their ends in the outline
  std::string note;         // why boxes are closed, for the reader; empty: none but repeats are
};

// `collection` must live as long, and stay as it is.  The same collection and options give the same picture.
// Throws Error(kUsage) where `focus` names no module that has a box, with those that are near.
Picture make_picture(const GraphCollection& collection, const PictureOptions& options);

// The outline as pictures have it that open and close boxes by themselves: folded, and no box with too many
// children.
Outline make_folded_outline(const GraphCollection& collection, const PictureOptions& options);

}  // namespace fxtrace
