"""Networks: modules, their parameters, and the same computations as functions."""

from __future__ import annotations

from . import (
    _reduction,
    attention,
    common_types,
    functional,
    grad,
    init,
    modules,
    parallel,
    parameter,
    utils,
)
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter


def factory_kwargs(kwargs):
    """The options of tensor factories among the keyword arguments of a layer.

    Args:
        kwargs: may hold device, dtype and memory_format, and a dictionary ``factory_kwargs`` of
            the same; nothing else.

    Raises:
        TypeError: another key, or a key in both places.
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = set(kwargs) - (simple | {"factory_kwargs"})
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    options = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & set(kwargs):
        if key in options:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        options[key] = kwargs[key]
    return options
