// Nested arguments and results: the pytree specifications that torch.export keeps of them
// (torch.utils._pytree.treespec_dumps).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"

namespace fxtrace {

struct TreeSpec {
  enum class Kind { kLeaf, kNone, kTuple, kList, kDict };
  Kind kind = Kind::kLeaf;
  std::vector<Argument> keys;  // of a dict, one for each child
  std::vector<TreeSpec> children;
  std::size_t leaves = 1;  // below this one

  // Throws Error(kInput); `what` names the text in the message.
  static TreeSpec parse(std::string_view text, const std::string& what);

  // Puts the values of the leaves, in order, into the structure.  There must be `leaves` of them.
  // Of Arguments and of an exported program's Operands.
  template <class Reference>
  BasicArgument<Reference> unflatten(const std::vector<BasicArgument<Reference>>& values) const;
  // Keys and positions that lead to each leaf, outermost first.
  std::vector<std::vector<Argument>> paths() const;
};

}  // namespace fxtrace
