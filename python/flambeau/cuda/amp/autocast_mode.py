"""Old names of `amp.autocast`, `amp.custom_fwd` and `amp.custom_bwd` for "cuda"."""

from __future__ import annotations

import functools
import warnings

from flambeau import _C, amp


def _old_name(name, arguments, stacklevel):
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. "
        f"Please use `torch.amp.{name}({arguments})` instead.",
        FutureWarning,
        stacklevel=stacklevel,
    )


class autocast(amp.autocast):
    """`amp.autocast` with the device type "cuda"."""

    def __init__(self, enabled=True, dtype=_C.float16, cache_enabled=True):
        _old_name("autocast", "'cuda', args...", 3)
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """`amp.custom_fwd` with the device type "cuda"."""
    _old_name("custom_fwd", "args..., device_type='cuda'", 3)
    return functools.partial(amp.custom_fwd, device_type="cuda", cast_inputs=cast_inputs)(fwd)


def custom_bwd(bwd):
    """`amp.custom_bwd` with the device type "cuda"."""
    _old_name("custom_bwd", "args..., device_type='cuda'", 3)
    return amp.custom_bwd(bwd, device_type="cuda")


__all__ = ["autocast", "custom_bwd", "custom_fwd"]
