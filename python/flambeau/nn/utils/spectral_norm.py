"""Spectral norm by a hook, the older form of `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any, TypeVar

from flambeau._C import ops
from flambeau.autograd import no_grad
from flambeau.nn import functional as F
from flambeau.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from flambeau.nn.modules.module import Module
from flambeau.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


class SpectralNorm:
    """The hook: before each call it divides ``name_orig`` by its largest singular value.

    ``name_u`` and ``name_v`` are buffers, the estimates of the singular vectors.
    """

    # 1: name_v is saved, name itself is not.
    _version: int = 1
    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but "
                f"got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight):
        """The weight with the dimension of outputs as rows and all others as columns."""
        if self.dim != 0:
            rest = (d for d in range(weight.dim()) if d != self.dim)
            weight = weight.permute(self.dim, *rest)
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool):
        """The normalised weight, after a better estimate if asked for."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                # In place: what shares the buffers, as a replica does, stays up to date.
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(ops.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(ops.mv(matrix, v), dim=0, eps=self.eps))
                # Clones: the next call changes the buffers, and backward may come after it.
                u, v = u.clone(), v.clone()
        return weight / ops.dot(u, ops.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        weight = self.compute_weight(module, do_power_iteration=module.training)
        setattr(module, self.name, weight)

    def _solve_v_and_rescale(self, weight_mat, u, target_sigma):
        """The v for which ``u @ weight_mat @ v`` is target_sigma and weight_mat @ v along u."""
        v = ops.linalg_pinv(weight_mat) @ u
        return v * (target_sigma / ops.dot(u, ops.mv(weight_mat, v)))

    @staticmethod
    def apply(
        module: Module, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Puts a parameter of the module aside and registers the hook."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight: Any = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            rows, columns = hook.reshape_weight_to_matrix(weight).shape
            u, v = (
                F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in (rows, columns)
            )
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
        # Initialisers may change it in place; it is no parameter, and shares the memory of one.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Computes ``name_v`` of states that were saved before it was."""

    def __init__(self, fn) -> None:
        self.fn = fn

    def __call__(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        key = prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        complete = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v"))
        if version is None and complete and key not in state_dict:
            return  # saved without metadata
        missing = [key + s for s in ("_orig", "", "_u") if key + s not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(
                matrix, state_dict[key + "_u"], sigma
            )


class SpectralNormStateDictHook:
    """Notes in the metadata of a state what of it is saved."""

    def __init__(self, fn) -> None:
        self.fn = fn

    def __call__(self, module, state_dict, prefix, local_metadata) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


T_module = TypeVar("T_module", bound=Module)


def spectral_norm(
    module: T_module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> T_module:
    """Divides a parameter by its largest singular value before each call of the module.

    `parametrizations.spectral_norm` does the same without hooks. See Miyato et al., Spectral
    normalization for generative adversarial networks, 2018.

    Args:
        n_power_iterations: steps of power iteration at each call in training.
        eps: least norm that is divided by.
        dim: the dimension of the outputs, the rows of the matrix; 1 for transposed convolutions,
            else 0, if left out.

    >>> layer = spectral_norm(nn.Linear(3, 2))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if dim is None:
        transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
        dim = 1 if transposed else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: T_module, name: str = "weight") -> T_module:
    """Undoes `spectral_norm`; the parameter keeps the value it has.

    Raises:
        ValueError: the parameter has no spectral norm.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for key, hook in hooks.items():
            # Loading hooks are wrapped.
            if isinstance(getattr(hook, "hook", hook), kind):
                if getattr(hook, "hook", hook).fn.name == name:
                    del hooks[key]
                    break
    return module
