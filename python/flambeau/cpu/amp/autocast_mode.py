"""Old name of `amp.autocast` for "cpu"."""

from __future__ import annotations

import warnings

from flambeau import _C, amp


class autocast(amp.autocast):
    """`amp.autocast` with the device type "cpu"."""

    def __init__(self, enabled=True, dtype=_C.bfloat16, cache_enabled=True):
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. "
            "Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


__all__ = ["autocast"]
