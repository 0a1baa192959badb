"""Python's `multiprocessing` under PyTorch's name.

Tensors go to other processes by value: a queue or pool pickles them, and what a process does to its
copy is not seen by others. A child that is started by "spawn" does not inherit the alias of
``flambeau run``.

>>> queue = get_context("fork").SimpleQueue()
>>> queue.put(flambeau.zeros(2))
>>> queue.get()
tensor([0., 0.])
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *

__all__ = list(_multiprocessing.__all__)  # type: ignore[attr-defined]
