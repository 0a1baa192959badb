"""Python's `multiprocessing`, with tensors that go to other processes by shared memory.

With this module imported, a tensor in a queue, pipe, pool or argument of a process, from here or
from `multiprocessing` itself, moves to shared memory, and the receiver shows the same memory: a
change on one side is seen on the other. The memory has no name and goes with its last user.

>>> queue = get_context("fork").SimpleQueue()
>>> x = flambeau.zeros(2)
>>> queue.put(x)
>>> y = queue.get()
>>> x += 1
>>> y
tensor([1., 1.])
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *

from . import reductions as reductions
from .spawn import ProcessContext as ProcessContext
from .spawn import ProcessException as ProcessException
from .spawn import ProcessExitedException as ProcessExitedException
from .spawn import ProcessRaisedException as ProcessRaisedException
from .spawn import SpawnContext as SpawnContext
from .spawn import spawn as spawn
from .spawn import start_processes as start_processes

__all__ = [
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    *_multiprocessing.__all__,  # type: ignore[attr-defined]
]

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies():
    """The names that `set_sharing_strategy` takes.

    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def get_sharing_strategy():
    """The strategy set last.

    >>> get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy):
    """Accepts a strategy of PyTorch's. Memory is shared by descriptors of anonymous files in both.

    Errors: `AssertionError` for another name.

    >>> set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"set_sharing_strategy: unknown strategy {new_strategy!r}, expected one of "
            f"{sorted(_STRATEGIES)}"
        )
    _strategy = new_strategy


reductions.init_reductions()
