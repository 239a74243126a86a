// Traits of operators: what they do with their arguments, by their tags and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "operators/operators.h"

namespace fxtrace::internal {

// Traits of operators: those that LibTorch's tags give, and those of the operator's row in its family.

// Computes the traits of an operator, for the code that makes its entry (operator_entry.h); others ask
// traits_of().
Traits table_traits(const Operator& op);
// Returns the operator's traits; none for null.
Traits traits_of(const Operator* op);
inline bool has_trait(const Operator* op, Traits trait) { return (traits_of(op) & trait) != 0; }

// Returns whether the operator writes to an argument, or may.
bool may_write(const Operator* op);
// Returns whether the results depend on the arguments alone and there are no side effects, so that unused
// calls can be removed and equal calls merged.  Results may alias arguments.
bool is_pure(const Operator* op);

// Aliases between results and arguments of operators, and the operators that write a changed view back into
// its base.

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

// Identity rules: the conditions under which an operator returns its input unchanged, so that passes can
// remove the call.

struct IdentityRule {
  enum class When : std::uint8_t {
    kNever,
    kAlways,
    kSameType,         // the requested dtype, device and layout are the input's, and no copy is requested
    kSameTypeAsOther,  // the tensor `argument` has the dtype and device of the input
    kSameAsOther,      // likewise, and the same sizes
    kSameSizes,        // the list `argument` is the input's sizes, with at most one -1
    kSameSizesOrAny,   // likewise, with any number of -1
    kSameOrder,        // the list `argument` is 0, 1, 2, ...
    kSameDims,         // `dim0` and `dim1` are equal
    kOneDimension,     // the input has rank 1
    kFullRange,        // `start`, `end` and `step` select all of `dim`
    kEvaluation,       // `train` is False
  } when = When::kNever;
  std::string_view argument = {};
  bool copies = false;    // the result is a copy with the same values
  std::size_t gives = 0;  // the index of the argument that is the input, and is returned
  bool writes = false;    // writes to its first argument and returns it

  bool empty() const { return when == When::kNever; }
};

using When = IdentityRule::When;

// Operators on tensor subclasses (torchao), which only exported programs with such tensors contain.

// Returns whether a call of the target, with arguments (tensor, name), returns one of the tensors that the
// subclass stores.
inline bool takes_stored_part(std::string_view target) {
  return target == "export.access_subclass_inner_tensor.default";
}

}  // namespace fxtrace::internal
