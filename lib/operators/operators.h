// The table of operators: those that LibTorch registers (schemas/operators/registered.txt, written by
// scripts/operators) and operators of other libraries (extensions.txt).  Facts beyond schemas and tags are in
// lib/opinfo.
//
// An operator without a row may have any effect: read and write its arguments, draw random numbers, print.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/schema.h"
#include "operators/target.h"

namespace fxtrace::internal {

using Traits = std::uint64_t;

namespace traits {
// From LibTorch: alias analysis, side effects (torch/csrc/jit/ir), dispatcher tags (ATen/native/tags.yaml).
inline constexpr Traits kKnown = Traits{1} << 0;          // has no effects but those of its schema and traits
inline constexpr Traits kSideEffect = Traits{1} << 1;     // prints, raises, saves, or uses the process
inline constexpr Traits kRandom = Traits{1} << 2;         // draws random numbers
inline constexpr Traits kReadsData = Traits{1} << 3;      // returns a number that depends on tensor elements
inline constexpr Traits kShapeFromData = Traits{1} << 4;  // the shape of a result depends on tensor elements
inline constexpr Traits kChangesShape = Traits{1} << 5;   // changes shape or strides of its argument in place
inline constexpr Traits kPointwise = Traits{1} << 6;
inline constexpr Traits kReduction = Traits{1} << 7;
// From lib/opinfo.
inline constexpr Traits kHiddenWrite = Traits{1} << 8;  // writes to an argument that its schema does not mark
inline constexpr Traits kGivesSize = Traits{1} << 9;    // returns sizes, strides or ranks; reads no element
inline constexpr Traits kAsserts = Traits{1} << 10;     // has no effect but to raise
// May be executed on numbers, strings, lists, dicts, tuples, devices and dtypes while tracing: it has no
// effect but its result and changes to a list or dict among its arguments.  An archive can name any operator
// of LibTorch, and some write files or change the process: operators without this trait are never executed.
inline constexpr Traits kPlain = Traits{1} << 11;
inline constexpr Traits kMovesElements =
    Traits{1} << 12;  // only moves elements of lists and dicts: kPlain for elements of any kind
inline constexpr Traits kMakesTensor = Traits{1} << 13;  // makes a tensor from numbers alone
inline constexpr Traits kRankByRanks = Traits{1} << 14;  // ranks of arguments decide that of the result
inline constexpr Traits kCompares = Traits{1} << 15;     // compares or searches values of one meaning
inline constexpr Traits kDivides = Traits{1} << 16;      // integers: undefined for 0, and for INT64_MIN by -1
inline constexpr Traits kRepeats = Traits{1} << 17;  // the result is as large as a number among the arguments
inline constexpr Traits kJoins = Traits{1} << 18;    // the result is as large as the product of the arguments
inline constexpr Traits kMayBeArgument =
    Traits{1} << 19;  // the result may be an argument itself; see Alias::may_be_same
inline constexpr Traits kMayCopy = Traits{1} << 20;  // an alias in the schema may be a copy instead
inline constexpr Traits kTensorMethod =
    Traits{1} << 21;  // a method of torch.Tensor with the same arguments; set for those in conditions
inline constexpr Traits kKeepsRank =
    Traits{1} << 22;  // the result has the rank of the first argument, as for pointwise operators
// The result has the dtype of the first argument, whatever the others have; the in-place variant keeps it, or
// raises for dtypes other than floats.
inline constexpr Traits kKeepsDtype = Traits{1} << 23;
inline constexpr Traits kGivesBool = Traits{1} << 24;    // the result is of dtype bool
inline constexpr Traits kReadsLayout = Traits{1} << 25;  // strides decide the result, or whether it raises
inline constexpr Traits kNoMacs =
    Traits{1}
    << 26;  // multiplies no matrices, nor do variants that torch derives of it (opinfo/rules/cost_rules.cpp)
inline constexpr Traits kForFloats = Traits{1} << 27;       // CPU kernels support floating dtypes only
inline constexpr Traits kNotForIntegers = Traits{1} << 28;  // CPU kernels: floating and complex dtypes only
inline constexpr Traits kNotForHalf = Traits{1} << 29;      // CPU kernels: no half precision dtypes
inline constexpr Traits kMakesContiguous =
    Traits{1} << 30;  // returns a contiguous tensor, unless another memory format is requested
inline constexpr Traits kKeepsContiguous = Traits{1} << 31;  // ... for a contiguous argument
inline constexpr Traits kMathFunction =
    Traits{1} << 32;  // on numbers, the same as the function of that name in Python's math module
inline constexpr Traits kTextMethod = Traits{1} << 33;  // on strings, the method of str of that name
inline constexpr Traits kAttribute = Traits{1} << 34;   // an attribute of torch.Tensor
inline constexpr Traits kLikeFirst =
    Traits{1} << 35;  // the result has the rank and dtype, and mostly the sizes, of the first argument
inline constexpr Traits kTakesPart = Traits{1} << 36;  // numbers tell the part of a tensor that it is about
}  // namespace traits

// A row of the table.  Rows live as long as the process.
struct Operator {
  std::string_view name;       // "aten::add_.Tensor"
  std::string_view signature;  // "(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
  Traits registered = 0;

  std::string_view base_name() const { return name.substr(0, name.find('.')); }  // "aten::add_"
  std::string_view overload() const;  // "Tensor"; empty: the default
  std::string target() const;         // "aten.add_.Tensor"
  Schema schema() const { return parse_schema(signature); }
};

// Returns the row for `base_name`, such as "aten::add_"; null when there is none.
const Operator* find_operator(std::string_view base_name, std::string_view overload);
const Operator* find_operator(const TargetParts& target);
// Returns all overloads of "aten::add", sorted by name.
std::span<const Operator> overloads(std::string_view base_name);

// Returns the rows of both tables, in byte order of names.
std::span<const Operator> registered_operators();
std::span<const Operator> extension_operators();

// Returns the functional variant of an operator: the one that returns its result as a new value.  Variants
// are grouped as by torchgen, by equal signatures: add_.Tensor -> add.Tensor, add.out -> add.Tensor.  Null
// when there is none.
const Operator* functional_twin(const Operator& op);

}  // namespace fxtrace::internal
