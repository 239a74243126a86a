// Arguments of nodes for pictures, with links to the items that compute them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "pictures/labels.h"
#include "pictures/outline.h"

namespace fxtrace::internal {

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
