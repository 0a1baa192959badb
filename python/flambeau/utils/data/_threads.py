"""Workers that are threads of this process: no copies, no messages, one dataset for all."""

from __future__ import annotations

import queue
import threading
import time

from ._utils.worker import _thread_loop
from ._workers import Worker, Workers


class _Inbox:
    """What a thread is asked for; read as a `Channel` is."""

    def __init__(self):
        self._queue: queue.SimpleQueue = queue.SimpleQueue()

    def post(self, message):
        self._queue.put(message)

    def receive(self, wait=True):
        messages = []
        try:
            messages.append((self._queue.get(wait), b"", ()))
            while True:
                messages.append((self._queue.get_nowait(), b"", ()))
        except queue.Empty:
            return messages


class _Outbox:
    """Where a thread puts its batches, as a `Sender` sends them."""

    def __init__(self, worker, answers):
        self._worker = worker
        self._answers = answers

    def released(self, notices):
        pass

    def send(self, kind, number, data):
        self._answers.put((self._worker, kind, number, data))


class _Thread(Worker):
    def __init__(self, id):
        super().__init__(id)
        self.inbox = _Inbox()
        self.runner: threading.Thread | None = None

    def __str__(self):
        return f"worker {self.id} (a thread)"

    def post(self, *message):
        self.inbox.post(message)


class Threads(Workers):
    """Workers that are threads; they call the program's one dataset at the same time."""

    def __init__(self, loader, *args):
        self.answers: queue.SimpleQueue = queue.SimpleQueue()
        super().__init__(loader, *args)

    def _start(self, loader, id, resume):
        worker = _Thread(id)
        worker.runner = threading.Thread(
            target=_thread_loop,
            args=(
                self.make_fetcher, loader.dataset, worker.inbox, _Outbox(worker, self.answers),
                self.base_seed, loader.worker_init_fn, id, loader.num_workers, resume,
            ),
            name=f"DataLoader worker {id}",
            daemon=True,  # one that hangs does not hold up the end of the program
        )  # fmt: skip
        worker.runner.start()
        self.workers.append(worker)

    def shutdown(self, patience=None):
        """Asks the threads to end; one that goes on beyond `patience` seconds is left alone."""
        if self.ended:
            return
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        self.ended = True
        for worker in self.workers:
            worker.post("stop")
        for worker in self.workers:
            if worker.runner is not threading.current_thread():
                worker.runner.join(max(0.0, deadline - time.monotonic()))

    def _wait(self, deadline):
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            worker, kind, number, data = self.answers.get(timeout=left)
        except queue.Empty:
            self.patience = 0.0  # what hangs is not waited for at the end
            raise RuntimeError(self._late()) from None
        except KeyboardInterrupt:
            self.patience = 0.0
            raise
        if kind == "gone":
            doing = self._doing(worker)
            self.shutdown(patience=0)
            raise RuntimeError(
                f"DataLoader {worker} ended, making {doing}: the dataset, collate_fn or "
                f"worker_init_fn raised {data}."
            )
        epoch, task = number
        self._take(worker, kind, epoch, task, lambda: data)
