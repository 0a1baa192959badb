"""Tensors from Python data: tensor, as_tensor, from_numpy, from_dlpack and relatives."""

from __future__ import annotations

import sys
import warnings

from . import _C
from ._C import Tensor, ops
from ._torch_function import DisableTorchFunction, DisableTorchFunctionSubclass, _overridable

_ALIAS_REFUSED = "can't alias arbitrary sequence into a tensor."
_NUMBERS = (bool, int, float, complex)


def _for_factories(function):
    """Decorator: modes (`with device:`) see the function, classes of its data do not."""
    return _overridable(function, modes_only=True)


def _is_numpy(data):
    """Whether ``data`` is an array or a scalar of NumPy; does not import it."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic))


def _has_array(data):
    return not isinstance(data, type) and (
        hasattr(data, "__array_interface__") or hasattr(data, "__array__")
    )


def _from_array(data, copied=False):
    """A tensor on the memory of what NumPy reads as an array; ``copied``: to be copied anyway."""
    if not _is_numpy(data):
        import numpy

        data = numpy.asarray(data)
    return _C._from_array(data, copied)


def from_numpy(ndarray):
    """A tensor that shares memory with ``ndarray``.

    Raises:
        TypeError: another object, or elements that have no dtype here.
        ValueError: negative strides, or bytes in the order of another machine.

    >>> import numpy
    >>> flambeau.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return _C._from_array(ndarray, False)


def _convert(data, dtype, device, copied=False):
    """A tensor of `data`: shared memory where possible."""
    if isinstance(data, Tensor):
        out = data
    elif isinstance(data, _NUMBERS) and not _is_numpy(data):
        out = _C._from_sequence(data, dtype)
    elif isinstance(data, (list, tuple)):
        if data and _holds_arrays(data):
            import numpy

            out = _from_array(numpy.array(data), True)
        else:
            out = _C._from_sequence(data, dtype)
    elif _is_numpy(data) or _has_array(data):
        out = _from_array(data, copied)
    elif hasattr(data, "__dlpack__"):
        out = from_dlpack(data)
    elif hasattr(data, "tolist") and not isinstance(data, type):
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


@_for_factories
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
        data = (_C._as_subclass(Tensor, data) if type(data) is not Tensor else data).detach()
    out = _convert(data, dtype, device, True)
    if not isinstance(data, (list, tuple, *_NUMBERS)) or _is_numpy(data):
        if out is data or _is_numpy(data) or _has_array(data) or hasattr(data, "__dlpack__"):
            out = ops.clone(out.detach())
    if requires_grad:
        out.requires_grad_(True)
    return out


@_for_factories
def as_tensor(data, *, dtype=None, device=None):
    """``data`` as a tensor, without a copy where that is possible.

    >>> t = flambeau.ones(2)
    >>> flambeau.as_tensor(t) is t
    True
    """
    return _convert(data, dtype, device)


def _has_buffer(obj):
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


@_for_factories
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """``obj`` as a tensor: another's memory where it can be shared, else a copy.

    Args:
        obj: a tensor, an array, an object with DLPack, the buffer protocol (read as the default
            dtype unless ``dtype`` says otherwise), a number or nested sequences of numbers.
        copy: True always copies; False raises where a copy would be needed.
        requires_grad: whether the result is a leaf that gradients are computed for; a tensor that
            is returned as it is keeps its own setting unless this is given.

    Raises:
        ValueError: ``copy=False`` and the memory cannot be shared.

    >>> flambeau.asarray(bytearray(b"ab"), dtype=flambeau.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    if isinstance(obj, Tensor):
        if type(obj) is not Tensor:
            with DisableTorchFunctionSubclass():
                return _as_asked(_aliased(obj, dtype, device, copy), obj, requires_grad)
        shared = obj
    elif _is_numpy(obj):
        if copy is False and not hasattr(obj, "__setitem__"):
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray."
            )
        shared = _from_array(obj, bool(copy))
    elif isinstance(obj, (list, tuple, *_NUMBERS)):
        shared = None
    elif hasattr(obj, "__dlpack__"):
        shared = from_dlpack(obj)
    elif _has_buffer(obj):
        shared = frombuffer(obj, dtype=_C.get_default_dtype() if dtype is None else dtype)
    else:
        shared = None
    if shared is None:
        if copy is False:
            raise ValueError(_ALIAS_REFUSED)
        out = _convert(obj, dtype, device)
    else:
        out = _aliased(shared, dtype, device, copy)
    return _as_asked(out, obj, requires_grad)


def _as_asked(out, obj, requires_grad):
    """The end of `asarray`: the result of ``obj``, with requires_grad as asked for."""
    if requires_grad is None:
        if out is not obj:
            return out.detach() if out.requires_grad else out
        if out.requires_grad and out.is_leaf:
            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of False. Pass requires_grad=False explicitly to get the old behavior.",
                UserWarning,
                stacklevel=3,
            )
        return out
    if not requires_grad and out.requires_grad and not out.is_leaf:
        return out.detach()
    return out if out.requires_grad == requires_grad else out.requires_grad_(requires_grad)


def _aliased(t, dtype, device, copy):
    """``t`` with dtype and device as asked for, by the rules of `asarray`'s ``copy``."""
    device = t.device if device is None else _C.device(device)
    if copy is False:
        if device.type != t.device.type:
            raise ValueError(f"can't alias tensor from device '{t.device}' to '{device}'.")
        if dtype is not None and dtype != t.dtype:
            raise ValueError(f"can't alias tensor with dtype '{t.dtype}' into dtype '{dtype}'.")
    out = t.to(device=device, dtype=dtype)
    return out.clone() if copy and out is t else out


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor that shares memory with an object that has the buffer protocol.

    Args: ``count`` elements (all that follow if negative), ``offset`` bytes from the start.

    Raises:
        ValueError: no buffer, or ``count`` and ``offset`` do not fit it.

    >>> flambeau.frombuffer(bytearray([1, 0, 2, 0]), dtype=flambeau.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    if not isinstance(dtype, _C.dtype) and dtype not in _NUMBERS:
        raise TypeError(
            "frombuffer(): argument 'dtype' must be torch.dtype, not " + type(dtype).__name__
        )
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object: it is not contiguous")
    view = view.cast("B") if view.nbytes else memoryview(b"")
    if view.readonly and view.nbytes:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors: "
            "writing to the tensor writes to the buffer. Use a copy, or a writable buffer.",
            UserWarning,
            stacklevel=2,
        )
    size = (dtype if isinstance(dtype, _C.dtype) else _C._from_sequence([], dtype).dtype).itemsize
    if len(view) == 0 or count == 0:
        raise ValueError(f"both buffer length ({len(view)}) and count ({count}) must not be 0")
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
    with DisableTorchFunction():
        out = _C._from_buffer(view[offset : offset + count * size]).view(dtype)
        return out.requires_grad_(True) if requires_grad else out


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor that shares memory with any object that speaks DLPack, or with a capsule of one.

    Args:
        device: where the producer is asked to have the memory; None for where it is.
        copy: True asks for memory of its own, False forbids it.

    >>> flambeau.from_dlpack(flambeau.arange(3))
    tensor([0, 1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _C._from_dlpack(ext_tensor)
    arguments = {"max_version": (1, 0)}
    if copy is not None:
        arguments["copy"] = copy
    if device is not None:
        kind = _C.device(device)
        if kind.type not in ("cpu", "meta"):
            raise AssertionError(f"from_dlpack: device {kind} is not available in this build")
        if kind.type == "meta":
            raise BufferError("Cannot pack tensors on meta: they have no data")
        arguments["dl_device"] = (1, 0)
    try:
        capsule = ext_tensor.__dlpack__(**arguments)
    except TypeError:  # a producer of an older version
        del arguments["max_version"]
        capsule = ext_tensor.__dlpack__(**arguments)
    return _C._from_dlpack(capsule)
