"""Counts and events of a program, for whoever registers to hear of them."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Any


class Aggregation(enum.Enum):
    """What a `Stat` makes of its values."""

    VALUE = 0
    MEAN = 1
    COUNT = 2
    SUM = 3
    MAX = 4
    MIN = 5


@dataclass
class Event:
    """Something that happened."""

    name: str
    timestamp: datetime.datetime
    data: dict[str, Any] = field(default_factory=dict)


class EventHandlerHandle:
    """What `register_event_handler` gives, to unregister."""

    def __init__(self, handler):
        self._handler = handler


_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback):
    """Calls a function with each event from now on."""
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler):
    """Ends what `register_event_handler` began."""
    if handler in _handlers:
        _handlers.remove(handler)


def log_event(event):
    """Gives an event to all handlers.

    Example:
        >>> seen = []
        >>> handle = register_event_handler(seen.append)
        >>> log_event(Event("start", datetime.datetime(2024, 1, 1)))
        >>> unregister_event_handler(handle)
        >>> seen[0].name
        'start'
    """
    for handle in _handlers:
        handle._handler(event)


class Stat:
    """Values of a quantity, put together in windows of time or of a number of values.

    Example:
        >>> stat = Stat("loss", [Aggregation.SUM, Aggregation.COUNT], datetime.timedelta(hours=1))
        >>> stat.add(2.0); stat.add(3.0)
        >>> stat.get()[Aggregation.SUM]
        5.0
    """

    def __init__(self, name, aggregations, window_size, max_samples=None):
        self.name, self._aggregations, self._window = name, list(aggregations), window_size
        self._most, self._values = max_samples, []  # type: ignore[var-annotated]
        self._start = datetime.datetime.now()

    @property
    def count(self):
        """How many values the window has."""
        return len(self._values)

    def add(self, v):
        """Adds a value; logs an event where it is the last of a window."""
        if datetime.datetime.now() - self._start >= self._window:
            self._log()
        self._values.append(float(v))
        if self._most is not None and len(self._values) >= self._most:
            self._log()

    def get(self):
        """The aggregations of the window."""
        values = self._values
        total = sum(values)
        known = {
            Aggregation.VALUE: values[-1] if values else 0.0,
            Aggregation.MEAN: total / len(values) if values else 0.0,
            Aggregation.COUNT: float(len(values)),
            Aggregation.SUM: total,
            Aggregation.MAX: max(values, default=0.0),
            Aggregation.MIN: min(values, default=0.0),
        }
        return {a: known[a] for a in self._aggregations}

    def _log(self):
        if self._values:
            data = {f"{self.name}.{a.name.lower()}": v for a, v in self.get().items()}
            log_event(Event("torch.monitor.Stat", datetime.datetime.now(), data))
        self._values, self._start = [], datetime.datetime.now()


class TensorboardEventHandler:
    """A handler that writes the values of `Stat` with a `SummaryWriter`."""

    def __init__(self, writer):
        self._writer = writer

    def __call__(self, event):
        if event.name == "torch.monitor.Stat":
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())


__all__ = [
    "Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "log_event",
    "register_event_handler", "unregister_event_handler",
]  # fmt: skip
