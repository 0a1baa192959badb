"""Libraries for operators on integers: none is built in yet."""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
