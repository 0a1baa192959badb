"""Pooling: maxima, averages and p-norms over windows, and the way back from maxima."""

from __future__ import annotations

from flambeau._autocast import autocast_policy
from flambeau._C import ops

from ._functional_common import _list_with_default, _pair, _single, _triple


def _max_pool(n):
    pool, pool_with_indices = f"max_pool{n}d", f"max_pool{n}d_with_indices"

    def max_pool(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        stride = kernel_size if stride is None else stride
        arguments = (input, kernel_size, stride, padding, dilation, ceil_mode)
        if return_indices:
            return getattr(ops, pool_with_indices)(*arguments)
        return getattr(ops, pool)(*arguments)

    def max_pool_with_indices(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    return (
        _named(max_pool, pool, f"The maximum of each window of the last {n} dimensions."),
        _named(max_pool_with_indices, pool_with_indices, f"`{pool}` and where the maxima are."),
    )


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _adaptive_max_pool(n):
    name = f"adaptive_max_pool{n}d"

    def with_indices(input, output_size, return_indices=False):
        size = _list_with_default(output_size, input.shape)
        return getattr(ops, name)(input, size)

    def adaptive(input, output_size, return_indices=False):
        result = with_indices(input, output_size)
        return result if return_indices else result[0]

    return (
        _named(adaptive, name, "The maxima of as many windows as output_size says."),
        _named(with_indices, f"{name}_with_indices", f"`{name}` and where the maxima are."),
    )


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


def adaptive_avg_pool1d(input, output_size):
    """The means of as many windows as output_size says."""
    return ops.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """The means of as many windows as output_size says; None keeps the input's size."""
    return ops.adaptive_avg_pool2d(input, _list_with_default(output_size, input.shape))


def adaptive_avg_pool3d(input, output_size):
    """The means of as many windows as output_size says; None keeps the input's size."""
    return ops.adaptive_avg_pool3d(input, _list_with_default(output_size, input.shape))


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of the last dimension."""
    stride = kernel_size if stride is None else stride
    return ops.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The mean of each window of the last two dimensions.

    Args:
        count_include_pad: whether padding counts as elements of value zero.
        divisor_override: divides the sums by that number instead of the window's size.
    """
    stride = kernel_size if stride is None else stride
    return ops.avg_pool2d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    count_include_pad=True,
    divisor_override=None,
):
    """The mean of each window of the last three dimensions; arguments as `avg_pool2d`."""
    stride = kernel_size if stride is None else stride
    return ops.avg_pool3d(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# Power-average pooling ----------------------------------------------------------------------------


def _lp_pool(pool, sizes, input, norm_type, kernel_size, stride, ceil_mode):
    kernel = sizes(kernel_size)
    count = 1
    for k in kernel:
        count *= k
    means = pool(input.pow(norm_type), kernel, stride, 0, ceil_mode)
    # relu keeps the root of a rounding error below zero from being nan.
    return (means.sign() * ops.relu(means.abs())).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** norm_type) ** (1 / norm_type)`` of each window."""
    return _lp_pool(avg_pool1d, _single, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** norm_type) ** (1 / norm_type)`` of each window."""
    return _lp_pool(avg_pool2d, _pair, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """``sum(x ** norm_type) ** (1 / norm_type)`` of each window."""
    return _lp_pool(avg_pool3d, _triple, input, norm_type, kernel_size, stride, ceil_mode)


# Unpooling ----------------------------------------------------------------------------------------


def _unpool_size(input, kernel, stride, padding, output_size):
    n = len(kernel)
    default = [(input.size(d - n) - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        return default
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
            f"length of '{len(output_size)}'"
        )
    for d in range(n):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < output_size[d] < high:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})'
            )
    return list(output_size)


@autocast_policy("fp32")
def _max_unpool(input, indices, kernel, stride, padding, output_size):
    n = len(kernel)
    name = f"max_unpool{n}d"
    size = _unpool_size(input, kernel, stride, padding, output_size)
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to {name} should be a {n + 1}d or {n + 2}d Tensor, but got {input.dim()} "
            "dimensions"
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            f"Expected shape of indices to be: {list(input.shape)} but got: {list(indices.shape)}"
        )
    if str(indices.dtype) != "torch.int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    count = 1
    for s in size:
        count *= s
    lead = input.shape[:-n]
    flat = indices.reshape(*lead, -1)
    if flat.numel() and not (0 <= int(flat.min()) and int(flat.max()) < count):
        raise RuntimeError(f"Found an invalid max index in {name} (output has {count} elements)")
    out = input.new_zeros((*lead, count)).scatter(-1, flat, input.reshape(*lead, -1))
    return out.reshape(*lead, *size)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Maxima put back where `max_pool1d` found them, zeros elsewhere."""
    kernel = _single(kernel_size)
    stride = kernel if stride is None else _single(stride)
    return _max_unpool(input, indices, kernel, stride, _single(padding), output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Maxima put back where `max_pool2d` found them, zeros elsewhere."""
    kernel = _pair(kernel_size)
    stride = kernel if stride is None else _pair(stride)
    return _max_unpool(input, indices, kernel, stride, _pair(padding), output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Maxima put back where `max_pool3d` found them, zeros elsewhere."""
    kernel = _triple(kernel_size)
    stride = kernel if stride is None else _triple(stride)
    return _max_unpool(input, indices, kernel, stride, _triple(padding), output_size)


# Fractional pooling -------------------------------------------------------------------------------


def _fractional_max_pool(n, sizes):
    name = f"fractional_max_pool{n}d"

    def with_indices(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            ratios = sizes(output_ratio)
            output_size = [int(input.size(d - n) * ratios[d]) for d in range(n)]
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            _random_samples = ops.rand(
                batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device
            )
        return getattr(ops, name)(input, kernel_size, output_size, _random_samples)

    def pool(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        result = with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return result if return_indices else result[0]

    return (
        _named(pool, name, "The maxima of as many windows as are wanted, at pseudo-random places."),
        _named(with_indices, f"{name}_with_indices", f"`{name}` and where the maxima are."),
    )


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2, _pair)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3, _triple)
