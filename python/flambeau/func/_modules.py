"""Calls of modules with other parameters, and what prepares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau._C import Tensor, ops
from flambeau.nn.modules.batchnorm import _BatchNorm
from flambeau.nn.modules.module import Module
from flambeau.nn.utils.stateless import _functional_call


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any | tuple | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """``module(*args, **kwargs)`` with other parameters and buffers, which gradients flow to.

    Args:
        parameter_and_buffer_dicts: tensors by dotted name, or several such dictionaries. What the
            module assigns to a name in the call replaces the tensor there.
        args: the argument, or a tuple of them.
        tie_weights: a tensor that has several names in the module is replaced under all of them.
        strict: the names must be exactly those of the module.

    Raises:
        ValueError: a name is in several dictionaries, or tied names have different tensors.
        RuntimeError: with strict, names are missing or unknown.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> flambeau.func.functional_call(
        ...     layer, {"weight": flambeau.ones(1, 2), "bias": flambeau.zeros(1)}, flambeau.ones(2))
        tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        dicts = parameter_and_buffer_dicts
        if not all(isinstance(d, dict) for d in dicts):
            raise ValueError(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries"
            )
        keys = [key for d in dicts for key in d]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
                "ambiguous"
            )
        tensors = {key: tensor for d in dicts for key, tensor in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(
    models: Sequence[Module] | Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of equal modules, each name's stacked along a new first dimension.

    The stacks are leaves that require gradients where the parameters do.

    Raises:
        RuntimeError: there is no module, or they differ in class or mode.

    Example:
        >>> parameters, buffers = flambeau.func.stack_module_state(
        ...     [nn.Linear(2, 1) for _ in range(3)])
        >>> parameters["weight"].shape
        torch.Size([3, 1, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    found = []
    for members in ("named_parameters", "named_buffers"):
        each = [dict(getattr(m, members)()) for m in models]
        found.append({name: _stacked([tensors[name] for tensors in each]) for name in each[0]})
    return found[0], found[1]


def _stacked(tensors):
    grads = {t.requires_grad for t in tensors}
    if len(grads) > 1:
        raise RuntimeError(
            "Expected parameters and buffers of each name to have the same .requires_grad"
        )
    return ops.stack([t.detach() for t in tensors]).requires_grad_(grads.pop())


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes all batch normalisations in and below root forget and stop tracking statistics."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
