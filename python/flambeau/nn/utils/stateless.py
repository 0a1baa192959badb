"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from flambeau._C import Tensor
from flambeau.nn.modules.module import Module

from ._named_member_accessor import NamedMemberAccessor

__all__ = ["functional_call"]


def _tied_names(module):
    """The sets of names that mean one and the same tensor."""
    names: dict[Tensor, set[str]] = {}
    for name, tensor in NamedMemberAccessor(module).named_tensors(remove_duplicate=False):
        names.setdefault(tensor, set()).add(name)
    return [group for group in names.values() if len(group) > 1]


def _untie_named_tensors_map(
    module: Module, parameters_and_buffers: dict[str, Tensor]
) -> dict[str, Tensor]:
    """The dictionary with every name of a tied tensor, where it has one of them.

    Raises:
        ValueError: it has different tensors for tied names.
    """
    untied = dict(parameters_and_buffers)
    for group in _tied_names(module):
        given = group & parameters_and_buffers.keys()
        if len({id(parameters_and_buffers[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for name in group if given else ():
            untied[name] = parameters_and_buffers[next(iter(given))]
    return untied


@contextlib.contextmanager
def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
):
    """Within it the module has other tensors; what it assigns to them ends up in the dictionary.

    Args:
        stack_weights: puts the module's own back in the reverse order.
    """
    tensors = parameters_and_buffers
    if tie_weights:
        tensors = _untie_named_tensors_map(module, tensors)
    accessor = NamedMemberAccessor(module)
    if strict:
        missing, unexpected = accessor.check_keys(tensors)
        lists = (("Unexpected", unexpected), ("Missing", missing))
        problems = [f"{kind} key(s): {', '.join(map(repr, keys))}." for kind, keys in lists if keys]
        if problems:
            details = "\n\t".join(problems)
            raise RuntimeError(
                f"Error(s) in reparametrizing for {module._get_name()}:\n\t{details}"
            )
    before, _ = accessor.swap_tensors_dict(tensors, allow_missing=True)
    try:
        yield
    finally:
        if stack_weights:
            before = dict(reversed(before.items()))
        after, _ = accessor.swap_tensors_dict(before, allow_missing=True)
        for name in after:
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = after[name]


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **({} if kwargs is None else kwargs))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any | tuple | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """The old place of `flambeau.func.functional_call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
