"""Layers and losses as functions.

Names that need nothing but an operator are bound to it directly (`_OPERATORS`); the others are
here and, by subject, in the `_functional_*` modules.
"""

# ruff: noqa: F401 - the public names are collected here

from __future__ import annotations

from flambeau._autocast import autocast_policy
from flambeau._C import Tensor, ops
from flambeau._torch_function import let_override
from flambeau.autograd import no_grad

from . import _reduction as _Reduction
from ._functional_activation import (
    alpha_dropout,
    celu,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    elu,
    feature_alpha_dropout,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    logsigmoid,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from ._functional_attention import (
    _canonical_mask,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
    multi_head_attention_forward,
)
from ._functional_common import _list_with_default, _pair, _single, _triple
from ._functional_distance import cosine_similarity, normalize, pairwise_distance, pdist
from ._functional_embedding import embedding, embedding_bag
from ._functional_loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    linear_cross_entropy,
    margin_ranking_loss,
    mse_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ._functional_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ._functional_vision import (
    affine_grid,
    channel_shuffle,
    fold,
    grid_sample,
    interpolate,
    native_channel_shuffle,
    pixel_shuffle,
    pixel_unshuffle,
    unfold,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)

_OPERATORS = (
    "linear conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d "
    "relu_ threshold_ hardtanh_ elu_ selu_ celu_ leaky_relu_ rrelu_ "
    "gelu prelu softplus softshrink hardshrink one_hot scaled_dot_product_attention"
).split()
for _name in _OPERATORS:
    if hasattr(ops, _name):
        globals()[_name] = getattr(ops, _name)


def pad(input, pad, mode="constant", value=None):
    """Borders added around input, or cut off by negative amounts.

    Args:
        pad: (left, right) of the last dimension, then of the one before, and so on.
        mode: ``constant``, ``reflect``, ``replicate`` or ``circular``.
        value: of constant borders; 0 if left out.

    >>> F.pad(flambeau.tensor([1, 2]), (1, 0))
    tensor([0, 1, 2])
    """
    return ops.pad(input, pad, mode, value)


@autocast_policy("none")
def bilinear(input1, input2, weight, bias=None):
    """``input1 @ weight[k] @ input2 + bias[k]`` for each output feature k.

    Args:
        input1, input2: (*, in1) and (*, in2) with equal leading dimensions.
        weight: (out, in1, in2).
        bias: (out,).
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            "bilinear(): input batch dimensions do not match: got "
            f"{list(input1.shape[:-1])} and {list(input2.shape[:-1])}"
        )
    features, in1, in2 = weight.shape
    if (input1.shape[-1], input2.shape[-1]) != (in1, in2):
        raise RuntimeError(
            f"bilinear(): inputs have {input1.shape[-1]} and {input2.shape[-1]} features, but the "
            f"weight expects {in1} and {in2}"
        )
    rows = input1.reshape(-1, in1)
    left = (rows @ weight.permute(1, 0, 2).reshape(in1, features * in2)).reshape(-1, features, in2)
    out = (left @ input2.reshape(-1, in2, 1)).reshape(*input1.shape[:-1], features)
    return out if bias is None else out + bias


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Products of matrices of different sizes that lie side by side in one: one per expert.

    Args:
        mat_a, mat_b: float32, bfloat16 or float16, 2-d or 3-d. A 3-d one holds a matrix per group,
            a 2-d one all groups along one dimension: (tokens, k) @ (groups, k, n) gives
            (tokens, n), (groups, m, k) @ (k, tokens) gives (m, tokens), and (m, tokens) @
            (tokens, n), split along the inner dimension, gives (groups, m, n).
        offs: int32, where each group ends; None where both are 3-d. What lies behind the last
            group gives zeros.
        bias, out_dtype: not supported by PyTorch's CPU kernels either.

    Errors: `RuntimeError` for shapes and dtypes that do not fit.

    >>> tokens = flambeau.tensor([[1.0], [2.0], [3.0]])
    >>> experts = flambeau.tensor([[[10.0]], [[100.0]]])
    >>> F.grouped_mm(tokens, experts, offs=flambeau.tensor([1, 3], dtype=flambeau.int32)).tolist()
    [[10.0], [200.0], [300.0]]
    """
    return ops._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


# Normalisation ------------------------------------------------------------------------------------


def _verify_batch_size(size):
    count = size[0]
    for s in size[2:]:
        count *= s
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def batch_norm(
    input,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.1,
    eps=1e-5,
):
    """Each channel (dimension 1) minus its mean, divided by its deviation.

    Args:
        running_mean, running_var: the statistics used in evaluation, updated in training.
        training: whether the batch's own statistics are used.

    Raises:
        ValueError: a channel has a single value in training.
    """
    if training:
        _verify_batch_size(input.shape)
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def _verify_spatial_size(size):
    count = 1
    for s in size[2:]:
        count *= s
    if count == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {size}"
        )


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """`batch_norm` of each sample on its own."""
    if use_input_stats:
        _verify_spatial_size(input.shape)
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    n, c = input.shape[:2]

    # Every channel of every sample becomes a channel of one sample.
    def repeated(t):
        return None if t is None else t.repeat(n)

    mean, var = repeated(running_mean), repeated(running_var)
    out = ops.batch_norm(
        input.reshape(1, n * c, *input.shape[2:]),
        repeated(weight),
        repeated(bias),
        mean,
        var,
        use_input_stats,
        momentum,
        eps,
    )
    if use_input_stats:
        with no_grad():
            for running, each in ((running_mean, mean), (running_var, var)):
                if running is not None:
                    running.copy_(each.reshape(n, c).mean(0))
    return out.reshape(input.shape)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """input minus its mean, divided by its deviation, both over the last dimensions.

    Args:
        normalized_shape: the sizes of those dimensions.
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """input divided by the root of its mean square over the last dimensions."""
    return ops.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """`layer_norm` over each of the groups that the channels (dimension 1) are split into."""
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    n, c = input.shape[:2]
    _verify_batch_size([n * c // num_groups, num_groups, *input.shape[2:]])
    return ops.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input divided by ``(k + alpha * mean of squares over size channels) ** beta``."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    # The channels become the last dimension of a picture of one channel.
    n, c = input.shape[:2]
    squares = (input * input).reshape(n, 1, c, -1)
    squares = ops.pad(squares, [0, 0, size // 2, (size - 1) // 2], "constant", 0)
    means = ops.avg_pool2d(squares, [size, 1], 1).reshape(input.shape)
    return input / (means * alpha + k).pow(beta)


# By the name of this module they are pickled, also into PyTorch's files.
_own = []
for _name, _function in list(globals().items()):
    _module = str(getattr(_function, "__module__", ""))
    if _module.startswith("flambeau.nn._functional"):
        _function.__module__ = __name__
    if _module.startswith("flambeau.nn._functional") or _module == __name__:
        _own.append(_name)
let_override(globals(), [_name for _name in _own if not _name.startswith("_")])
