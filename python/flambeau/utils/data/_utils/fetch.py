"""Fetching: from indices to a collated batch."""

from __future__ import annotations

from itertools import islice

from flambeau._C import ops, strided
from flambeau._factory import tensor
from flambeau.utils.data.dataset import Subset, TensorDataset

from .collate import default_collate


def map_fetcher(dataset, auto_collation, collate_fn, drop_last):
    """A function from an index, or a list of indices, of an indexed dataset to a batch."""
    if not auto_collation:
        return lambda index: collate_fn(dataset[index])
    if collate_fn is default_collate and _gatherable(dataset):
        return lambda indices: _gather(dataset, indices)
    if callable(getattr(dataset, "__getitems__", None)):
        return lambda indices: collate_fn(dataset.__getitems__(indices))
    return lambda indices: collate_fn([dataset[i] for i in indices])


def _gatherable(dataset):
    """Whether batches are the same as rows taken from whole tensors in one read each."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) is TensorDataset and all(
        t.layout is strided and t.dim() > 0 for t in dataset.tensors
    )


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
        return [t[begin : begin + count].clone() for t in dataset.tensors]
    rows = tensor([i % size for i in indices])
    return [ops.index_select(t, 0, rows) for t in dataset.tensors]


class IterableFetcher:
    """Takes the next samples of an iterable dataset, as many as there are indices."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

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
