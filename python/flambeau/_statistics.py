"""Public statistics whose arguments need Python: histograms, gradients of samples, positions."""

from __future__ import annotations

import builtins
from collections import namedtuple

from ._C import Tensor, ops
from ._torch_function import let_override

__all__ = ["gradient", "histogram", "histogramdd", "unravel_index"]


def _named(name):
    """A type of results as operators return them."""

    def show(self):
        fields = ",\n".join(f"{key}={value!r}" for key, value in zip(self._fields, self))
        return f"torch.return_types.{name}(\n{fields})"

    result = namedtuple(name, ["hist", "bin_edges"], module="torch.return_types")  # type: ignore[misc]
    result.__repr__ = show  # type: ignore[method-assign]
    return result


_Histogram, _Histogramdd = _named("histogram"), _named("histogramdd")


# ---- histograms ----------------------------------------------------------------------------------


def _edges_between(points, bins, range):
    """Edges of ``bins[d]`` equal bins a dimension, over ``range`` or the points' extent."""
    n = len(bins)
    for d, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}"
            )
    if range is not None:
        if len(range) != 2 * n:
            raise RuntimeError(
                f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} "
                f"elements, but got {len(range)}"
            )
        limits = [(float(range[2 * d]), float(range[2 * d + 1])) for d in builtins.range(n)]
    elif points.shape[0]:
        low, high = ops.amin(points, 0).tolist(), ops.amax(points, 0).tolist()
        limits = list(zip(low, high))
    else:
        limits = [(0.0, 1.0)] * n
    edges = []
    for d, (low, high) in enumerate(limits):
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            raise RuntimeError(
                f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite"
            )
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
                f"for dimension {d}"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(ops.linspace(low, high, bins[d] + 1, dtype=points.dtype, device=points.device))
    return edges


def _check_edges(points, edges):
    for d, e in enumerate(edges):
        if e.dim() != 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension, but got "
                f"{e.dim()} dimensions in the bins tensor for dimension {d}"
            )
        if e.numel() == 0:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements "
                f"in the bins tensor for dimension {d}"
            )
        if e.numel() == 1:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {d}")
        if e.dtype != points.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {points.dtype} and bins for dimension {d} with dtype "
                f"{e.dtype}"
            )


def _histogram(points, lead, bins, range, weight, density):
    """Counts of ``points``, a matrix whose rows had the shape ``lead``."""
    if not points.dtype.is_floating_point or points.dtype.itemsize < 4:
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{points.dtype}'")
    if weight is not None:
        if weight.dtype != points.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                f"should have the same dtype, but got input({points.dtype}), and "
                f"weight({weight.dtype})"
            )
        if weight.shape != lead:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                f"the input tensor excluding its innermost dimension, {list(lead)}, but got weight "
                f"with shape {list(weight.shape)}"
            )
        weight = weight.detach().reshape(-1)
    points = points.detach()
    uniform = not isinstance(bins[0], Tensor)
    if uniform:
        edges = _edges_between(points, bins, range)
    else:
        _check_edges(points, bins)
        edges = [e.detach().clone() for e in bins]
    return ops._histogram(points, edges, weight, uniform, density), edges


def histogram(input, bins=100, *, range=None, weight=None, density=False, out=None):
    """Counts of the elements in bins between ``bin_edges``; the last edge belongs to the last bin.

    Args:
        bins: how many bins of equal width over ``range`` (low, high), by default the extent of the
            elements; or a tensor of rising edges.
        weight: adds up these weights instead of ones; of the input's shape.
        density: divides so that the integral is 1.

    >>> flambeau.histogram(flambeau.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 3.0)).hist
    tensor([0., 3.])
    """
    flat = weight.reshape(-1) if weight is not None and weight.shape == input.shape else weight
    hist, edges = _histogram(
        input.reshape(-1, 1), (input.numel(),), [bins], range, flat, bool(density)
    )
    if out is None:
        return _Histogram(hist, edges[0])
    for target, value in zip(out, (hist, edges[0])):
        target.resize_(value.shape).copy_(value)
    return _Histogram(*out)


def histogramdd(input, bins, range=None, weight=None, density=False, *, out=None):
    """Counts of points, the innermost dimension of ``input``, in boxes.

    Args:
        bins: a number of bins for all dimensions or one for each, or a list of tensors of edges.
        range: low and high for each dimension, in one sequence.
        weight, density: as for `histogram`.

    >>> flambeau.histogramdd(flambeau.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    n = input.shape[-1]
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    lead = input.shape[:-1]
    count = 1
    for s in lead:
        count *= s
    hist, edges = _histogram(input.reshape(count, n), lead, bins, range, weight, bool(density))
    return _Histogramdd(hist, tuple(edges))


# ---- numerical gradients -------------------------------------------------------------------------


def _uniform_gradient(f, d, h, edge_order):
    n = f.shape[d]

    def at(i, length=1):
        return f.narrow(d, i, length)

    if edge_order == 1:
        first, last = (at(1) - at(0)) / h, (at(n - 1) - at(n - 2)) / h
    else:
        first = (at(0) * -1.5 + at(1) * 2 + at(2) * -0.5) / h
        last = (at(n - 3) * 0.5 + at(n - 2) * -2 + at(n - 1) * 1.5) / h
    inner = (at(2, n - 2) - at(0, n - 2)) / (2 * h)
    return ops.cat([first, inner, last], d)


def _gradient_at(f, d, x, edge_order):
    """Second-order differences at unequal distances: the derivative of the parabola through three
    neighbours."""
    n = f.shape[d]
    shape = [1] * f.dim()
    shape[d] = -1
    h = x.diff().reshape(shape)

    def at(i, length=1):
        return f.narrow(d, i, length)

    def parabola(left, right, weights, i, length=1):
        a, b, c = weights(left, right)
        return a * at(i, length) + b * at(i + 1, length) + c * at(i + 2, length)

    def middle(p, q):
        return -q / (p * (p + q)), (q - p) / (p * q), p / (q * (p + q))

    def begin(p, q):
        return -(2 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))

    def end(p, q):
        return q / (p * (p + q)), -(p + q) / (p * q), (p + 2 * q) / (q * (p + q))

    inner = parabola(h.narrow(d, 0, n - 2), h.narrow(d, 1, n - 2), middle, 0, n - 2)
    if edge_order == 1:
        first = (at(1) - at(0)) / h.narrow(d, 0, 1)
        last = (at(n - 1) - at(n - 2)) / h.narrow(d, n - 2, 1)
    else:
        first = parabola(h.narrow(d, 0, 1), h.narrow(d, 1, 1), begin, 0)
        last = parabola(h.narrow(d, n - 3, 1), h.narrow(d, n - 2, 1), end, n - 3)
    return ops.cat([first, inner, last], d)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """Estimates of the partial derivatives of a function from its values on a grid.

    Args:
        spacing: the distance of the values (1): a number for all dimensions, or for each a number
            or a vector of coordinates.
        dim: the dimension, or several; all by default.
        edge_order: how many neighbours besides itself the value at a border uses, 1 or 2.

    >>> flambeau.gradient(flambeau.tensor([1.0, 2.0, 4.0, 8.0]))
    (tensor([1.0000, 1.5000, 3.0000, 4.0000]),)
    """
    n = input.dim()
    dims = list(range(n)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if isinstance(spacing, Tensor):
        if spacing.dim():
            raise TypeError(
                "gradient(): spacing must be a number or a sequence of numbers or tensors, got a "
                f"tensor with {spacing.dim()} dimensions (put it in a list)"
            )
        spacing = spacing.item()
    if isinstance(spacing, (tuple, list)):
        steps = list(spacing)
        if dim is None and len(steps) != n:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                f"equal to 'self.dim() = {n}', since dim argument was not given, but got a list of "
                f"length {len(steps)}"
            )
        if len(steps) != len(dims):
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and "
                "dim "
                "arguments to have the same length, but got a spacing argument of length "
                f"{len(steps)} "
                f"and a dim argument of length {len(dims)}."
            )
    else:
        steps = [1 if spacing is None else spacing] * len(dims)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if str(input.dtype) == "torch.uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    wrapped = []
    for d in dims:
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
        d %= n
        if d in wrapped:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        wrapped.append(d)
        if input.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    out = []
    for d, step in zip(wrapped, steps):
        if isinstance(step, Tensor) and step.dim():
            if step.numel() != input.shape[d]:
                raise RuntimeError(
                    f"torch.gradient expected {input.shape[d]} coordinates for dimension {d}, "
                    "one for "
                    f"each value, but got {step.numel()}"
                )
            out.append(_gradient_at(input, d, step, edge_order))
        else:
            out.append(_uniform_gradient(input, d, step, edge_order))
    return tuple(out)


# ---- positions -----------------------------------------------------------------------------------


def unravel_index(indices, shape):
    """Coordinates of positions in a flattened tensor of ``shape``: one tensor for each dimension.

    >>> flambeau.unravel_index(flambeau.tensor([4, 1]), (2, 3))
    (tensor([1, 0]), tensor([1, 1]))
    """
    if not isinstance(indices, Tensor):
        raise TypeError(f"expected 'indices' to be a tensor, but got {type(indices)}")
    if indices.is_floating_point() or indices.is_complex() or str(indices.dtype) == "torch.bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, Tensor) or not isinstance(shape, (int, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    for s in shape:
        if not isinstance(s, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(s)}")
        if s < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    out, rest = [], indices.long()
    for s in reversed(shape):
        out.append(rest % s)
        rest = ops.div(rest, s, rounding_mode="floor")
    return tuple(reversed(out))


let_override(globals(), __all__)
