// Texts in the JSON of programs: structures of nested values, stack traces, and sizes in the notation of
// sympy.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/argument.h"
#include "symbolic/expression.h"

namespace fxtrace::internal {

// The structure of nested arguments and results: pytree specifications that torch.export keeps
// (torch.utils._pytree.treespec_dumps).

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

// A reader of the symbolic sizes of exported programs, which are texts of sympy.

// torch.export writes sizes with sympy's srepr():
//   Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))   ->  s77*2+1
//   FloorDiv(Symbol('s0', integer=True), Integer(2))                               ->  s0//2
// Versions before 2.7 wrote str(): "2*s0 + 1".  That, and any other text, is read as Python.
Expression expression_of_sympy(std::string_view text);

}  // namespace fxtrace::internal
