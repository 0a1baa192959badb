"""`torch.compile`: a check of its arguments and a wrapper. Compiled code is a later stage."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from flambeau.nn import Module

from . import exc
from .backends import registry

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class OptimizedModule(Module):
    """What `torch.compile` makes of a module: the module, with its name before its parameters.

    Example:
        >>> import flambeau
        >>> model = flambeau.compile(flambeau.nn.Linear(2, 1))
        >>> model(flambeau.ones(2)).shape, list(model.state_dict())
        (torch.Size([1]), ['_orig_mod.weight', '_orig_mod.bias'])
    """

    def __init__(self, mod, dynamo_ctx=None):
        super().__init__()
        self._orig_mod = mod
        self.dynamo_ctx = dynamo_ctx
        self.training = mod.training

    def forward(self, *args, **kwargs):
        """Runs the module."""
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self):
        """The mode of the module."""
        return self._orig_mod.training

    @training.setter
    def training(self, value):
        modules = self.__dict__.get("_modules") or {}
        if "_orig_mod" in modules:
            modules["_orig_mod"].training = value

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self.__dict__["_modules"][name]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in ("_orig_mod", "dynamo_ctx", "training") or name in type(self).__dict__:
            super().__setattr__(name, value)
        elif "_modules" in self.__dict__ and "_orig_mod" in self.__dict__["_modules"]:
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __reduce__(self):
        return type(self), (self._orig_mod, None)

    def __dir__(self):
        own = set(dir(type(self))) | set(self.__dict__)
        return sorted(own | {n for n in dir(self._orig_mod)})


def _check(mode, options, backend):
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options is not None and not isinstance(options, dict):
        raise RuntimeError(f"options must be a dict, got {type(options).__name__}")
    if isinstance(backend, str):
        registry.known(backend)
    elif backend is not None:
        if not callable(backend):
            raise exc.InvalidBackend(backend)
        warnings.warn(
            "torch.compile: flambeau has no compiler yet, so that the function runs as it is and"
            " the given backend is never called",
            stacklevel=3,
        )


def compile(
    model=None, *, fullgraph=False, dynamic=None, backend=None, mode=None, options=None,
    name=None, disable=False, **kwargs,
):  # fmt: skip
    """The function or module, which runs as it is: the compiler is not built yet.

    Arguments are checked as PyTorch does, so that a program which compiles its model gives the
    same results here, at the speed of single calls. A ``backend`` that is a function is never
    called, of which a warning tells.

    Example:
        >>> import flambeau
        >>> flambeau.compile(lambda x: x + 1)(flambeau.ones(2))
        tensor([2., 2.])
    """
    _check(mode, options, backend)
    if model is None:
        return functools.partial(_wrap, disable=disable)
    return _wrap(model, disable=disable)


def _wrap(model, disable=False) -> Any:
    if disable:
        return model
    if isinstance(model, Module):
        return model if isinstance(model, OptimizedModule) else OptimizedModule(model)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if isinstance(model, type):
        return model

    @functools.wraps(model)
    def compiled(*args, **kwargs):
        return model(*args, **kwargs)

    compiled._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    compiled._torchdynamo_inline = model  # type: ignore[attr-defined]
    return compiled


def is_inductor_supported():
    """Whether functions can be compiled: not yet."""
    return False


def innermost_fn(fn, unaltered_fn_attr="_torchdynamo_orig_callable"):
    """The function within the wrappers of `compile`."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn
