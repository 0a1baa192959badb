"""NNPACK, which this build has not."""

from __future__ import annotations

from ._flags import setters

enabled = False
set_flags, _ = setters(globals(), _enabled="enabled")
_, flags = setters(globals(), enabled="enabled")


def is_available() -> bool:
    """Whether the build has NNPACK: never."""
    return False
