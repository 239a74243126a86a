// Operators that do no multiply-accumulate, by family: what neither a trait nor a schema tells
// (operator_costs.cpp).  One name stands for all forms that torch derives of it: in place (add_), into given
// tensors, its derivative (max_pool2d_with_indices_backward).
#include <algorithm>
#include <array>

#include "costs/cost_rules.h"

namespace fxtrace {
namespace {

constexpr auto kFree = std::to_array<std::string_view>(
    {// Synonyms and elementwise functions without torch's tag.
     "__iand__", "__ilshift__", "__ior__", "__irshift__", "__ixor__", "_add_relu", "_conj_physical",
     "_masked_scale", "_prelu_kernel", "_test_serialization_subcmul", "absolute", "addr", "arccos", "arccosh",
     "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and", "bitwise_left_shift", "bitwise_or",
     "bitwise_right_shift", "bitwise_xor", "cartesian_prod", "celu", "clip", "combinations", "complex",
     "cross", "deg2rad", "diff", "divide", "elu", "fix", "floor_divide", "ger", "glu", "glu_backward_jvp",
     "glu_jvp", "gradient", "greater", "greater_equal", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
     "infinitely_differentiable_gelu", "isclose", "isin", "isreal", "kron", "leaky_relu", "less",
     "less_equal", "linalg_cross", "log_sigmoid", "log_sigmoid_forward", "masked_fill", "mish", "multiply",
     "negative", "not_equal", "outer", "prelu", "relu", "rrelu_with_noise", "rrelu_with_noise_functional",
     "rsub", "softplus", "softshrink", "special_digamma", "special_erf", "special_erfc", "special_erfinv",
     "special_exp2", "special_expit", "special_expm1", "special_gammainc", "special_gammaincc",
     "special_gammaln", "special_i0", "special_log1p", "special_log_softmax", "special_logit",
     "special_logsumexp", "special_multigammaln", "special_ndtr", "special_polygamma", "special_psi",
     "special_round", "special_sinc", "special_softmax", "special_xlogy", "subtract", "threshold",
     "true_divide", "where",

     // Sums and other reductions, one dimension or all.
     "_aminmax", "_amp_foreach_non_finite_check_and_unscale", "_amp_update_scale", "_cdist", "_cdist_forward",
     "_cummax_helper", "_cummin_helper", "_foreach_norm", "_foreach_powsum", "_histogramdd_bin_edges",
     "_histogramdd_from_bin_cts", "_histogramdd_from_bin_tensors", "_is_all_true", "_is_any_true",
     "_local_scalar_dense", "_logcumsumexp", "_pdist", "_pdist_forward", "_segment_reduce", "allclose",
     "bincount", "cosine_similarity", "count_nonzero", "cummax", "cummaxmin", "cummin", "cumprod", "cumsum",
     "cumulative_trapezoid", "dist", "equal", "frobenius_norm", "hash_tensor", "histc", "histogram",
     "histogramdd", "is_nonzero", "item", "kthvalue", "linalg_diagonal", "linalg_vander", "logcumsumexp",
     "median", "mode", "nanmean", "nanmedian", "nanquantile", "native_norm", "norm_except_dim",
     "pairwise_distance", "pdist", "prod", "quantile", "renorm", "segment_reduce", "std_mean", "trace",
     "trapezoid", "trapz", "value_selecting_reduction", "vander", "var_mean",

     // Normalisation.
     "_batch_norm_impl_index", "_batch_norm_no_update", "_batch_norm_with_update",
     "_batch_norm_with_update_functional", "_fused_rms_norm", "_log_softmax", "_masked_softmax",
     "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
     "_native_batch_norm_legit_no_training", "_nested_tensor_softmax_with_shape", "_safe_softmax", "_softmax",
     "_sparse_log_softmax", "_sparse_softmax", "_weight_norm", "_weight_norm_differentiable",
     "_weight_norm_interface", "batch_norm", "batch_norm_backward_elemt", "batch_norm_backward_reduce",
     "batch_norm_elemt", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts", "batch_norm_stats",
     "batch_norm_update_stats", "cudnn_batch_norm", "group_norm", "instance_norm", "layer_norm",
     "log_softmax", "miopen_batch_norm", "native_batch_norm", "native_group_norm", "native_layer_norm",
     "quantized_batch_norm", "rms_norm", "softmax",

     // Windows that take a mean, a largest value, or a sum of what overlaps.
     "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
     "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d",
     "avg_pool2d", "avg_pool3d", "col2im", "fractional_max_pool2d", "fractional_max_pool3d", "im2col",
     "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
     "max_pool3d_with_indices", "max_unpool2d", "max_unpool3d", "mkldnn_adaptive_avg_pool2d",
     "mkldnn_max_pool2d", "mkldnn_max_pool3d", "quantized_max_pool1d", "quantized_max_pool2d",
     "quantized_max_pool3d",

     // Interpolation.
     "__interpolate", "__upsample", "__upsample_bilinear", "__upsample_nearest",
     "_grid_sampler_2d_cpu_fallback", "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa",
     "_upsample_lanczos2d_aa", "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
     "_upsample_nearest_exact3d", "cudnn_grid_sampler", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d",
     "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d",
     "upsample_nearest2d", "upsample_nearest3d", "upsample_trilinear3d",

     // Embeddings: rows of a table, or sums of them.
     "_embedding_bag", "_embedding_bag_dense", "_embedding_bag_forward_only",
     "_embedding_bag_per_sample_weights", "_embedding_bag_sparse", "_no_grad_embedding_renorm_",
     "_rowwise_prune", "embedding", "embedding_bag", "embedding_dense", "embedding_renorm",
     "embedding_sparse",

     // Parts of attention and of recurrent layers that are elementwise; packed sequences.
     "_cudnn_init_dropout_state", "_cudnn_rnn_flatten_weight", "_fill_mem_eff_dropout_mask_",
     "_fused_sdp_choice", "_pack_padded_sequence", "_pack_sequence", "_pad_packed_sequence",
     "_thnn_differentiable_gru_cell", "_thnn_differentiable_lstm_cell", "_thnn_fused_gru_cell",
     "_thnn_fused_lstm_cell", "_thnn_fused_lstm_cell_backward_impl", "_transform_bias_rescale_qkv",
     "pad_sequence",

     // Losses.
     "_ctc_loss", "_cudnn_ctc_loss", "_use_cudnn_ctc_loss", "_use_miopen_ctc_loss", "binary_cross_entropy",
     "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy_loss", "ctc_loss",
     "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "miopen_ctc_loss",
     "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_margin_loss_forward", "nll_loss",
     "nll_loss2d", "nll_loss2d_forward", "nll_loss_forward", "nll_loss_nd", "poisson_nll_loss",
     "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",

     // Random numbers.
     "_dirichlet_grad", "_fused_dropout", "_no_grad_normal_", "_no_grad_uniform_", "_philox_key_fold_in",
     "_philox_key_split", "_philox_normal", "_philox_uniform", "_sample_dirichlet", "_sobol_engine_draw",
     "_sobol_engine_ff_", "_sobol_engine_initialize_state_", "_sobol_engine_scramble_", "_standard_gamma",
     "_standard_gamma_grad", "alpha_dropout", "bernoulli", "binomial", "cauchy", "dropout", "exponential",
     "feature_alpha_dropout", "feature_dropout", "geometric", "log_normal", "multinomial", "native_dropout",
     "normal", "normal_functional", "poisson", "rand", "rand_like", "randint", "randint_like", "randn",
     "randn_like", "random", "randperm", "rrelu", "uniform",

     // Places and orders of elements.
     "_index_put_impl", "_unique", "_unique2", "_unsafe_index", "_unsafe_index_put", "_unsafe_masked_index",
     "_unsafe_masked_index_put_accumulate", "argsort", "argwhere", "bucketize", "gather", "index",
     "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "index_select", "masked_scatter",
     "masked_select", "msort", "nonzero", "nonzero_numpy", "nonzero_static", "put", "scatter", "scatter_add",
     "scatter_reduce", "searchsorted", "sort", "take", "take_along_dim", "topk", "unique_consecutive",
     "unique_dim", "unique_dim_consecutive",

     // Copies, other shapes, joins, padding.
     "_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long",
     "_cast_Short", "_chunk_cat", "_copy_from", "_copy_from_and_resize", "_lazy_clone", "_mkldnn_reshape",
     "_mkldnn_transpose", "_no_grad_fill_", "_no_grad_zero_", "_pad_circular", "_pad_enum", "_pin_memory",
     "_propagate_xla_data", "_reshape_copy", "_reshape_from_tensor", "_resize_output", "_stack", "_to_copy",
     "_to_cpu", "_unsafe_view", "as_strided_scatter", "block_diag", "cat", "chalf", "channel_shuffle",
     "clone", "column_stack", "concat", "concatenate", "constant_pad_nd", "copy", "diag", "diag_embed",
     "diagflat", "diagonal_scatter", "dstack", "fft_fftshift", "fft_ifftshift", "fill", "fill_diagonal_",
     "flatten_dense_tensors", "flip", "fliplr", "flipud", "hstack", "lift", "moveaxis", "narrow_copy",
     "native_channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle", "reflection_pad1d",
     "reflection_pad2d", "reflection_pad3d", "repeat", "repeat_interleave", "replication_pad1d",
     "replication_pad2d", "replication_pad3d", "resize", "resize_as", "roll", "rot90", "row_stack",
     "select_scatter", "set", "slice_scatter", "stack", "tile", "to_mkldnn", "tril", "triu",
     "unflatten_dense_tensors", "unfold", "unsafe_split", "unsafe_split_with_sizes", "vstack", "zero",

     // New tensors.
     "_dim_arange", "_efficientzerotensor", "_new_zeros_with_same_feature_meta", "_shape_as_tensor",
     "bartlett_window", "blackman_window", "empty", "empty_like", "empty_permuted", "empty_quantized",
     "empty_strided", "fft_fftfreq", "fft_rfftfreq", "from_file", "full_like", "hamming_window",
     "hann_window", "kaiser_window", "logspace", "new_empty", "new_empty_strided", "new_full", "new_ones",
     "new_zeros", "one_hot", "ones_like", "range", "tril_indices", "triu_indices", "zeros_like",

     // Questions about a tensor, and what autograd knows of it.
     "_add_batch_dim", "_debug_has_internal_overlap", "_dimI", "_dimV", "_functional_sym_constrain_range",
     "_functional_sym_constrain_range_for_size", "_has_compatible_shallow_copy_type",
     "_has_same_storage_numel", "_is_zerotensor", "_linalg_check_errors", "_nnz", "_remove_batch_dim",
     "_tensor_to_list", "_unpack_dual", "_version", "cudnn_is_acceptable", "data", "dense_dim",
     "element_size", "get_device", "is_coalesced", "is_complex", "is_conj", "is_distributed",
     "is_floating_point", "is_inference", "is_leaf", "is_neg", "is_non_overlapping_and_dense", "is_pinned",
     "is_same_size", "is_set_to", "is_signed", "is_strides_like_format", "output_nr", "record_stream",
     "requires_grad_", "result_type", "retain_grad", "retains_grad", "save", "set_data", "sparse_dim", "wait",

     // Quantization, packing of weights.
     "_choose_qparams_per_tensor", "_convert_weight_to_int4pack", "_convert_weight_to_int4pack_for_cpu",
     "_cslt_compress", "_dyn_quant_pack_4bit_weight", "_empty_affine_quantized",
     "_empty_per_channel_affine_quantized", "_fake_quantize_learnable_per_channel_affine",
     "_fake_quantize_learnable_per_tensor_affine",
     "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "_fused_moving_avg_obs_fq_helper",
     "_fused_moving_avg_obs_fq_helper_functional", "_make_per_channel_quantized_tensor",
     "_make_per_tensor_quantized_tensor", "_saturate_weight_to_fp16", "_wrapped_linear_prepack",
     "choose_qparams_optimized", "dequantize", "fake_quantize_per_channel_affine",
     "fake_quantize_per_channel_affine_cachemask", "fake_quantize_per_tensor_affine",
     "fake_quantize_per_tensor_affine_cachemask", "fbgemm_linear_quantize_weight",
     "fbgemm_pack_gemm_matrix_fp16", "fbgemm_pack_quantized_matrix", "fused_moving_avg_obs_fake_quant",
     "int_repr", "mkldnn_reorder_conv2d_weight", "mkldnn_reorder_conv3d_weight", "q_per_channel_axis",
     "q_per_channel_scales", "q_per_channel_zero_points", "q_scale", "q_zero_point", "qscheme",
     "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic",

     // Sparse, nested and jagged tensors: conversions, sums.
     "_coalesce", "_coalesced", "_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo",
     "_gather_sparse", "_jagged_to_padded_dense_forward", "_nested_compute_contiguous_strides_offsets",
     "_nested_from_padded", "_nested_from_padded_and_nested_example", "_nested_from_padded_tensor",
     "_nested_get_jagged_dummy", "_nested_get_lengths", "_nested_get_max_seqlen", "_nested_get_min_seqlen",
     "_nested_get_offsets", "_nested_get_ragged_idx", "_nested_select", "_nested_sum",
     "_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned", "_nested_tensor_from_tensor_list",
     "_nested_tensor_size", "_nested_tensor_storage_offsets", "_nested_tensor_strides",
     "_padded_dense_to_jagged_forward", "_sparse_bsc_tensor_unsafe", "_sparse_bsr_tensor_unsafe",
     "_sparse_compressed_tensor_unsafe", "_sparse_coo_tensor_unsafe", "_sparse_coo_tensor_with_dims",
     "_sparse_coo_tensor_with_dims_and_tensors", "_sparse_csc_tensor_unsafe", "_sparse_csr_prod",
     "_sparse_csr_sum", "_sparse_csr_tensor_unsafe", "_sparse_mask_projection",
     "_sparse_semi_structured_apply", "_sparse_semi_structured_apply_dense", "_sparse_semi_structured_tile",
     "_sparse_sum", "_spdiags", "_to_dense", "_to_sparse", "_to_sparse_bsc", "_to_sparse_bsr",
     "_to_sparse_csc", "_to_sparse_csr", "_to_sparse_semi_structured", "_validate_compressed_sparse_indices",
     "_validate_sparse_bsc_tensor_args", "_validate_sparse_bsr_tensor_args",
     "_validate_sparse_compressed_tensor_args", "_validate_sparse_coo_tensor_args",
     "_validate_sparse_csc_tensor_args", "_validate_sparse_csr_tensor_args", "copy_sparse_to_sparse",
     "nested_to_padded_tensor", "resize_as_sparse", "sparse_bsc_tensor", "sparse_bsr_tensor",
     "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "sparse_mask",
     "sparse_resize", "sparse_resize_and_clear", "to_dense", "to_padded_tensor", "to_sparse", "to_sparse_bsc",
     "to_sparse_bsr", "to_sparse_csc", "to_sparse_csr",

     // Steps of optimizers, which are elementwise.
     "_fused_adagrad", "_fused_adam", "_fused_adamw", "_fused_sgd",

     // Pieces of a factorization that is there already.
     "lu_unpack",

     // Forms of TorchScript's IR.
     "prim::AutogradAdd", "prim::AutogradAllNonZero", "prim::AutogradAllZero", "prim::AutogradAnyNonZero",
     "prim::BroadcastMKLDNNTensors", "prim::BroadcastSizes", "prim::ChunkSizes", "prim::ConstantChunk",
     "prim::ConstantMKLDNNTensor", "prim::FusedConcat", "prim::MKLDNNClamp", "prim::MKLDNNHardSigmoid",
     "prim::MKLDNNHardSwish", "prim::MKLDNNHardTanh", "prim::MKLDNNLayerNorm", "prim::MKLDNNScalarMul",
     "prim::ModuleContainerIndex", "prim::Print", "prim::RequiresGradCheck", "prim::StaticRuntimeCopyOuts",
     "prim::TensorExprDynamicGuard", "prim::TupleUnpack", "prim::TypeCheck", "prim::VarConcat",
     "prim::VarStack", "prim::awaitable_nowait", "prim::device", "prim::dtype", "prim::grad", "prim::id",
     "prim::is_cpu", "prim::is_cuda", "prim::is_ipu", "prim::is_maia", "prim::is_meta", "prim::is_mkldnn",
     "prim::is_mps", "prim::is_mtia", "prim::is_nested", "prim::is_quantized", "prim::is_sparse",
     "prim::is_sparse_csr", "prim::is_vulkan", "prim::is_xla", "prim::is_xpu", "prim::itemsize",
     "prim::layout", "prim::name", "prim::nbytes", "prim::oneDNNFusionGuard", "prim::profile",
     "prim::profile_ivalue", "prim::requires_grad", "prim::tolist",

     // Quantized tensors: elementwise functions, windows, tables, packing.
     "_quantized::_wrapped_linear_prepack", "_quantized::add", "_quantized::conv2d_prepack",
     "_quantized::conv3d_prepack", "_quantized::conv_transpose1d_prepack",
     "_quantized::conv_transpose2d_prepack", "_quantized::conv_transpose3d_prepack",
     "_quantized::linear_prepack", "_quantized::linear_prepack_fp16",
     "_quantized::linear_prepack_fp16_legacy", "_quantized::linear_prepack_legacy",
     "_quantized::wrapped_fbgemm_pack_gemm_matrix_fp16", "quantization::_Bfloat16QuantizedToFloat",
     "quantization::_FloatToBfloat16Quantized", "quantized::add", "quantized::add_relu",
     "quantized::add_scalar", "quantized::add_scalar_relu", "quantized::batch_norm",
     "quantized::batch_norm1d", "quantized::batch_norm1d_relu", "quantized::batch_norm2d",
     "quantized::batch_norm2d_relu", "quantized::batch_norm3d", "quantized::batch_norm3d_relu",
     "quantized::batch_norm_relu", "quantized::cat", "quantized::cat_relu", "quantized::celu",
     "quantized::clamp", "quantized::conv1d_prepack", "quantized::conv1d_unpack",
     "quantized::conv2d_dilation", "quantized::conv2d_groups", "quantized::conv2d_output_padding",
     "quantized::conv2d_padding", "quantized::conv2d_prepack", "quantized::conv2d_stride",
     "quantized::conv2d_transpose", "quantized::conv2d_unpack", "quantized::conv2d_unpack_sizes",
     "quantized::conv3d_dilation", "quantized::conv3d_groups", "quantized::conv3d_output_padding",
     "quantized::conv3d_padding", "quantized::conv3d_prepack", "quantized::conv3d_stride",
     "quantized::conv3d_transpose", "quantized::conv3d_unpack", "quantized::conv_prepack",
     "quantized::conv_transpose1d_prepack", "quantized::conv_transpose1d_unpack",
     "quantized::conv_transpose2d_dilation", "quantized::conv_transpose2d_groups",
     "quantized::conv_transpose2d_output_padding", "quantized::conv_transpose2d_padding",
     "quantized::conv_transpose2d_prepack", "quantized::conv_transpose2d_stride",
     "quantized::conv_transpose2d_transpose", "quantized::conv_transpose2d_unpack",
     "quantized::conv_transpose3d_dilation", "quantized::conv_transpose3d_groups",
     "quantized::conv_transpose3d_output_padding", "quantized::conv_transpose3d_padding",
     "quantized::conv_transpose3d_prepack", "quantized::conv_transpose3d_stride",
     "quantized::conv_transpose3d_transpose", "quantized::conv_transpose3d_unpack", "quantized::conv_unpack",
     "quantized::dropout", "quantized::elu", "quantized::embedding_4bit",
     "quantized::embedding_bag_2bit_prepack", "quantized::embedding_bag_2bit_prepack_with_rowwise_min_max",
     "quantized::embedding_bag_2bit_rowwise_offsets", "quantized::embedding_bag_2bit_unpack",
     "quantized::embedding_bag_4bit", "quantized::embedding_bag_4bit_prepack",
     "quantized::embedding_bag_4bit_prepack_with_rowwise_min_max",
     "quantized::embedding_bag_4bit_rowwise_offsets", "quantized::embedding_bag_4bit_unpack",
     "quantized::embedding_bag_byte", "quantized::embedding_bag_byte_prepack",
     "quantized::embedding_bag_byte_prepack_with_rowwise_min_max",
     "quantized::embedding_bag_byte_rowwise_offsets", "quantized::embedding_bag_byte_unpack",
     "quantized::embedding_bag_prepack", "quantized::embedding_bag_unpack", "quantized::embedding_byte",
     "quantized::group_norm", "quantized::hardswish", "quantized::instance_norm", "quantized::layer_norm",
     "quantized::leaky_relu", "quantized::linear_prepack", "quantized::linear_prepack_fp16",
     "quantized::linear_prepack_fp16_legacy", "quantized::linear_prepack_legacy", "quantized::linear_unpack",
     "quantized::linear_unpack_fp16", "quantized::make_quantized_cell_params",
     "quantized::make_quantized_cell_params_dynamic", "quantized::make_quantized_cell_params_fp16",
     "quantized::max_pool1d", "quantized::max_pool2d", "quantized::mul", "quantized::mul_relu",
     "quantized::mul_scalar", "quantized::mul_scalar_relu", "quantized::prelu", "quantized::relu6",
     "quantized::sigmoid", "quantized::softmax", "quantized::threshold", "sparse::qlinear_prepack",
     "sparse::qlinear_unpack",

     // Weights as a library wants them, and its elementwise functions.
     "metal::copy_to_host", "mkl::_mkl_reorder_linear_weight", "mkldnn::_get_mkldnn_serialized_md",
     "mkldnn::_nbytes", "mkldnn::_reorder_convolution_transpose_weight",
     "mkldnn::_reorder_convolution_weight", "mkldnn::_reorder_linear_weight",
     "mkldnn::_reorder_mkldnn_rnn_layer_weight", "mkldnn::data_ptr", "mkldnn_prepacked::conv2d_prepack",
     "onednn::linear_prepack_fp16", "onednn::qadd", "onednn::qadd_relu", "onednn::qbatch_norm2d",
     "onednn::qconv_prepack", "onednn::qlinear_prepack", "onednn::qmul", "prepacked::conv2d_clamp_prepack",
     "prepacked::conv2d_transpose_clamp_prepack", "prepacked::linear_clamp_prepack",

     // Boxes and regions of images: interpolation, comparisons.
     "torchvision::_interpolate_bicubic2d_aa", "torchvision::_interpolate_bilinear2d_aa",
     "torchvision::box_iou_rotated", "torchvision::nms", "torchvision::ps_roi_align",
     "torchvision::ps_roi_pool", "torchvision::qnms", "torchvision::roi_align", "torchvision::roi_pool",

     // Copies of TorchScript's static runtime, and others.
     "inductor::_alloc_from_pool", "inductor::_reinterpret_tensor", "inductor::accumulate_grad_",
     "onnx::Reshape", "onnx::Shape", "profiler::_call_end_callbacks_on_jit_fut",
     "profiler::_record_function_exit", "static_runtime::VarTupleUnpack", "static_runtime::clamp_nan_to_num",
     "static_runtime::create_owned_ref", "static_runtime::dequantize_copy", "static_runtime::dict_unpack",
     "static_runtime::embedding_bag", "static_runtime::expand_dims_copy", "static_runtime::flatten_copy",
     "static_runtime::fused_equally_split", "static_runtime::layer_norm", "static_runtime::permute_copy",
     "static_runtime::reshape_copy", "static_runtime::signed_log1p", "static_runtime::to_copy",
     "static_runtime::to_maybe_copy_out",

     // Between processes: moves, sums.
     "_c10d_functional::all_gather_into_tensor", "_c10d_functional::all_gather_into_tensor_coalesced",
     "_c10d_functional::all_reduce", "_c10d_functional::all_reduce_coalesced",
     "_c10d_functional::all_to_all_single", "_c10d_functional::batch_p2p_ops", "_c10d_functional::broadcast",
     "_c10d_functional::irecv", "_c10d_functional::isend", "_c10d_functional::reduce_scatter_tensor",
     "_c10d_functional::reduce_scatter_tensor_coalesced", "_c10d_functional::wait_tensor",
     "_c10d_functional_autograd::all_gather_into_tensor", "_c10d_functional_autograd::all_to_all_single",
     "_c10d_functional_autograd::reduce_scatter_tensor", "_dtensor::shard_dim_alltoall"});

constexpr auto kSorted = [] {
  auto names = kFree;
  std::ranges::sort(names);
  return names;
}();

}  // namespace

bool is_listed_as_free(std::string_view name) { return std::ranges::binary_search(kSorted, name); }

}  // namespace fxtrace
