"""PyTorch's operators `torch.ops.aten.*` that exist here, each with the names of its overloads.

An entry ``name:first,second`` has the overloads ``first`` and ``second``; a bare ``name`` has one,
``default``. Overloads of the name ``out`` take the result as ``out``.
"""

from __future__ import annotations

_TEXT = """
__and__:Tensor,Scalar __iand__:Tensor,Scalar __ilshift__:Scalar,Tensor __ior__:Tensor,Scalar
__irshift__:Scalar,Tensor __ixor__:Tensor,Scalar __lshift__:Scalar,Scalar_out,Tensor,Tensor_out
__or__:Scalar,Tensor __rshift__:Tensor,Scalar,Tensor_out,Scalar_out __xor__:Tensor,Scalar
_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_ _assert_async:msg,default
_coalesce:out,default _coalesced_ _convert_indices_from_coo_to_csr:out,default
_convert_indices_from_csr_to_coo:out,default _ctc_loss:Tensor_out,Tensor,out,default
_ctc_loss_backward:out,default,Tensor _dimI _dimV _dirichlet_grad:out,default
_euclidean_dist:default,out _fft_c2c:default,out _fft_c2r:out,default _fft_r2c:out,default
_foreach_abs:default,out _foreach_abs_ _foreach_acos:default,out _foreach_acos_
_foreach_add:Scalar,List_out,ScalarList_out,Tensor,Tensor_out,List,ScalarList,Scalar_out
_foreach_add_:List,Scalar,ScalarList,Tensor
_foreach_addcdiv:Scalar,Scalar_out,ScalarList,ScalarList_out,Tensor,Tensor_out
_foreach_addcdiv_:Scalar,Tensor,ScalarList
_foreach_addcmul:Scalar_out,ScalarList_out,ScalarList,Tensor,Scalar,Tensor_out
_foreach_addcmul_:Tensor,Scalar,ScalarList _foreach_asin:default,out _foreach_asin_
_foreach_atan:default,out _foreach_atan_ _foreach_ceil:out,default _foreach_ceil_
_foreach_clamp_max:List_out,ScalarList,Scalar_out,List,Scalar,ScalarList_out
_foreach_clamp_max_:List,Scalar,ScalarList
_foreach_clamp_min:Scalar,List_out,ScalarList,List,ScalarList_out,Scalar_out
_foreach_clamp_min_:Scalar,List,ScalarList _foreach_clone:default,out _foreach_copy_
_foreach_cos:out,default _foreach_cos_ _foreach_cosh:out,default _foreach_cosh_
_foreach_div:Scalar_out,ScalarList_out,ScalarList,List,Tensor_out,Tensor,List_out,Scalar
_foreach_div_:ScalarList,List,Tensor,Scalar _foreach_erf:out,default _foreach_erf_
_foreach_erfc:default,out _foreach_erfc_ _foreach_exp:out,default _foreach_exp_
_foreach_expm1:out,default _foreach_expm1_ _foreach_floor:out,default _foreach_floor_
_foreach_frac:default,out _foreach_frac_
_foreach_lerp:List_out,Scalar_out,ScalarList,ScalarList_out,Scalar,List
_foreach_lerp_:List,Scalar,ScalarList _foreach_lgamma:default,out _foreach_lgamma_
_foreach_log:out,default _foreach_log10:default,out _foreach_log10_ _foreach_log1p:default,out
_foreach_log1p_ _foreach_log2:out,default _foreach_log2_ _foreach_log_ _foreach_max:default,out
_foreach_maximum:List,ScalarList_out,Scalar,ScalarList,List_out,Scalar_out
_foreach_maximum_:Scalar,List,ScalarList
_foreach_minimum:ScalarList,Scalar,ScalarList_out,List_out,Scalar_out,List
_foreach_minimum_:List,ScalarList,Scalar
_foreach_mul:List,Scalar,ScalarList,Tensor_out,List_out,Scalar_out,Tensor,ScalarList_out
_foreach_mul_:Scalar,Tensor,List,ScalarList _foreach_neg:out,default _foreach_neg_
_foreach_norm:Scalar,Scalar_out
_foreach_pow:Scalar,List_out,ScalarAndTensor,ScalarList,Scalar_out,List,ScalarList_out
_foreach_pow_:ScalarList,Scalar,List _foreach_reciprocal:default,out _foreach_reciprocal_
_foreach_round:default,out _foreach_round_ _foreach_rsqrt:out,default _foreach_rsqrt_
_foreach_sigmoid:out,default _foreach_sigmoid_ _foreach_sign:default,out _foreach_sign_
_foreach_sin:out,default _foreach_sin_ _foreach_sinh:default,out _foreach_sinh_
_foreach_sqrt:default,out _foreach_sqrt_
_foreach_sub:List_out,ScalarList,ScalarList_out,List,Scalar_out,Scalar
_foreach_sub_:List,Scalar,ScalarList _foreach_tan:out,default _foreach_tan_
_foreach_tanh:default,out _foreach_tanh_ _foreach_trunc:out,default _foreach_trunc_
_foreach_zero_ _indices _linalg_det:default,result _linalg_eigh:default,eigenvalues
_linalg_eigvals _linalg_slogdet:default,sign _linalg_solve_ex:default,result
_linalg_svd:U,default _log_softmax:out,default _log_softmax_backward_data:default,out _nnz
_pack_padded_sequence:default,out _pad_packed_sequence _sample_dirichlet:default,out
_shape_as_tensor _softmax:default,out _softmax_backward_data:default,out
_sparse_addmm:default,out _sparse_coo_tensor_unsafe
_sparse_coo_tensor_with_dims_and_tensors:out,default _sparse_log_softmax:out,default,int
_sparse_mm:default,reduce _sparse_softmax:out,int,default _sparse_sparse_matmul:default,out
_sparse_sum:dim,dim_dtype,dim_out,default,dtype _sparse_sum_backward:out,default
_standard_gamma:out,default _standard_gamma_grad:default,out _to_dense:default,out
_to_sparse:sparse_dim_out,default,sparse_dim,out _unique:out,default _values _version
abs:out,default abs_ absolute:default,out absolute_ acos:out,default acos_ acosh:out,default
acosh_ adaptive_avg_pool1d:default,out adaptive_avg_pool2d:default,out
adaptive_avg_pool3d:out,default adaptive_max_pool1d adaptive_max_pool2d:out,default
adaptive_max_pool3d:default,out add:Scalar,Tensor,Scalar_out,out add_:Tensor,Scalar
addbmm:out,default addbmm_ addcdiv:out,default addcdiv_ addcmul:default,out addcmul_
addmm:dtype_out,default,dtype,out addmm_ addmv:out,default addmv_ addr:default,out addr_ adjoint
affine_grid_generator:default,out alias alias_copy:default,out
all:dim,default,out,dims_out,dims,all_out allclose alpha_dropout alpha_dropout_ amax:default,out
amin:default,out aminmax:default,out angle:default,out any:dims_out,default,dim,all_out,out,dims
arange:start_step,start,start_out,out,default arccos:out,default arccos_ arccosh:out,default
arccosh_ arcsin:out,default arcsin_ arcsinh:default,out arcsinh_ arctan:default,out
arctan2:out,default arctan2_ arctan_ arctanh:out,default arctanh_ argmax:out,default
argmin:default,out argsort:default,stable,stable_out argwhere as_strided as_strided_
as_strided_copy:default,out as_strided_scatter:out,default asin:out,default asin_
asinh:out,default asinh_ atan:default,out atan2:default,out atan2_ atan_ atanh:out,default
atanh_ atleast_1d:Sequence,default atleast_2d:Sequence,default atleast_3d:default,Sequence
avg_pool1d:default,out avg_pool2d:default,out avg_pool3d:out,default
baddbmm:default,dtype_out,out,dtype baddbmm_ bartlett_window:default,periodic_out,out,periodic
batch_norm bernoulli:out,float_out,p,Tensor,Tensor_out,default bernoulli_:Tensor,float bilinear
binary_cross_entropy:out,default binary_cross_entropy_with_logits:out,default
bincount:default,out binomial:default,out
bitwise_and:Scalar_Tensor_out,Tensor_out,Scalar_out,Scalar,Scalar_Tensor,Tensor
bitwise_and_:Tensor,Scalar
bitwise_left_shift:Tensor_out,Tensor,Tensor_Scalar_out,Scalar_Tensor,Tensor_Scalar,Scalar_Tensor_out
bitwise_left_shift_:Tensor,Tensor_Scalar bitwise_not:default,out bitwise_not_
bitwise_or:Tensor,Tensor_out,Scalar,Scalar_out,Scalar_Tensor_out,Scalar_Tensor
bitwise_or_:Scalar,Tensor
bitwise_right_shift:Scalar_Tensor,Tensor_Scalar_out,Tensor_Scalar,Scalar_Tensor_out,Tensor,Tensor_out
bitwise_right_shift_:Tensor,Tensor_Scalar
bitwise_xor:Scalar_Tensor_out,Scalar_out,Scalar_Tensor,Scalar,Tensor_out,Tensor
bitwise_xor_:Tensor,Scalar blackman_window:periodic_out,out,default,periodic
block_diag:out,default bmm:dtype,dtype_out,out,default broadcast_tensors broadcast_to
bucketize:Tensor,Scalar_out,Scalar,Tensor_out can_cast cartesian_prod cat:out,default cauchy_
ccol_indices cdist ceil:out,default ceil_ celu:out,default celu_ chain_matmul:default,out chalf
channel_shuffle:default,out cholesky:default,out cholesky_inverse:default,out
cholesky_solve:out,default chunk clamp:default,Tensor,Tensor_out,out clamp_:default,Tensor
clamp_max:Tensor,default,Tensor_out,out clamp_max_:default,Tensor
clamp_min:Tensor,Tensor_out,out,default clamp_min_:Tensor,default
clip:Tensor,out,default,Tensor_out clip_:default,Tensor clone:default,out coalesce col_indices
column_stack:out,default combinations complex:out,default concat:default,out
concatenate:default,out conj conj_physical:out,default conj_physical_
constant_pad_nd:out,default contiguous conv1d:default,padding conv2d:padding,default
conv3d:padding,default conv_tbc:default,out conv_transpose1d conv_transpose2d:input
conv_transpose3d:input convolution:default,out copy_ copysign:Scalar,Tensor,out,Scalar_out
copysign_:Scalar,Tensor corrcoef cos:out,default cos_ cosh:default,out cosh_
cosine_embedding_loss cosine_similarity count_nonzero:default,dim_IntList,out,dim_IntList_out
cov cross:default,out crow_indices ctc_loss:Tensor,IntList cummax:out,default cummin:out,default
cumprod:out,default cumprod_ cumsum:default,out cumsum_ cumulative_trapezoid:x,dx data
deg2rad:default,out deg2rad_ dense_dim dequantize:self,tensors_out,self_out,tensors det detach
detach_ detach_copy:out,default diag:out,default diag_embed:out,default diagflat diagonal
diagonal_copy:out,default diagonal_scatter:default,out diff:out,default digamma:default,out
digamma_ dim dist:default,out
div:Tensor_mode,Scalar_out,Scalar,out,Scalar_mode_out,Tensor,Scalar_mode,out_mode
div_:Tensor,Scalar,Tensor_mode,Scalar_mode
divide:Tensor,out,out_mode,Scalar_mode,Tensor_mode,Scalar
divide_:Tensor_mode,Scalar,Scalar_mode,Tensor dot:out,default dropout dropout_ dsplit:array,int
dstack:default,out einsum elu:default,out elu_ embedding:default,out embedding_backward
embedding_bag:padding_idx,default embedding_renorm_ empty:out,memory_format
empty_like:out,default empty_permuted:default,out empty_strided:out,default
eq:Scalar_out,Tensor,Scalar,Tensor_out eq_:Tensor,Scalar equal erf:default,out erf_
erfc:out,default erfc_ erfinv:default,out erfinv_ exp:default,out exp2:out,default exp2_ exp_
expand expand_as expand_copy:out,default expm1:out,default expm1_ exponential_
eye:default,out,m_out,m feature_alpha_dropout feature_alpha_dropout_ feature_dropout
feature_dropout_ fft_fft:out,default fft_fft2:default,out fft_fftfreq:default,out
fft_fftn:default,out fft_fftshift fft_hfft:default,out fft_hfft2:out,default
fft_hfftn:default,out fft_ifft:default,out fft_ifft2:default,out fft_ifftn:out,default
fft_ifftshift fft_ihfft:out,default fft_ihfft2:out,default fft_ihfftn:default,out
fft_irfft:default,out fft_irfft2:default,out fft_irfftn:default,out fft_rfft:out,default
fft_rfft2:out,default fft_rfftfreq:out,default fft_rfftn:default,out
fill:Scalar,Tensor,Scalar_out,Tensor_out fill_:Scalar,Tensor fill_diagonal_ fix:out,default fix_
flatten:using_ints flip:default,out fliplr flipud
float_power:Tensor_Tensor_out,Tensor_Scalar,Scalar,Tensor_Scalar_out,Scalar_out,Tensor_Tensor
float_power_:Tensor,Scalar floor:out,default floor_ floor_divide:Scalar,default,Scalar_out,out
floor_divide_:Scalar,Tensor fmax:default,out fmin:default,out
fmod:Scalar_out,Tensor,Tensor_out,Scalar fmod_:Scalar,Tensor frac:out,default frac_
fractional_max_pool2d:default,output fractional_max_pool3d:output,default
frexp:Tensor_out,Tensor frobenius_norm:dim,out from_file:out,default full:default,out
full_like:out,default gather:default,out gcd:out,default gcd_
ge:Scalar,Tensor_out,Tensor,Scalar_out ge_:Tensor,Scalar gelu:default,out
gelu_backward:grad_input,default geometric_ geqrf:a,default ger:default,out get_device
glu:default,out
gradient:scalarrayint,array,scalararray,scalarint,tensorarrayint,tensorarray,scalarrayarray
greater:Scalar,Tensor_out,Tensor,Scalar_out greater_:Tensor,Scalar
greater_equal:Tensor,Tensor_out,Scalar,Scalar_out greater_equal_:Tensor,Scalar grid_sampler
grid_sampler_2d:default,out grid_sampler_3d:out,default group_norm gru:data,input gru_cell
gt:Scalar_out,Tensor_out,Tensor,Scalar gt_:Tensor,Scalar
hamming_window:periodic,periodic_alpha_beta_out,periodic_alpha,periodic_out,default,out,periodic_alpha_out,periodic_alpha_beta
hann_window:periodic_out,default,out,periodic hardshrink:out,default hardsigmoid:out,default
hardsigmoid_ hardswish:out,default hardswish_ hardswish_backward:default,out
hardtanh:out,default hardtanh_ heaviside:default,out heaviside_ hinge_embedding_loss
histc:out,default histogram:bin_ct,bin_ct_out,bins_tensor_out,bins_tensor
histogramdd:int_bins,default,TensorList_bins hsplit:array,int hspmm:default,out
hstack:default,out huber_loss:out,default hypot:default,out hypot_ i0:out,default i0_
igamma:default,out igamma_ igammac:default,out igammac_ imag index:Tensor,Tensor_out
index_add:out,default index_add_ index_copy:out,default index_copy_
index_fill:int_Scalar_out,int_Tensor,int_Scalar,int_Tensor_out index_fill_:int_Tensor,int_Scalar
index_put:out,default index_put_ index_reduce:default,out index_reduce_ index_select:out,default
indices inner:default,out instance_norm int_repr:default,out inverse:out,default is_coalesced
is_complex is_conj is_contiguous:default,memory_format is_distributed is_floating_point
is_inference is_leaf is_neg is_nonzero is_pinned is_same_size is_set_to is_signed
is_vulkan_available isclose isfinite
isin:Scalar_Tensor,Tensor_Scalar,Tensor_Tensor,Scalar_Tensor_out,Tensor_Tensor_out,Tensor_Scalar_out
isinf:out,default isnan:out,default isneginf:out,default isposinf:out,default isreal istft item
kaiser_window:beta_out,default,beta,periodic_out,periodic,out kl_div kron:default,out
kthvalue:default,values l1_loss layer_norm lcm:out,default lcm_ ldexp:Tensor,out ldexp_
le:Tensor_out,Tensor,Scalar,Scalar_out le_:Tensor,Scalar leaky_relu:out,default leaky_relu_
leaky_relu_backward:grad_input,default lerp:Tensor,Scalar,Scalar_out,Tensor_out
lerp_:Tensor,Scalar less:Scalar,Scalar_out,Tensor_out,Tensor less_:Tensor,Scalar
less_equal:Tensor,Scalar_out,Scalar,Tensor_out less_equal_:Tensor,Scalar lgamma:out,default
lgamma_ linalg_cholesky:out,default linalg_cholesky_ex:default,L
linalg_cond:p_str,p_str_out,default,out linalg_cross:out,default linalg_det:default,out
linalg_eig:out,default linalg_eigh:default,eigvals linalg_eigvals:out,default
linalg_eigvalsh:default,out linalg_householder_product:default,out linalg_inv:out,default
linalg_inv_ex:default,inverse linalg_ldl_factor:out,default linalg_ldl_factor_ex:out,default
linalg_ldl_solve:default,out linalg_lstsq:out,default linalg_lu:default,out
linalg_lu_factor:default,out linalg_lu_factor_ex:default,out linalg_lu_solve:out,default
linalg_matrix_exp:default,out linalg_matrix_norm:out,str_ord_out,default,str_ord
linalg_matrix_power:out,default
linalg_matrix_rank:atol_rtol_float_out,atol_rtol_tensor,default,atol_rtol_tensor_out,out,atol_rtol_float,tol_tensor,out_tol_tensor
linalg_multi_dot:out,default linalg_norm:ord_str,default,out,ord_str_out
linalg_pinv:atol_rtol_float_out,default,atol_rtol_float,out,rcond_tensor,atol_rtol_tensor_out,out_rcond_tensor,atol_rtol_tensor
linalg_qr:default,out linalg_slogdet:default,out linalg_solve:default,out
linalg_solve_ex:default,out linalg_solve_triangular:out,default linalg_svd:U,default
linalg_svdvals:default,out linalg_tensorinv:default,out linalg_tensorsolve:default,out
linalg_vander linalg_vecdot:out,default linalg_vector_norm:out,default linear:default,out
linspace:Tensor_Tensor,Scalar_Tensor_out,Tensor_Scalar_out,Tensor_Tensor_out,out,Scalar_Tensor,Tensor_Scalar,default
log:default,out log10:default,out log10_ log1p:default,out log1p_ log2:out,default log2_ log_
log_normal_ log_sigmoid:out,default log_softmax:int_out,int logaddexp:default,out
logaddexp2:default,out logcumsumexp:default,out logdet logical_and:out,default logical_and_
logical_not:default,out logical_not_ logical_or:default,out logical_or_ logical_xor:default,out
logical_xor_ logit:out,default logit_
logspace:Tensor_Tensor,Scalar_Tensor_out,default,Tensor_Scalar,Tensor_Tensor_out,Scalar_Tensor,out,Tensor_Scalar_out
logsumexp:default,out lstm:input,data lstm_cell lt:Tensor,Scalar_out,Tensor_out,Scalar
lt_:Scalar,Tensor lu_solve:out,default lu_unpack:out,default mH mT margin_ranking_loss
masked_fill:Tensor,Scalar_out,Scalar,Tensor_out masked_fill_:Tensor,Scalar
masked_scatter:default,out masked_scatter_ masked_select:out,default matmul:default,out matrix_H
matrix_exp matrix_power:default,out max:default,other,unary_out,dim_max,out,dim max_pool1d
max_pool1d_with_indices max_pool2d max_pool2d_with_indices:default,out max_pool3d
max_pool3d_with_indices:default,out maximum:default,out mean:out,dtype_out,default,dim
median:dim,default,out,dim_values meshgrid:default,indexing
min:out,other,dim,unary_out,dim_min,default minimum:default,out mish:out,default mish_
mm:dtype_out,dtype,default,out mode:values,default moveaxis:int,intlist movedim:int,intlist
mse_loss:default,out msort:out,default mul:Tensor,out,Scalar_out,Scalar mul_:Tensor,Scalar
multinomial:default,out multiply:Scalar,Tensor,out multiply_:Scalar,Tensor mv:out,default
mvlgamma:default,out mvlgamma_ nan_to_num:default,out nan_to_num_ nanmean:default,out
nanmedian:default,out,dim,dim_values nanquantile:out,scalar,scalar_out,default
nansum:out,default narrow:Tensor,default narrow_copy:out,default native_batch_norm:default,out
native_channel_shuffle native_dropout:out,default native_group_norm:out,default
native_layer_norm:out,default ne:Scalar_out,Scalar,Tensor_out,Tensor ne_:Scalar,Tensor
neg:out,default neg_ negative:default,out negative_ new_empty:default,out
new_empty_strided:out,default new_full:default,out new_ones:default,out new_zeros:default,out
nextafter:out,default nextafter_ nll_loss:default,out nonzero:out,default
nonzero_static:default,out
norm:ScalarOpt_dtype_out,dtype_out,Scalar,ScalarOpt_dim_dtype,ScalarOpt_dtype,out,ScalarOpt_dim,Scalar_out
norm_except_dim
normal:out,Tensor_Tensor_out,float_Tensor_out,Tensor_float_out,float_Tensor,float_float_out,Tensor_float,float_float,Tensor_Tensor
normal_ not_equal:Tensor,Scalar_out,Scalar,Tensor_out not_equal_:Tensor,Scalar
nuclear_norm:default,dim,dim_out,out numel numpy_T one_hot ones:out,default
ones_like:out,default orgqr:out,default ormqr:out,default outer:default,out output_nr pad
pairwise_distance pdist permute permute_copy:default,out pin_memory pinverse
pixel_shuffle:default,out pixel_unshuffle:out,default poisson:default,out poisson_nll_loss
polar:default,out polygamma:out,default polygamma_ positive
pow:Tensor_Scalar,Scalar,Tensor_Scalar_out,Scalar_out,Tensor_Tensor_out,Tensor_Tensor
pow_:Tensor,Scalar prelu prod:dim_int,default,out,int_out promote_types put:out,default put_
q_per_channel_axis q_per_channel_scales:out,default q_per_channel_zero_points:default,out
q_scale q_zero_point qr:Q,default qscheme quantile:scalar_out,scalar,default,out
rad2deg:default,out rad2deg_ rand:out,default,generator,generator_out
rand_like:default,out,generator_out,generator
randint:default,low,low_out,low_generator,out,generator,generator_out,low_generator_out
randint_like:Tensor_out,default,generator,generator_out,out,low_generator_dtype,low_generator_dtype_out,low_dtype_out,Tensor,low_dtype,Tensor_generator_out,Tensor_generator
randn:generator,default,generator_out,out randn_like:generator,default,generator_out,out
random:to_out,from,out,from_out,default,to random_:to,default,from
randperm:default,generator_out,out,generator range:default,out,step,out_ ravel real
reciprocal:default,out reciprocal_ record_stream relu:out,default relu_
remainder:Scalar_Tensor,Tensor_out,Scalar_out,Scalar,Tensor,Scalar_Tensor_out
remainder_:Scalar,Tensor renorm:out,default renorm_ repeat:out,default
repeat_interleave:Tensor,self_Tensor,Tensor_out,self_int requires_grad_ reshape reshape_as
resize:out,default resize_ resize_as:out,default resize_as_ resize_as_sparse_ resolve_conj
resolve_neg result_type:Scalar,Scalar_Tensor,Tensor,Scalar_Scalar retain_grad retains_grad
rms_norm rnn_relu:data,input rnn_relu_cell rnn_tanh:data,input rnn_tanh_cell roll:out,default
rot90:default,out round:default,decimals_out,decimals,out round_:decimals,default row_indices
row_stack:default,out rrelu rrelu_ rsqrt:default,out rsqrt_
rsub:Scalar_out,Scalar,Tensor,Tensor_out scalar_tensor:out,default scaled_dot_product_attention
scatter:value,value_out,value_reduce,reduce,src,src_out,value_reduce_out,reduce_out
scatter_:value_reduce,value,src,reduce scatter_add:out,default scatter_add_
scatter_reduce:two_out,two scatter_reduce_:two searchsorted:Tensor,Tensor_out,Scalar,Scalar_out
segment_reduce:default,out select:int select_copy:int_out,int select_scatter:default,out selu
selu_
set_:source_Tensor_storage_offset,default,source_Storage_storage_offset,source_Tensor,source_Storage
sgn:default,out sgn_ sigmoid:default,out sigmoid_ sigmoid_backward:default,grad_input
sign:default,out sign_ signbit:out,default silu:default,out silu_
silu_backward:grad_input,default sin:out,default sin_ sinc:default,out sinc_ sinh:out,default
sinh_ size:int slice:Tensor slice_copy:Tensor,Tensor_out slice_scatter:default,out
slogdet:default,out smm smooth_l1_loss:default,out softmax:int_out,int softplus:default,out
softplus_backward:grad_input,default softshrink:default,out
sort:default,stable,values_stable,values sparse_bsc_tensor:ccol_row_value,ccol_row_value_size
sparse_bsr_tensor:crow_col_value_size,crow_col_value
sparse_compressed_tensor:comp_plain_value_size,comp_plain_value
sparse_coo_tensor:size_out,indices,indices_size,size
sparse_csc_tensor:ccol_row_value_size,ccol_row_value
sparse_csr_tensor:crow_col_value_size,crow_col_value sparse_dim sparse_mask:out,default
sparse_resize_ sparse_resize_and_clear_ sparse_sampled_addmm:default,out
special_airy_ai:out,default special_bessel_j0:default,out special_bessel_j1:out,default
special_bessel_y0:default,out special_bessel_y1:default,out
special_chebyshev_polynomial_t:n_scalar_out,default,out,n_scalar,x_scalar,x_scalar_out
special_chebyshev_polynomial_u:n_scalar_out,x_scalar_out,x_scalar,out,default,n_scalar
special_chebyshev_polynomial_v:x_scalar_out,n_scalar_out,n_scalar,default,out,x_scalar
special_chebyshev_polynomial_w:default,x_scalar,n_scalar,out,n_scalar_out,x_scalar_out
special_entr:out,default special_erfcx:default,out
special_hermite_polynomial_h:default,x_scalar,n_scalar_out,out,x_scalar_out,n_scalar
special_hermite_polynomial_he:n_scalar,x_scalar,default,out,x_scalar_out,n_scalar_out
special_i0e:default,out special_i1:default,out special_i1e:default,out
special_laguerre_polynomial_l:out,n_scalar,n_scalar_out,x_scalar,x_scalar_out,default
special_legendre_polynomial_p:n_scalar,n_scalar_out,x_scalar_out,x_scalar,out,default
special_log_ndtr:out,default special_modified_bessel_i0:out,default
special_modified_bessel_i1:out,default special_modified_bessel_k0:default,out
special_modified_bessel_k1:out,default special_ndtr:out,default special_ndtri:out,default
special_scaled_modified_bessel_k0:default,out special_scaled_modified_bessel_k1:default,out
special_shifted_chebyshev_polynomial_t:x_scalar_out,out,default,n_scalar_out,n_scalar,x_scalar
special_shifted_chebyshev_polynomial_u:x_scalar,n_scalar_out,n_scalar,default,out,x_scalar_out
special_shifted_chebyshev_polynomial_v:out,default,x_scalar,n_scalar,x_scalar_out,n_scalar_out
special_shifted_chebyshev_polynomial_w:x_scalar_out,x_scalar,n_scalar,default,out,n_scalar_out
special_spherical_bessel_j0:out,default
special_xlog1py:other_scalar_out,self_scalar_out,out,self_scalar,other_scalar,default
special_zeta:self_scalar,other_scalar,out,other_scalar_out,default,self_scalar_out
split:sizes,Tensor split_copy:Tensor,Tensor_out split_with_sizes
split_with_sizes_copy:out,default sqrt:out,default sqrt_ square:out,default square_
squeeze:default,dim,dims squeeze_:dim,dims,default
squeeze_copy:dims_out,default,dims,out,dim,dim_out sspaddmm:out,default stack:default,out
std:correction_out,dim,out,correction,default std_mean:default,correction,correction_out,dim
stft:center,default storage_offset stride:int sub:Scalar_out,out,Tensor,Scalar
sub_:Tensor,Scalar subtract:Scalar,out,Tensor subtract_:Scalar,Tensor
sum:default,dim_IntList,out,IntList_out sum_to_size svd:default,U swapaxes swapaxes_ swapdims
swapdims_ sym_constrain_range sym_constrain_range_for_size t t_ t_copy:default,out
take:out,default take_along_dim:out,default tan:default,out tan_ tanh:out,default tanh_
tanh_backward:default,grad_input tensor_split:tensor_indices_or_sections,sections,indices
tensordot:default,out threshold:default,out threshold_ threshold_backward:default,grad_input
tile to:device,other,dtype,dtype_layout to_dense to_sparse:sparse_dim,default to_sparse_bsc
to_sparse_bsr to_sparse_csc to_sparse_csr topk:default,values trace:out,default transpose:int
transpose_ transpose_copy:int_out,int trapezoid:x,dx trapz:x,dx triangular_solve:X,default
tril:default,out tril_ tril_indices:default,out triplet_margin_loss triu:out,default triu_
triu_indices:out,default true_divide:Scalar,out,Tensor true_divide_:Tensor,Scalar
trunc:out,default trunc_ type_as unbind:int unbind_copy:int,int_out unflatten:int unfold
unfold_copy:out,default uniform_ unique_consecutive:out,default unsafe_chunk
unsafe_split:Tensor_out,Tensor unsafe_split_with_sizes:out,default unsqueeze unsqueeze_
unsqueeze_copy:out,default values vander var:correction,default,dim,correction_out,out
var_mean:dim,correction,correction_out,default vdot:out,default view:default,dtype view_as
view_as_complex view_as_complex_copy:out,default view_as_real view_as_real_copy:out,default
view_copy:dtype,dtype_out,out,default vsplit:int,array vstack:out,default
where:default,ScalarOther,self,ScalarSelf,Scalar,self_out
xlogy:Tensor,OutScalar_Self,Scalar_Self,OutScalar_Other,OutTensor,Scalar_Other
xlogy_:Tensor,Scalar_Other zero:out,default zero_ zeros:out,default zeros_like:default,out
"""


def overloads():
    """name -> names of overloads."""
    found = {}
    for word in _TEXT.split():
        name, _, listed = word.partition(":")
        found[name] = listed.split(",") if listed else ["default"]
    return found
