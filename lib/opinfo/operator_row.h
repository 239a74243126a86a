// The row of an operator: its signature, and all else that is known of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "opinfo/batching.h"
#include "opinfo/rules/cost_rules.h"
#include "opinfo/rules/shape_rules.h"
#include "opinfo/traits.h"
#include "opinfo/values/value_call.h"
#include "support/text/words.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

// Signatures: what a regular operator does, as one text in its row.  Sizes and dtypes of results, what torch
// refuses, multiply-accumulates and the batching rule follow from it.
//
//   mm      "mk * kn -> mn"
//   addmm   "mn + mk * kn -> mn"
//   linear  "...k * nk + n -> ...n | ...k * k + ... -> ..."
//   eigh    "...nn -> ...n:real ...nn"
//   sum     "... -> .../dim:sum"
//   sub     "...:number ...:number -> ..."
//   zeros   "-> <size>:float32"
//
// Words before the arrow are the first arguments of the schema, those behind it the results, of which an
// overload may have fewer.
// - Sizes: a letter is a dimension, which has one size wherever it stands, "?" one of unknown size, "m&n" the
//   smaller of two; "...", at the front of a word, are any dimensions, broadcast (a number has none); "<size>" those that the argument
//   `size` lists.
//   "/dim" removes those that the argument `dim` names, or makes them 1 (`keepdim`).  Of several forms
//   between "|", a call has the first that fits its ranks.
// - Signs: "*" stands between factors, and a letter that two have and the result lacks is summed over.  What
//   stands at "+" is added, and so is expanded to the result.
// - Dtypes: where there is a sum, factors and what is added have one dtype, which is the result's; otherwise
//   dtypes are promoted.  Behind ":", a result has the dtype "int32", that of the "first" argument, or what
//   "float", "real", "complex", "sum" make of it (shape_helpers.h); and an argument has to be "floating",
//   "real", "inexact", a "number" (no bool) or an "index".  An argument `dtype` or `out_dtype` of the call
//   comes first.
// - Multiply-accumulates: the sizes of the result that factors have, times those summed over.

struct SignatureWord {
  std::string dims;             // '.' stands for "..."
  std::string_view dtype = {};  // what stands behind ":"
  std::string_view argument =
      {};           // that lists sizes, or if there are `dims`, dimensions without which they are
  char sign = ' ';  // '*': a factor; '+': added
};
struct SignatureForm {
  std::vector<SignatureWord> operands, results;
  std::string factors, summed;  // the letters of all factors, and those over which their product is summed
};
using Signature = std::vector<SignatureForm>;

// `text` must outlive the result.  Throws std::logic_error for what is no signature.
Signature parse_signature(std::string_view text);

// The rules of operators whose row has a signature (shape_rules.h, cost_rules.h).
Results shape_by_signature(const RuleArguments& args);
SymInt macs_by_signature(const RuleArguments& args, const Results& results);
// Returns an empty rule where the signature does not tell one.
BatchingRule batching_by_signature(const Signature& signature, const Schema& schema);

// Stride rules: for each operator, how the strides of its result follow from those of its tensors, as torch
// lays them out on a CPU.

// The row of an operator names a rule; analysis/layout/stride_rules.cpp has them, in this order.
enum class StrideRule : std::uint8_t {
  kNone,
  // ---- Views ----
  kSame,      // those of the first tensor
  kPermuted,  // the dimensions in another order: the shape rule tells which
  kExpanded,
  kComplexPart,  // every other number, where there are two
  kPairs,        // the last dimension has the two numbers of a complex one
  kSliced,
  kSelected,
  kUnsqueezed,
  kSqueezed,
  kViewed,
  kReshaped,  // a view, or a contiguous copy
  kDiagonal,
  kWindows,  // unfold()
  kAsGiven,  // by the argument `stride`
  // ---- Copies ----
  kCopied,      // in the memory format that the call names, else in the first's
  kContiguous,  // or in the memory format that the call names
  kConverted,   // to(): the tensor itself if nothing changes
  kDroppedOut,  // the tensor itself outside of training
  // ---- Kernels: another version of torch, or another device, may do it in another way ----
  kPointwise,  // by TensorIterator
  kComplex,    // the same
  kAttended,   // [batch, heads, length, features] as [batch, length, heads, ...]
  kRecurrent,  // with batch_first, the sequence is still outermost in memory
  kImages,     // in the memory format that the first tensor, or the weight, suggests
  kJoined      // in the format that all tensors suggest
};

// Rows of operators: facts beyond what torch registers (operators/operators.h).  Each operator has a row in
// the file of its family, and all decisions about the operator read it; without a row, its schema and torch's
// tags decide.

// Checks for arguments that CPU kernels refuse and the shape rule accepts.  Throws Raises.
using Check = void (*)(const RuleArguments& args);

// The aspect of a tensor that the answer to a query depends on.
enum class Facet : std::uint8_t { kSizes, kDtype, kDevice, kRank, kGradient, kNothing };

// The shape of an operator's first input as its parameters suggest it, for guesses about the input of a
// module whose forward begins with the operator.
struct Example {
  enum class Form : std::uint8_t {
    kNone,
    kImages,    // [N, C, sizes...]; from the weight, the number of groups, and whether the convolution is
                // transposed
    kIndices,   // int64[N, T]
    kLast,      // [N, C] or [N, T, C]: the weight is [any, C]
    kRows,      // likewise: the weight is [C, any] or [C]
    kChannels,  // [N, C, H, W] or [N, C]: the weight is [C]
  } form = Form::kNone;
  std::uint8_t weight = 0, groups = 0, transposed = 0;  // indices of arguments; 0: none
};

struct OperatorFacts {
  // ---- For all overloads, and also for add_ in the row of add (except for traits) ----
  Traits traits = 0;
  std::string_view synonym_of = {};  // "abs" for absolute, as in torch's NormalizeOps
  // Another synonym, for comparisons: "adjoint" for mH; "conv" stands for conv1d and others, which say by
  // their names what this operator says by its arguments.
  std::string_view compared_as = {};
  // The operator of aten that gives the same, where the namespace is another: shape, multiply-accumulates and
  // traits of results that this row leaves out are those of that row.  "=" stands for the same name.
  std::string_view like = {};
  // What the rules of `like` call the arguments, if the schema has other names: "dim=dims self=inp".
  std::string_view renamed = {};
  std::string_view signature = {};         // tells `shape`, `macs` and `batch` (opinfo/operator_row.h)
  ShapeRule shape = nullptr;               // sizes and dtypes of the results
  ShapeRule of_sparse = nullptr;           // the same for calls with a sparse tensor
  StrideRule strides = StrideRule::kNone;  // of the results
  Check check = nullptr;
  std::array<std::string_view, 2> same_dtype = {};  // arguments that must have the same dtype
  CostRule macs = nullptr;                          // see find_cost_rule() for operators without one
  // A result that may be an argument although the schema has no alias annotation: indices of result and
  // argument.
  std::optional<std::pair<std::size_t, std::size_t>> hidden_alias = {};
  // ---- For one overload, if the row names one; else for all that do not write to `out` ----
  ValueRule value = nullptr;  // the values of results for known arguments
  BatchingRule batch = {};
  std::string_view sizes = {};  // the argument that lists the sizes of the result
  IdentityRule identity = {};
  ViewInverse inverse = {};
  // ---- About inputs ----
  Facet asks = Facet::kSizes;  // the aspect that a query reads
  Example example = {};
  // ---- The Python function with the same meaning, if its name differs (python_spelling.h) ----
  std::string_view on_values = {};  // when no argument is a tensor
  std::string_view python = {};     // for all arguments
  // ---- Set by facts_of() ----
  const Signature* forms = nullptr;  // `signature`, parsed
};

// A row.  `names` are separated by spaces: "conv2d" means all overloads of aten::conv2d, "to.dtype" one
// overload, "all." the overload without a name, "torchvision::nms" an operator of another library.  Each name
// is in one row only.
struct OperatorRow {
  std::string_view names;
  OperatorFacts facts;
};
using OperatorRows = std::span<const OperatorRow>;

using ExampleForm = Example::Form;

// Values that many rows share.
inline constexpr BatchingRule kLeading{.rule = &BatchRules::leading, .may_write = true},
    kBroadcast{.rule = &BatchRules::broadcast, .may_write = true}, kReduce{.rule = &BatchRules::reduce},
    kLoss{.rule = &BatchRules::loss};
inline constexpr ViewInverse kReshapeAs{"aten.reshape_as.default", InverseForm::kChangedBase};
inline constexpr ViewInverse kSliceScatter{"aten.slice_scatter.default", InverseForm::kPart};

OperatorRows attention_rows();
OperatorRows boxes_rows();
OperatorRows convolution_rows();
OperatorRows creation_rows();
OperatorRows matrix_decompositions_rows();
OperatorRows distances_rows();
OperatorRows einsum_rows();
OperatorRows elementwise_rows();
OperatorRows embedding_rows();
OperatorRows fourier_rows();
OperatorRows images_rows();
OperatorRows indexing_rows();
OperatorRows concatenation_rows();
OperatorRows losses_rows();
OperatorRows normalization_rows();
OperatorRows other_libraries_rows();
OperatorRows slicing_rows();
OperatorRows pooling_rows();
OperatorRows matrix_products_rows();
OperatorRows quantized_rows();
OperatorRows queries_rows();
OperatorRows recurrent_rows();
OperatorRows reductions_rows();
OperatorRows sparse_rows();
OperatorRows values_rows();
OperatorRows views_rows();

// Returns the rows of all families, in the order of the declarations above.
std::span<const OperatorRows> all_rows();

template <class Visit>
void for_each_row(const Visit& visit) {
  for (const OperatorRows family : all_rows()) {
    for (const OperatorRow& row : family) {
      for_each_word(row.names, [&](std::string_view name) { visit(name, row.facts); });
    }
  }
}

// Returns the facts of "aten::add" for all overloads; empty facts when there is no row.
const OperatorFacts& facts_of(std::string_view base_name);
// Returns the facts in a row that names the overload; null when there is none.
const OperatorFacts* facts_of_overload(const Operator& op);

}  // namespace fxtrace::internal
