// What every operator does: the one table that all decisions about operators read.  The rows are what
// LibTorch registers (registered.inc, made by scripts/operators) and operators of other libraries that it
// does not have (extensions.inc); what neither a schema nor a tag says stands in facts.cpp and aliases.cpp.
//
// An operator without a row may do anything: read and write whatever it is given, draw random numbers, print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/schema.h"
#include "operators/target.h"

namespace fxtrace {

using Traits = std::uint32_t;

namespace traits {
// From LibTorch: alias analysis, side effects (torch/csrc/jit/ir), dispatcher tags (ATen/native/tags.yaml).
inline constexpr Traits kKnown = 1U << 0;       // it does what its schema and these traits say, and no more
inline constexpr Traits kSideEffect = 1U << 1;  // prints, raises, saves, asks or changes the process
inline constexpr Traits kRandom = 1U << 2;      // draws random numbers
inline constexpr Traits kReadsData = 1U << 3;   // gives a number that tensor elements decide
inline constexpr Traits kShapeFromData = 1U << 4;  // tensor elements decide the shape of a result
inline constexpr Traits kChangesShape = 1U << 5;   // changes shape or strides of its argument in place
inline constexpr Traits kPointwise = 1U << 6;
inline constexpr Traits kReduction = 1U << 7;
// From facts.cpp.
inline constexpr Traits kHiddenWrite = 1U << 8;     // writes an argument without saying so in its schema
inline constexpr Traits kGivesSize = 1U << 9;       // sizes, strides, numbers of dimensions: reads no element
inline constexpr Traits kAsserts = 1U << 10;        // does nothing, or raises
inline constexpr Traits kPlain = 1U << 11;          // see plain_values in facts.cpp
inline constexpr Traits kMovesElements = 1U << 12;  // only moves elements of lists and dicts around
inline constexpr Traits kMakesTensor = 1U << 13;    // makes a tensor of numbers alone
inline constexpr Traits kSmallTensors = 1U << 14;   // see small_tensors in facts.cpp
inline constexpr Traits kCompares = 1U << 15;  // compares values or looks for one: both are of one meaning
inline constexpr Traits kDivides = 1U << 16;   // integers: undefined for 0, and for INT64_MIN by -1
inline constexpr Traits kRepeats = 1U << 17;   // the result is as large as a number among the arguments
inline constexpr Traits kJoins = 1U << 18;     // the result is as large as the product of the arguments
inline constexpr Traits kMayBeArgument = 1U << 19;  // see Alias::may_be_same
inline constexpr Traits kMayCopy = 1U << 20;        // an alias in the schema may be a copy instead
inline constexpr Traits kTensorMethod = 1U << 21;   // a method of torch.Tensor with the same arguments
inline constexpr Traits kKeepsRank = 1U << 22;      // the result has as many dimensions as the first argument
inline constexpr Traits kKeepsDtype = 1U << 23;     // ... and its dtype, whatever the others have
inline constexpr Traits kGivesBool = 1U << 24;      // the result is of dtype bool
inline constexpr Traits kReadsLayout = 1U << 25;    // strides decide what it gives, or whether it raises
}  // namespace traits

// A row.  Rows live as long as the program.
struct Operator {
  std::string_view name;       // "aten::add_.Tensor"
  std::string_view signature;  // "(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
  Traits registered = 0;

  std::string_view base_name() const { return name.substr(0, name.find('.')); }  // "aten::add_"
  std::string_view overload() const;  // "Tensor"; empty: the default
  std::string target() const;         // "aten.add_.Tensor"
  Schema schema() const { return parse_schema(signature); }
};

// `base_name` as "aten::add_".  Null when there is no such row.
const Operator* find_operator(std::string_view base_name, std::string_view overload);
const Operator* find_operator(const TargetParts& target);
// All overloads of "aten::add", in the order of their names.
std::span<const Operator> overloads(std::string_view base_name);

// Both tables, in byte order of the names.
std::span<const Operator> registered_operators();
std::span<const Operator> extension_operators();

// What facts.cpp says of all overloads of an operator; a name may come several times.
struct Fact {
  std::string_view base_name;
  Traits traits = 0;
};
std::span<const Fact> facts();  // in byte order of the names
Traits facts_of(std::string_view base_name);

// None for null.
Traits traits_of(const Operator* op);
inline bool has_trait(const Operator* op, Traits trait) { return (traits_of(op) & trait) != 0; }

// Writes an argument, or may.
bool may_write(const Operator* op);
// Its results depend on its arguments alone, and nothing else happens: it may be left out where they are not
// used, and done once where it is done twice.  Its results may alias its arguments.
bool is_pure(const Operator* op);

// Memory that a result and an argument share.
struct Alias {
  std::size_t result = 0, argument = 0;
  bool always = true;        // false: the values decide whether the result is a copy
  bool may_be_same = false;  // the result may be the argument itself, or one of those in the list
  bool of_elements = false;  // results are elements of a container argument, or the other way round
};
std::vector<Alias> aliases(const Operator& op);
std::vector<Alias> aliases(const Operator& op, const Schema& schema);  // its own, read before

// How to give a tensor the value that it has after a view of it was overwritten.
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
    kPart,             // target(base, changed, dim, index or start, end): of the n-th result
    kWindows           // target(base, indices, changed): of windows along a dimension
  } form = Form::kNone;
};
ViewInverse view_inverse(const Operator& op);

// The same operation with other ways to give its result, found as torchgen groups them: by equal signatures.
// Null when there is none.
const Operator* functional_twin(const Operator& op);  // add_.Tensor -> add.Tensor, add.out -> add.Tensor
const Operator* in_place_twin(const Operator& op);    // add.Tensor -> add_.Tensor
const Operator* out_twin(const Operator& op);         // add.Tensor -> add.out

}  // namespace fxtrace
