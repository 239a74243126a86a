"""Functions of torch that a graph may name.  Written by scripts/torch_functions with torch 2.13.0."""

FUNCTIONS = {
    "torch": frozenset(
        """
        _assert _check _check_index _check_is_size _check_value _shape_as_tensor _sym_acos _sym_asin
        _sym_atan _sym_cos _sym_cosh _sym_log2 _sym_sin _sym_sinh _sym_sqrt _sym_tan _sym_tanh abs abs_
        absolute acos acos_ acosh acosh_ adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul
        addmm addmv addmv_ addr adjoint affine_grid_generator alias_copy all allclose alpha_dropout
        alpha_dropout_ amax amin aminmax angle any arange arccos arccos_ arccosh arccosh_ arcsin arcsin_
        arcsinh arcsinh_ arctan arctan2 arctan_ arctanh arctanh_ are_deterministic_algorithms_enabled argmax
        argmin argsort argwhere as_strided as_strided_ as_strided_copy as_strided_scatter as_tensor asarray
        asin asin_ asinh asinh_ atan atan2 atan_ atanh atanh_ atleast_1d atleast_2d atleast_3d
        autocast_decrement_nesting autocast_increment_nesting avg_pool1d baddbmm bartlett_window batch_norm
        batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats
        batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats bernoulli bilinear
        binary_cross_entropy_with_logits bincount binomial bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor blackman_window block_diag bmm broadcast_shapes
        broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat ccol_indices_copy cdist ceil
        ceil_ celu celu_ chain_matmul channel_shuffle cholesky cholesky_inverse cholesky_solve
        choose_qparams_optimized chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_
        clear_autocast_cache clip clip_ clone col_indices_copy column_stack combinations
        compiled_with_cxx11_abi complex concat concatenate conj conj_physical conj_physical_ constant_pad_nd
        conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution
        copysign corrcoef cos cos_ cosh cosh_ cosine_embedding_loss cosine_similarity count_nonzero cov
        cross crow_indices_copy ctc_loss cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution
        cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler
        cudnn_is_acceptable cummax cummin cumprod cumsum cumulative_trapezoid deg2rad deg2rad_ dequantize
        det detach detach_ detach_copy diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff
        digamma dist div divide dot dropout dropout_ dsmm dsplit dstack einsum embedding embedding_bag
        embedding_renorm_ empty empty_like empty_permuted empty_quantized empty_strided eq equal erf erf_
        erfc erfc_ erfinv exp exp2 exp2_ exp_ expand_copy expm1 expm1_ eye fake_quantize_per_channel_affine
        fake_quantize_per_tensor_affine fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix feature_alpha_dropout
        feature_alpha_dropout_ feature_dropout feature_dropout_ fill fill_ fix fix_ flatten flip fliplr
        flipud float_power floor floor_ floor_divide fmax fmin fmod fork frac frac_ frexp frobenius_norm
        from_numpy frombuffer full full_like fused_moving_avg_obs_fake_quant gather gcd gcd_ ge geqrf ger
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
        get_autocast_xla_dtype get_default_device get_default_dtype get_deterministic_debug_mode get_device
        get_float32_matmul_precision get_num_interop_threads get_num_threads gradient greater greater_equal
        grid_sampler grid_sampler_2d grid_sampler_3d group_norm gru gru_cell gt hamming_window hann_window
        hardshrink hash_tensor heaviside hinge_embedding_loss histc histogram histogramdd hsmm hsplit hspmm
        hstack hypot i0 i0_ igamma igammac imag index_add index_copy index_fill index_put index_put_
        index_reduce index_select indices_copy inner instance_norm int_repr inverse
        is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled is_autocast_ipu_enabled is_autocast_xla_enabled is_complex is_conj
        is_deterministic_algorithms_warn_only_enabled is_distributed is_floating_point is_grad_enabled
        is_inference is_inference_mode_enabled is_neg is_nonzero is_same_size is_signed is_storage is_tensor
        is_vulkan_available is_warn_always_enabled isclose isfinite isin isinf isnan isneginf isposinf
        isreal istft kaiser_window kl_div kron kthvalue layer_norm lcm lcm_ ldexp ldexp_ le lerp less
        less_equal lgamma linspace log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp
        logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logit_ logspace
        logsumexp lstm lstm_cell lt lu lu_solve lu_unpack margin_ranking_loss masked_fill masked_scatter
        masked_select matmul matrix_exp matrix_power max max_pool1d max_pool1d_with_indices max_pool2d
        max_pool3d maximum mean median merge_type_from_type_comment meshgrid min minimum miopen_batch_norm
        miopen_convolution miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
        miopen_ctc_loss miopen_depthwise_convolution miopen_rnn mkldnn_adaptive_avg_pool2d
        mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
        mkldnn_rnn_layer mm mode moveaxis movedim msort mul multinomial multiply mv mvlgamma nan_to_num
        nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy native_batch_norm
        native_channel_shuffle native_dropout native_group_norm native_layer_norm native_norm ne neg neg_
        negative negative_ nextafter nonzero nonzero_static norm norm_except_dim normal not_equal
        nuclear_norm numel ones ones_like orgqr ormqr outer pairwise_distance parse_ir parse_schema
        parse_type_comment pdist permute permute_copy pinverse pixel_shuffle pixel_unshuffle poisson
        poisson_nll_loss polar polygamma positive pow prelu prod promote_types put q_per_channel_axis
        q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qr quantile quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell
        quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
        quantized_rnn_relu_cell quantized_rnn_tanh_cell rad2deg rad2deg_ rand rand_like randint randint_like
        randn randn_like randperm range ravel real reciprocal reciprocal_ relu relu_ remainder renorm
        repeat_interleave reshape resize_as_ resize_as_sparse_ resolve_conj resolve_neg result_type rms_norm
        rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell roll rot90 round round_ row_indices_copy row_stack
        rrelu rrelu_ rsqrt rsqrt_ rsub saddmm scalar_tensor scatter scatter_add scatter_reduce searchsorted
        select select_copy select_scatter selu selu_ sgn sigmoid sigmoid_ sign signbit sin sin_ sinc sinc_
        sinh sinh_ slice_copy slice_scatter slogdet smm softmax sort sparse_bsc_tensor sparse_bsr_tensor
        sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor split split_copy
        split_with_sizes split_with_sizes_copy spmm sqrt sqrt_ square square_ squeeze squeeze_copy sspaddmm
        stack std std_mean stft sub subtract sum svd swapaxes swapdims sym_constrain_range
        sym_constrain_range_for_size sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not
        sym_sqrt sym_sum t t_copy take take_along_dim tan tan_ tanh tanh_ tensor tensor_split tensordot
        threshold threshold_ tile topk trace transpose transpose_copy trapezoid trapz triangular_solve tril
        tril_indices triplet_margin_loss triu triu_indices true_divide trunc trunc_ unbind unbind_copy
        unflatten unfold_copy unify_type_list unique unique_consecutive unravel_index unsafe_chunk
        unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_copy values_copy vander var var_mean vdot
        view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vsplit vstack wait
        where xlogy xlogy_ zero_ zeros zeros_like
        """.split()
    ),
    "torch.Tensor": frozenset(
        """
        abs abs_ absolute absolute_ acos acos_ acosh acosh_ add add_ addbmm addbmm_ addcdiv addcdiv_ addcmul
        addcmul_ addmm addmm_ addmv addmv_ addr addr_ adjoint all allclose amax amin aminmax angle any
        arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_
        arctanh arctanh_ argmax argmin argsort argwhere as_strided as_strided_ as_strided_scatter asin asin_
        asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm baddbmm_ bernoulli bernoulli_ bfloat16
        bincount bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_
        bitwise_or bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm bool
        broadcast_to byte cauchy_ ccol_indices cdouble ceil ceil_ cfloat chalf char cholesky
        cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip
        clip_ clone coalesce col_indices conj conj_physical conj_physical_ contiguous copy_ copysign
        copysign_ corrcoef cos cos_ cosh cosh_ count_nonzero cov cpu cross crow_indices cuda cummax cummin
        cumprod cumprod_ cumsum cumsum_ deg2rad deg2rad_ dense_dim dequantize det detach detach_ diag
        diag_embed diagflat diagonal diagonal_scatter diff digamma digamma_ dim dim_order dist div div_
        divide divide_ dot double dsplit eig element_size eq eq_ equal erf erf_ erfc erfc_ erfinv erfinv_
        exp exp2 exp2_ exp_ expand expand_as expm1 expm1_ exponential_ fill_ fill_diagonal_ fix fix_ flatten
        flip fliplr flipud float float_power float_power_ floor floor_ floor_divide floor_divide_ fmax fmin
        fmod fmod_ frac frac_ frexp gather gcd gcd_ ge ge_ geometric_ geqrf ger get_device greater greater_
        greater_equal greater_equal_ gt gt_ half hardshrink hash_tensor heaviside heaviside_ histc histogram
        hsplit hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ index index_add index_add_ index_copy
        index_copy_ index_fill index_fill_ index_put index_put_ index_reduce index_reduce_ index_select
        indices inner int int_repr inverse ipu is_coalesced is_complex is_conj is_contiguous is_distributed
        is_floating_point is_inference is_neg is_nonzero is_pinned is_same_size is_set_to is_shared
        is_signed isclose isfinite isinf isnan isneginf isposinf isreal istft item kron kthvalue lcm lcm_
        ldexp ldexp_ le le_ lerp lerp_ less less_ less_equal less_equal_ lgamma lgamma_ log log10 log10_
        log1p log1p_ log2 log2_ log_ log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logdet
        logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor logical_xor_
        logit logit_ logsumexp long lstsq lt lt_ lu lu_solve masked_fill masked_fill_ masked_scatter
        masked_scatter_ masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm
        mode moveaxis movedim msort mtia mul mul_ multinomial multiply multiply_ mv mvlgamma mvlgamma_
        nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum narrow narrow_copy ndimension ne ne_ neg
        neg_ negative negative_ nelement new new_empty new_empty_strided new_full new_ones new_tensor
        new_zeros nextafter nextafter_ nonzero nonzero_static norm normal_ not_equal not_equal_ numel orgqr
        ormqr outer permute pin_memory pinverse polygamma polygamma_ positive pow pow_ prelu prod put put_
        q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qr qscheme
        quantile rad2deg rad2deg_ random_ ravel reciprocal reciprocal_ reinforce relu relu_ remainder
        remainder_ renorm renorm_ repeat repeat_interleave requires_grad_ reshape reshape_as resize resize_
        resize_as resize_as_ resize_as_sparse_ resolve_conj resolve_neg retain_grad roll rot90 round round_
        row_indices rsqrt rsqrt_ scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
        select select_scatter sgn sgn_ short sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh
        sinh_ size slice_scatter slogdet smm softmax solve sort sparse_dim sparse_mask sparse_resize_
        sparse_resize_and_clear_ split split_with_sizes sqrt sqrt_ square square_ squeeze squeeze_ sspaddmm
        std stft storage_offset stride sub sub_ subtract subtract_ sum sum_to_size svd swapaxes swapaxes_
        swapdims swapdims_ symeig t t_ take take_along_dim tan tan_ tanh tanh_ tensor_split tile to to_dense
        to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
        to_sparse_csr tolist topk trace transpose transpose_ triangular_solve tril tril_ triu triu_
        true_divide true_divide_ trunc trunc_ type type_as unbind unflatten unfold uniform_ unique
        unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze unsqueeze_ values var
        vdot view view_as vsplit where xlogy xlogy_ xpu zero_
        """.split()
    ),
    "torch._C": frozenset(
        """
        _log_api_usage_once _set_grad_enabled
        """.split()
    ),
    "torch._C._fft": frozenset(
        """
        fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2
        fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft
        fft_rfft2 fft_rfftfreq fft_rfftn
        """.split()
    ),
    "torch._C._linalg": frozenset(
        """
        linalg__powsum linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cross linalg_det
        linalg_diagonal linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product
        linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq
        linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp
        linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv
        linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd
        linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linalg_vector_norm
        """.split()
    ),
    "torch._C._nn": frozenset(
        """
        adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d avg_pool2d
        avg_pool3d binary_cross_entropy col2im conv_depthwise3d cross_entropy_loss elu elu_
        flatten_dense_tensors fractional_max_pool2d fractional_max_pool3d gelu gelu_ glu hardsigmoid
        hardsigmoid_ hardswish hardswish_ hardtanh hardtanh_ huber_loss im2col l1_loss leaky_relu
        leaky_relu_ linear log_sigmoid max_pool2d_with_indices max_pool3d_with_indices max_unpool2d
        max_unpool3d mish mish_ mkldnn_linear mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight
        mse_loss multi_margin_loss multilabel_margin_loss nll_loss nll_loss2d nll_loss_nd one_hot pad
        pad_sequence reflection_pad1d reflection_pad2d reflection_pad3d relu6 relu6_ replication_pad1d
        replication_pad2d replication_pad3d rrelu_with_noise rrelu_with_noise_ scaled_dot_product_attention
        silu silu_ slow_conv3d slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d
        slow_conv_transpose3d smooth_l1_loss soft_margin_loss softplus softshrink thnn_conv2d
        unflatten_dense_tensors upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
        upsample_nearest2d upsample_nearest3d upsample_trilinear3d
        """.split()
    ),
    "torch._C._sparse": frozenset(
        """
        sparse_sampled_addmm
        """.split()
    ),
    "torch._C._special": frozenset(
        """
        special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
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
        special_softmax special_spherical_bessel_j0 special_xlog1py special_xlogy special_zeta
        """.split()
    ),
    "torch._functorch.predispatch": frozenset(
        """
        _add_batch_dim _enter_dual_level _exit_dual_level _jvp_decrement_nesting _jvp_increment_nesting
        _make_dual _remove_batch_dim _unpack_dual _unwrap_for_grad _vmap_decrement_nesting
        _vmap_increment_nesting lazy_load_decompositions
        """.split()
    ),
    "torch.amp.autocast_mode": frozenset(
        """
        _enter_autocast _exit_autocast
        """.split()
    ),
    "torch.ao.nn.quantized.functional": frozenset(
        """
        adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d celu clamp conv1d conv2d conv3d elu
        hardsigmoid hardswish hardtanh interpolate leaky_relu linear max_pool1d max_pool2d threshold
        upsample upsample_bilinear upsample_nearest
        """.split()
    ),
    "torch.fft": frozenset(
        """
        fft fft2 fftfreq fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft
        irfft2 irfftn rfft rfft2 rfftfreq rfftn
        """.split()
    ),
    "torch.functional": frozenset(
        """
        _check_list_size _consecutive_return_counts _consecutive_return_inverse
        _consecutive_return_inverse_and_counts _consecutive_return_inverse_false
        _consecutive_return_inverse_true _consecutive_return_output _lu_impl _lu_no_infos _lu_with_infos
        _meshgrid _return_counts _return_inverse _return_inverse_and_counts _return_inverse_false
        _return_inverse_true _return_output _unique_consecutive_impl _unique_consecutive_torch_function
        _unique_impl _unique_torch_function _unravel_index atleast_1d atleast_2d atleast_3d block_diag
        broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul einsum istft lu meshgrid norm
        split stft tensordot unique unique_consecutive unravel_index
        """.split()
    ),
    "torch.linalg": frozenset(
        """
        cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv
        inv_ex ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp
        matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex solve_triangular
        svd svdvals tensorinv tensorsolve vander vecdot vector_norm
        """.split()
    ),
    "torch.nested": frozenset(
        """
        as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor
        """.split()
    ),
    "torch.nn.functional": frozenset(
        """
        _adaptive_max_pool1d _adaptive_max_pool2d _adaptive_max_pool3d _canonical_mask
        _check_key_padding_mask _check_unpool_output_size _enum_list_as_int_list _expand_single_value
        _fractional_max_pool2d _fractional_max_pool3d _get_softmax_dim _in_projection _in_projection_packed
        _is_integer _list_or_empty _max_pool1d _max_pool2d _max_pool3d _mha_shape_check
        _no_grad_embedding_renorm_ _none_or_dtype _threshold _unpool_output_size _verify_batch_size
        _verify_spatial_size adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
        adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices
        adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout assert_int_or_pair
        avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy
        binary_cross_entropy_with_logits celu celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
        conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity
        cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu elu_ embedding embedding_bag
        feature_alpha_dropout fold fractional_max_pool2d fractional_max_pool2d_with_indices
        fractional_max_pool3d fractional_max_pool3d_with_indices gaussian_nll_loss gelu glu grid_sample
        group_norm grouped_mm gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_
        hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu
        leaky_relu_ linear linear_cross_entropy local_response_norm log_softmax logsigmoid lp_pool1d
        lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d
        max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d
        mish mse_loss multi_head_attention_forward multi_margin_loss multilabel_margin_loss
        multilabel_soft_margin_loss native_channel_shuffle nll_loss normalize one_hot pad pairwise_distance
        pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 relu_ rms_norm rrelu rrelu_
        scaled_dot_product_attention scaled_grouped_mm scaled_mm selu selu_ sigmoid silu smooth_l1_loss
        soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold threshold_
        triplet_margin_loss triplet_margin_with_distance_loss unfold upsample upsample_bilinear
        upsample_nearest
        """.split()
    ),
    "torch.sparse": frozenset(
        """
        addmm log_softmax mm sampled_addmm softmax spdiags spsolve sum
        """.split()
    ),
    "torch.special": frozenset(
        """
        airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1
        gammainc gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e
        laguerre_polynomial_l legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp
        modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri
        polygamma psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1
        shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
        shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy zeta
        """.split()
    ),
}
