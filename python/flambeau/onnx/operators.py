"""Shapes in a way that ONNX can follow."""

from __future__ import annotations

from flambeau._C import ops
from flambeau._factory import tensor


def shape_as_tensor(x):
    """The sizes of a tensor, in a tensor."""
    return tensor(list(x.shape))


def reshape_from_tensor_shape(x, shape):
    """A tensor with the sizes that a tensor holds."""
    return ops.reshape(x, tuple(shape.tolist()))


__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]
