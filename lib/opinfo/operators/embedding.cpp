// Embeddings: rows of a table, or sums of rows.
#include "opinfo/operator_row.h"
#include "opinfo/rules/shape_helpers.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

// ---- Embeddings ----

Results embedding_bag(const RuleArguments& args) {
  const TensorInfo &weight = args.tensor("weight"), &offsets = args.tensor("offsets");
  const Dtype positions = promoted(args, {"indices", "offsets"});
  if (positions && *positions != ScalarType::kInt64 && *positions != ScalarType::kInt32)
    throw Raises{"indices and offsets have the common dtype " + dtype_name(*positions) +
                 ", expected int64 or int32"};
  if (weight.dim() != 2 || offsets.dim() != 1) throw CannotTell{};
  const SymInt bags = offsets.sizes[0] - (args.flag("include_last_offset") ? 1 : 0);
  return first_only(args, tensor_of({bags, weight.sizes[1]}, weight.dtype));
}

constexpr OperatorRow kEmbeddingRows[] = {
    {"_embedding_bag _embedding_bag_forward_only", {.traits = kNoMacs, .shape = embedding_bag}},
    {"_embedding_bag_dense _embedding_bag_per_sample_weights _embedding_bag_sparse "
     "_rowwise_prune embedding_dense embedding_sparse",
     {.traits = kNoMacs}},
    {"_no_grad_embedding_renorm_", {.traits = kNoMacs | kHiddenWrite}},
    {"embedding",
     {.traits = kNoMacs,
      .signature = "vd ...:index -> ...d:first",
      .batch = {.rule = &BatchRules::embedding, .argument = "indices"},
      .example = {ExampleForm::kIndices}}},
    {"embedding_bag", {.traits = kNoMacs, .shape = embedding_bag}},
    {"embedding_renorm", {.traits = kNoMacs | kForFloats, .shape = like_first}},
};

}  // namespace

OperatorRows embedding_rows() { return kEmbeddingRows; }

}  // namespace fxtrace::internal
