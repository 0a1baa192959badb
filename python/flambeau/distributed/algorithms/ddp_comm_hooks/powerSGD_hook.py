"""Ways to send gradients: powerSGD."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "communication of gradients by a hook",
    classes="PowerSGDState",
    functions="batched_powerSGD_hook powerSGD_hook",
)
