"""Ways to send gradients: post localSGD."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "communication of gradients by a hook",
    classes="PostLocalSGDState",
    functions="post_localSGD_hook",
)
