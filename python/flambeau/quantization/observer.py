"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

HistogramObserver = _quantization.HistogramObserver  # type: ignore[attr-defined]
MinMaxObserver = _quantization.MinMaxObserver  # type: ignore[attr-defined]
MovingAverageMinMaxObserver = _quantization.MovingAverageMinMaxObserver  # type: ignore[attr-defined]
MovingAveragePerChannelMinMaxObserver = _quantization.MovingAveragePerChannelMinMaxObserver  # type: ignore[attr-defined]
NoopObserver = _quantization.NoopObserver  # type: ignore[attr-defined]
ObserverBase = _quantization.ObserverBase  # type: ignore[attr-defined]
PerChannelMinMaxObserver = _quantization.PerChannelMinMaxObserver  # type: ignore[attr-defined]
PlaceholderObserver = _quantization.PlaceholderObserver  # type: ignore[attr-defined]
RecordingObserver = _quantization.RecordingObserver  # type: ignore[attr-defined]

__all__ = [
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "RecordingObserver",
]
