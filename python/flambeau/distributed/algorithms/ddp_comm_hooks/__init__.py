"""Ways to send gradients."""

from __future__ import annotations

import importlib
from enum import Enum

from flambeau._absent import declare


class DDPCommHookType(Enum):
    """The ways that have names."""

    ALLREDUCE = "allreduce_hook"
    FP16_COMPRESS = "fp16_compress_hook"
    BF16_COMPRESS = "bf16_compress_hook"
    QUANTIZE_PER_TENSOR = "quantization_pertensor_hook"
    QUANTIZE_PER_CHANNEL = "quantization_perchannel_hook"
    POWER_SGD = "powerSGD_hook"
    BATCHED_POWER_SGD = "batched_powerSGD_hook"
    NOOP = "noop_hook"


__all__ = ["DDPCommHookType"]

declare(
    globals(),
    "communication of gradients by a hook",
    functions="register_ddp_comm_hook",
)

_MODULES = {
    "ddp_zero_hook",
    "debugging_hooks",
    "default_hooks",
    "optimizer_overlap_hooks",
    "post_localSGD_hook",
    "powerSGD_hook",
    "quantization_hooks",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
