// Aliases between results and arguments of operators, and the operators that write a changed view back into
// its base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/operators.h"

namespace fxtrace::internal {

// An alias: memory that a result and an argument share.
struct Alias {
  std::size_t result = 0, argument = 0;
  bool always = true;        // false: depending on the values, the result may be a copy
  bool may_be_same = false;  // the result may be the argument itself, or an item of the list
  bool of_elements = false;  // results are elements of a container argument, or vice versa
};
// Finds the aliases of an operator with that schema, for its entry (operator_entry.h).
std::vector<Alias> find_aliases(const Operator& op, const Schema& schema);

// The operator that computes the new value of a base after a view of it was overwritten, for functionalizing.
// `changed` is the new value of the view.
struct ViewInverse {
  std::string_view target;  // empty: there is no such operator
  enum class Form : std::uint8_t {
    kNone,
    kChanged,          // target(changed)
    kChangedRest,      // target(changed, the view's further arguments)
    kChangedBase,      // target(changed, base)
    kBaseChangedRest,  // target(base, changed, the view's further arguments)
    kPermutation,      // target(changed, the inverse permutation)
    kSwappedRest,      // target(changed, the view's third argument, its second)
    kPart,             // target(base, changed, dim, index or start, end), for the n-th result
    kWindows           // target(base, indices, changed), for windows along a dimension
  } form = Form::kNone;

  bool empty() const { return form == Form::kNone; }
};
using InverseForm = ViewInverse::Form;

}  // namespace fxtrace::internal
