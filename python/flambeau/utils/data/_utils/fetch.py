"""Fetching: from indices to a collated batch."""

from __future__ import annotations

import math
from itertools import islice

from flambeau._C import ops, strided
from flambeau._factory import tensor
from flambeau.utils.data.dataset import Subset, TensorDataset

from .collate import default_collate
from .worker import shared_empty


def map_fetcher(dataset, auto_collation, collate_fn, drop_last):
    """A function from an index, or a list of indices, of an indexed dataset to a batch."""
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    if _gathered(dataset, collate_fn):
        return lambda indices: _gather(dataset, indices)
    if callable(getattr(dataset, "__getitems__", None)):
        return lambda indices: collate_fn(dataset.__getitems__(indices))
    return lambda indices: collate_fn([dataset[i] for i in indices])


def _gathered(dataset, collate_fn):
    """The tensors of which batches are rows, taken in one read each; () where they are not."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or collate_fn is not default_collate:
        return ()
    tensors = dataset.tensors
    return tensors if all(t.layout is strided and t.dim() > 0 for t in tensors) else ()


def sample_nbytes(dataset, collate_fn):
    """Bytes of a sample in batches that are rows of tensors in memory; None for other batches."""
    tensors = _gathered(dataset, collate_fn)
    if not tensors or any(t.device.type != "cpu" for t in tensors):
        return None
    return sum(math.prod(t.shape[1:]) * t.itemsize for t in tensors)


def _gather(dataset, indices):
    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if not all(type(i) is int for i in indices):
        return default_collate([dataset[i] for i in indices])
    size = len(dataset)
    for i in indices:
        if not -size <= i < size:
            # Raises as indexing the dataset does.
            dataset[i]
    begin, count = indices[0], len(indices)
    if begin >= 0 and indices == list(range(begin, begin + count)):
        return [_copy(t[begin : begin + count]) for t in dataset.tensors]
    rows = tensor([i % size for i in indices])
    return [_rows(t, rows) for t in dataset.tensors]


def _copy(part):
    out = None if part.requires_grad else shared_empty(part.shape, part.dtype)
    return part.clone() if out is None else out.copy_(part)


def _rows(t, rows):
    shape = (rows.numel(), *t.shape[1:])
    out = None if t.requires_grad else shared_empty(shape, t.dtype)
    return ops.index_select(t, 0, rows) if out is None else ops.index_select(t, 0, rows, out=out)


class IterableFetcher:
    """Takes the next samples of an iterable dataset, as many as there are indices.

    Args:
        resume: None, or the samples that were taken before and the dataset's state after them.
    """

    def __init__(self, dataset, auto_collation, collate_fn, drop_last, resume=None):
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False
        taken, state = (0, None) if resume is None else resume
        if state is not None and _has_state(dataset):
            dataset.load_state_dict(state)
        self.samples = iter(dataset)
        if _has_state(self.samples):
            self._stateful = self.samples
            if state is not None:
                self.samples.load_state_dict(state)
        else:
            self._stateful = dataset if _has_state(dataset) else None
        if state is None and taken:
            # Without a state of its own, a dataset is read again up to here.
            next(islice(self.samples, taken - 1, None), None)

    def state(self):
        """The state of the dataset, or of its iterator; None where it has none."""
        return None if self._stateful is None else self._stateful.state_dict()

    def __call__(self, indices):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        data = list(islice(self.samples, len(indices)))
        self.ended = len(data) < len(indices)
        if not data or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(data)


def _has_state(value):
    return callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None)
    )


class FetcherMaker:
    """Makes fetchers for a loader's options, in this process or a worker."""

    def __init__(self, iterable, auto_collation, collate_fn, drop_last):
        self.options = auto_collation, collate_fn, drop_last
        self.iterable = iterable

    def __call__(self, dataset, resume=None):
        if self.iterable:
            return IterableFetcher(dataset, *self.options, resume)
        return map_fetcher(dataset, *self.options)
