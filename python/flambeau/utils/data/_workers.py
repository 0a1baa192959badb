"""A pass over a loader by several workers: which of them makes what, and what has come back.

`_processes.py` and `_threads.py` say what a worker is and how it is spoken to.
"""

from __future__ import annotations

import time
from collections import deque

_PATIENCE = 5.0  # seconds for a worker to finish what it is doing at the end of a pass


class _Task:
    __slots__ = ("number", "worker", "index", "done", "kind", "data")

    def __init__(self, number, worker, index):
        self.number = number
        self.worker = worker
        self.index = index
        self.done = False
        self.kind = None
        self.data = None


class Worker:
    """A worker as the loader sees it."""

    def __init__(self, id):
        self.id = id
        self.active = True  # has samples left in this pass
        self.waiting = 0  # tasks it has not answered
        self.before = 0  # samples that were taken before a resumed pass
        self.batches = 0  # yielded of it in this pass
        self.state = None  # of its dataset, after them

    def post(self, *message):
        """Sends a message without waiting."""
        raise NotImplementedError

    def released(self):
        """What it can use again of the memory that it sent."""
        return ()

    def give(self, task):
        self.waiting += 1
        self.post("task", task.number, task.index, self.released())


class Workers:
    """The workers of one loader, and the tasks between them and the program.

    Args:
        loader: gives the options.
        make_fetcher: makes, in a worker, what turns indices into batches.
        base_seed: a worker's seed is this and its id.
        indices: iterator of what a batch is made of.
        first: the worker that makes the first batch.
        positions: where each worker begins, from a saved state; None: at the beginning.
    """

    def __init__(self, loader, make_fetcher, base_seed, indices, first=0, positions=None):
        self.make_fetcher = make_fetcher
        self.base_seed = base_seed
        self.timeout = loader.timeout
        self.in_order = loader.in_order
        self.patience = _PATIENCE
        self.workers = []
        self.epoch = 0
        self.ended = False
        try:
            for id in range(loader.num_workers):
                self._start(loader, id, positions[id] if positions else None)
            self._begin(indices, loader.prefetch_factor, first, positions)
        except BaseException:
            self.shutdown(patience=0)
            raise

    def _start(self, loader, id, resume):
        """Adds a worker to `self.workers`."""
        raise NotImplementedError

    def _wait(self, deadline):
        """Waits until a worker says something, which goes to `_take`, or for a short while.

        Errors: `RuntimeError` for a worker that has ended, or at the deadline.
        """
        raise NotImplementedError

    def shutdown(self, patience=None):
        """Ends the workers: asks, waits for so many seconds, and insists where it can."""
        raise NotImplementedError

    def reset(self, indices, prefetch_factor, first=0, positions=None):
        """Begins another pass with the same processes."""
        self.epoch += 1
        for worker in self.workers:
            worker.post("reset", self.epoch, positions[worker.id] if positions else None)
        self._begin(indices, prefetch_factor, first, positions)

    def _begin(self, indices, prefetch_factor, first, positions):
        self.indices = indices
        self.exhausted = False
        self.tasks: deque = deque()  # in the order of the batches
        self.by_number = {}
        self.arrived: deque = deque()  # when the order does not matter
        self.next_number = 0
        self.turn = first
        for worker in self.workers:
            worker.active = True
            worker.waiting = worker.batches = 0
            worker.before, worker.state = positions[worker.id] if positions else (0, None)
        for _ in range(prefetch_factor * len(self.workers)):
            self.request()

    def request(self):
        """Gives the next indices to a worker, while there are any."""
        if self.exhausted or not (worker := self._next_worker()):
            return
        try:
            index = next(self.indices)
        except StopIteration:
            self.exhausted = True
            return
        self.turn = worker.id + 1
        task = _Task(self.next_number, worker, index)
        self.next_number += 1
        self.tasks.append(task)
        self.by_number[task.number] = task
        worker.give(task)

    def _next_worker(self):
        count = len(self.workers)
        if self.in_order and self.workers[self.turn % count].active:
            return self.workers[self.turn % count]
        order = [self.workers[(self.turn + i) % count] for i in range(count)]
        order = [worker for worker in order if worker.active]
        if not order:
            return None
        return order[0] if self.in_order else min(order, key=lambda worker: worker.waiting)

    def next(self):
        """The kind and data of the next batch, and its worker.

        Errors: `StopIteration` after the last one, `RuntimeError` for a worker that has ended or
        is late.
        """
        deadline = time.monotonic() + self.timeout if self.timeout else None
        while True:
            task = self._ready()
            if task is not None:
                task.worker.batches += 1
                return task.kind, task.data(), task.worker
            if not self.tasks:
                raise StopIteration
            self._wait(deadline)

    def _ready(self):
        if not self.in_order:
            return self.arrived.popleft() if self.arrived else None
        if self.tasks and self.tasks[0].done:
            task = self.tasks[0]
            self._drop(task)
            return task
        return None

    def _drop(self, task):
        self.tasks.remove(task)
        self.by_number.pop(task.number, None)

    def _take(self, worker, kind, epoch, number, make):
        """A batch has come, or the worker's word that there is none."""
        if epoch != self.epoch:
            return  # of a pass that was not finished
        task = self.by_number.pop(number)
        worker.waiting -= 1
        task.done, task.kind, task.data = True, kind, make
        if kind == "end":
            # It does not answer what it was asked for beyond.
            worker.active = False
            self._drop(task)
            for left in [t for t in self.tasks if t.worker is worker and not t.done]:
                self._drop(left)
            self.request()
        elif not self.in_order:
            self._drop(task)
            self.arrived.append(task)

    def positions(self, batch_size):
        """Where the workers are in an iterable dataset, after what was given so far."""
        first = self.tasks[0].worker.id if self.tasks else 0
        places = [(w.before + w.batches * batch_size, w.state) for w in self.workers]
        return {"next": first, "workers": places}

    def _doing(self, worker):
        for task in self.tasks:
            if task.worker is worker and not task.done:
                index = "" if task.index is None else f" (indices {_short(task.index)})"
                return f"batch {task.number}{index}"
        return "no batch"

    def _late(self):
        waiting = {task.worker.id: task.worker for task in self.tasks if not task.done}
        parts = [
            f"{worker} is busy with {self._doing(worker)}" for _, worker in sorted(waiting.items())
        ]
        return (
            f"DataLoader timed out after {self.timeout} seconds: {'; '.join(parts)}. The dataset "
            "or collate_fn hangs or is slow; give a longer timeout, or 0 to wait for ever."
        )


def _short(index):
    text = repr(index)
    return text if len(text) <= 60 else text[:57] + "..."
