"""Reverse-mode differentiation: backward, grad, modes, custom functions, numeric checks."""

from __future__ import annotations

import importlib as _importlib
import warnings as _warnings

from flambeau import _C
from flambeau._C import Tensor

from . import graph as graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function, FunctionCtx, once_differentiable
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck

Variable = Tensor


def _as_list(value, what):
    """Tensors and gradient edges."""
    if isinstance(value, (Tensor, graph.GradientEdge)):
        return [value]
    if not isinstance(value, (tuple, list)):
        value = list(value)
    for v in value:
        if not isinstance(v, (Tensor, graph.GradientEdge)):
            raise TypeError(f"{what}: expected Tensors, got {type(v).__name__}")
    return value


def _weights(grads, count):
    if grads is None:
        return [None] * count
    grads = [grads] if isinstance(grads, Tensor) else list(grads)
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    for g in grads:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    return grads


def backward(
    tensors,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None,
    inputs=None,
):
    """Adds the gradients of ``tensors`` to ``.grad`` of the leaves they were computed from.

    Args: ``grad_tensors`` weights each tensor (1 for one-element tensors); ``retain_graph`` keeps
    the graph (default: ``create_graph``); ``inputs`` limits accumulation to these tensors.
    """
    if grad_variables is not None:
        _warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    tensors = _as_list(tensors, "backward")
    if any(map(_C._transform_level, tensors)):
        _refuse_inside(tensors)
    chosen = [] if inputs is None else _as_list(inputs, "backward inputs")
    if inputs is not None and not chosen:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    retain = create_graph if retain_graph is None else retain_graph
    grads = _weights(grad_tensors, len(tensors))
    if not chosen:
        _C._run_backward(tensors, grads, retain, create_graph, (), True, True)
        return
    found = _C._run_backward(tensors, grads, retain, create_graph, chosen, True, True)
    for t, g in zip(chosen, found):  # leaves have theirs already
        if g is not None and isinstance(t, Tensor):
            t.grad = g if t.grad is None else t.grad + g if create_graph else t.grad.add_(g)


def _refuse_inside(tensors):
    from flambeau._transforms.interpreter import DUAL

    if any(record and record[2] != DUAL for record in map(_C._transform_of, tensors)):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple.

    >>> x = flambeau.tensor(3.0, requires_grad=True)
    >>> flambeau.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but "
            "got: allow_unused=False."
        )
    if not only_inputs:
        _warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    outputs, inputs = _as_list(outputs, "grad outputs"), _as_list(inputs, "grad inputs")
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if is_grads_batched:
        weights = _weights(grad_outputs, len(outputs))
        for i, (w, out) in enumerate(zip(weights, outputs)):
            if w is None:
                raise RuntimeError(
                    "grad can be implicitly created only for scalar outputs: with "
                    f"is_grads_batched=True pass a batch of gradients for output {i}"
                )
            if isinstance(out, Tensor) and w.shape[1:] != out.shape:
                raise RuntimeError(
                    "If `is_grads_batched=True`, we interpret the first dimension of each "
                    "grad_output as the batch dimension. The sizes of the remaining dimensions "
                    "are expected to match the shape of corresponding output, but a mismatch was "
                    f"detected: grad_output[{i}] has a shape of {w.shape} and output[{i}] has a "
                    f"shape of {out.shape}."
                )
        return _batched_grad(
            outputs, inputs, weights, retain_graph, create_graph, allow_unused, materialize_grads
        )
    retain = create_graph if retain_graph is None else retain_graph
    unused = bool(allow_unused) or materialize_grads
    out = _C._run_backward(
        outputs, _weights(grad_outputs, len(outputs)), retain, create_graph, inputs, unused, False
    )
    if materialize_grads:
        out = tuple(_C.ops.zeros_like(t) if g is None else g for t, g in zip(inputs, out))
    return out


def _batched_grad(outputs, inputs, weights, retain, create_graph, allow_unused, materialize):
    """One gradient for each entry of the weights' first dimension, in one run under vmap."""
    from flambeau._transforms.batching import BatchLevel

    size = next((w.shape[0] for w in weights if w is not None), None)
    if size is None:
        raise RuntimeError("grad: is_grads_batched=True needs grad_outputs with a batch")
    unused = bool(allow_unused) or materialize
    with BatchLevel(size, "error") as level:
        inside = [w if w is None else level.wrap(w, 0) for w in weights]
        # with a graph, backward consists of operators that vmap knows
        found = _C._run_backward(
            outputs, inside, create_graph if retain is None else retain, True, inputs, unused, False
        )
        rows = []
        for t, g in zip(inputs, found):
            if g is None:
                rows.append(_C.ops.zeros((size, *t.shape), dtype=t.dtype) if materialize else None)
                continue
            record = level.of(g)
            value = (
                _C.ops.expand(g, (size, *g.shape))
                if record is None
                else _C.ops.movedim(record[3], record[5], 0)
            )
            rows.append(value if create_graph else value.detach())
    return tuple(rows)


def __getattr__(name):
    # on first use: few programs need them
    if name in (
        "functional",
        "forward_ad",
        "profiler",
        "profiler_legacy",
        "profiler_util",
        "variable",
    ):
        return _importlib.import_module("." + name, __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def _profiler_enabled():
    """Whether a profiler collects events."""
    from flambeau import _profile

    return _profile.enabled()


def _disable_profiler():
    """Ends profilers that were begun and not ended."""
    from flambeau import _profile

    for recorder in reversed(_profile._active):
        recorder.stop()


__all__ = [
    "Function",
    "FunctionCtx",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_multithreading_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
