"""Ways to send gradients: ddp zero."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "communication of gradients by a hook",
    functions="hook_with_zero_step hook_with_zero_step_interleaved",
)
