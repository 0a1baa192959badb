"""The graph as users see it: nodes and their hooks."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Node


class _NodeHandle:
    """Takes a node's hook away again."""

    def __init__(self, node, id):
        self._node, self.id = node, id

    def remove(self):
        if self._node is not None:
            self._node._remove_hook(self.id)
            self._node = None


def _register_hook(self, fn):
    """Calls ``fn(grad_inputs, grad_outputs)`` after this node; may return new grad_inputs."""
    return _NodeHandle(self, self._register_hook(fn))


def _register_prehook(self, fn):
    """Calls ``fn(grad_outputs)`` before this node runs; may return new grad_outputs."""
    return _NodeHandle(self, self._register_prehook(fn))


Node.register_hook = _register_hook
Node.register_prehook = _register_prehook


def get_gradient_edge(tensor):
    """(node, output number) where the gradient of ``tensor`` arrives."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = tensor.grad_fn
    if node is None:
        with _grad():
            node = tensor.view_as(tensor).grad_fn.next_functions[0][0]
    return node, tensor.output_nr


class _grad:
    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)
