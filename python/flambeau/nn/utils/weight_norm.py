"""Weight norm by a hook, the older form of `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from flambeau.nn._functional_raw import norm_except_dim
from flambeau.nn.modules.module import Module
from flambeau.nn.parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook: before each call it computes the weight from ``name_g`` and ``name_v``."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return v * (g / norm_except_dim(v, 2, self.dim))

    @staticmethod
    def apply(module, name: str, dim: int) -> WeightNorm:
        """Splits a parameter of the module and registers the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                )
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        hook = WeightNorm(name, dim)
        del module._parameters[name]
        norms = norm_except_dim(weight, 2, hook.dim).detach()
        module.register_parameter(name + "_g", Parameter(norms))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


T_module = TypeVar("T_module", bound=Module)


def weight_norm(module: T_module, name: str = "weight", dim: int = 0) -> T_module:
    """Splits a parameter into ``name_g``, its norms, and ``name_v``, its direction.

    Deprecated: `parametrizations.weight_norm` does the same and can be copied and cached.

    Args:
        dim: the dimension whose slices have a norm each; None for one norm of all.

    >>> layer = weight_norm(nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of "
        "`torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: T_module, name: str = "weight") -> T_module:
    """Undoes `weight_norm`; the parameter keeps its value.

    Raises:
        ValueError: the parameter has no weight norm.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
