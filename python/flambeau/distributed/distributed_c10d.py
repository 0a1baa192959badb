"""Everything about groups and collectives in one module, as PyTorch has it."""

from __future__ import annotations

from typing import Any

from . import *  # noqa: F403
from . import __all__ as _public
from . import is_xccl_available as is_xccl_available
from ._collectives import Work as Work
from ._group import _state, default_group

_group_count = 0
_backend = None


def _get_default_group():
    """The group of all processes; an error before `init_process_group`."""
    return default_group()


def _get_default_store():
    default_group()
    return _state["store"]


def _get_pg_default_device(group=None):
    from flambeau import _C

    return _C.device("cpu")


def _rank_not_in_group(group):
    return group == -100


def _warn_not_in_group(op_name):
    import warnings

    warnings.warn(f"Running {op_name} on a rank which does not belong to the group.", stacklevel=3)


def _resolve_process_group(group_name: Any):
    return _state["groups"][group_name]


__all__ = [*_public, "is_xccl_available"]
