"""What is known of a spread tensor."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "tensors spread over processes",
    classes="DTensorSpec TensorMeta",
)
