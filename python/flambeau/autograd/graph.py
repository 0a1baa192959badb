"""The graph as users see it: nodes, their hooks, and what they keep for backward."""

from __future__ import annotations

import contextlib
import functools
from _thread import _local as _Local  # threading itself takes long to import
from _thread import allocate_lock
from collections import namedtuple

from flambeau import _C
from flambeau._C import Node, Tensor, ops

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


# ---- nodes


class _NodeHandle:
    """Takes a node's hook away again."""

    def __init__(self, node, id):
        self._node, self.id = node, id

    def remove(self):
        if self._node is not None:
            self._node._remove_hook(self.id)
            self._node = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def _register_hook(self, fn):
    """Calls ``fn(grad_inputs, grad_outputs)`` after this node; may return new grad_inputs."""
    return _NodeHandle(self, self._register_hook(fn))


def _register_prehook(self, fn):
    """Calls ``fn(grad_outputs)`` before this node runs; may return new grad_outputs."""
    return _NodeHandle(self, self._register_prehook(fn))


def _dir(self):
    return sorted({*object.__dir__(self), *self._names_of_saved()})


Node.register_hook = _register_hook
Node.register_prehook = _register_prehook
Node.__dir__ = _dir  # type: ignore[method-assign]

GradientEdge = namedtuple(
    "GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,)
)
GradientEdge.__doc__ = """The place in the graph where a tensor's gradient arrives.

``autograd.grad`` and ``backward`` take it in place of the tensor, which then need not be kept.
"""


def get_gradient_edge(tensor):
    """The GradientEdge of ``tensor``.

    >>> x = flambeau.ones(2, requires_grad=True)
    >>> flambeau.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = tensor.grad_fn
    return GradientEdge(_accumulator(tensor) if node is None else node, tensor.output_nr)


def _accumulator(leaf):
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(True)
    try:
        return ops.view_as(leaf, leaf).grad_fn.next_functions[0][0]
    finally:
        _C._set_grad_enabled(before)


def increment_version(tensor):
    """Counts a change in place of one tensor or of several, as if an operator had made it."""
    _C._increment_version((tensor,) if isinstance(tensor, Tensor) else tuple(tensor))


def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """Accepted for compatibility: there are no streams on this device."""


def set_override_stale_capture_stream(enabled):
    """Accepted for compatibility: there are no streams on this device."""


# ---- saved tensors


class saved_tensors_hooks:
    """Inside, tensors are kept for backward as ``unpack_hook(pack_hook(tensor))``.

    ``pack_hook`` must not change its argument in place. Nested pairs do not compose: the innermost
    one is used.

    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with flambeau.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t):
    ...     y = (x * x).sum()
    >>> flambeau.autograd.grad(y, x)
    (tensor([6., 6.]),)
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc):
        _C._pop_saved_hooks()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return wrapped


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors of other devices are kept for backward in the memory of the CPU."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            return tensor.device, tensor if pin_memory or tensor.is_cpu else tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, setting hooks for saved tensors raises RuntimeError with this message."""
    before = _C._disabled_saved_hooks()
    _C._disable_saved_hooks(error_message)
    try:
        yield
    finally:
        _C._disable_saved_hooks(before)


_mutation = _Local()


class _AllowMutationContext:
    """Whether the ``with`` of a graph recorded in it still runs."""

    def __init__(self):
        self.live = True


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, tensors saved for backward may change in place: they are saved as copies.

    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with flambeau.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = x.clone()
    ...     y = a.sin().sum()
    ...     _ = a.zero_()
    ...     y.backward()
    >>> x.grad
    tensor([0.5403, 0.5403])
    """
    if getattr(_mutation, "active", None) is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    state = _mutation.active = _AllowMutationContext()

    def pack(tensor):
        return tensor.detach().clone()

    def unpack(copy):
        if not state.live:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was originally recorded."
            )
        return copy

    try:
        with saved_tensors_hooks(pack, unpack):
            yield state
    finally:
        state.live = False
        _mutation.active = None


# ---- hooks on several tensors


class _Handles:
    """Removes several hooks."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls ``fn`` when the gradients of ``tensors`` are known.

    Args: ``mode`` "all": once in every backward, with the list of gradients (None for a tensor that
    this backward does not reach); "any": with the first gradient that arrives.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    if not all(t.requires_grad for t in tensors):
        raise AssertionError("Expected gradient function to be set")
    lock = allocate_lock()
    if mode == "any":
        seen_runs: set = set()

        @functools.wraps(fn)
        def first(grad):
            run = _C._backward_id()
            with lock:
                if run in seen_runs:
                    return
                seen_runs.clear()
                seen_runs.add(run)
            fn(grad)

        return _Handles(t.register_hook(first) for t in tensors)

    edges = [get_gradient_edge(t) for t in tensors]
    runs: dict = {}  # run -> [expected, arrived, gradients]

    def on_gradient(index):
        def hook(grad):
            run = _C._backward_id()
            with lock:
                if run not in runs:
                    runs.clear()
                    reached = _C._backward_reaches(edges)
                    runs[run] = [sum(reached), 0, [None] * len(tensors)]
                state = runs[run]
                state[1] += state[2][index] is None
                state[2][index] = grad
                complete = state[1] == state[0]
                if complete:
                    del runs[run]
            if complete:
                fn(state[2])

        return hook

    return _Handles(t.register_hook(on_gradient(i)) for i, t in enumerate(tensors))
