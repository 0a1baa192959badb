"""Pools of processes: Python's."""

from __future__ import annotations

from multiprocessing.pool import Pool as Pool
from multiprocessing.pool import ThreadPool as ThreadPool
