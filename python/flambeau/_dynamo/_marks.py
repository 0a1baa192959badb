"""What programs say to a compiler; there is none yet, so that all of it is true at once."""

from __future__ import annotations

import contextlib

_STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager",
    "eager_on_recompile", "fail_on_recompile",
)  # fmt: skip


def is_compiling():
    """Whether the code runs to be compiled: never.

    Example:
        >>> is_compiling()
        False
    """
    return False


def _same(fn):
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    return fn


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """Marks a function that is not to be compiled; also a decorator with arguments.

    Example:
        >>> disable(len) is len and disable(recursive=False)(len) is len
        True
    """
    return _same if fn is None else _same(fn)


def allow_in_graph(fn):
    """Marks functions that the compiler takes as they are."""
    if isinstance(fn, list | tuple):
        return [_same(f) for f in fn]
    return _same(fn)


def disallow_in_graph(fn):
    """Marks functions that the compiler does not take."""
    return allow_in_graph(fn)


def forbid_in_graph(fn):
    """Marks functions that compiled code must not reach."""
    return allow_in_graph(fn)


def nonstrict_trace(traceable_fn):
    """Marks a function that is recorded as it runs."""
    return _same(traceable_fn)


def assume_constant_result(fn):
    """Marks a function whose result does not change."""
    return _same(fn)


def run(fn=None):
    """The function, compiled only where it is already."""
    return _same if fn is None else _same(fn)


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False
):
    """A decorator for a function that compiled code calls in place of another."""
    _same(original_fn)
    return _same


def graph_break(msg=""):
    """Ends a compiled part: none is running."""


def skip_frame(msg=""):
    """Leaves the rest of a function uncompiled: it is."""


def step_unsupported(msg=""):
    """Says that a step cannot be compiled: none is."""


def set_recursion_limit(limit):
    """Accepted: nothing recurses but the program."""


def _mark(t, index=None, **kwargs):
    from flambeau import Tensor

    if not isinstance(t, Tensor):
        raise AssertionError(f"expected a Tensor, got {type(t)}")


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None, **kwargs):
    """Says that the size of a dimension changes."""
    _mark(t)


def maybe_mark_dynamic(t, index):
    """Says that the size of a dimension may change."""
    _mark(t)


def mark_static(t, index=None):
    """Says that sizes, or attributes of a class of modules, do not change."""


def mark_static_address(t, guard=False):
    """Says that a tensor stays where it is in memory."""
    _mark(t)


class set_stance(contextlib.ContextDecorator):
    """Chooses when functions are compiled, as a call, context manager or decorator; none are.

    Example:
        >>> with set_stance("force_eager"):
        ...     pass
    """

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if force_backend is not None and stance != "default":
            raise RuntimeError(f"set_stance(stance={stance!r}) cannot have a force_backend")
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance: {stance!r}")
        self.stance = stance

    def _recreate_cm(self):
        return self

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return False


class patch_dynamo_config(contextlib.ContextDecorator):
    """Context manager and decorator with other settings of `_dynamo.config`."""

    def __init__(self, arg1=None, arg2=None, **kwargs):
        import importlib

        config = importlib.import_module("flambeau._dynamo.config")
        self._patch = config.patch(arg1, arg2, **kwargs)

    def _recreate_cm(self):
        return self

    def __enter__(self):
        self._patch.__enter__()

    def __exit__(self, *exc):
        return self._patch.__exit__(*exc)


class error_on_graph_break(contextlib.ContextDecorator):
    """Context manager and decorator: whether uncompiled parts are errors. There is no compiler."""

    def __init__(self, error_on_graph_break):
        self.error = error_on_graph_break

    def _recreate_cm(self):
        return self

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return False


override_cudagraphs = error_on_graph_break
