// What is known of each operator besides what torch registers (operators/operators.h): a row in the file of
// its family feeds everything that decides about operators.  An operator without a row does what its schema
// and torch's own tags say.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "families/aliases.h"
#include "families/batching.h"
#include "families/cost_rules.h"
#include "families/identities.h"
#include "families/shape_rules.h"
#include "families/traits.h"
#include "support/words.h"

namespace fxtrace {

// What kernels refuse besides what the shape rule refuses: throws Raises.
using Check = void (*)(const RuleArguments& args);

// What of a tensor the answer to a question depends on.
enum class Facet : std::uint8_t { kSizes, kDtype, kDevice, kRank, kNothing };

// What its parameters tell of the input that an operator is given first, where a module's forward begins with
// it.
struct Example {
  enum class Form : std::uint8_t {
    kNone,
    kImages,    // [N, C, and sizes]: of the weight, the number of groups and whether it is transposed
    kIndices,   // int64[N, T]
    kLast,      // [N, C] or [N, T, C]: the weight is [any, C]
    kRows,      // likewise: the weight is [C, any] or [C]
    kChannels,  // [N, C, H, W] or [N, C]: the weight is [C]
  } form = Form::kNone;
  std::uint8_t weight = 0, groups = 0, transposed = 0;  // which arguments; 0: there is none such
};

struct OperatorFacts {
  // ---- Of all overloads, and of add_ where add is named, but for the traits ----
  Traits traits = 0;
  std::string_view synonym_of = {};  // "abs" of absolute, as torch's NormalizeOps has it
  ShapeRule shape = nullptr;         // sizes and dtypes of the results
  ShapeRule of_sparse = nullptr;     // the same of a call that takes a sparse tensor
  Check check = nullptr;
  std::array<std::string_view, 2> same_dtype = {};  // arguments that must have one dtype
  CostRule macs = nullptr;                          // see find_cost_rule() for what has none
  // A result that may be an argument, where the schema tells no alias: its place and the argument's.
  std::optional<std::pair<std::size_t, std::size_t>> hidden_alias = {};
  // ---- Of one overload, where the row names one; else of all that write to no `out` ----
  BatchingRule batch = {};
  IdentityRule identity = {};
  ViewInverse inverse = {};
  // ---- Of an input ----
  Facet asks = Facet::kSizes;  // of a question
  Example example = {};
  // ---- Python's function where it has another name (python_spelling.h) ----
  std::string_view on_values = {};  // where no argument is a tensor
  std::string_view python = {};     // whatever the arguments
};

// `names` are set apart by spaces: "conv2d" stands for all overloads of aten::conv2d, "to.dtype" for one of
// them and "all." for the one without a name, "torchvision::nms" for an operator of another library.  A name
// stands in one row.
struct OperatorRow {
  std::string_view names;
  OperatorFacts facts;
};
using Family = std::span<const OperatorRow>;

using BatchForm = BatchingRule::Form;
using InverseForm = ViewInverse::Form;
using ExampleForm = Example::Form;
using When = IdentityRule::When;

Family attention_family();
Family boxes_family();
Family convolution_family();
Family creation_family();
Family decompositions_family();
Family distances_family();
Family einsum_family();
Family elementwise_family();
Family embedding_family();
Family fourier_family();
Family images_family();
Family indexing_family();
Family joins_family();
Family losses_family();
Family normalization_family();
Family others_family();
Family parts_family();
Family pooling_family();
Family products_family();
Family quantized_family();
Family questions_family();
Family recurrent_family();
Family reductions_family();
Family sparse_family();
Family values_family();
Family views_family();

// All of them, in this order.
std::span<const Family> families();

template <class Visit>
void for_each_row(const Visit& visit) {
  for (const Family family : families()) {
    for (const OperatorRow& row : family) {
      for_each_word(row.names, [&](std::string_view name) { visit(name, row.facts); });
    }
  }
}

// The row of "aten::add", for all overloads; of nothing when there is none.
const OperatorFacts& facts_of(std::string_view base_name);

}  // namespace fxtrace
