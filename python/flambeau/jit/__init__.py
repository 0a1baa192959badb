"""What programs say to a compiler of TorchScript; here functions run as the Python they are.

There is no such compiler. As in PyTorch with ``PYTORCH_JIT=0``, `script` gives back what it gets
and the marks for the compiler change nothing. Programs of TorchScript in files cannot be read or
written yet.
"""

from __future__ import annotations

import importlib
from collections import namedtuple
from typing import Final

from flambeau._absent import declare

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "TracerWarning",
    "enable_onednn_fusion",
    "fork",
    "freeze",
    "fuser",
    "interface",
    "isinstance",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "set_fusion_strategy",
    "strict_fusion",
    "wait",
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


declare(
    globals(),
    "TorchScript",
    classes="CompilationUnit ScriptFunction ScriptModule TopLevelTracedModule TracedModule"
    " RecursiveScriptModule",
    functions="export_opnames load save trace trace_module",
)

Attribute = namedtuple("Attribute", ["value", "type"])
script_method = export


class Error(RuntimeError):
    """An error of compiled code; nothing raises it here."""


def isinstance(obj, target_type):
    """`isinstance` that looks into containers.

    Example:
        >>> isinstance([1, 2], list[int]), isinstance(["a"], list[int])
        (True, False)
    """
    from ._types import matches

    return matches(obj, target_type)


def fork(func, *args, **kwargs):
    """Calls a function; a future of what it returns.

    Example:
        >>> wait(fork(lambda x: x + 1, 2))
        3
    """
    future = importlib.import_module("flambeau.futures").Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def wait(future):
    """The value of a future."""
    return future.wait()


def interface(obj):
    """Marks a class that says what modules have."""
    return obj


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A module in evaluation mode itself.

    Example:
        >>> from flambeau.nn import ReLU
        >>> type(freeze(ReLU().eval())).__name__
        'ReLU'
    """
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval()"
            " on your module before freezing."
        )
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module itself."""
    return mod


def set_fusion_strategy(strategy):
    """Accepted: nothing is fused. Returns the strategy before."""
    before = _fusion["strategy"]
    _fusion["strategy"] = strategy
    return before


_fusion: dict = {"strategy": [], "onednn": False}


def enable_onednn_fusion(enabled):
    """Accepted: nothing is fused."""
    _fusion["onednn"] = bool(enabled)


def onednn_fusion_enabled():
    """What `enable_onednn_fusion` set."""
    return _fusion["onednn"]


class _Nothing:
    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return False


class strict_fusion(_Nothing):
    """Context manager for the compiler of TorchScript, of which there is none."""


class fuser(_Nothing):
    """Context manager for the compiler of TorchScript, of which there is none."""


class optimized_execution(_Nothing):
    """Context manager for the compiler of TorchScript, of which there is none."""


def _overload(func):
    """Marks one of several signatures; the function that follows them runs."""
    return func


def _overload_method(func):
    """Marks one of several signatures; the method that follows them runs."""
    return func


def _hide_source_ranges():
    return _Nothing()


_MODULES = ("_recursive", "_script", "_trace", "annotations", "frontend", "mobile", "_builtins")


def __getattr__(name):
    if name == "Future":
        return importlib.import_module("flambeau.futures").Future
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.jit' has no attribute '{name}'")
