"""Names for annotations."""

from __future__ import annotations

from ._C import device, dtype, layout
from ._size import Size

Number = int | float | bool
Device = device | str | int | None

__all__ = ["Device", "Number", "Size", "device", "dtype", "layout"]
