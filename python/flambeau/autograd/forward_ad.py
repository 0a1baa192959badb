"""Forward mode: tensors that carry a directional derivative.

Inside `dual_level`, `make_dual` joins a tensor and its tangent; operators compute both,
`unpack_dual` takes them apart.

>>> with flambeau.autograd.forward_ad.dual_level():
...     x = flambeau.autograd.forward_ad.make_dual(flambeau.tensor(3.0), flambeau.tensor(1.0))
...     flambeau.autograd.forward_ad.unpack_dual(x * x).tangent
tensor(6.)
"""

from __future__ import annotations

import collections
import threading

from flambeau import _C
from flambeau._C import Tensor

from .function import Function

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Local(threading.local):
    def __init__(self):
        self.levels = []
        self.enabled = True


_local = _Local()
UnpackedDualTensor = collections.namedtuple("UnpackedDualTensor", ["primal", "tangent"])
UnpackedDualTensor.__doc__ = "What `unpack_dual` returns: primal and tangent (None without one)."


def enter_dual_level():
    """Opens the level that dual tensors belong to; returns its number. See `dual_level`."""
    if _local.levels:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment (use func.jvp to nest)"
        )
    from flambeau._transforms.forward import DualLevel

    level = DualLevel()
    level.open = True  # also tensors that are not of the level may take tangents, in place
    _local.levels.append(level)
    return len(_local.levels) - 1


def exit_dual_level(*, level=None):
    """Closes the level: its tensors lose their tangents."""
    if not _local.levels:
        raise RuntimeError("Trying to exit a forward AD level but no level was entered")
    if level is not None and level != len(_local.levels) - 1:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    _local.levels.pop().over = True


class dual_level:
    """Context in which forward mode derivatives are computed."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()
        return False


def _level(level, what):
    if not _local.levels:
        raise RuntimeError(
            f"{what}: Trying to create a dual Tensor for forward AD but no level exists, make sure "
            "to enter_dual_level() first."
        )
    if level is not None and not 0 <= level < len(_local.levels):
        raise RuntimeError(f"{what}: no forward AD level {level} is open")
    return _local.levels[-1 if level is None else level]


class _Join(Function):
    """The dual tensor as a differentiable function of its primal."""

    @staticmethod
    def forward(ctx, primal, make):
        return make(primal)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


def make_dual(tensor, tangent, *, level=None):
    """``tensor`` with the directional derivative ``tangent``, of the same shape.

    Gradients of what is computed from it flow to ``tensor``, too.
    """
    owner = _level(level, "make_dual")
    for name, t in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"make_dual(): argument '{name}' must be Tensor, not {type(t).__name__}"
            )
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(
                f"Expected {'primal' if name == 'tensor' else name} to be floating point or "
                f"complex, "
                f"but got: {t.dtype}"
            )
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise RuntimeError(
            f"Expected input tensor and tangent to have the same shape, got "
            f"{tuple(tensor.shape)} and "
            f"{tuple(tangent.shape)}"
        )
    if tensor.dtype != tangent.dtype:
        raise RuntimeError(
            f"Expected input tensor and tangent to have the same dtype, got {tensor.dtype} and "
            f"{tangent.dtype}"
        )
    record = owner.of(tensor)
    if record is not None and record[4] is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level is not supported; unpack_dual() takes it apart"
        )
    tensor = owner.value(tensor)
    record = owner.of(tangent)
    if record is not None and record[4] is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level is not "
            "supported; unpack_dual() takes it apart"
        )
    tangent = owner.value(tangent)

    def make(primal):
        return owner.wrap(primal, tangent)

    if tensor.requires_grad and _C.is_grad_enabled():
        return _Join._apply_here((tensor, make), {})
    return make(tensor)


def unpack_dual(tensor, *, level=None):
    """``(primal, tangent)`` of a dual tensor; the tangent of any other tensor is None."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual(): expected a Tensor, got {type(tensor).__name__}")
    if not _local.levels:
        return UnpackedDualTensor(tensor, None)
    owner = _level(level, "unpack_dual")
    record = owner.of(tensor)
    if record is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(record[3], record[4])


class _set_fwd_grad_enabled:
    """Whether forward mode derivatives are computed."""

    def __init__(self, mode):
        self.before, _local.enabled = _local.enabled, bool(mode)

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        _local.enabled = self.before


def _is_fwd_grad_enabled():
    return _local.enabled
