"""The data loader: a sampler's indices in, collated batches out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from . import _utils
from ._utils.collate import default_collate, default_convert  # noqa: F401  (taken from here, too)
from ._utils.position import Position, check_state
from ._utils.worker import get_worker_info  # noqa: F401
from .datapipe import IterDataPipe, MapDataPipe  # noqa: F401
from .dataset import Dataset, IterableDataset  # noqa: F401
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed

_T = TypeVar("_T")
# Types of two arguments, which packages name in their annotations.
_collate_fn_t = Callable[[list[_T]], Any]
_worker_init_fn_t = Callable[[int], None]


# Bytes that are copied in less than half a millisecond; what a program does with them takes longer.
_SMALL_BATCH = 4 << 20


class _DatasetKind:
    Map = 0
    Iterable = 1


class _InfiniteConstantSampler(Sampler):
    """The "indices" of an iterable dataset, which has its own order."""

    def __iter__(self):
        while True:
            yield None


class DataLoader:
    """Iterates over a dataset in batches.

    Args:
        dataset: an indexed or an iterable dataset.
        batch_size: samples in a batch; None for samples one by one, without collation.
        shuffle: a new random order in each pass.
        sampler: an iterable of indices, instead of `shuffle`.
        batch_sampler: an iterable of lists of indices, instead of the options above and
            `drop_last`.
        num_workers: how many processes make batches; 0 to make them in this one. They come
            through shared memory and are not copied. Small batches of a `TensorDataset`, or of a
            `Subset` of one, are made in this process all the same, unless there is a `collate_fn`
            or `worker_init_fn`: to read them takes less time than to receive them.
        collate_fn: turns a list of samples into a batch.
        pin_memory, pin_memory_device: accepted; memory is pinned only beside an accelerator.
        drop_last: leave out a shorter last batch.
        timeout: seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: called with its id in each worker, after seeding.
        multiprocessing_context: how workers are started: a context of `multiprocessing`, or
            "fork", "spawn" or "forkserver".
        generator: of the random order and of the base seed.
        prefetch_factor: batches that each worker makes ahead; 2 by default.
        persistent_workers: keep the workers from one pass to the next.
        in_order: give batches in the sampler's order rather than as they arrive.
        worker_method: "thread" for workers that are threads of this process, all with the one
            `dataset`: they start at once and copy nothing, and run at the same time as far as the
            dataset releases the interpreter's lock, or where there is none (free-threaded Python).
            `get_worker_info().rng` has random generators of their own.

    A worker that ends gives a `RuntimeError` with its number, pid, exit code or signal, and what
    it was doing. `state_dict` and `load_state_dict` save the position within a pass and go on
    from there.

    Errors: `ValueError` for options that exclude each other.

    >>> for batch in DataLoader([1, 2, 3], batch_size=2):
    ...     print(batch)
    tensor([1, 2])
    tensor([3])
    """

    _iterator = None
    __initialized = False

    def __class_getitem__(cls, item):
        return cls

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
        worker_method="multiprocessing",
    ):
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.worker_method = _checked_method(worker_method, multiprocessing_context)
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_iterable_options(shuffle, sampler, batch_sampler)
        else:
            self._dataset_kind = _DatasetKind.Map
            shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            sampler = self._default_sampler(shuffle, generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            batched = self._auto_collation
            collate_fn = _utils.collate.default_collate
            if not batched:
                collate_fn = _utils.collate.default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None
        self._iterator = None
        self._spare_memory: list = []
        self._position = None
        self._resume = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle, generator):
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self):
        """How worker processes are started; None without workers."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self.__multiprocessing_context = context

    def __setattr__(self, attr, value):
        if self.__initialized and attr in (
            "batch_size",
            "batch_sampler",
            "sampler",
            "drop_last",
            "dataset",
            "persistent_workers",
        ):
            raise ValueError(
                f"{attr} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(attr, value)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        if self.num_workers == 0 or _workers_are_slower(self):
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None or self._iterator._ended:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def state_dict(self):
        """The position in the latest pass, to be saved with `flambeau.save`.

        Of datasets that are iterated over it holds the `state_dict` of the dataset, or of its
        iterator, where there is one.

        >>> loader = DataLoader([1, 2, 3, 4], batch_size=2, shuffle=True)
        >>> first, second = loader
        >>> batches = iter(loader)
        >>> first = next(batches)
        >>> state = loader.state_dict()
        >>> resumed = DataLoader([1, 2, 3, 4], batch_size=2, shuffle=True)
        >>> resumed.load_state_dict(state)
        >>> [flambeau.equal(batch, next(batches)) for batch in resumed]
        [True]
        """
        if self._resume is not None:
            return self._resume
        return (self._position or Position(self)).state_dict()

    def load_state_dict(self, state_dict):
        """The next pass goes on where `state_dict` was called.

        Samples that were given then are not loaded again, except those of a dataset that is only
        iterated over and has no `state_dict`. Workers draw other random numbers than they would
        have.

        Errors: `ValueError` for anything but a state of a loader.
        """
        check_state(state_dict)
        self._resume = state_dict

    def _begin_pass(self):
        """The state to resume from, and the position that the pass keeps."""
        resume, self._resume = self._resume, None
        if resume is not None and (resume["finished"] or resume["base_seed"] is None):
            resume = None  # saved between two passes
        position = self._position = Position(self, resume)
        return resume, position

    def check_worker_number_rationality(self):
        """Warns of more workers than there are processors to run them."""
        usable = len(os.sched_getaffinity(0))
        if self.num_workers > usable:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {usable}, which is smaller "
                "than what this DataLoader is going to create. Please be aware that excessive "
                "worker creation might get DataLoader running slow or even freeze, lower the "
                "worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=2,
            )

    def __len__(self):
        """Number of batches; of an iterable dataset, by the length that it reports."""
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        if self.drop_last:
            return length // self.batch_size
        return (length + self.batch_size - 1) // self.batch_size


def _workers_are_slower(loader):
    """Whether a batch is read from whole tensors in less time than it takes to receive it.

    Nothing else can be told apart: no code of the program would run in the workers.
    """
    if loader.batch_size is None or loader.worker_init_fn is not None:
        return False
    nbytes = _utils.fetch.sample_nbytes(loader.dataset, loader.collate_fn)
    return nbytes is not None and nbytes * loader.batch_size <= _SMALL_BATCH


def _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. Let "
            "num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _checked_method(method, context):
    if method not in ("multiprocessing", "thread"):
        raise ValueError(
            f'worker_method option should be "multiprocessing" or "thread", got {method!r}'
        )
    if method == "thread" and context is not None:
        raise ValueError('multiprocessing_context cannot be used with worker_method="thread"')
    return method


def _checked_context(context, num_workers):
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    import multiprocessing.context  # only loaders with workers need it

    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context


def _check_iterable_options(shuffle, sampler, batch_sampler):
    options = (
        ("shuffle", shuffle or None),
        ("sampler", sampler),
        ("batch_sampler", batch_sampler),
    )
    for name, value in options:
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


class _BaseDataLoaderIter:
    """One pass over a loader: asks the sampler for indices and fetches their batch."""

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._pin_memory = False
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device "
                "pinned memory won't be used.",
                stacklevel=4,
            )
        self._make_fetcher = _utils.fetch.FetcherMaker(
            self._dataset_kind == _DatasetKind.Iterable,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )
        self._base_seed = None
        self._resumed = self._begin(loader)

    def _begin(self, loader):
        """Indices from the beginning, or from where a saved state was; gives that state."""
        resume, position = loader._begin_pass()
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._position = position
        position.follow(self)
        with position.replayed(resume):
            if isinstance(self._dataset, IterDataPipe):
                draw_seed(loader.generator)  # PyTorch's pipes share this one
            self._sampler_iter = iter(self._index_sampler)
            # Drawn also without workers, as it moves the random stream that programs rely on; not
            # where kept workers keep their seed.
            position.drew = self._base_seed is None if resume is None else resume["drew"]
            seed = draw_seed(loader.generator) if position.drew else None
            if self._base_seed is None:
                self._base_seed = resume["base_seed"] if seed is None else seed
            if self._dataset_kind == _DatasetKind.Map:
                for _ in range(position.num_yielded):
                    next(self._sampler_iter, None)
        position.base_seed = self._base_seed
        return resume

    def __iter__(self):
        return self

    @property
    def _num_yielded(self):
        return self._position.num_yielded

    def _next_index(self):
        return next(self._sampler_iter)

    def __next__(self):
        try:
            data = self._next_data()
        except StopIteration:
            self._position.finished = True
            raise
        self._position.num_yielded += 1
        expected = self._IterableDataset_len_called
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and expected is not None
            and self._num_yielded > expected
        ):
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {expected} (when "
                f"accessing len(dataloader)), but {self._num_yielded} samples have been fetched."
                + (self._num_workers > 0)
                * _LENGTH_HINT,
                stacklevel=2,
            )
        return data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


_LENGTH_HINT = (
    " For multiprocessing data-loading, this could be caused by not properly configuring the "
    "IterableDataset replica at each worker: use get_worker_info in its __iter__."
)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in this process."""

    _ended = False  # a kept one can always begin again
    _workers = ()

    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0 and self._num_workers == 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._start()

    def _start(self):
        resume = None
        if self._resumed is not None and self._resumed["datasets"]:
            resume = _first(self._resumed["datasets"], 1)[0]
        self._fetch = self._make_fetcher(self._dataset, resume)
        self._taken = 0 if resume is None else resume[0]

    def _reset(self, loader):
        """Another pass, as by workers that are kept."""
        self._resumed = self._begin(loader)
        self._start()

    def _next_data(self):
        indices = next(self._sampler_iter)
        data = self._fetch(indices)
        self._taken += len(indices) if self._auto_collation else 1
        return data

    def _worker_state(self):
        if self._dataset_kind == _DatasetKind.Map:
            return None
        return {"next": 0, "workers": [(self._taken, self._fetch.state())]}

    def __del__(self):
        try:
            self._position.keep(self._worker_state())
        except Exception:
            pass  # it was never complete, or the interpreter ends


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass by workers."""

    _pool: Any = None

    def __init__(self, loader):
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        self._batch_size = loader.batch_size or 1
        self._prefetch_factor = loader.prefetch_factor
        first, positions = self._positions()
        self._pool = _pool_type(loader.worker_method)(
            loader, self._make_fetcher, self._base_seed, self._sampler_iter, first, positions
        )

    def _positions(self):
        """Which worker comes first, and where each one begins, of a resumed pass."""
        saved = self._resumed and self._resumed["datasets"]
        if not saved:
            return 0, None
        return saved["next"], _first(saved, self._num_workers)

    def _reset(self, loader, first_iter=False):
        """Another pass with the same workers."""
        self._resumed = self._begin(loader)
        first, positions = self._positions()
        self._pool.reset(self._sampler_iter, self._prefetch_factor, first, positions)

    @property
    def _ended(self):
        return self._pool is None or self._pool.ended

    @property
    def _workers(self):
        return [] if self._pool is None else [worker.runner for worker in self._pool.workers]

    def _next_data(self):
        if self._ended:
            raise StopIteration
        try:
            kind, data, worker = self._pool.next()
        except StopIteration:
            if not self._persistent_workers:
                self._shutdown_workers()
            raise
        self._pool.request()
        if kind == "error":
            data.reraise()
        data, worker.state = data
        return data

    def _worker_state(self):
        if self._dataset_kind == _DatasetKind.Map or self._pool is None:
            return None
        return self._pool.positions(self._batch_size)

    def _shutdown_workers(self):
        if self._pool is not None:
            self._position.keep(self._worker_state())
            self._pool.shutdown()

    def __del__(self):
        try:
            self._shutdown_workers()
        except Exception:
            pass  # the interpreter ends, and the workers with it


def _pool_type(worker_method) -> Any:
    if worker_method == "thread":
        from ._threads import Threads

        return Threads
    from ._processes import Processes  # multiprocessing is slow to import

    return Processes


def _first(saved, count):
    """The saved places of the workers.

    Errors: `ValueError` when there were more or fewer.
    """
    places = saved["workers"]
    if len(places) != count:
        raise ValueError(
            f"DataLoader.load_state_dict: the state is of {len(places)} workers (or of none, which "
            f"counts as 1), the loader has {count}; an iterable dataset is split by workers, so "
            "that the number must be the same"
        )
    return places
