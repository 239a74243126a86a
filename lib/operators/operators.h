// The operators that there are: what LibTorch registers (registered.inc, made by scripts/operators) and
// operators of other libraries that it does not have (extensions.inc).  What neither a schema nor a tag says
// of them stands in families/.
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

using Traits = std::uint64_t;

namespace traits {
// From LibTorch: alias analysis, side effects (torch/csrc/jit/ir), dispatcher tags (ATen/native/tags.yaml).
inline constexpr Traits kKnown = Traits{1} << 0;  // it does what its schema and these traits say, and no more
inline constexpr Traits kSideEffect = Traits{1} << 1;  // prints, raises, saves, asks or changes the process
inline constexpr Traits kRandom = Traits{1} << 2;      // draws random numbers
inline constexpr Traits kReadsData = Traits{1} << 3;   // gives a number that tensor elements decide
inline constexpr Traits kShapeFromData = Traits{1} << 4;  // tensor elements decide the shape of a result
inline constexpr Traits kChangesShape = Traits{1} << 5;   // changes shape or strides of its argument in place
inline constexpr Traits kPointwise = Traits{1} << 6;
inline constexpr Traits kReduction = Traits{1} << 7;
// From families/.
inline constexpr Traits kHiddenWrite = Traits{1} << 8;  // writes an argument without saying so in its schema
inline constexpr Traits kGivesSize = Traits{1}
                                     << 9;  // sizes, strides, numbers of dimensions: reads no element
inline constexpr Traits kAsserts = Traits{1} << 10;  // does nothing, or raises
// May be carried out on numbers, strings, lists, dicts, tuples, devices and dtypes while tracing: it does
// nothing but give its result, and changes nothing but the list or dict that it is given.  An archive can
// name any operator that LibTorch has, and some write files or change the process: what lacks this is never
// carried out.
inline constexpr Traits kPlain = Traits{1} << 11;
inline constexpr Traits kMovesElements =
    Traits{1} << 12;  // only moves elements of lists and dicts around: kPlain whatever these are
inline constexpr Traits kMakesTensor = Traits{1} << 13;  // makes a tensor of numbers alone
inline constexpr Traits kSmallTensors =
    Traits{1} << 14;  // may be carried out, as kPlain, on small tensors whose elements are known
inline constexpr Traits kCompares = Traits{1}
                                    << 15;  // compares values or looks for one: both are of one meaning
inline constexpr Traits kDivides = Traits{1} << 16;  // integers: undefined for 0, and for INT64_MIN by -1
inline constexpr Traits kRepeats = Traits{1} << 17;  // the result is as large as a number among the arguments
inline constexpr Traits kJoins = Traits{1} << 18;    // the result is as large as the product of the arguments
inline constexpr Traits kMayBeArgument =
    Traits{1} << 19;  // the result may be an argument itself; see Alias::may_be_same
inline constexpr Traits kMayCopy = Traits{1} << 20;  // an alias in the schema may be a copy instead
inline constexpr Traits kTensorMethod =
    Traits{1} << 21;  // a method of torch.Tensor with the same arguments, as conditions ask them: not all are
inline constexpr Traits kKeepsRank =
    Traits{1} << 22;  // the result has as many dimensions as the first argument, as that of a pointwise one
inline constexpr Traits kKeepsDtype = Traits{1} << 23;   // ... and its dtype, whatever the others have; in
                                                         // place, raises for others than floats or gives it
inline constexpr Traits kGivesBool = Traits{1} << 24;    // the result is of dtype bool
inline constexpr Traits kReadsLayout = Traits{1} << 25;  // strides decide what it gives, or whether it raises
inline constexpr Traits kNoMacs =
    Traits{1}
    << 26;  // multiplies no matrices; all forms that torch derives of it likewise (families/cost_rules.cpp)
inline constexpr Traits kForFloats = Traits{1} << 27;  // kernels for the CPU are for floating types alone
inline constexpr Traits kNotForIntegers = Traits{1} << 28;  // and for complex ones
inline constexpr Traits kNotForHalf = Traits{1} << 29;      // float32, float64 and complex ones of these
inline constexpr Traits kMakesContiguous =
    Traits{1} << 30;  // gives a tensor in the order of its dimensions, unless asked for another
inline constexpr Traits kKeepsContiguous = Traits{1} << 31;  // ... if it is given one
inline constexpr Traits kMathFunction =
    Traits{1} << 32;  // on numbers, of the name and meaning of one in Python's math module
inline constexpr Traits kTextMethod = Traits{1} << 33;  // on text, a method of str with the same arguments
inline constexpr Traits kAttribute = Traits{1} << 34;   // an attribute of torch.Tensor
inline constexpr Traits kLikeFirst =
    Traits{1} << 35;  // the result has rank, dtype and mostly the sizes of the first argument
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

// The same operation with other ways to give its result, found as torchgen groups them: by equal signatures.
// Null when there is none.
const Operator* functional_twin(const Operator& op);  // add_.Tensor -> add.Tensor, add.out -> add.Tensor
const Operator* in_place_twin(const Operator& op);    // add.Tensor -> add_.Tensor
const Operator* out_twin(const Operator& op);         // add.Tensor -> add.out

}  // namespace fxtrace
