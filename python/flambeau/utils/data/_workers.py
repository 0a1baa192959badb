"""A pass over a loader by worker processes: who does what, who has ended and why."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import select
import signal
import socket
import time
import weakref
from collections import deque

from ._utils.channel import Channel, Receiver
from ._utils.worker import _worker_loop

_CHECK_SECONDS = 1.0  # how often the workers are looked at while none says anything
_SPARE_BYTES = 32 << 20  # of memory that the next pass finds ready
_PATIENCE = 5.0  # for a worker to finish what it is doing at the end of a pass
_open_channels: weakref.WeakSet = weakref.WeakSet()


def _close_in_child():
    # A worker must see the end of the main process, so that no other process may hold its socket.
    for channel in list(_open_channels):
        channel.close()
    _open_channels.clear()


os.register_at_fork(after_in_child=_close_in_child)


class _Task:
    __slots__ = ("number", "worker", "index", "done", "kind", "data")

    def __init__(self, number, worker, index):
        self.number = number
        self.worker = worker
        self.index = index
        self.done = False
        self.kind = None
        self.data = None


class _Worker:
    """A worker as the main process sees it."""

    def __init__(self, id, process, channel, spare):
        self.id = id
        self.process = process
        self.channel = channel
        self.receiver = Receiver(spare)
        self.active = True  # has samples left in this pass
        self.waiting = 0  # tasks it has not answered
        self.before = 0  # samples that were taken before a resumed pass
        self.batches = 0  # yielded of it in this pass
        self.state = None  # of its dataset, after them

    def give(self, task):
        self.waiting += 1
        self.channel.post(("task", task.number, task.index, self.receiver.free()))


class Workers:
    """The processes of one loader, and the tasks between them and this process.

    Args:
        loader: gives the options.
        make_fetcher: makes, in a worker, what turns indices into batches.
        base_seed: a worker's seed is this and its id.
        indices: iterator of what a batch is made of.
        first: the worker that makes the first batch.
        positions: where each worker begins, from a saved state; None: at the beginning.
    """

    def __init__(self, loader, make_fetcher, base_seed, indices, first=0, positions=None):
        context = loader.multiprocessing_context
        self.context = multiprocessing.get_context() if context is None else context
        self.make_fetcher = make_fetcher
        self.base_seed = base_seed
        self.timeout = loader.timeout
        self.in_order = loader.in_order
        self.patience = _PATIENCE
        self.spare = loader._spare_memory
        self.workers = []
        self.poll = select.poll()
        self.by_descriptor = {}
        self.epoch = 0
        self.ended = False
        try:
            for id in range(loader.num_workers):
                self._start(loader, id, positions[id] if positions else None)
            self._begin(indices, loader.prefetch_factor, first, positions)
        except BaseException:
            self.shutdown(patience=0)
            raise
        self.spare.clear()

    # ---- processes ------------------------------------------------------------------------------

    def _start(self, loader, id, resume):
        here, there = socket.socketpair()
        method = self.context.get_start_method()
        # A forked worker has the mappings of this process.
        spare = self.spare[id :: loader.num_workers] if method == "fork" else []
        try:
            parent = None if method == "forkserver" else os.getpid()
            process = self.context.Process(
                target=_worker_loop,
                args=(
                    self.make_fetcher, loader.dataset, there, self.base_seed, loader.worker_init_fn,
                    id, loader.num_workers, parent, spare, resume,
                ),
            )  # fmt: skip
            process.daemon = True
            channel = Channel(here)
            _open_channels.add(channel)
            process.start()
        except BaseException:
            here.close()
            raise
        finally:
            there.close()
        worker = _Worker(id, process, channel, spare)
        self.workers.append(worker)
        self.by_descriptor[channel.fileno()] = worker
        self.poll.register(channel.fileno(), select.POLLIN)

    def reset(self, indices, prefetch_factor, first=0, positions=None):
        """Begins another pass with the same processes."""
        self.epoch += 1
        for worker in self.workers:
            worker.channel.post(("reset", self.epoch, positions[worker.id] if positions else None))
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

    def shutdown(self, patience=None):
        """Ends the processes: asks, and after a while insists."""
        if self.ended:
            return
        patience = self.patience if patience is None else patience
        self.ended = True
        for worker in self.workers:
            worker.channel.post(("stop",))
            try:
                # A worker that is about to send a batch learns that nobody reads it.
                worker.channel.socket.shutdown(socket.SHUT_RD)
            except OSError:
                pass
        deadline = time.monotonic() + patience
        for act in ("terminate", "kill", None):
            for worker in self.workers:
                while worker.channel.backlog and worker.process.is_alive():
                    worker.channel.flush()
                    worker.process.join(0.01)
                    if time.monotonic() > deadline:
                        break
                worker.process.join(max(0.0, deadline - time.monotonic()))
            living = [w.process for w in self.workers if w.process.is_alive()]
            if not living or act is None:
                break
            for process in living:
                getattr(process, act)()
            deadline = time.monotonic() + 1.0
        for worker in self.workers:
            worker.channel.close()
            for memory in worker.receiver.spare():
                if memory.nbytes + sum(kept.nbytes for kept in self.spare) <= _SPARE_BYTES:
                    self.spare.append(memory)

    # ---- tasks ----------------------------------------------------------------------------------

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

    def _wait(self, deadline):
        seconds = _CHECK_SECONDS
        for worker in self.workers:
            if worker.channel.backlog:
                worker.channel.flush()
                seconds = 0.005
        if deadline is not None:
            seconds = min(seconds, max(0.0, deadline - time.monotonic()))
        try:
            events = self.poll.poll(seconds * 1000)
        except KeyboardInterrupt:
            self.patience = 0.0
            raise
        for descriptor, _ in events:
            self._read(self.by_descriptor[descriptor])
        if events:
            return
        if deadline is not None and time.monotonic() >= deadline:
            self.patience = 0.0  # what hangs is not waited for at the end
            raise RuntimeError(self._late())
        for worker in self.workers:
            if not worker.process.is_alive() and not self._read(worker):
                self._fail(worker)

    def _read(self, worker):
        """Takes what a worker has sent; True if there was anything."""
        try:
            messages = worker.channel.receive(wait=False)
        except EOFError:
            self._fail(worker)
        for message in messages:
            kind, (epoch, number), make = worker.receiver.open(*message)
            if epoch != self.epoch:
                continue  # of a pass that was not finished
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
        return bool(messages)

    def positions(self, batch_size):
        """Where the workers are in an iterable dataset, after what was given so far."""
        first = self.tasks[0].worker.id if self.tasks else 0
        places = [(w.before + w.batches * batch_size, w.state) for w in self.workers]
        return {"next": first, "workers": places}

    # ---- failures -------------------------------------------------------------------------------

    def _doing(self, worker):
        for task in self.tasks:
            if task.worker is worker and not task.done:
                index = "" if task.index is None else f" (indices {_short(task.index)})"
                return f"batch {task.number}{index}"
        return "no batch"

    def _late(self):
        waiting = {task.worker.id: task.worker for task in self.tasks if not task.done}
        parts = [
            f"worker {id} (pid {worker.process.pid}) is busy with {self._doing(worker)}"
            for id, worker in sorted(waiting.items())
        ]
        return (
            f"DataLoader timed out after {self.timeout} seconds: {'; '.join(parts)}. The dataset "
            "or collate_fn hangs or is slow; give a longer timeout, or 0 to wait for ever."
        )

    def _fail(self, worker):
        """Raises the error of a worker that has ended."""
        process = worker.process
        process.join(_CHECK_SECONDS)
        code, pid = process.exitcode, process.pid
        doing = f"worker {worker.id} of {len(self.workers)}, making {self._doing(worker)}"
        self.shutdown(patience=0)
        if code is not None and code < 0:
            name = signal.strsignal(-code) or f"signal {-code}"
            raise RuntimeError(
                f"DataLoader worker (pid {pid}) is killed by signal: {name}. It was {doing}. "
                + _signal_cause(-code)
            )
        raise RuntimeError(
            f"DataLoader worker (pid(s) {pid}) exited unexpectedly with exit code {code}: {doing}. "
            + _exit_cause(code, self.context.get_start_method())
        )


def _short(index):
    text = repr(index)
    return text if len(text) <= 60 else text[:57] + "..."


def _signal_cause(number):
    if number == signal.SIGKILL:
        return (
            "Most likely the system ran out of memory: see dmesg, and use fewer workers, a lower "
            "prefetch_factor or smaller batches."
        )
    if number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL):
        return (
            "Native code that the dataset, collate_fn or worker_init_fn calls has crashed: run "
            "with num_workers=0, or with PYTHONFAULTHANDLER=1, to see where."
        )
    if number == signal.SIGBUS:
        return "Most likely a file that is mapped into memory was cut off, or memory ran out."
    return "Another process sent the signal."


def _exit_cause(code, method):
    if method != "fork" and code == 1:
        return (
            "Most likely it could not import the program or unpickle the dataset: see its "
            'traceback above. A program that starts workers by "spawn" or "forkserver" must do so '
            'below `if __name__ == "__main__":`.'
        )
    return (
        "Most likely the dataset, collate_fn or worker_init_fn, or a library that they call, "
        "ended the process (os._exit, sys.exit): run with num_workers=0 to see where."
    )
