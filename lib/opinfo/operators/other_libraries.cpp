// Operators of other libraries and of training, of which only traits are known: they have no MACs, and some
// have side effects.
#include "opinfo/operator_row.h"

namespace fxtrace {
namespace {

using namespace traits;  // NOLINT(google-build-using-namespace): the rows are written with them

constexpr OperatorRow kOtherLibrariesRows[] = {
    {"_c10d_functional::all_gather_into_tensor "
     "_c10d_functional::all_gather_into_tensor_coalesced _c10d_functional::all_reduce "
     "_c10d_functional::all_reduce_coalesced _c10d_functional::all_to_all_single "
     "_c10d_functional::broadcast _c10d_functional::reduce_scatter_tensor "
     "_c10d_functional::reduce_scatter_tensor_coalesced "
     "_c10d_functional_autograd::all_gather_into_tensor "
     "_c10d_functional_autograd::all_to_all_single "
     "_c10d_functional_autograd::reduce_scatter_tensor _dtensor::shard_dim_alltoall "
     "_fused_adagrad _fused_adam _fused_adamw _fused_sgd inductor::_alloc_from_pool "
     "inductor::_reinterpret_tensor metal::copy_to_host "
     "mkl::_mkl_reorder_linear_weight mkldnn::_get_mkldnn_serialized_md mkldnn::_nbytes "
     "mkldnn::_reorder_convolution_transpose_weight mkldnn::_reorder_convolution_weight "
     "mkldnn::_reorder_linear_weight mkldnn::_reorder_mkldnn_rnn_layer_weight mkldnn::data_ptr "
     "mkldnn_prepacked::conv2d_prepack onednn::linear_prepack_fp16 onednn::qadd "
     "onednn::qadd_relu onednn::qbatch_norm2d onednn::qconv_prepack onednn::qlinear_prepack "
     "onednn::qmul onnx::Reshape onnx::Shape prepacked::conv2d_clamp_prepack "
     "prepacked::conv2d_transpose_clamp_prepack prepacked::linear_clamp_prepack "
     "profiler::_record_function_exit "
     "static_runtime::VarTupleUnpack static_runtime::clamp_nan_to_num "
     "static_runtime::create_owned_ref static_runtime::dequantize_copy "
     "static_runtime::dict_unpack static_runtime::embedding_bag "
     "static_runtime::expand_dims_copy static_runtime::flatten_copy "
     "static_runtime::fused_equally_split static_runtime::layer_norm "
     "static_runtime::permute_copy static_runtime::reshape_copy static_runtime::signed_log1p "
     "static_runtime::to_copy static_runtime::to_maybe_copy_out",
     {.traits = kNoMacs}},
    {"_c10d_functional::batch_p2p_ops _c10d_functional::irecv _c10d_functional::isend "
     "_c10d_functional::wait_tensor",
     {.traits = kSideEffect | kNoMacs}},
    // The schemas of these do not mark the arguments that they write.
    {"c10d::_allgather_base_ c10d::_reduce_scatter_base_ c10d::allgather_ "
     "c10d::allgather_coalesced_ c10d::allgather_into_tensor_coalesced_ c10d::allreduce_ "
     "c10d::allreduce_coalesced_ c10d::alltoall_ c10d::alltoall_base_ c10d::barrier "
     "c10d::broadcast_ c10d::gather_ c10d::monitored_barrier_ c10d::recv_ "
     "c10d::recv_any_source_ c10d::reduce_ c10d::reduce_scatter_ "
     "c10d::reduce_scatter_tensor_coalesced_ c10d::scatter_ c10d::send inductor::accumulate_grad_ "
     "profiler::_call_end_callbacks_on_jit_fut symm_mem::_barrier symm_mem::nccl_put_signal "
     "symm_mem::nccl_wait_signal",
     {.traits = kHiddenWrite | kSideEffect | kNoMacs}},
};

}  // namespace

OperatorRows other_libraries_rows() { return kOtherLibrariesRows; }

}  // namespace fxtrace
