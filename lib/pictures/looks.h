// What the boxes and nodes of a picture are, for their colours and shapes, and what else is the same in every
// format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pictures/labels.h"
#include "pictures/picture.h"

namespace fxtrace {

enum class Look : std::uint8_t { kPort, kModule, kOperation, kMethod, kAttribute, kClosed, kFailed };
inline constexpr Look kLooks[] = {Look::kPort,      Look::kModule, Look::kOperation, Look::kMethod,
                                  Look::kAttribute, Look::kClosed, Look::kFailed};

// Of a node, or of a box that is closed.
Look look_of(const Outline::Item& item);
// What a legend says of it: "input, output".
const char* meaning(Look look);
// Those that the picture has, in the order of kLooks.
std::vector<Look> looks_in(const Picture& picture);

// Whether the module of the item failed to be traced.
bool is_failed(const Outline::Item& item);

// What stands above an open box: of what is drawn as a whole its whole path.
std::string open_title(const Picture& picture, const Label& label, Picture::Index box);

// Nodes and closed boxes that are drawn of an item, in execution order; the item itself where there are none.
std::vector<Picture::Index> seen_in(const Picture& picture, Picture::Index item);

// Several graphs in a few columns of about one height, each graph below another one, so that not all stand
// side by side.
std::vector<std::vector<Picture::Index>> graph_columns(const Picture& picture);

// A sentence in lines of at most `limit` bytes, broken at spaces, where it has some; the last of at most
// `max_lines` holds all the rest.  0 is no limit.
std::vector<std::string_view> break_lines(std::string_view text, std::size_t limit, std::size_t max_lines);

// What stands in the box of a leaf where parameters are shown.
class LeafParameters {
 public:
  // `collection` must live as long.
  explicit LeafParameters(const GraphCollection& collection);

  struct Line {
    std::string name;   // from the module
    std::string value;  // "[8, 4]"
  };
  // One line each of the parameters of a call_module; of too many the first, and then one with a name only,
  // "and 4 more".
  std::vector<Line> lines(const Outline::Item& call, const Labels& labels) const;

 private:
  // By module: its parameters and those of the modules in it.
  std::unordered_map<std::string, std::vector<const ParameterRecord*>> below_;
};

}  // namespace fxtrace
