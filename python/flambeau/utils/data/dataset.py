"""Datasets: indexed, iterable, and made of others."""

from __future__ import annotations

import itertools
import math
import warnings
from bisect import bisect_right

from flambeau._C import default_generator, ops


class Dataset:
    """Base class of indexed datasets: `__getitem__`, usually `__len__`.

    A dataset may define `__getitems__(indices)`, which returns a list of samples at once.
    """

    def __class_getitem__(cls, item):
        return cls

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base class of datasets that are only iterated over: `__iter__`."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Samples are the rows, along the first axis, of tensors of the same length.

    >>> data = TensorDataset(flambeau.arange(3), flambeau.tensor([10, 20, 30]))
    >>> data[1]
    (tensor(1), tensor(20))
    """

    def __init__(self, *tensors):
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = [tensor.size(0) for tensor in tensors]
            raise AssertionError(f"Size mismatch between tensors: first sizes {sizes}")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Samples are tuples (or dicts) of the samples of several datasets of the same length.

    Args:
        args: datasets; samples are tuples.
        kwargs: named datasets; samples are dicts.
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        self._length = len(self._parts()[0])
        if any(self._length != len(part) for part in self._parts()):
            raise ValueError("Size mismatch between datasets")

    def _parts(self):
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _join(self, values):
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, values))
        return tuple(values)

    def __getitem__(self, index):
        return self._join([part[index] for part in self._parts()])

    def __getitems__(self, indices):
        columns = []
        for part in self._parts():
            column = _samples(part, indices)
            if len(column) != len(indices):
                raise ValueError(
                    "Nested dataset's output size mismatch. "
                    f"Expected {len(indices)}, got {len(column)}"
                )
            columns.append(column)
        return [self._join(values) for values in zip(*columns)]

    def __len__(self):
        return self._length


def _samples(dataset, indices):
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    return [dataset[i] for i in indices]


class ConcatDataset(Dataset):
    """The samples of several datasets, one dataset after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """Where each dataset ends."""
        return list(itertools.accumulate(len(d) for d in sequence))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect_right(self.cumulative_sizes, idx)
        begin = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][idx - begin]


class ChainDataset(IterableDataset):
    """The samples of several iterable datasets, one dataset after the other."""

    def __init__(self, datasets):
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self):
        for dataset in self._checked():
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset):
    """The samples of a dataset at the given indices."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        return _samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=default_generator):
    """Splits a dataset at random into subsets.

    Args:
        dataset: an indexed dataset.
        lengths: the subsets' lengths, or fractions that sum to 1.
        generator: of the permutation.

    Errors: `ValueError` when the lengths do not sum to the dataset's.

    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _fractions(total, lengths)
    if sum(lengths) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"Got {list(lengths)} for {total} samples"
        )
    indices = ops.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, indices[end - n : end]) for end, n in zip(ends, lengths)]


def _fractions(total, fractions):
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    # What rounding down left goes to the first parts, one each.
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.",
                stacklevel=3,
            )
    return lengths
