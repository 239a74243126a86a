// What all pictures share: the looks of boxes and nodes, the size of a page, arguments as labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pictures/labels.h"
#include "pictures/outline.h"
#include "pictures/picture.h"

namespace fxtrace::internal {

// The looks of boxes and nodes, which determine colours and shapes, and other elements that all formats
// share.

enum class Look : std::uint8_t { kPort, kModule, kOperation, kMethod, kAttribute, kClosed, kFailed };
inline constexpr Look kLooks[] = {Look::kPort,      Look::kModule, Look::kOperation, Look::kMethod,
                                  Look::kAttribute, Look::kClosed, Look::kFailed};

// Returns the look of a node or a closed box.
Look look_of(const Outline::Item& item);
struct LookStyle {
  const char* meaning;  // the text in a legend: "input, output"
  const char* fill;
  const char* line;  // the colour of the border
};
const LookStyle& style_of(Look look);
// Returns the looks that occur in the picture, in the order of kLooks, but for items that `is_other` says
// have colours of their own.
std::vector<Look> looks_in(const Picture& picture, const std::function<bool(Picture::Index)>& is_other = {});

// Returns whether tracing failed for the item's module.
bool is_failed(const Outline::Item& item);

// The words of a node or box in the order in which they stand.  They are raw, as those of a label are.
struct BoxText {
  enum class Kind : std::uint8_t { kDetails, kFailure, kAttribute, kNote, kValue };
  std::string title;                                // on two lines if it is long
  std::vector<std::string> beside;                  // secondary, on the title's line
  std::vector<std::pair<Kind, std::string>> lines;  // below it; notes are broken into lines of `max_label`
};
// `more` is appended to the note.
BoxText box_text(const Picture& picture, const Labels& labels, Picture::Index box, std::size_t max_label,
                 const std::string& more = "");

// Returns the visible nodes and closed boxes in an item, in execution order; the item itself when there are
// none.
std::vector<Picture::Index> seen_in(const Picture& picture, Picture::Index item);

// Arranges several graphs in a few columns of about equal height.
std::vector<std::vector<Picture::Index>> graph_columns(const Picture& picture);

// The limit on lines of a failure's reason.
inline constexpr std::size_t kReasonLines = 3;
// Breaks a text at spaces, or behind the dots of a long path, into at most `max_lines` lines of at most
// `limit` bytes, where possible; the last line takes the rest.  0 means no limit.
std::vector<std::string_view> break_lines(std::string_view text, std::size_t limit, std::size_t max_lines);

// The parameters shown in the box of a leaf.
class LeafParameters {
 public:
  // `collection` must outlive this.
  explicit LeafParameters(const GraphCollection& collection);

  struct Line {
    std::string name;   // relative to the module
    std::string value;  // "[8, 4]"
  };
  // Returns a line for each parameter of a call_module; when there are too many, the first ones and a line
  // "and 4 more" that has only a name.
  std::vector<Line> lines(const Outline::Item& call, const Labels& labels) const;

 private:
  // The parameters of each module and its submodules, by module.
  std::unordered_map<std::string, std::vector<const ParameterRecord*>> below_;
};

// An estimate of the size of a picture, before its layout.

struct PageSize {
  double width = 0, height = 0;  // in points
};

// Estimates the size: items are put into the ranks that their edges require, each as large as its label.
// Uses `picture.is_open`, and no edges of the picture.  Takes time linear in the size of the outline.
PageSize estimate_size(const Picture& picture, const Labels& labels);

// The largest default picture, in points.
inline constexpr PageSize kLargestPage{1100, 1500};

// Returns whether a picture can be viewed at its own size or by turning the page: it is no larger than
// kLargestPage, and neither long and narrow nor wide and flat.
bool is_page(const PageSize& size);
bool is_large_page(const PageSize& size);  // the former alone

// Arguments of nodes for pictures, with links to the items that compute them.

struct ArgumentText {
  // A piece of an argument: text, or the item of the outline that computes a value. [%a, 2] is "[", a, ",
  // 2]".
  struct Piece {
    std::string text;
    Outline::Index item = Outline::kNone;  // when valid, `text` is empty
  };
  std::string name;  // the parameter's name by the operator's schema or the call; empty when unknown
  std::vector<Piece> pieces;
};

class Arguments {
 public:
  // Both arguments must outlive this.
  Arguments(const Outline& outline, const Labels& labels);

  // Returns the arguments of a kNode, positional ones first.  Values of nodes that the outline omits are
  // text; an item of a tuple is the outline's item that computes the tuple, followed by "[0]".
  std::vector<ArgumentText> arguments(Outline::Index item) const;

 private:
  void add(const ModuleGraph& graph, const Argument& argument,
           std::vector<ArgumentText::Piece>& pieces) const;
  void add_node(const ModuleGraph& graph, NodeId id, std::vector<ArgumentText::Piece>& pieces) const;

  const Outline& outline_;
  const Labels& labels_;
  // The items by graph and node id.
  std::unordered_map<const ModuleGraph*, std::unordered_map<std::uint32_t, Outline::Index>> items_;
};

}  // namespace fxtrace::internal
