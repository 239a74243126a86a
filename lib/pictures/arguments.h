// Arguments of a node for pictures that lead to what makes them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "pictures/labels.h"
#include "pictures/outline.h"

namespace fxtrace {

struct ArgumentText {
  // Text, and in between items of the outline that make a value: [%a, 2] is "[", a, ", 2]".
  struct Piece {
    std::string text;
    Outline::Index item = Outline::kNone;  // when it is valid there is no text
  };
  std::string name;  // as the operator's schema or the call has it; empty where neither tells
  std::vector<Piece> pieces;
};

class Arguments {
 public:
  // All must live as long.
  Arguments(const Outline& outline, const Labels& labels);

  // Of kNode, positional ones first.  Values of nodes that the outline leaves out are texts; where only an
  // item of a tuple is taken, the item that makes the tuple, and "[0]" behind it.
  std::vector<ArgumentText> arguments(Outline::Index item) const;

 private:
  void add(const ModuleGraph& graph, const Argument& argument,
           std::vector<ArgumentText::Piece>& pieces) const;
  void add_node(const ModuleGraph& graph, NodeId id, std::vector<ArgumentText::Piece>& pieces) const;

  const Outline& outline_;
  const Labels& labels_;
  // By graph and id of a node.
  std::unordered_map<const ModuleGraph*, std::unordered_map<std::uint32_t, Outline::Index>> items_;
};

}  // namespace fxtrace
