"""Samplers: orders, seeds, lengths, errors."""

import pytest

import flambeau
from flambeau.utils import data


def seeded(seed):
    generator = flambeau.Generator()
    generator.manual_seed(seed)
    return generator


def test_sequential():
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]


def test_random_is_a_permutation_from_a_drawn_seed():
    flambeau.manual_seed(0)
    seed = flambeau.empty((), dtype=flambeau.int64).random_().item()
    expected = flambeau.randperm(10, generator=seeded(seed)).tolist()
    after = flambeau.rand(1).item()
    flambeau.manual_seed(0)
    assert list(data.RandomSampler(range(10))) == expected
    assert flambeau.rand(1).item() == after
    assert sorted(expected) == list(range(10))


# Recorded from PyTorch 2.13.0, with generators seeded with 3.
WEIGHTS = [0.1, 0.9, 0.5, 0.4]
ORDERS = [
    (lambda g: data.RandomSampler(range(10), generator=g), [6, 0, 3, 7, 8, 5, 1, 9, 2, 4]),
    (
        lambda g: data.RandomSampler(range(4), num_samples=10, generator=g),
        [2, 3, 1, 0, 3, 2, 1, 0, 0, 3],
    ),
    (
        lambda g: data.RandomSampler(range(9), replacement=True, num_samples=12, generator=g),
        [4, 5, 1, 3, 1, 3, 6, 2, 7, 1, 7, 0],
    ),
    (lambda g: data.SubsetRandomSampler([5, 7, 9, 11], generator=g), [9, 11, 7, 5]),
    (lambda g: data.WeightedRandomSampler(WEIGHTS, 8, generator=g), [0, 1, 2, 1, 2, 2, 1, 1]),
    (lambda g: data.WeightedRandomSampler(WEIGHTS, 4, False, generator=g), [0, 1, 3, 2]),
    (lambda g: data.random_split(range(7), [3, 4], generator=g)[1].indices, [6, 0, 2, 1]),
]


@pytest.mark.parametrize("make, expected", ORDERS)
def test_recorded_orders(make, expected):
    assert list(make(seeded(3))) == expected


def test_recorded_distributed_order():
    sampler = data.DistributedSampler(range(7), num_replicas=2, rank=1, seed=4)
    sampler.set_epoch(2)
    assert list(sampler) == [4, 3, 6, 2]


def test_random_with_more_samples_than_indices():
    order = list(data.RandomSampler(range(4), num_samples=10))
    assert len(order) == 10
    assert sorted(order[:4]) == sorted(order[4:8]) == [0, 1, 2, 3]
    order = list(data.RandomSampler(range(4), replacement=True, num_samples=100))
    assert len(order) == 100 and set(order) == {0, 1, 2, 3}


def test_subset_random():
    order = list(data.SubsetRandomSampler([5, 7, 9], generator=seeded(1)))
    assert sorted(order) == [5, 7, 9]
    assert order == list(data.SubsetRandomSampler([5, 7, 9], generator=seeded(1)))


def test_weighted():
    sampler = data.WeightedRandomSampler([0.0, 1.0, 3.0], 1000, generator=seeded(0))
    order = list(sampler)
    assert len(order) == len(sampler) == 1000
    assert order.count(0) == 0 and 680 < order.count(2) < 820
    assert sorted(data.WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches(drop_last):
    sampler = data.BatchSampler(range(5), 2, drop_last)
    expected = [[0, 1], [2, 3]] if drop_last else [[0, 1], [2, 3], [4]]
    assert list(sampler) == expected and len(sampler) == len(expected)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_parts(shuffle, drop_last):
    parts = []
    for rank in range(3):
        sampler = data.DistributedSampler(
            range(10), num_replicas=3, rank=rank, shuffle=shuffle, drop_last=drop_last
        )
        sampler.set_epoch(1)
        parts.append(list(sampler))
        assert len(sampler) == len(parts[-1]) == (3 if drop_last else 4)
    seen = [i for part in parts for i in part]
    assert len(set(seen)) == (9 if drop_last else 10)


def test_distributed_epochs_differ():
    sampler = data.DistributedSampler(range(20), num_replicas=2, rank=0)
    first = list(sampler)
    assert first == list(sampler)
    sampler.set_epoch(1)
    assert first != list(sampler)


ERRORS = [
    (lambda: data.RandomSampler([1], replacement=3), TypeError, "should be a boolean value"),
    (lambda: data.RandomSampler([]), ValueError, "positive integer value, but got num_samples=0"),
    (lambda: data.BatchSampler([1], 0, True), ValueError, "batch_size=0"),
    (lambda: data.BatchSampler([1], True, True), ValueError, "batch_size=True"),
    (lambda: data.BatchSampler([1], 1, 3), ValueError, "drop_last=3"),
    (lambda: data.WeightedRandomSampler([1.0], 0), ValueError, "num_samples=0"),
    (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, "1d sequence"),
    (lambda: data.DistributedSampler([1]), ValueError, "init_process_group"),
    (lambda: data.DistributedSampler([1], 2, 5), ValueError, "Invalid rank 5"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_distributed_sampler_asks_the_process_group(tmp_path):
    from flambeau import distributed

    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        data.DistributedSampler(range(4))
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/x", rank=0, world_size=1)
    try:
        sampler = data.DistributedSampler(range(4), shuffle=False)
        assert (sampler.num_replicas, sampler.rank, list(sampler)) == (1, 0, [0, 1, 2, 3])
    finally:
        distributed.destroy_process_group()
