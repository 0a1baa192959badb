"""Ways to send gradients: optimizer overlap."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "communication of gradients by a hook",
    functions="_hook_then_optimizer",
)
