"""Samplers: iterables of the indices, or lists of indices, of a dataset's samples."""

from __future__ import annotations

import itertools

from flambeau._C import Generator, float64, int64, ops
from flambeau._factory import as_tensor


class Sampler:
    """Base class of samplers: `__iter__` yields indices (or lists of them), `__len__` if known."""

    def __class_getitem__(cls, item):
        return cls

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")


def check_positive(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def draw_seed(generator=None):
    """A seed drawn from a generator, the default one if None."""
    return ops.empty((), dtype=int64).random_(generator=generator).item()


class SequentialSampler(Sampler):
    """All indices in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Indices in random order.

    Args:
        data_source: anything with a length.
        replacement: draw every index anew.
        num_samples: how many to draw; the length if not given.
        generator: of the order; if None, one seeded from the default generator for each pass.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many indices a pass draws."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, count = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(draw_seed())
        if self.replacement:
            for size in [32] * (count // 32) + [count % 32]:
                drawn = ops.randint(high=n, size=(size,), dtype=int64, generator=generator)
                yield from drawn.tolist()
            return
        for _ in range(count // n):
            yield from ops.randperm(n, generator=generator).tolist()
        yield from ops.randperm(n, generator=generator).tolist()[: count % n]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in random order.

    Args:
        indices: a sequence of indices.
        generator: of the order.
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in ops.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with given weights.

    Args:
        weights: one for each index; they need not sum to one.
        num_samples: how many to draw.
        replacement: whether an index can be drawn again.
        generator: of the draws.
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        check_positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        weights = as_tensor(weights, dtype=float64)
        if weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(weights.shape)}"
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = ops.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler.

    Args:
        sampler: any iterable of indices.
        batch_size: indices in a list.
        drop_last: leave out a shorter last list.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        check_positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        count = len(self.sampler)
        if self.drop_last:
            return count // self.batch_size
        return (count + self.batch_size - 1) // self.batch_size
