"""Ways to send gradients: quantization."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "communication of gradients by a hook",
    functions="quantization_perchannel_hook quantization_pertensor_hook",
)
