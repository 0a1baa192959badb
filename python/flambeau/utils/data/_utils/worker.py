"""A worker, a process or a thread: what it knows of itself, and its loop."""

from __future__ import annotations

from threading import local
from typing import Any

from flambeau import _C
from flambeau._exception_wrapper import ExceptionWrapper

_worker_info = None  # of this process
_of_thread = local()  # its `info`, in a worker that is a thread
_sender = None  # of batches; set in a worker process


class WorkerRandom:
    """Random numbers of a worker that is a thread: the global generators are all threads'.

    Attributes:
        random_generator: a `random.Random`.
        torch_generator: a `Generator`.
        numpy_generator: a `numpy.random.Generator`; None where the program has not loaded NumPy.
    """

    def __init__(self, seed, worker_id, base_seed):
        import random
        import sys

        self.random_generator = random.Random(seed)
        self.torch_generator = _C.Generator().manual_seed(seed)
        numpy = sys.modules.get("numpy")
        words = _seed_words(worker_id, base_seed)
        self.numpy_generator = numpy and numpy.random.default_rng(words)


class WorkerInfo:
    """What `get_worker_info` gives in a worker.

    Attributes:
        id: from 0 to num_workers - 1.
        num_workers: how many there are.
        seed: the worker's seed, different in each pass over the loader.
        dataset: the worker's copy of the dataset; a thread's is the program's.
        rng: the `WorkerRandom` of a thread; None in a process, which has its global generators.
        worker_method: "multiprocessing" or "thread".
    """

    def __init__(self, id, num_workers, seed, dataset, rng=None, worker_method="multiprocessing"):
        self.__dict__.update(
            id=id, num_workers=num_workers, seed=seed, dataset=dataset, rng=rng,
            worker_method=worker_method,
        )  # fmt: skip

    def __setattr__(self, name, value):
        raise AttributeError(f"cannot assign to field {name!r} of WorkerInfo")

    def __repr__(self):
        parts = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"WorkerInfo({parts})"


def get_worker_info():
    """The `WorkerInfo` of this worker; None in the program itself.

    >>> get_worker_info() is None
    True
    """
    return getattr(_of_thread, "info", _worker_info)


def in_worker():
    return _sender is not None


def shared_empty(shape, dtype):
    """Uninitialised memory that goes to the main process as it is; None outside of a worker."""
    return None if _sender is None else _sender.memory.empty(shape, dtype)


def _seed(base_seed, worker_id):
    """Seeds the generators of flambeau, `random` and NumPy, as PyTorch's workers are."""
    import random

    from flambeau._import_hooks import after_import

    seed = base_seed + worker_id
    random.seed(seed)
    _C.default_generator.manual_seed(seed)

    def seed_numpy(module):
        # NumPy's global generator takes the seed in another way than `random`, so that the two do
        # not give the same numbers.
        module.seed(_generate_state(base_seed, worker_id))

    after_import("numpy.random", seed_numpy)
    return seed


def _seed_words(worker_id, base_seed):
    return [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]


def _generate_state(base_seed, worker_id):
    """The four words that seed NumPy's global generator in a worker; packages have them drawn."""
    import numpy as np

    return np.random.SeedSequence(_seed_words(worker_id, base_seed)).generate_state(4).tolist()


def _watch(descriptor, parent):
    """Ends this process when the main process is gone, whatever the worker is busy with."""
    import os
    import select

    poll = select.poll()
    poll.register(descriptor, 0)  # hang-ups are always reported
    # The parent's number as well: a process forked at the same moment may hold the socket open.
    while not poll.poll(2000) and os.getppid() == parent:
        pass
    os._exit(1)


class _Loop:
    """Makes the batches that the main process asks for."""

    def __init__(self, channel, sender, where, dataset, make_fetcher, resume):
        self.channel = channel
        self.sender = sender
        self.where = where
        self.dataset = dataset
        self.make_fetcher = make_fetcher
        self.fetch: Any = None
        self.failure = None
        self.ended = False
        self.epoch = 0
        self.tasks = []
        self.resume = resume

    def start(self, init_fn, worker_id):
        try:
            if init_fn is not None:
                init_fn(worker_id)
            self.begin()
        except Exception:
            self.failure = ExceptionWrapper(where=self.where)

    def begin(self):
        self.failure = None
        self.ended = False
        self.fetch = None
        self.fetch = self.make_fetcher(self.dataset, self.resume)
        self.resume = None

    def run(self):
        """Until the main process says stop, or is gone."""
        try:
            while self.read():
                if self.tasks:
                    self.work(*self.tasks.pop(0))
        except (EOFError, ConnectionError):
            return

    def read(self):
        """Takes the messages that wait; False for stop."""
        for meta, _, _ in self.channel.receive(wait=not self.tasks):
            kind, *rest = meta
            if kind == "stop":
                return False
            if kind == "reset":
                self.epoch = rest[0]
                self.resume = rest[1]
                self.tasks.clear()
                try:
                    self.begin()
                except Exception:
                    self.failure = ExceptionWrapper(where=self.where)
            else:
                number, index, released = rest
                self.sender.released(released)
                self.tasks.append((number, index))
        return True

    def work(self, number, index):
        if self.ended:
            return
        kind, data = self.batch(index)
        try:
            self.sender.send(kind, (self.epoch, number), data)
        except ConnectionError:
            raise
        except Exception:
            # What cannot be pickled is an error of this batch.
            self.sender.send("error", (self.epoch, number), ExceptionWrapper(where=self.where))

    def batch(self, index):
        if self.failure is not None:
            return "error", self.failure
        try:
            data = self.fetch(index)
            return "data", (data, self.fetch.state() if self.make_fetcher.iterable else None)
        except Exception as error:
            if isinstance(error, StopIteration) and self.make_fetcher.iterable:
                self.ended = True
                return "end", None
            return "error", ExceptionWrapper(where=self.where)


def _worker_loop(
    make_fetcher, dataset, connection, base_seed, init_fn, worker_id, num_workers, parent, spare,
    resume,
):  # fmt: skip
    """The target of a worker process."""
    import gc
    import os
    import signal
    import threading

    from .channel import Channel, Sender

    global _worker_info, _sender
    _of_thread.__dict__.clear()  # forked by a thread that is a worker itself
    gc.freeze()  # a collection would touch, and so copy, all pages that are the parent's
    # Ctrl-C reaches the whole group; the main process ends its workers.
    signal.signal(signal.SIGINT, lambda *_: None)
    if parent is None:
        parent = os.getppid()
    threading.Thread(target=_watch, args=(connection.fileno(), parent), daemon=True).start()
    _C.set_num_threads(1)
    channel = Channel(connection)
    _sender = Sender(channel)
    _sender.memory.adopt(spare)
    _worker_info = WorkerInfo(worker_id, num_workers, _seed(base_seed, worker_id), dataset)
    where = f"in DataLoader worker process {worker_id}"
    loop = _Loop(channel, _sender, where, dataset, make_fetcher, resume)
    loop.start(init_fn, worker_id)
    loop.run()


def _thread_loop(
    make_fetcher, dataset, inbox, outbox, base_seed, init_fn, worker_id, num_workers, resume
):
    """The target of a worker thread."""
    seed = base_seed + worker_id
    rng = WorkerRandom(seed, worker_id, base_seed)
    _of_thread.info = WorkerInfo(worker_id, num_workers, seed, dataset, rng, "thread")
    where = f"in DataLoader worker thread {worker_id}"
    try:
        loop = _Loop(inbox, outbox, where, dataset, make_fetcher, resume)
        loop.start(init_fn, worker_id)
        loop.run()
    except BaseException as error:  # SystemExit: nobody else would hear of it
        outbox.send("gone", None, repr(error))
