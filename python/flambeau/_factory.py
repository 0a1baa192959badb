"""Tensors from Python data: tensor, as_tensor, from_numpy, from_dlpack and relatives."""

from __future__ import annotations

import sys
import warnings

from . import _C
from ._C import Tensor, ops


def _is_array(data):
    return hasattr(data, "__array_interface__") or hasattr(data, "__array__")


def _from_array(data):
    """A tensor on the memory of a NumPy array (or scalar), or a copy where that is impossible."""
    import numpy

    array = numpy.asarray(data)
    if array.dtype.kind in "OUSMm":
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{array.dtype.name}_. The only supported "
            "types are: float64, float32, float16, complex64, complex128, int64, int32, int16, "
            "int8, uint64, uint32, uint16, uint8, and bool."
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(s < 0 for s in array.strides) or not array.flags.writeable or array.ndim == 0:
        array = array.copy()
    return _C._from_buffer(array)


def from_numpy(ndarray):
    """A tensor that shares memory with ``ndarray``.

    Raises TypeError for other objects and for element types that have no dtype here.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if any(s < 0 for s in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not "
            "currently supported. (You can probably work around this by making a copy of your "
            "array with array.copy().)"
        )
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors: writing to the "
            "tensor would write to the array. Copied instead.",
            stacklevel=2,
        )
        ndarray = ndarray.copy()
    if ndarray.dtype.kind in "OUSMm" or (ndarray.dtype.kind == "u" and ndarray.dtype.itemsize > 1):
        if ndarray.dtype.kind != "u":
            return _from_array(ndarray)
    if ndarray.ndim == 0:
        return _C._from_buffer(ndarray.reshape(1)).reshape(())
    return _C._from_buffer(ndarray)


def _convert(data, dtype, device):
    """A tensor of `data`: shared memory where possible."""
    if isinstance(data, Tensor):
        out = data
    elif isinstance(data, (bool, int, float, complex)):
        out = _C._from_sequence(data, dtype)
    elif _is_array(data):
        out = _from_array(data)
    elif isinstance(data, (list, tuple)) and data and _holds_arrays(data):
        import numpy

        out = _from_array(numpy.array(data))
    elif hasattr(data, "__dlpack__"):
        out = from_dlpack(data)
    elif hasattr(data, "tolist"):
        out = _C._from_sequence(data.tolist(), dtype)
    else:
        out = _C._from_sequence(data, dtype)
    if dtype is not None or device is not None:
        out = out.to(dtype=dtype) if device is None else out.to(device=device, dtype=dtype)
    return out


def _holds_arrays(data):
    first = data[0]
    if isinstance(first, (Tensor, bool, int, float, complex, list, tuple)):
        return False
    return hasattr(first, "__array_interface__") and getattr(first, "ndim", 1) > 0


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of ``data`` (numbers, nested sequences, arrays).

    >>> flambeau.tensor([[1, 2], [3, 4]]).shape
    torch.Size([2, 2])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        data = data.detach()
    out = _convert(data, dtype, device if device is not None else _default_device())
    if out is data or _is_array(data) or hasattr(data, "__dlpack__"):
        out = ops.clone(out.detach())
    if requires_grad:
        out.requires_grad_(True)
    return out


def as_tensor(data, dtype=None, device=None):
    """``data`` as a tensor, without a copy where that is possible."""
    return _convert(data, dtype, device if device is not None else _default_device())


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """``obj`` as a tensor; ``copy`` True forces, False forbids a copy."""
    out = _convert(obj, dtype, device)
    if copy and (out is obj or not isinstance(obj, (list, tuple))):
        out = ops.clone(out)
    if copy is False and isinstance(obj, (list, tuple)):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if requires_grad and not out.requires_grad:
        out = out.detach().requires_grad_(True)
    return out


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor that shares memory with an object that has the buffer protocol."""
    view = memoryview(buffer).cast("B")
    size = dtype.itemsize
    if len(view) == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if offset < 0 or offset >= len(view):
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({len(view)} bytes) minus 1"
        )
    if count < 0:
        if (len(view) - offset) % size:
            raise ValueError(
                f"buffer length ({len(view) - offset} bytes) after offset ({offset} bytes) must "
                f"be a multiple of element size ({size})"
            )
        count = (len(view) - offset) // size
    if offset + count * size > len(view):
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) "
            f"must not be greater than actual buffer length ({len(view)} bytes)"
        )
    out = _C._from_buffer(view[offset : offset + count * size]).view(dtype)
    return out.requires_grad_(True) if requires_grad else out


def from_dlpack(ext_tensor):
    """A tensor that shares memory with any object that speaks DLPack."""
    if hasattr(ext_tensor, "__dlpack__"):
        return _C._from_dlpack(ext_tensor.__dlpack__())
    return _C._from_dlpack(ext_tensor)


_device_stack: list = []


def _default_device():
    return _device_stack[-1] if _device_stack else None
