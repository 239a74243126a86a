// Questions about tensors and about the process, assertions, and forms of the IR.
#include "families/family.h"

namespace fxtrace {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

constexpr OperatorRow kQuestionsRows[] = {
    {"_add_batch_dim _debug_has_internal_overlap _dimI _dimV _functional_sym_constrain_range "
     "_functional_sym_constrain_range_for_size _has_compatible_shallow_copy_type "
     "_has_same_storage_numel _is_zerotensor _nnz _remove_batch_dim "
     "_tensor_to_list _unpack_dual _version cudnn_is_acceptable dense_dim is_coalesced is_conj "
     "is_distributed is_inference is_leaf is_neg is_pinned is_same_size is_set_to output_nr "
     "prim::AutogradAdd prim::AutogradAllNonZero prim::AutogradAllZero "
     "prim::AutogradAnyNonZero prim::BroadcastMKLDNNTensors prim::BroadcastSizes "
     "prim::ChunkSizes prim::ConstantChunk prim::ConstantMKLDNNTensor prim::FusedConcat "
     "prim::MKLDNNClamp prim::MKLDNNHardSigmoid prim::MKLDNNHardSwish prim::MKLDNNHardTanh "
     "prim::MKLDNNLayerNorm prim::MKLDNNScalarMul prim::ModuleContainerIndex prim::Print "
     "prim::RequiresGradCheck prim::StaticRuntimeCopyOuts prim::TensorExprDynamicGuard "
     "prim::TypeCheck prim::VarConcat prim::VarStack prim::awaitable_nowait prim::id "
     "prim::oneDNNFusionGuard prim::profile prim::profile_ivalue record_stream requires_grad_ "
     "retain_grad retains_grad set_data sparse_dim wait",
     {.traits = kNoMacs}},
    {"_assert_async _assert_scalar _functional_assert_async _functional_assert_scalar "
     "_linalg_check_errors prim::RaiseException sym_constrain_range sym_constrain_range_for_size",
     {.traits = kAsserts}},
    {"_assert_tensor_metadata",
     {.traits = kAsserts, .batch = {.form = BatchForm::kLeading, .fixed = {"size", "stride"}}}},
    {"_print", {.traits = kSideEffect | kNoMacs}},
    {"dim", {.traits = kSmallTensors | kTensorMethod | kGivesSize, .asks = Facet::kRank}},
    {"element_size is_signed", {.traits = kNoMacs, .asks = Facet::kDtype}},
    {"get_device", {.traits = kNoMacs, .asks = Facet::kDevice}},
    {"is_complex is_floating_point", {.traits = kNoMacs | kTensorMethod, .asks = Facet::kDtype}},
    {"is_contiguous", {.traits = kTensorMethod | kGivesSize | kReadsLayout, .asks = Facet::kNothing}},
    {"is_non_overlapping_and_dense is_strides_like_format", {.traits = kNoMacs | kReadsLayout}},
    {"numel size", {.traits = kSmallTensors | kTensorMethod | kGivesSize}},
    {"prim::TupleUnpack", {.traits = kKnown | kNoMacs}},
    {"prim::device prim::is_cpu prim::is_cuda prim::is_ipu prim::is_maia prim::is_meta prim::is_mps "
     "prim::is_mtia prim::is_vulkan prim::is_xla prim::is_xpu",
     {.traits = kNoMacs | kAttribute, .asks = Facet::kDevice}},
    {"prim::dtype prim::is_quantized prim::itemsize",
     {.traits = kNoMacs | kAttribute, .asks = Facet::kDtype}},
    {"prim::grad prim::name prim::nbytes", {.traits = kNoMacs | kAttribute}},
    {"prim::is_mkldnn prim::is_nested prim::is_sparse prim::is_sparse_csr prim::layout",
     {.traits = kNoMacs | kAttribute, .asks = Facet::kNothing}},
    {"prim::requires_grad", {.traits = kNoMacs | kAttribute, .asks = Facet::kGradient}},
    {"prim::tolist", {.traits = kKnown | kReadsData | kNoMacs | kSmallTensors}},
    {"result_type", {.traits = kNoMacs | kPlain}},
    {"save", {.traits = kNoMacs, .python = "torch.save"}},
    {"storage_offset sym_is_contiguous sym_storage_offset sym_stride", {.traits = kGivesSize | kReadsLayout}},
    {"stride", {.traits = kTensorMethod | kGivesSize | kReadsLayout}},
    {"sym_numel sym_size", {.traits = kGivesSize}},
    {"sym_size.int", {.batch = kLeading}},
};

}  // namespace

Family questions_family() { return kQuestionsRows; }

}  // namespace fxtrace
