"""Queues between processes: Python's."""

from __future__ import annotations

from multiprocessing.queues import Queue as Queue
from multiprocessing.queues import SimpleQueue as SimpleQueue
