"""`torch._C._distributed_c10d`: groups of processes."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(globals(), "groups of several processes", classes="Reducer Logger GradBucket _DDPLogger")


def __getattr__(name):
    return getattr(importlib.import_module("flambeau.distributed"), name)
