"""Modes that see every operator: not built yet."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "modes that see every operator",
    classes="BaseTorchDispatchMode TorchDispatchMode",
    functions="return_and_correct_aliasing transform_subclass",
)


def is_traceable_wrapper_subclass(t):
    """Whether a tensor is made of others: none is."""
    return False


def is_traceable_wrapper_subclass_type(t):
    """Whether a class is one of tensors made of others: none is."""
    return False


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode sees operators: none does."""
    return False


def is_in_any_mode_without_ignore_compile_internals():
    """Whether a mode sees operators: none does."""
    return False


def _get_current_dispatch_mode():
    return None


def _get_current_dispatch_mode_stack():
    return []


def _disable_current_modes():
    import contextlib

    return contextlib.nullcontext()
