"""Modules without initial values."""

from __future__ import annotations

from flambeau.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls, *args, **kwargs):
    """Makes a module whose parameters and buffers are left uninitialised.

    Args:
        module_cls: a module class that takes an argument ``device`` and does nothing with its
            parameters but to initialise them.

    Raises:
        RuntimeError: module_cls is no such class.

    >>> skip_init(nn.Linear, 5, 1).weight.shape
    torch.Size([1, 5])
    """
    import inspect  # slow to import

    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
