"""`torch._C._lazy`: for programs that name its classes."""

from __future__ import annotations
