"""Ways to send gradients: default."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "communication of gradients by a hook",
    functions=(
        "allreduce_hook bf16_compress_hook bf16_compress_wrapper fp16_compress_hook"
        " fp16_compress_wrapper"
    ),
)
