// Queries about tensors and about the process, assertions, and operators of the TorchScript IR (prim::).
#include "opinfo/operator_row.h"

namespace fxtrace::internal {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

constexpr OperatorRow kQueriesRows[] = {
    {"_add_batch_dim _debug_has_internal_overlap _dimI _dimV _functional_sym_constrain_range "
     "_functional_sym_constrain_range_for_size _has_compatible_shallow_copy_type "
     "_has_same_storage_numel _is_zerotensor _nnz _remove_batch_dim _tensor_to_list "
     "_unpack_dual _version cudnn_is_acceptable dense_dim is_coalesced is_conj is_distributed "
     "is_inference is_leaf is_neg is_pinned is_set_to output_nr prim::AutogradAdd "
     "prim::AutogradAllNonZero prim::AutogradAllZero prim::AutogradAnyNonZero "
     "prim::BroadcastMKLDNNTensors prim::BroadcastSizes prim::ChunkSizes prim::ConstantChunk "
     "prim::ConstantMKLDNNTensor prim::FusedConcat prim::MKLDNNClamp prim::MKLDNNHardSigmoid "
     "prim::MKLDNNHardSwish prim::MKLDNNHardTanh prim::MKLDNNLayerNorm prim::MKLDNNScalarMul "
     "prim::ModuleContainerIndex prim::Print prim::RequiresGradCheck "
     "prim::StaticRuntimeCopyOuts prim::TensorExprDynamicGuard prim::TypeCheck prim::VarConcat "
     "prim::VarStack prim::awaitable_nowait prim::id prim::oneDNNFusionGuard prim::profile "
     "prim::profile_ivalue record_stream requires_grad_ retain_grad retains_grad set_data "
     "sparse_dim wait",
     {.traits = kNoMacs}},
    {"is_same_size", {.traits = kNoMacs, .value = values::is_same_size}},
    {"_assert_async _assert_scalar _functional_assert_async _functional_assert_scalar "
     "_linalg_check_errors prim::RaiseException sym_constrain_range "
     "sym_constrain_range_for_size",
     {.traits = kAsserts}},
    {"_assert_tensor_metadata",
     {.traits = kAsserts,
      .batch = {.rule = &BatchRules::leading, .fixed = {"size", "stride"}, .may_write = true}}},
    {"_print", {.traits = kSideEffect | kNoMacs}},
    {"dim", {.traits = kTensorMethod | kGivesSize, .value = values::rank, .asks = Facet::kRank}},
    {"element_size", {.traits = kNoMacs, .value = values::item_size, .asks = Facet::kDtype}},
    {"is_signed", {.traits = kNoMacs, .value = values::is_signed, .asks = Facet::kDtype}},
    {"get_device", {.traits = kNoMacs, .value = values::device_number, .asks = Facet::kDevice}},
    {"is_complex", {.traits = kNoMacs | kTensorMethod, .value = values::is_complex, .asks = Facet::kDtype}},
    {"is_floating_point",
     {.traits = kNoMacs | kTensorMethod, .value = values::is_floating_point, .asks = Facet::kDtype}},
    {"is_contiguous",
     {.traits = kTensorMethod | kGivesSize | kReadsLayout,
      .value = values::is_contiguous,
      .asks = Facet::kNothing}},
    {"is_non_overlapping_and_dense is_strides_like_format", {.traits = kNoMacs | kReadsLayout}},
    {"numel", {.traits = kTensorMethod | kGivesSize, .value = values::element_count}},
    {"size", {.traits = kTensorMethod | kGivesSize, .value = values::size}},
    {"prim::TupleUnpack", {.traits = kKnown | kNoMacs}},
    {"prim::device", {.traits = kNoMacs | kAttribute, .value = values::device, .asks = Facet::kDevice}},
    {"prim::is_cpu prim::is_cuda prim::is_ipu prim::is_maia prim::is_meta prim::is_mps "
     "prim::is_mtia prim::is_vulkan prim::is_xla prim::is_xpu",
     {.traits = kNoMacs | kAttribute, .value = values::is_on_device, .asks = Facet::kDevice}},
    {"prim::dtype", {.traits = kNoMacs | kAttribute, .value = values::dtype, .asks = Facet::kDtype}},
    {"prim::is_quantized",
     {.traits = kNoMacs | kAttribute, .value = values::is_quantized, .asks = Facet::kDtype}},
    {"prim::itemsize", {.traits = kNoMacs | kAttribute, .value = values::item_size, .asks = Facet::kDtype}},
    {"prim::grad prim::name", {.traits = kNoMacs | kAttribute}},
    {"prim::nbytes", {.traits = kNoMacs | kAttribute, .value = values::byte_count}},
    {"prim::is_mkldnn prim::is_nested prim::is_sparse_csr",
     {.traits = kNoMacs | kAttribute, .value = values::is_strided, .asks = Facet::kNothing}},
    {"prim::is_sparse",
     {.traits = kNoMacs | kAttribute, .value = values::is_sparse, .asks = Facet::kNothing}},
    {"prim::layout", {.traits = kNoMacs | kAttribute, .value = values::layout, .asks = Facet::kNothing}},
    {"prim::requires_grad",
     {.traits = kNoMacs | kAttribute, .value = values::requires_grad, .asks = Facet::kGradient}},
    {"prim::tolist", {.traits = kKnown | kReadsData | kNoMacs}},
    {"result_type", {.traits = kNoMacs | kPlain}},
    {"save", {.traits = kNoMacs, .python = "torch.save"}},
    {"storage_offset sym_is_contiguous sym_storage_offset sym_stride", {.traits = kGivesSize | kReadsLayout}},
    {"stride", {.traits = kTensorMethod | kGivesSize | kReadsLayout, .value = values::stride}},
    {"sym_numel", {.traits = kGivesSize, .value = values::element_count}},
    {"sym_size", {.traits = kGivesSize, .value = values::size}},
    {"sym_size.int", {.batch = kLeading}},
};

}  // namespace

OperatorRows queries_rows() { return kQueriesRows; }

}  // namespace fxtrace::internal
