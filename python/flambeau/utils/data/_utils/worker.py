"""What a worker process knows of itself."""

from __future__ import annotations

_worker_info = None


def get_worker_info():
    """The id, number, seed and dataset of this worker process; None in the main process."""
    return _worker_info
