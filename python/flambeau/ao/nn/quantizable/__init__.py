"""Layers that can become integers."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    classes="LSTM LSTMCell MultiheadAttention",
)
