"""What programs say to a compiler of TorchScript; here functions run as the Python they are.

There is no such compiler. As in PyTorch with ``PYTORCH_JIT=0``, `script` gives back what it gets
and the marks for the compiler change nothing.
"""

from __future__ import annotations

__all__ = [
    "TracerWarning",
    "annotate",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "unused",
]


class TracerWarning(Warning):
    """A trace may not hold for other inputs.

    Example:
        >>> issubclass(TracerWarning, Warning)
        True
    """


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself.

    Example:
        >>> script(len) is len
        True
    """
    return obj


def script_if_tracing(fn):
    """The function itself: nothing is ever traced.

    Example:
        >>> script_if_tracing(len) is len
        True
    """
    return fn


def is_scripting():
    """Whether the code runs compiled: never.

    Example:
        >>> is_scripting()
        False
    """
    return False


def is_tracing():
    """Whether the code runs to be traced: never.

    Example:
        >>> is_tracing()
        False
    """
    return False


def annotate(the_type, the_value):
    """The value, whose type a compiler could not tell.

    Example:
        >>> annotate(list[int], [])
        []
    """
    return the_value


def export(fn):
    """Marks a method of a module as an entry point.

    Example:
        >>> export(len) is len
        True
    """
    return fn


def ignore(drop=False, **kwargs):
    """Marks a function that stays Python; also a decorator without arguments.

    Example:
        >>> ignore(len) is len and ignore(drop=True)(len) is len
        True
    """
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """Marks a function that compiled code does not reach.

    Example:
        >>> unused(len) is len
        True
    """
    return fn
