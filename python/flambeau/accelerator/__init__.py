"""The accelerator of this machine, whichever it is: this build has none."""

from __future__ import annotations

from flambeau import _no_device


def is_available():
    """Whether there is one: no.

    Example:
        >>> is_available(), device_count(), current_accelerator()
        (False, 0, None)
    """
    return False


def device_count():
    """How many devices there are: none."""
    return 0


def current_accelerator(check_available=False):
    """The device type: None."""
    return


class device_index(_no_device.device_context):
    """Context manager that makes a device the current one; None changes nothing."""

    _error = RuntimeError("Cannot access accelerator device when none is available.")


_needing = _no_device.raising(
    RuntimeError,
    "Cannot access accelerator device when none is available.",
    "current_device_idx current_device_index current_stream empty_cache empty_host_cache"
    " get_device_capability get_memory_info max_memory_allocated max_memory_reserved"
    " memory_allocated memory_reserved memory_stats reset_accumulated_memory_stats"
    " reset_peak_memory_stats set_device_idx set_device_index set_stream synchronize",
    __name__,
)
_needing |= _no_device.classes(
    RuntimeError, "Cannot access accelerator device when none is available.", "Graph", __name__
)
globals().update(_needing)

__all__ = sorted([*_needing, "current_accelerator", "device_count", "device_index", "is_available"])
