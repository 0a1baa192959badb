"""The position of a data loader, saved and resumed."""

import gc
import io

import pytest

import flambeau
from flambeau.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)


class Numbers(IterableDataset):
    """Split by worker; the parts are not equally long."""

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 41 if first == 0 else 25, step))


class Counted(IterableDataset):
    """Has a state, and fails where it is read again from the beginning."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        info = get_worker_info()
        for k in range(self.at, 20):
            self.at = k + 1
            yield 10 * k + (0 if info is None else info.id)
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class IteratorWithState(IterableDataset):
    def __iter__(self):
        return _Count()


class _Count:
    at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 13:
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self):
        return self.at

    def load_state_dict(self, state):
        self.at = state


def seeded():
    return flambeau.Generator().manual_seed(4)


def sampled(sampler):
    return lambda **options: DataLoader(range(37), 3, sampler=sampler, **options)


LOADERS = {
    "shuffled": lambda **options: DataLoader(range(37), 3, shuffle=True, **options),
    "own generator": lambda **options: DataLoader(
        range(37), 3, shuffle=True, generator=seeded(), **options
    ),
    "weighted": sampled(WeightedRandomSampler([1.0] * 20 + [3.0] * 17, 30)),
    "replacement": sampled(RandomSampler(range(37), replacement=True, num_samples=70)),
    "one by one": lambda **options: DataLoader(
        Counted(), None, collate_fn=flambeau.tensor, **options
    ),
    "iterable": lambda **options: DataLoader(Numbers(), 3, **options),
    "iterable with state": lambda **options: DataLoader(Counted(), 3, **options),
    "iterator with state": lambda **options: DataLoader(IteratorWithState(), 3, **options),
}


def through_a_file(state):
    file = io.BytesIO()
    flambeau.save(state, file)
    file.seek(0)
    return flambeau.load(file)


def values(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", LOADERS)
def test_resumes_where_it_was(kind, workers):
    def make(**options):
        return LOADERS[kind](num_workers=workers, **options)

    flambeau.manual_seed(3)
    loader = make()
    begun = iter(loader)
    for _ in range(4):
        next(begun)
    state = through_a_file(loader.state_dict())
    rest = values(begun)
    flambeau.manual_seed(999)  # the state has the order
    resumed = make()
    resumed.load_state_dict(state)
    batches = iter(resumed)
    first = values([next(batches)])
    again = make()
    again.load_state_dict(resumed.state_dict())
    assert first + values(again) == rest
    assert len(values(again)) > len(rest)  # the next pass is whole


@pytest.mark.parametrize("options", [{}, {"num_workers": 2, "persistent_workers": True}])
def test_state_after_a_break_and_between_passes(options):
    def make():
        return DataLoader(range(20), 3, shuffle=True, **options)

    loader = make()
    list(loader)
    for i, _ in enumerate(loader):
        if i == 2:
            break
    state = loader.state_dict()
    resumed = make()
    resumed.load_state_dict(state)
    before = flambeau.get_rng_state()
    rest = values(resumed)
    assert len(rest) == 4
    assert flambeau.equal(before, flambeau.get_rng_state())
    assert len(values(resumed)) == 7
    ended = make()
    ended.load_state_dict(resumed.state_dict())
    assert len(values(ended)) == 7
    del loader, resumed, ended
    gc.collect()


def test_state_errors():
    loader = DataLoader([1])
    with pytest.raises(ValueError, match="expected what DataLoader.state_dict returned.*got list"):
        loader.load_state_dict([])
    loader = DataLoader(Numbers(), num_workers=1)
    next(iter(loader))
    other = DataLoader(Numbers(), num_workers=2)
    other.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match="the state is of 1 workers .* the loader has 2"):
        iter(other)
