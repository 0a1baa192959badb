"""Modules whose activations are computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial

from flambeau._absent import absent_class, absent_function
from flambeau.nn import Module

_PREFIX = "_checkpoint_wrapped_module"
_OFFLOAD = "keeping of activations elsewhere"


class CheckpointImpl(Enum):
    """How the backward pass computes again: see `utils.checkpoint`."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another, whose parameters keep their names in state dicts."""

    def __init__(self, module):
        super().__init__()
        self._checkpoint_wrapped_module = module
        self._register_state_dict_hook(self._without_prefix)
        self.register_load_state_dict_pre_hook(self._with_prefix)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_PREFIX), name)

    def __getitem__(self, key):
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args, **kwargs):
        """The parameters under the names they have without the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{_PREFIX}.", ""), parameter

    @staticmethod
    def _without_prefix(module, state_dict, prefix, *args):
        for key in [k for k in state_dict if k.startswith(f"{prefix}{_PREFIX}.")]:
            state_dict[prefix + key[len(prefix) + len(_PREFIX) + 1 :]] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _with_prefix(module, state_dict, prefix, *args):
        for key in [k for k in state_dict if k.startswith(prefix)]:
            state_dict[f"{prefix}{_PREFIX}.{key[len(prefix) :]}"] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """A module whose forward pass runs under `utils.checkpoint`."""

    def __init__(
        self, mod, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **kwargs
    ):
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            from flambeau.utils.checkpoint import checkpoint

            reentrant = checkpoint_impl == CheckpointImpl.REENTRANT
            self.checkpoint_fn = partial(checkpoint, use_reentrant=reentrant, **kwargs)
        else:
            self.checkpoint_fn = partial(checkpoint_fn, **kwargs)

    checkpoint_fn: Callable

    def forward(self, *args, **kwargs):
        """The module's result; nothing between is kept."""
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def checkpoint_wrapper(
    module, checkpoint_impl=CheckpointImpl.NO_REENTRANT, checkpoint_fn=None, **kwargs
):
    """The module in a `CheckpointWrapper`.

    Example:
        >>> from flambeau.nn import Linear
        >>> list(checkpoint_wrapper(Linear(2, 2)).state_dict())
        ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **kwargs)


def apply_activation_checkpointing(
    model, checkpoint_wrapper_fn=checkpoint_wrapper, check_fn=lambda _: True, auto_wrap_policy=None
):
    """Puts wrappers around the submodules of a model that a function or policy chooses."""
    from flambeau.distributed.fsdp.wrap import _wrap_if_wanted, lambda_auto_wrap_policy

    policy = auto_wrap_policy or partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    _wrap_if_wanted(model, policy, checkpoint_wrapper_fn)


_MODULE = "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"
OffloadWrapper = absent_class("OffloadWrapper", _OFFLOAD, _MODULE)
offload_wrapper = absent_function("offload_wrapper", _OFFLOAD, _MODULE)

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
    "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip
