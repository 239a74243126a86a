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
//   smaller of two; "..." are any dimensions, broadcast (a number has none); "<size>" those that the argument
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
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "opinfo/batching.h"
#include "opinfo/rules/shape_rules.h"
#include "symbolic/sym_int.h"

namespace fxtrace::internal {

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

}  // namespace fxtrace::internal
