"""Rules that say which submodules a wrapper goes around."""

from __future__ import annotations

import contextlib
from typing import Any

from flambeau.nn import ModuleDict, ModuleList, MultiheadAttention

_EXCLUDED = {ModuleList, ModuleDict}
_FORCED_LEAVES = {MultiheadAttention}
_wrapping: dict[str, Any] = {"cls": None, "kwargs": {}}


def always_wrap_policy(*args, **kwargs):
    """Every submodule."""
    return True


def lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, lambda_fn):
    """Submodules for which a function is true.

    Example:
        >>> from flambeau.nn import Linear
        >>> lambda_auto_wrap_policy(Linear(1, 1), False, 2, lambda m: isinstance(m, Linear))
        True
    """
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls):
    """Submodules of some classes."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def _module_wrap_policy(module, recurse, nonwrapped_numel, module_classes):
    return True if recurse else isinstance(module, tuple(module_classes))


def size_based_auto_wrap_policy(
    module, recurse, nonwrapped_numel, min_num_params=int(1e8), force_leaf_modules=None,
    exclude_wrap_modules=None,
):  # fmt: skip
    """Submodules with at least so many parameters that have no wrapper yet."""
    leaves = _FORCED_LEAVES if force_leaf_modules is None else force_leaf_modules
    excluded = _EXCLUDED if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(leaves))
    return large and not isinstance(module, tuple(excluded))


def _or_policy(module, recurse, nonwrapped_numel, policies):
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


class _Policy:
    """Chooses submodules of a root and the arguments for their wrappers."""

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Submodules of some classes."""

    def __init__(self, module_classes):
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        classes = tuple(self._module_classes)
        return {
            m: dict(root_kwargs)
            for m in root_module.modules()
            if m not in ignored_modules and isinstance(m, classes)
        }

    def __call__(self, module, recurse, *args, **kwargs):
        return _module_wrap_policy(module, recurse, 0, self._module_classes)


class CustomPolicy(_Policy):
    """Submodules for which a function gives True, or the arguments for the wrapper."""

    def __init__(self, lambda_fn):
        self._lambda_fn = lambda_fn

    def _run_policy(self, root_module, ignored_modules, root_kwargs):
        found = {}
        for module in root_module.modules():
            answer = False if module in ignored_modules else self._lambda_fn(module)
            if not isinstance(answer, dict | bool):
                raise ValueError(f"the function of CustomPolicy returned {answer!r}")
            if answer is not False:
                found[module] = {**root_kwargs, **(answer if isinstance(answer, dict) else {})}
        return found


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls, **wrapper_kwargs):
    """Context in which `wrap` puts a wrapper around modules."""
    before = dict(_wrapping)
    _wrapping.update(cls=wrapper_cls, kwargs=wrapper_kwargs)
    try:
        yield
    finally:
        _wrapping.update(before)


def wrap(module, **wrap_overrides):
    """The module, in a wrapper within `enable_wrap`."""
    if _wrapping["cls"] is None:
        return module
    return _wrapping["cls"](module, **{**_wrapping["kwargs"], **wrap_overrides})


def _wrap_if_wanted(parent, policy, wrapper):
    """Wraps the chosen submodules of ``parent``, innermost first."""
    for name, child in list(parent.named_children()):
        _wrap_if_wanted(child, policy, wrapper)
        count = sum(p.numel() for p in child.parameters())
        if policy(module=child, recurse=False, nonwrapped_numel=count):
            setattr(parent, name, wrapper(child))


__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap",
    "lambda_auto_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy",
    "wrap",
]  # fmt: skip
