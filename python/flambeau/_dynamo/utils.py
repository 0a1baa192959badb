"""Helpers of the compiler that programs use: there are no compilations to tell of."""

from __future__ import annotations

import collections

counters: dict = collections.defaultdict(collections.Counter)
compilation_time_metrics: dict = {}
guard_failures: dict = collections.defaultdict(list)


def is_compile_supported(device_type):
    """Whether functions can be compiled for a device: not yet."""
    return False


def compile_times(repr="str", aggregate=False):
    """How long compilations took: there were none."""
    return "" if repr == "str" else ([], [])


def is_parameter_freezing():
    """Whether parameters are being made constants: never."""
    return False
