"""Repeated runs of a statement, their times, and tables of them."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import statistics
import timeit
from typing import Any

from flambeau import _C
from flambeau._absent import missing

timer = timeit.default_timer


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1


class Colorize(enum.Enum):
    """What `Compare` colours by."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def select_unit(t):
    """The unit of a time in seconds, and its size.

    Example:
        >>> select_unit(2e-5)
        ('us', 1e-06)
    """
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if t < size * 1e3:
            return unit, size
    return "s", 1.0


def unit_to_english(u):
    """The name of a unit."""
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x, n):
    """A number cut to some digits.

    Example:
        >>> trim_sigfig(123.456, 2)
        120.0
    """
    return float(f"{x:.{n - 1}e}") if x else x


def ordered_unique(elements):
    """The different elements in the order of their first."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """Context with a number of threads."""
    before = _C.get_num_threads()
    _C.set_num_threads(n)
    try:
        yield
    finally:
        _C.set_num_threads(before)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is measured."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """The label, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{self.stmt}"


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a statement.

    Example:
        >>> m = Measurement(1000, [1e-3, 2e-3, 3e-3], TaskSpec("x", "pass"))
        >>> m.median, m.mean
        (2e-06, 2e-06)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self):
        """Seconds of one run, for each block of runs."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self):
        """The middle of the times."""
        return statistics.median(self.times)

    @property
    def mean(self):
        """The mean of the times."""
        return statistics.fmean(self.times)

    def _quartiles(self):
        times = sorted(self.times)

        def at(share):
            place = share * (len(times) - 1)
            low = int(place)
            high = min(low + 1, len(times) - 1)
            return times[low] + (times[high] - times[low]) * (place - low)

        return at(0.25), at(0.75)

    @property
    def iqr(self):
        """The width of the middle half of the times."""
        low, high = self._quartiles()
        return high - low

    @property
    def significant_figures(self):
        """How many digits of the median mean something."""
        import math

        low, high = self._quartiles()
        middle = (low + high) / 2
        spread = max(self.iqr, 1e-3 * middle, 1e-12)
        return max(1, min(5, int(-math.log10(spread / max(middle, 1e-12)) + 1)))

    @property
    def has_warnings(self):
        """Whether the times differ much."""
        return self.iqr / self.median > 0.1 if self.median else False

    @property
    def title(self):
        """What was measured."""
        return self.task_spec.title

    @property
    def env(self):
        """Where it was measured."""
        return self.task_spec.env or "Unspecified env"

    @property
    def stmt(self):
        """The statement."""
        return self.task_spec.stmt

    @property
    def setup(self):
        """What runs before."""
        return self.task_spec.setup

    @property
    def description(self):
        """A word on this measurement."""
        return self.task_spec.description

    @property
    def num_threads(self):
        """The number of threads."""
        return self.task_spec.num_threads

    @property
    def label(self):
        """The label."""
        return self.task_spec.label

    @property
    def sub_label(self):
        """The second label."""
        return self.task_spec.sub_label

    @property
    def as_row_name(self):
        """The name of the row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements):
        """Measurements of the same as one."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [
            Measurement(1, [t for m in group for t in m.times], spec)
            for spec, group in groups.items()
        ]

    def __repr__(self):
        unit, size = select_unit(self.median)
        lines = [
            f"<{type(self).__module__}.{type(self).__name__} object at {id(self):#x}>",
            self.title,
        ]
        if self.description:
            lines.append(self.description)
        if self.setup and self.setup != "pass":
            lines.append(f"setup: {self.setup}")
        lines.append(f"  {self.median / size:.2f} {unit}")
        if len(self.times) > 1:
            lines[-1] = f"  Median: {self.median / size:.2f} {unit}"
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit}")
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(
            f"  {len(self.times)} measurements, {self.number_per_run} runs per measurement, "
            f"{threads}"
        )
        return "\n".join(lines)


class Timer:
    """Measures a statement, by default with one thread.

    Example:
        >>> Timer("x + 1", globals={"x": 1}).timeit(10).number_per_run
        10
    """

    def __init__(
        self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None,
        sub_label=None, description=None, env=None, num_threads=1, language=Language.PYTHON,
    ):  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise missing("a Timer of C++", "operators that users write in C++")
        self._globals = dict(globals or {})
        import flambeau

        self._globals.setdefault("torch", flambeau)
        self._task_spec = TaskSpec(
            stmt=stmt, setup=setup, global_setup=global_setup, label=label, sub_label=sub_label,
            description=description, env=env, num_threads=num_threads,
        )  # fmt: skip
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=self._globals)

    def _time(self, number):
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number=1000000):
        """One block of ``number`` runs, after a few that are not counted."""
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 2))
            return Measurement(number, [self._time(number)], self._task_spec)

    def _block_size(self, min_run_time):
        # blocks long enough that the timer's own cost does not matter
        overhead = statistics.median(self._timer_cost() for _ in range(5))
        number = 1
        while True:
            taken = self._time(number)
            if (taken > min_run_time / 1000 and overhead / taken <= 1e-4) or taken > min_run_time:
                return number
            number *= 10

    @staticmethod
    def _timer_cost():
        begin = timer()
        timer()
        return timer() - begin

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Blocks of runs until they have taken ``min_run_time`` seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while not times or sum(times) < min_run_time:
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None
    ):
        """Blocks of runs until their times agree to ``threshold``."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            times: list[float] = []
            while True:
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
                total = sum(times)
                made = Measurement(number, times, self._task_spec)
                agree = len(times) > 3 and made.iqr / made.median < threshold
                if total > max_run_time or (total > min_run_time and agree):
                    return made

    def autorange(self, callback=None):
        """A number of runs that takes 0.2 seconds, and their time."""
        return self._timer.autorange(callback)

    def repeat(self, repeat=-1, number=-1):
        """Not supported, as in PyTorch: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def collect_callgrind(self, *args, **kwargs):
        """Counts of instructions: not built yet."""
        raise missing("Timer.collect_callgrind", "counts of instructions")


class Compare:
    """Measurements in a table: statements by row, descriptions by column.

    Example:
        >>> results = [Timer("x + 1", globals={"x": 1}, description="int").timeit(10)]
        >>> print(Compare(results).table().splitlines()[1].split()[-1])
        int
    """

    def __init__(self, results):
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim, self._highlight, self._colorize = False, False, Colorize.NONE

    def extend_results(self, results):
        """Adds measurements."""
        results = list(results)
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Shows only digits that mean something."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Marks the fastest of a row, or column, with a star."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Marks times that differ much."""
        self._highlight = True

    def table(self):
        """The tables as text, one for each label."""
        merged = Measurement.merge(self._results)
        labels = ordered_unique(m.label for m in merged)
        return "\n".join(
            self._one([m for m in merged if m.label == label], label) for label in labels
        )

    def print(self):
        """Prints the tables."""
        print(self.table())

    def __str__(self):
        return self.table()

    def _one(self, found, label):
        unit, size = select_unit(min(m.median for m in found))
        columns = ordered_unique(m.description or "" for m in found)
        rows = [["", *columns]]
        for threads in sorted({m.num_threads for m in found}):
            rows.append([f"{threads} threads:"])
            group = [m for m in found if m.num_threads == threads]
            cells = {(m.as_row_name, m.description or ""): m for m in group}
            for name in ordered_unique(m.as_row_name for m in group):
                row = [f"      {name}"]
                for column in columns:
                    m = cells.get((name, column))
                    row.append("" if m is None else self._cell(m, size, cells, name, column))
                rows.append(row)
        widths = [max(len(r[i]) for r in rows if len(r) > 1) for i in range(len(columns) + 1)]
        head = f"[{'-' * 10} {label or ''} {'-' * 10}]"
        lines = [head]
        for row in rows:
            if len(row) == 1:
                lines.append(f"{row[0]} {'-' * max(len(head) - len(row[0]) - 1, 0)}")
                continue
            cells_text = [row[0].ljust(widths[0])]
            cells_text += [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
            lines.append("  |  ".join(cells_text))
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit})."])

    def _cell(self, m, size, cells, name, column):
        value = m.median / size
        if self._trim:
            value = trim_sigfig(value, m.significant_figures)
        text = f"{value:.1f}" if value >= 1 else f"{value:.3g}"
        if self._highlight and m.has_warnings:
            text = f"(! {m.iqr / m.median:.0%}) {text}"
        if self._colorize is not Colorize.NONE:
            at = 0 if self._colorize is Colorize.ROWWISE else 1
            rivals = [v.median for k, v in cells.items() if k[at] == (name, column)[at]]
            text = f"{text}{'*' if m.median == min(rivals) else ' '}"
        return text
