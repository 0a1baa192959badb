"""Regions of time: the events of `flambeau.profiler` and `flambeau.autograd.profiler`.

There are events for regions that a program marks with `record_function` and for the forward passes
of modules; not for single operators.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

_active: list[Any] = []  # recorders, innermost last
_open = threading.local()


class Event:
    """One region: when it began and ended, in microseconds, and what it lies in."""

    def __init__(self, name, start, parent, thread):
        self.name = self.key = name
        self.start_us, self.end_us = start, start
        self.cpu_parent, self.thread = parent, thread
        self.cpu_children: list[Any] = []
        self.count = 1
        self.input_shapes: list[Any] = []

    @property
    def cpu_time_total(self):
        """Microseconds from begin to end."""
        return self.end_us - self.start_us

    @property
    def self_cpu_time_total(self):
        """Microseconds outside the regions within."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def cpu_time(self):
        """Microseconds of one call."""
        return self.cpu_time_total / self.count

    device_time_total = self_device_time_total = device_time = 0.0
    cpu_memory_usage = self_cpu_memory_usage = device_memory_usage = 0

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name} cpu_time={_time(self.cpu_time_total)}>"


class Average(Event):
    """Events of one name."""

    def __init__(self, name):
        super().__init__(name, 0.0, None, None)
        self.count = 0
        self._total = self._self = 0.0

    def add(self, event):
        """Counts one more."""
        self.count += event.count
        self._total += event.cpu_time_total
        self._self += event.self_cpu_time_total

    @property
    def cpu_time_total(self):
        """Microseconds of all calls."""
        return self._total

    @property
    def self_cpu_time_total(self):
        """Microseconds of all calls outside the regions within."""
        return self._self


def _time(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


class EventList(list):
    """Events in the order of their begin."""

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, **kwargs):
        """Events of one name as one, in the order of their first."""
        found: dict[str, Average] = {}
        for event in self:
            found.setdefault(event.key, Average(event.key)).add(event)
        return EventList(found.values())

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events."""
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self):
        """All events as one."""
        total = Average("Total")
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None, top_level_events_only=False,
              **kwargs):  # fmt: skip
        """The events as a table, the largest of ``sort_by`` first."""
        events = [e for e in self if not top_level_events_only or e.cpu_parent is None]
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            events.sort(key=lambda e: getattr(e, name), reverse=True)
        if row_limit >= 0:
            events = events[:row_limit]
        total = self.self_cpu_time_total or 1.0
        rows = [
            (
                "Name",
                "Self CPU %",
                "Self CPU",
                "CPU total %",
                "CPU total",
                "CPU time avg",
                "# of Calls",
            )
        ]
        for e in events:
            label = e.key
            if max_name_column_width is not None and len(label) > max_name_column_width:
                label = label[: max_name_column_width - 3] + "..."
            rows.append((
                label, f"{e.self_cpu_time_total / total:.2%}", _time(e.self_cpu_time_total),
                f"{e.cpu_time_total / total:.2%}", _time(e.cpu_time_total), _time(e.cpu_time),
                str(e.count),
            ))  # fmt: skip
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        rule = "  ".join("-" * w for w in widths)
        lines = [] if header is None else ["=" * len(rule), header]
        lines.append(rule)
        for at, row in enumerate(rows):
            lines.append("  ".join(cell.rjust(w) for cell, w in zip(row, widths)))
            if at == 0:
                lines.append(rule)
        return "\n".join(
            [*lines, rule, f"Self CPU time total: {_time(self.self_cpu_time_total)}", ""]
        )

    __str__ = table  # type: ignore[assignment]

    def export_chrome_trace(self, path):
        """Writes the events as a trace for Chrome and Perfetto."""
        entries = [
            {
                "ph": "X", "cat": "cpu_op", "name": e.name, "ts": e.start_us,
                "dur": e.cpu_time_total, "pid": os.getpid(), "tid": e.thread,
            }
            for e in self
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "traceEvents": entries}, file)


class Recorder:
    """Collects events between `start` and `stop`."""

    def __init__(self):
        self.events = EventList()
        self._hooks: list[Any] = []

    def start(self):
        """Begins to collect."""
        import importlib

        module = importlib.import_module("flambeau.nn.modules.module")
        names: dict = {}

        def enter(part, inputs):
            kind = type(part).__name__
            at = names.setdefault(id(part), len(names))
            part.__dict__.setdefault("_profiled", []).append(begin(f"nn.Module: {kind}_{at}"))

        def leave(part, inputs, output):
            stack = part.__dict__.get("_profiled")
            if stack:
                end(stack.pop())

        self._hooks = [
            module.register_module_forward_pre_hook(enter),
            module.register_module_forward_hook(leave, always_call=True),
        ]
        _active.append(self)

    def stop(self):
        """Ends collecting."""
        for hook in self._hooks:
            hook.remove()
        if self in _active:
            _active.remove(self)


def enabled():
    """Whether something collects events."""
    return bool(_active)


def begin(name):
    """Opens a region; None where nothing collects."""
    if not _active:
        return None
    stack = _open.__dict__.setdefault("stack", [])
    parent = stack[-1] if stack else None
    event = Event(name, time.perf_counter_ns() / 1e3, parent, threading.get_ident())
    if parent is not None:
        parent.cpu_children.append(event)
    stack.append(event)
    for recorder in _active:
        recorder.events.append(event)
    return event


def end(event):
    """Closes a region."""
    if event is None:
        return
    event.end_us = time.perf_counter_ns() / 1e3
    stack = _open.__dict__.setdefault("stack", [])
    if event in stack:
        del stack[stack.index(event) :]
