"""Calls of a module that leave gradients per sample on its parameters."""

from __future__ import annotations

import functools

from flambeau._C import Tensor
from flambeau.nn.modules.module import Module
from flambeau.utils import _pytree

from ._expanded_weights import ExpandedWeight
from .stateless import _functional_call


def _batch_size(args, kwargs, dim):
    sizes = [t.shape[dim] for t in _pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs, so the batch size is not "
            "known. Please specify it explicitly"
        )
    for size in sizes:
        if size != sizes[0]:
            raise RuntimeError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} "
                f"and one with batch size {size}. Please specify it explicitly"
            )
    return sizes[0]


def call_for_per_sample_grads(module, *, batch_size=None, loss_reduction="sum", batch_first=True):
    """The module as a function whose backward pass sets `grad_sample` of each parameter.

    Args:
        module: of linear, convolution, embedding, layer, group and instance norm layers.
        batch_size: N; None to take it from the arguments.
        loss_reduction: "sum" or "mean", how the loss comes from those of the samples.
        batch_first: samples lie along dimension 0 of the input, else along 1.

    `grad_sample` has shape (N, *parameter.shape) and adds up over uses of a parameter; `grad` stays
    as it is.

    Errors: `RuntimeError` for other functions of parameters, for parameters that have a
    `grad_sample`, and for batch sizes that differ.

    >>> layer = flambeau.nn.Linear(2, 1, bias=False)
    >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> call_for_per_sample_grads(layer)(x).sum().backward()
    >>> layer.weight.grad_sample
    tensor([[[1., 2.]],
    <BLANKLINE>
            [[3., 4.]]])
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}"
        )
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        kind = type(batch_size).__name__
        raise RuntimeError(f"Batch size passed must be None or an integer, got {kind}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError(
                "Expanded Weights add to grad_sample, which would be wrong over several calls. "
                f"Please clear out the grad_sample parameter of {weight}"
            )

    @functools.wraps(module.forward)
    def wrapper(*args, **kwargs):
        size = batch_size
        if size is None:
            size = _batch_size(args, kwargs, 0 if batch_first else 1)
        params: dict[str, Tensor] = {}
        for name, value in module.named_parameters():
            if value.requires_grad:
                expanded = ExpandedWeight(value, size, loss_reduction)
                expanded.set_batch_first(batch_first)
                params[name] = expanded
            else:
                params[name] = value
        return _functional_call(module, params, args, kwargs)

    return wrapper
