// The structure of nested arguments and results: pytree specifications that torch.export keeps
// (torch.utils._pytree.treespec_dumps).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"

namespace fxtrace::internal {

struct TreeSpec {
  enum class Kind { kLeaf, kNone, kTuple, kList, kDict };
  Kind kind = Kind::kLeaf;
  std::vector<Argument> keys;                         // keys of a dict, one for each child
  std::shared_ptr<const argument::TupleNames> names;  // fields of a named tuple, where they are known
  std::vector<TreeSpec> children;
  std::size_t leaves = 1;   // the number of leaves below, or 1 for a leaf
  bool is_builtin = false;  // a list, tuple or dict of Python itself, whose length and keys can be checked

  // The fields of named tuples, by type.
  using NamedTuples = std::map<std::string, std::vector<std::string>, std::less<>>;
  // Parses a specification.  Throws Error(kInput) with `what` as the name of the text.
  static TreeSpec parse(std::string_view text, const std::string& what, const NamedTuples& named_tuples = {});

  // Builds the structure from the values of its leaves, in order; there must be `leaves` of them.
  Argument unflatten(const std::vector<Argument>& values) const;
  // Returns the keys and positions that lead to each leaf, outermost first.
  std::vector<std::vector<Argument>> paths() const;
};

}  // namespace fxtrace::internal
