"""`torch._C._functorch`: what is known of function transforms."""

from __future__ import annotations

from flambeau import _C


def is_legacy_batchedtensor(tensor):
    """Whether a tensor is of the oldest vmap: none is."""
    return False


def is_batchedtensor(tensor):
    """Whether a tensor is one of vmap's."""
    from flambeau._transforms import interpreter

    level = _level(tensor)
    return level is not None and type(level) is not interpreter.GradLevel


def is_gradtrackingtensor(tensor):
    """Whether a tensor is one of grad's."""
    from flambeau._transforms import interpreter

    return type(_level(tensor)) is interpreter.GradLevel


def is_functorch_wrapped_tensor(tensor):
    """Whether a tensor belongs to a transform."""
    return _level(tensor) is not None


def is_functionaltensor(tensor):
    """Whether a tensor is one of the compiler's: none is."""
    return False


def maybe_get_level(tensor):
    """The number of a tensor's transform, or -1."""
    level = _level(tensor)
    return -1 if level is None else level.depth


def maybe_current_level():
    """The number of the innermost transform, or None."""
    from flambeau._transforms import interpreter

    levels = interpreter.active()
    return len(levels) if levels else None


def _level(tensor):
    from flambeau._transforms import interpreter

    number = _C._transform_level(tensor)  # levels are numbered through, not by their depth
    return next((level for level in interpreter.active() if level.id == number), None)
