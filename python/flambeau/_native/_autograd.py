"""`torch._C._autograd`: for programs that name its classes."""

from __future__ import annotations
