"""Workers that are processes: how they are started, spoken to and ended."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import select
import signal
import socket
import time
import weakref

from ._utils.channel import Channel, Receiver
from ._utils.worker import _worker_loop
from ._workers import Worker, Workers

_CHECK_SECONDS = 1.0  # how often the workers are looked at while none says anything
_SPARE_BYTES = 32 << 20  # of memory that the next pass finds ready
_open_channels: weakref.WeakSet = weakref.WeakSet()


def _close_in_child():
    # A worker must see the end of the main process, so that no other process may hold its socket.
    for channel in list(_open_channels):
        channel.close()
    _open_channels.clear()


os.register_at_fork(after_in_child=_close_in_child)


class _Process(Worker):
    def __init__(self, id, process, channel, spare):
        super().__init__(id)
        self.runner = process
        self.channel = channel
        self.receiver = Receiver(spare)
        self.poll = select.poll()
        self.poll.register(channel.fileno(), select.POLLIN)

    def __str__(self):
        return f"worker {self.id} (pid {self.runner.pid})"

    def post(self, *message):
        self.channel.post(message)

    def released(self):
        return self.receiver.free()


class Processes(Workers):
    """Workers that are processes; batches come through shared memory."""

    def __init__(self, loader, *args):
        context = loader.multiprocessing_context
        self.context = multiprocessing.get_context() if context is None else context
        self.spare = loader._spare_memory
        self.poll = select.poll()
        self.by_descriptor = {}
        super().__init__(loader, *args)
        self.spare.clear()

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
        worker = _Process(id, process, channel, spare)
        self.workers.append(worker)
        self.by_descriptor[channel.fileno()] = worker
        self.poll.register(channel.fileno(), select.POLLIN)

    def shutdown(self, patience=None):
        """Ends the processes: asks, and after a while insists."""
        if self.ended:
            return
        patience = self.patience if patience is None else patience
        self.ended = True
        for worker in self.workers:
            worker.post("stop")
            try:
                # A worker that is about to send a batch learns that nobody reads it.
                worker.channel.socket.shutdown(socket.SHUT_RD)
            except OSError:
                pass
        deadline = time.monotonic() + patience
        for act in ("terminate", "kill", None):
            for worker in self.workers:
                while worker.channel.backlog and worker.runner.is_alive():
                    worker.channel.flush()
                    worker.runner.join(0.01)
                    if time.monotonic() > deadline:
                        break
                worker.runner.join(max(0.0, deadline - time.monotonic()))
            living = [w.runner for w in self.workers if w.runner.is_alive()]
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

    def _wait(self, deadline):
        seconds = _CHECK_SECONDS
        for worker in self.workers:
            if worker.channel.backlog:
                worker.channel.flush()
                seconds = 0.005
        if deadline is not None:
            seconds = min(seconds, max(0.0, deadline - time.monotonic()))
        poll = self.poll
        if self.in_order:
            poll = self.tasks[0].worker.poll  # nobody else's batch can be used: each waking costs
        try:
            events = poll.poll(seconds * 1000)
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
            if not worker.runner.is_alive() and not self._read(worker):
                self._fail(worker)

    def _read(self, worker):
        """Takes what a worker has sent; True if there was anything."""
        try:
            messages = worker.channel.receive(wait=False)
        except EOFError:
            self._fail(worker)
        for message in messages:
            kind, (epoch, number), make = worker.receiver.open(*message)
            self._take(worker, kind, epoch, number, make)
        return bool(messages)

    def _fail(self, worker):
        """Raises the error of a worker that has ended."""
        process = worker.runner
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
