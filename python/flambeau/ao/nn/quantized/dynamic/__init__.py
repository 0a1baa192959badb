"""Layers whose weights are integers."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    classes="Conv1d Conv2d Conv3d GRU GRUCell LSTM LSTMCell Linear RNNCell",
)
