"""`torch._C._profiler`: what events are of."""

from __future__ import annotations

import importlib


def __getattr__(name):
    return getattr(importlib.import_module("flambeau.profiler"), name)
