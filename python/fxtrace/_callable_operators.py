"""Operators that a graph may call without the caller's word.  Written by scripts/torch_functions with torch 2.13.0."""

OPERATORS = {
    "_quantized": frozenset(
        """
        _wrapped_linear_prepack _wrapped_quantized_linear_prepacked add conv2d conv2d_prepack conv2d_relu
        conv3d conv3d_prepack conv3d_relu conv_transpose1d conv_transpose1d_prepack conv_transpose2d
        conv_transpose2d_prepack conv_transpose3d_prepack linear linear_dynamic linear_prepack
        linear_prepack_fp16 linear_prepack_fp16_legacy linear_prepack_legacy
        wrapped_fbgemm_linear_fp16_weight wrapped_fbgemm_pack_gemm_matrix_fp16 wrapped_quantized_linear
        """.split()
    ),
    "aten": frozenset(
        """
        Bool Complex ComplexImplicit Delete Float FloatImplicit Generator Int IntImplicit ScalarImplicit
        Size __and__ __contains__ __derive_index __getitem__ __iand__ __ilshift__ __interpolate __ior__
        __irshift__ __is__ __isnot__ __ixor__ __lshift__ __not__ __or__ __range_length
        __round_to_zero_floordiv __rshift__ __upsample __upsample_bilinear __upsample_nearest __xor__
        _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d
        _adaptive_avg_pool3d_backward _add_batch_dim _add_relu _add_relu_ _addmm_activation _aminmax
        _amp_foreach_non_finite_check_and_unscale _amp_foreach_non_finite_check_and_unscale_
        _amp_update_scale _amp_update_scale_ _assert_async _assert_scalar _assert_tensor_metadata
        _autocast_to_full_precision _autocast_to_reduced_precision _backward _batch_norm_impl_index
        _batch_norm_impl_index_backward _batch_norm_no_update _batch_norm_with_update
        _batch_norm_with_update_functional _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half
        _cast_Int _cast_Long _cast_Short _cdist_backward _cdist_forward _cholesky_solve_helper
        _choose_qparams_per_tensor _chunk_cat _coalesce _compute_linear_combination _conj _conj_copy
        _conj_physical _conv_depthwise2d _convolution _convolution_double_backward _convolution_mode
        _copy_from _copy_from_and_resize _ctc_loss _ctc_loss_backward _cudnn_attention_backward
        _cudnn_attention_forward _cudnn_ctc_loss _cudnn_rnn _cudnn_rnn_backward _cummax_helper
        _cummin_helper _debug_has_internal_overlap _dimI _dimV _dim_arange _dirichlet_grad
        _efficient_attention_backward _efficient_attention_forward _efficientzerotensor _embedding_bag
        _embedding_bag_backward _embedding_bag_dense_backward _embedding_bag_forward_only
        _embedding_bag_per_sample_weights_backward _embedding_bag_sparse_backward _empty_affine_quantized
        _empty_per_channel_affine_quantized _euclidean_dist _fake_quantize_learnable_per_channel_affine
        _fake_quantize_learnable_per_channel_affine_backward _fake_quantize_learnable_per_tensor_affine
        _fake_quantize_learnable_per_tensor_affine_backward
        _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fft_c2c _fft_c2r _fft_r2c
        _flash_attention_backward _flash_attention_forward _flash_attention_forward_no_dropout_inplace
        _foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_add _foreach_add_ _foreach_addcdiv
        _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_ _foreach_asin _foreach_asin_ _foreach_atan
        _foreach_atan_ _foreach_ceil _foreach_ceil_ _foreach_clamp_max _foreach_clamp_max_
        _foreach_clamp_min _foreach_clamp_min_ _foreach_clone _foreach_copy _foreach_copy_ _foreach_cos
        _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_div _foreach_div_ _foreach_erf _foreach_erf_
        _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_
        _foreach_floor _foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp _foreach_lerp_
        _foreach_lgamma _foreach_lgamma_ _foreach_log _foreach_log10 _foreach_log10_ _foreach_log1p
        _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_ _foreach_max _foreach_maximum
        _foreach_maximum_ _foreach_minimum _foreach_minimum_ _foreach_mm _foreach_mul _foreach_mul_
        _foreach_neg _foreach_neg_ _foreach_norm _foreach_pow _foreach_pow_ _foreach_powsum
        _foreach_reciprocal _foreach_reciprocal_ _foreach_round _foreach_round_ _foreach_rsqrt
        _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_ _foreach_sign _foreach_sign_ _foreach_sin
        _foreach_sin_ _foreach_sinh _foreach_sinh_ _foreach_sqrt _foreach_sqrt_ _foreach_sub _foreach_sub_
        _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc _foreach_trunc_ _foreach_zero
        _foreach_zero_ _functional_assert_async _functional_assert_scalar _functional_sym_constrain_range
        _functional_sym_constrain_range_for_size _fused_dropout _fused_moving_avg_obs_fq_helper
        _fused_moving_avg_obs_fq_helper_functional _fused_rms_norm _fused_rms_norm_backward
        _fused_sdp_choice _fw_primal _fw_primal_copy _gather_sparse_backward _get_cpu_capability
        _get_tracing_state _grad_sum_to_size _grid_sampler_2d_cpu_fallback
        _grid_sampler_2d_cpu_fallback_backward _grouped_mm _has_compatible_shallow_copy_type
        _has_same_storage_numel _histogramdd_bin_edges _histogramdd_from_bin_cts
        _histogramdd_from_bin_tensors _indices _indices_copy _infer_size _int_mm _is_all_true _is_any_true
        _is_zerotensor _linalg_check_errors _linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet
        _linalg_solve_ex _linalg_svd _list_to_tensor _local_scalar_dense _log_softmax
        _log_softmax_backward_data _logcumsumexp _lstm_mps _lu_with_info _make_dual _make_dual_copy
        _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor _masked_scale _masked_softmax
        _masked_softmax_backward _mixed_dtypes_linear _mkldnn_reshape _mkldnn_transpose _mkldnn_transpose_
        _mps_convolution _mps_convolution_transpose _native_batch_norm_legit
        _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
        _native_multi_head_attention _ncf_unsqueeze _ncf_view _neg_view _neg_view_copy
        _nested_compute_contiguous_strides_offsets _nested_from_padded
        _nested_from_padded_and_nested_example _nested_from_padded_tensor _nested_get_jagged_dummy
        _nested_get_lengths _nested_get_max_seqlen _nested_get_min_seqlen _nested_get_offsets
        _nested_get_ragged_idx _nested_get_values _nested_get_values_copy _nested_select_backward
        _nested_sum_backward _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
        _nested_tensor_from_tensor_list _nested_tensor_size _nested_tensor_softmax_with_shape
        _nested_tensor_storage_offsets _nested_tensor_strides _nested_view_from_jagged
        _nested_view_from_jagged_copy _new_zeros_with_same_feature_meta _nnpack_available
        _nnpack_spatial_convolution _nnz _no_grad_embedding_renorm_ _no_grad_fill_ _no_grad_normal_
        _no_grad_uniform_ _no_grad_zero_ _pack_padded_sequence _pack_padded_sequence_backward _pack_sequence
        _pad_circular _pad_enum _pad_packed_sequence _pdist_backward _pdist_forward _philox_key_fold_in
        _philox_key_split _philox_normal _philox_normal_ _philox_uniform _philox_uniform_ _prelu_kernel
        _prelu_kernel_backward _print _remove_batch_dim _reshape_copy _reshape_from_tensor _resize_output
        _resize_output_ _rowwise_prune _safe_softmax _sample_dirichlet _saturate_weight_to_fp16
        _scaled_dot_product_attention_math _scaled_dot_product_attention_math_for_mps
        _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward
        _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward
        _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward
        _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
        _scaled_dot_product_fused_attention_overrideable
        _scaled_dot_product_fused_attention_overrideable_backward _scaled_grouped_mm _scaled_grouped_mm_v2
        _scaled_mm _scaled_mm_v2 _set_item _shape_as_tensor _size_if_not_equal _slow_conv2d_backward
        _slow_conv2d_forward _softmax _softmax_backward_data _sparse_addmm _sparse_broadcast_to
        _sparse_broadcast_to_copy _sparse_coo_tensor_with_dims _sparse_csr_prod _sparse_csr_sum
        _sparse_log_softmax _sparse_log_softmax_backward_data _sparse_mask_projection _sparse_mm
        _sparse_mm_reduce_impl _sparse_mm_reduce_impl_backward _sparse_semi_structured_addmm
        _sparse_semi_structured_apply _sparse_semi_structured_apply_dense _sparse_semi_structured_linear
        _sparse_semi_structured_mm _sparse_semi_structured_tile _sparse_softmax
        _sparse_softmax_backward_data _sparse_sparse_matmul _sparse_sum _sparse_sum_backward _spdiags
        _spsolve _stack _standard_gamma _standard_gamma_grad _tensor_to_list
        _thnn_differentiable_gru_cell_backward _thnn_differentiable_lstm_cell_backward _thnn_fused_gru_cell
        _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward
        _thnn_fused_lstm_cell_backward_impl _to_copy _to_cpu _to_dense _to_sparse _to_sparse_bsc
        _to_sparse_bsr _to_sparse_csc _to_sparse_csr _to_sparse_semi_structured _transform_bias_rescale_qkv
        _transformer_encoder_layer_fwd _trilinear _triton_multi_head_attention _triton_scaled_dot_attention
        _unique _unique2 _unpack_dual _unsafe_index _unsafe_index_put _unsafe_masked_index
        _unsafe_masked_index_put_accumulate _unsafe_view _unwrap_optional _upsample_bicubic2d_aa
        _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward
        _upsample_lanczos2d_aa _upsample_lanczos2d_aa_backward _upsample_nearest_exact1d
        _upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward
        _upsample_nearest_exact3d _upsample_nearest_exact3d_backward _use_cudnn_ctc_loss
        _use_cudnn_rnn_flatten_weight _use_miopen_ctc_loss _validate_compressed_sparse_indices
        _validate_sparse_bsc_tensor_args _validate_sparse_bsr_tensor_args
        _validate_sparse_compressed_tensor_args _validate_sparse_coo_tensor_args
        _validate_sparse_csc_tensor_args _validate_sparse_csr_tensor_args _values _values_copy _version
        _weight_int4pack_mm _weight_int4pack_mm_for_cpu _weight_int4pack_mm_with_scales_and_zeros
        _weight_int8pack_mm _weight_norm _weight_norm_differentiable_backward _weight_norm_interface
        _weight_norm_interface_backward _wrapped_linear_prepack _wrapped_quantized_linear_prepacked abs abs_
        absolute absolute_ acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_avg_pool2d
        adaptive_avg_pool3d adaptive_avg_pool3d_backward adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool2d_backward adaptive_max_pool3d adaptive_max_pool3d_backward add add_ addbmm
        addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ adjoint
        affine_grid_generator affine_grid_generator_backward alias alias_copy all allclose alpha_dropout
        alpha_dropout_ amax amin aminmax angle any append arange arccos arccos_ arccosh arccosh_ arcsin
        arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin argsort
        argwhere as_strided as_strided_ as_strided_copy as_strided_scatter as_tensor asin asin_ asinh asinh_
        atan atan2 atan2_ atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d avg_pool1d avg_pool2d
        avg_pool2d_backward avg_pool3d avg_pool3d_backward backward baddbmm baddbmm_ bartlett_window
        batch_norm batch_norm_backward batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
        batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats
        bernoulli bernoulli_ bilinear bin binary_cross_entropy binary_cross_entropy_backward
        binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_and_ bitwise_left_shift
        bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_ bitwise_right_shift
        bitwise_right_shift_ bitwise_xor bitwise_xor_ blackman_window block_diag bmm broadcast_shapes
        broadcast_tensors broadcast_to bucketize can_cast capitalize cartesian_prod cat cauchy cauchy_
        ccol_indices ccol_indices_copy cdist ceil ceil_ celu celu_ center chain_matmul chalf channel_shuffle
        cholesky cholesky_inverse cholesky_solve choose_qparams_optimized chr chunk clamp clamp_ clamp_max
        clamp_max_ clamp_min clamp_min_ clear clip clip_ clone coalesce col2im col_indices col_indices_copy
        column_stack combinations complex concat concatenate conj conj_physical conj_physical_
        constant_pad_nd contiguous conv1d conv2d conv3d conv_depthwise3d conv_tbc conv_tbc_backward
        conv_transpose1d conv_transpose2d conv_transpose3d convolution convolution_backward
        convolution_backward_overrideable convolution_overrideable copy copy_ copy_sparse_to_sparse
        copy_sparse_to_sparse_ copysign copysign_ corrcoef cos cos_ cosh cosh_ cosine_embedding_loss
        cosine_similarity count count_nonzero cov cpu cross cross_entropy_loss crow_indices
        crow_indices_copy ctc_loss cuda cudnn_affine_grid_generator cudnn_affine_grid_generator_backward
        cudnn_batch_norm cudnn_batch_norm_backward cudnn_convolution cudnn_convolution_add_relu
        cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cudnn_grid_sampler_backward
        cudnn_is_acceptable cummax cummaxmin_backward cummin cumprod cumprod_ cumprod_backward cumsum
        cumsum_ cumulative_trapezoid data deg2rad deg2rad_ degrees dense_dim dequantize det detach detach_
        detach_copy device diag diag_embed diagflat diagonal diagonal_backward diagonal_copy
        diagonal_scatter dict diff digamma digamma_ dim dist dist_backward div div_ divide divide_ divmod
        dot dropout dropout_ dsplit dstack einsum element_size elu elu_ elu_backward embedding
        embedding_backward embedding_bag embedding_dense_backward embedding_renorm embedding_renorm_
        embedding_sparse_backward empty empty_like empty_permuted empty_quantized empty_strided endswith eq
        eq_ equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expand_as expand_copy
        expandtabs expm1 expm1_ exponential exponential_ extend eye fabs factorial
        fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask
        fake_quantize_per_channel_affine_cachemask_backward fake_quantize_per_tensor_affine
        fake_quantize_per_tensor_affine_cachemask fake_quantize_per_tensor_affine_cachemask_backward
        fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
        fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
        fbgemm_pack_quantized_matrix feature_alpha_dropout feature_alpha_dropout_ feature_dropout
        feature_dropout_ fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn
        fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2
        fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn fill fill_ fill_diagonal_ find fix fix_ flatten
        flatten_dense_tensors flip fliplr flipud float_power float_power_ floor floor_ floor_divide
        floor_divide_ floordiv fmax fmin fmod fmod_ format frac frac_ fractional_max_pool2d
        fractional_max_pool2d_backward fractional_max_pool3d fractional_max_pool3d_backward frexp
        frobenius_norm full full_like fused_moving_avg_obs_fake_quant gamma gather gather_backward gcd gcd_
        ge ge_ gelu gelu_ gelu_backward geometric geometric_ geqrf ger get get_autocast_dtype get_device glu
        glu_backward glu_backward_jvp glu_jvp grad gradient greater greater_ greater_equal greater_equal_
        grid_sampler grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward
        group_norm gru gru_cell gt gt_ hamming_window hann_window hardshrink hardshrink_backward hardsigmoid
        hardsigmoid_ hardsigmoid_backward hardswish hardswish_ hardswish_backward hardtanh hardtanh_
        hardtanh_backward has_torch_function hash hash_tensor heaviside heaviside_ hex hinge_embedding_loss
        histc histogram histogramdd hsplit hspmm hstack huber_loss huber_loss_backward hypot hypot_ i0 i0_
        igamma igamma_ igammac igammac_ im2col imag index index_add index_add_ index_copy index_copy_
        index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ index_select
        index_select_backward indices indices_copy infinitely_differentiable_gelu_backward initial_seed
        inner insert instance_norm int_repr inverse is_autocast_cpu_enabled is_autocast_enabled is_coalesced
        is_complex is_conj is_contiguous is_distributed is_floating_point is_grad_enabled is_inference
        is_leaf is_neg is_non_overlapping_and_dense is_nonzero is_pinned is_same_size is_scripting is_set_to
        is_signed is_strides_like_format is_vulkan_available isalnum isalpha isclose isdecimal isdigit
        isfinite isidentifier isin isinf islower isnan isneginf isnumeric isposinf isprintable isreal
        isspace istft istitle isupper item items join kaiser_window keys kl_div kron kthvalue l1_loss
        layer_norm lcm lcm_ ldexp ldexp_ le le_ leaky_relu leaky_relu_ leaky_relu_backward len lerp lerp_
        less less_ less_equal less_equal_ lgamma lgamma_ lift lift_fresh lift_fresh_copy linalg__powsum
        linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cross linalg_det linalg_diagonal linalg_eig
        linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex
        linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor
        linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp linalg_matrix_norm
        linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv linalg_qr
        linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals
        linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linalg_vector_norm linear
        linear_backward linspace list ljust log log10 log10_ log1p log1p_ log2 log2_ log_ log_normal
        log_normal_ log_sigmoid log_sigmoid_backward log_sigmoid_forward log_softmax logaddexp logaddexp2
        logcumsumexp logdet logical_and logical_and_ logical_not logical_not_ logical_or logical_or_
        logical_xor logical_xor_ logit logit_ logit_backward logspace logsumexp lower lstm lstm_cell
        lstm_mps_backward lstrip lt lt_ lu_solve lu_unpack mH mT manual_seed margin_ranking_loss masked_fill
        masked_fill_ masked_scatter masked_scatter_ masked_scatter_backward masked_select
        masked_select_backward mathremainder matmul matmul_backward matrix_H matrix_exp matrix_exp_backward
        matrix_power max max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_backward
        max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d max_pool3d_with_indices
        max_pool3d_with_indices_backward max_unpool2d max_unpool3d maximum mean median meshgrid min minimum
        miopen_batch_norm miopen_batch_norm_backward miopen_convolution miopen_convolution_add_relu
        miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution
        miopen_rnn miopen_rnn_backward mish mish_ mish_backward mkldnn_adaptive_avg_pool2d
        mkldnn_adaptive_avg_pool2d_backward mkldnn_convolution mkldnn_linear mkldnn_linear_backward
        mkldnn_linear_backward_input mkldnn_linear_backward_weights mkldnn_max_pool2d
        mkldnn_max_pool2d_backward mkldnn_max_pool3d mkldnn_max_pool3d_backward mkldnn_reorder_conv2d_weight
        mkldnn_reorder_conv3d_weight mkldnn_rnn_layer mkldnn_rnn_layer_backward mm mode modf moveaxis
        movedim mps_convolution_backward mps_convolution_transpose_backward mse_loss mse_loss_backward msort
        mul mul_ multi_margin_loss multi_margin_loss_backward multilabel_margin_loss
        multilabel_margin_loss_backward multilabel_margin_loss_forward multinomial multiply multiply_ mv
        mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy
        native_batch_norm native_batch_norm_backward native_channel_shuffle native_dropout
        native_dropout_backward native_group_norm native_group_norm_backward native_layer_norm
        native_layer_norm_backward native_norm ne ne_ neg neg_ negative negative_ nested_to_padded_tensor
        new_empty new_empty_strided new_full new_ones new_zeros nextafter nextafter_ nll_loss nll_loss2d
        nll_loss2d_backward nll_loss2d_forward nll_loss_backward nll_loss_forward nll_loss_nd nonzero
        nonzero_numpy nonzero_static norm norm_except_dim normal normal_ normal_functional not_equal
        not_equal_ nuclear_norm numel numpy_T oct one_hot ones ones_like ord orgqr ormqr outer output_nr pad
        pad_sequence pairwise_distance partition pdist percentFormat permute permute_copy pin_memory
        pinverse pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma polygamma_ pop
        popitem positive pow pow_ prelu prod promote_types put put_ q_per_channel_axis q_per_channel_scales
        q_per_channel_zero_points q_scale q_zero_point qr qscheme quantile quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru
        quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
        quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell rad2deg rad2deg_ radians rand
        rand_like randint randint_like randn randn_like random random_ randperm range ravel real reciprocal
        reciprocal_ reflection_pad1d reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward
        reflection_pad3d reflection_pad3d_backward relu relu6 relu6_ relu_ remainder remainder_ remove
        renorm renorm_ repeat repeat_interleave replace replication_pad1d replication_pad1d_backward
        replication_pad2d replication_pad2d_backward replication_pad3d replication_pad3d_backward
        requires_grad_ reshape reshape_as resize resize_ resize_as resize_as_ resize_as_sparse
        resize_as_sparse_ resolve_conj resolve_neg result_type retain_grad retains_grad reverse rfind rindex
        rjust rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round round_ row_indices
        row_indices_copy row_stack rpartition rrelu rrelu_ rrelu_with_noise rrelu_with_noise_
        rrelu_with_noise_backward rrelu_with_noise_functional rsplit rsqrt rsqrt_ rstrip rsub scalar_tensor
        scaled_dot_product_attention scatter scatter_ scatter_add scatter_add_ scatter_reduce
        scatter_reduce_ searchsorted seed select select_backward select_copy select_scatter selu selu_ set
        set_ set_grad_enabled setdefault sgn sgn_ sigmoid sigmoid_ sigmoid_backward sign sign_ signbit silu
        silu_ silu_backward sin sin_ sinc sinc_ sinh sinh_ size slice slice_backward slice_copy
        slice_scatter slogdet slow_conv3d slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d
        slow_conv_transpose2d slow_conv_transpose3d smm smooth_l1_loss smooth_l1_loss_backward
        soft_margin_loss soft_margin_loss_backward softmax softplus softplus_backward softshrink
        softshrink_backward sort sorted sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
        sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_dim sparse_mask sparse_resize
        sparse_resize_ sparse_resize_and_clear sparse_resize_and_clear_ sparse_sampled_addmm special_airy_ai
        special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
        special_chebyshev_polynomial_w special_digamma special_entr special_erf special_erfc special_erfcx
        special_erfinv special_exp2 special_expit special_expm1 special_gammainc special_gammaincc
        special_gammaln special_hermite_polynomial_h special_hermite_polynomial_he special_i0 special_i0e
        special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p special_log1p
        special_log_ndtr special_log_softmax special_logit special_logsumexp special_modified_bessel_i0
        special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
        special_multigammaln special_ndtr special_ndtri special_polygamma special_psi special_round
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
        special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
        special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_sinc
        special_softmax special_spherical_bessel_j0 special_xlog1py special_xlogy special_zeta split
        split_copy split_with_sizes split_with_sizes_copy splitlines sqrt sqrt_ square square_ squeeze
        squeeze_ squeeze_copy sspaddmm stack startswith std std_mean stft storage_offset str stride strip
        sub sub_ subtract subtract_ sum sum_to_size svd swapaxes swapaxes_ swapcase swapdims swapdims_
        sym_constrain_range sym_constrain_range_for_size sym_is_contiguous sym_numel sym_size
        sym_storage_offset sym_stride t t_ t_copy take take_along_dim tan tan_ tanh tanh_ tanh_backward
        tensor tensor_split tensordot thnn_conv2d threshold threshold_ threshold_backward tile title to
        to_dense to_dense_backward to_mkldnn to_mkldnn_backward to_padded_tensor to_sparse to_sparse_bsc
        to_sparse_bsr to_sparse_csc to_sparse_csr topk trace trace_backward transpose transpose_
        transpose_copy trapezoid trapz triangular_solve tril tril_ tril_indices triplet_margin_loss triu
        triu_ triu_indices true_divide true_divide_ trunc trunc_ type_as unbind unbind_copy unflatten
        unflatten_dense_tensors unfold unfold_backward unfold_copy uniform uniform_ unique_consecutive
        unique_dim unique_dim_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze
        unsqueeze_ unsqueeze_copy update upper upsample_bicubic2d upsample_bicubic2d_backward
        upsample_bilinear2d upsample_bilinear2d_backward upsample_linear1d upsample_linear1d_backward
        upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward
        upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward
        value_selecting_reduction_backward values values_copy vander var var_mean vdot view view_as
        view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack wait
        warn where xlogy xlogy_ zero zero_ zeros zeros_like zfill
        """.split()
    ),
    "export": frozenset(
        """
        access_subclass_inner_tensor
        """.split()
    ),
    "higher_order": frozenset(
        """
        _export_tracepoint associative_scan auto_functionalized auto_functionalized_v2
        autograd_function_apply call_torchbind cond flex_attention flex_attention_backward flex_gemm
        foreach_map hints_wrapper invoke_subgraph map map_impl out_dtype scan strict_mode switch
        tag_activation_checkpoint while_loop while_loop_stack_output with_effects wrap
        wrap_activation_checkpoint wrap_with_autocast wrap_with_set_grad_enabled
        """.split()
    ),
    "prim": frozenset(
        """
        NumToTensor abs data device dtype grad is_cpu is_cuda is_ipu is_maia is_meta is_mkldnn is_mps
        is_mtia is_nested is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu itemsize layout max
        min name nbytes rangelist requires_grad tolist type unchecked_cast unchecked_unwrap_optional
        """.split()
    ),
    "prims": frozenset(
        """
        abs acos acosh add amax amin as_strided as_strided_scatter asin asinh atan atan2 atanh bessel_i0
        bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bitwise_and bitwise_not bitwise_or bitwise_xor
        broadcast_in_dim cat cbrt ceil clone collapse collapse_view conj conj_physical convert_element_type
        copy_strided copy_to cos cosh device_put digamma div empty empty_permuted empty_strided eq erf
        erf_inv erfc erfcx exp exp2 expm1 fft_c2c fft_c2r fft_r2c fill floor fmax fmin fmod frexp full
        full_like gcd ge gt hypot igamma igammac imag iota isfinite item le lgamma log log10 log1p log2 lt
        maximum maximum_value minimum minimum_value mul ndtri ne neg nextafter normal pow prod real
        reciprocal remainder reshape resize rev round rsqrt scalar_tensor shift_left shift_right_arithmetic
        sign signbit sin sinh spherical_bessel_j0 split_dim sqrt squeeze sub sum svd tan tanh transpose
        trunc uniform var view_of view_of_dtype where xor_sum zeta
        """.split()
    ),
    "quantized": frozenset(
        """
        add add_out add_relu add_relu_out add_scalar add_scalar_out add_scalar_relu add_scalar_relu_out
        batch_norm batch_norm1d batch_norm1d_relu batch_norm2d batch_norm2d_relu batch_norm3d
        batch_norm3d_relu batch_norm_relu cat cat_out cat_relu cat_relu_out celu clamp conv1d conv1d_dynamic
        conv1d_prepack conv1d_relu conv1d_unpack conv2d conv2d_add conv2d_add_relu conv2d_dilation
        conv2d_dynamic conv2d_groups conv2d_output_padding conv2d_padding conv2d_prepack conv2d_relu
        conv2d_stride conv2d_transpose conv2d_unpack conv2d_unpack_sizes conv3d conv3d_dilation
        conv3d_dynamic conv3d_groups conv3d_output_padding conv3d_padding conv3d_prepack conv3d_relu
        conv3d_stride conv3d_transpose conv3d_unpack conv_prepack conv_transpose1d conv_transpose1d_dynamic
        conv_transpose1d_prepack conv_transpose1d_unpack conv_transpose2d conv_transpose2d_dilation
        conv_transpose2d_dynamic conv_transpose2d_groups conv_transpose2d_output_padding
        conv_transpose2d_padding conv_transpose2d_prepack conv_transpose2d_stride conv_transpose2d_transpose
        conv_transpose2d_unpack conv_transpose3d conv_transpose3d_dilation conv_transpose3d_dynamic
        conv_transpose3d_groups conv_transpose3d_output_padding conv_transpose3d_padding
        conv_transpose3d_prepack conv_transpose3d_stride conv_transpose3d_transpose conv_transpose3d_unpack
        conv_unpack dropout elu embedding_4bit embedding_bag_2bit_prepack
        embedding_bag_2bit_prepack_with_rowwise_min_max embedding_bag_2bit_rowwise_offsets
        embedding_bag_2bit_unpack embedding_bag_4bit embedding_bag_4bit_prepack
        embedding_bag_4bit_prepack_with_rowwise_min_max embedding_bag_4bit_rowwise_offsets
        embedding_bag_4bit_unpack embedding_bag_byte embedding_bag_byte_prepack
        embedding_bag_byte_prepack_with_rowwise_min_max embedding_bag_byte_rowwise_offsets
        embedding_bag_byte_unpack embedding_bag_prepack embedding_bag_unpack embedding_byte group_norm
        hardswish instance_norm layer_norm leaky_relu linear linear_dynamic linear_dynamic_fp16
        linear_dynamic_fp16_unpacked_weight linear_leaky_relu linear_prepack linear_prepack_fp16
        linear_prepack_fp16_legacy linear_prepack_legacy linear_relu linear_relu_dynamic
        linear_relu_dynamic_fp16 linear_tanh linear_unpack linear_unpack_fp16
        linear_with_input_q_dq_qweight_dq_output_fp32 linear_with_input_q_dq_qweight_dq_relu_output_fp32
        make_quantized_cell_params make_quantized_cell_params_dynamic make_quantized_cell_params_fp16 matmul
        max_pool1d max_pool2d mul mul_out mul_relu mul_relu_out mul_scalar mul_scalar_out mul_scalar_relu
        mul_scalar_relu_out prelu quantized_gru_cell_dynamic quantized_lstm_cell_dynamic
        quantized_rnn_relu_cell_dynamic quantized_rnn_tanh_cell_dynamic relu6 sigmoid softmax threshold
        """.split()
    ),
    "quantized_decomposed": frozenset(
        """
        choose_qparams choose_qparams_per_token choose_qparams_per_token_asymmetric choose_qparams_symmetric
        convert_element_type dequantize_per_channel dequantize_per_channel_group dequantize_per_tensor
        dequantize_per_token fake_quant_per_channel quantize_per_channel quantize_per_channel_group
        quantize_per_tensor quantize_per_token
        """.split()
    ),
    "torch.classes": frozenset(
        """
        quantized rnn
        """.split()
    ),
    "torchvision": frozenset(
        """
        _cuda_version _deform_conv2d_backward _interpolate_bicubic2d_aa _interpolate_bilinear2d_aa
        _ps_roi_align_backward _ps_roi_pool_backward _roi_align_backward _roi_pool_backward box_iou_rotated
        deform_conv2d nms ps_roi_align ps_roi_pool qnms roi_align roi_pool
        """.split()
    ),
}
