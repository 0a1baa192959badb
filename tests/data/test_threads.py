"""Workers of the data loader that are threads."""

import os
import threading
import time

import numpy as np
import pytest

import flambeau
from flambeau.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Rows(Dataset):
    def __init__(self, function=lambda i: i):
        self.function = function

    def __len__(self):
        return 50

    def __getitem__(self, i):
        return self.function(i)


class Parts(IterableDataset):
    """Each worker has its own numbers, and another count of them."""

    def __iter__(self):
        info = get_worker_info()
        first = 100 * info.id
        return iter(range(first, first + 3 + 4 * info.id))


def threads(dataset, *args, **options):
    return DataLoader(dataset, *args, num_workers=2, worker_method="thread", **options)


@pytest.fixture(autouse=True)
def _no_thread_stays():
    before = threading.active_count()
    yield
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("persistent", [True, False])
def test_batches_are_those_without_workers(in_order, persistent):
    dataset = Rows(lambda i: (flambeau.full((3,), float(i)), {"i": i, "text": str(i)}))
    loader = threads(dataset, 7, in_order=in_order, persistent_workers=persistent)
    for _ in range(3):
        batches = list(loader)
        if not in_order:
            batches.sort(key=lambda batch: batch[1]["i"][0].item())
        for got, expected in zip(batches, DataLoader(dataset, 7), strict=True):
            assert flambeau.equal(got[0], expected[0])
            assert flambeau.equal(got[1]["i"], expected[1]["i"])
            assert got[1]["text"] == expected[1]["text"]
    del loader


def test_dataset_and_batches_are_those_of_the_program():
    tensor, dataset = flambeau.zeros(2), Rows(lambda i: (tensor, os.getpid(), get_worker_info()))
    loader = threads(dataset, 4, collate_fn=lambda samples: samples[0])
    for i, (got, pid, info) in enumerate(loader):
        assert got is tensor and pid == os.getpid()
        assert (info.id, info.num_workers, info.worker_method) == (i % 2, 2, "thread")
        assert info.dataset is dataset
    assert get_worker_info() is None


def test_each_thread_has_random_generators():
    def draw(i):
        rng = get_worker_info().rng
        return (
            rng.random_generator.random(),
            rng.torch_generator.initial_seed(),
            flambeau.rand((), generator=rng.torch_generator),
            rng.numpy_generator.random(),
        )

    def drawn():
        flambeau.manual_seed(0)
        return [column for batch in threads(Rows(draw), 10) for column in batch]

    first, second = drawn(), drawn()
    assert all(flambeau.equal(a, b) for a, b in zip(first, second, strict=True))
    numbers = [x for i, column in enumerate(first) if i % 4 != 1 for x in column.tolist()]
    assert len(set(numbers)) == 150
    flambeau.manual_seed(0)
    seeds = {info.seed for info in threads(Rows(lambda i: get_worker_info()), None)}
    assert {x for column in first[1::4] for x in column.tolist()} == seeds and len(seeds) == 2


def test_iterable_parts_and_a_saved_position():
    batches = [b.tolist() for b in threads(Parts(), 2)]
    assert batches == [[0, 1], [100, 101], [2], [102, 103], [104, 105], [106]]
    loader = threads(Parts(), 2)
    iterator = iter(loader)
    assert [next(iterator).tolist() for _ in range(3)] == batches[:3]
    state = loader.state_dict()
    del iterator
    resumed = threads(Parts(), 2)
    resumed.load_state_dict(state)
    assert [b.tolist() for b in resumed] == batches[3:]


def fail(i):
    raise {0: KeyError("zero"), 1: SystemExit(3)}[i]


def test_errors_name_the_thread():
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker thread 0"):
        list(threads(Rows(lambda i: fail(0)), 1))
    message = r"worker 1 \(a thread\) ended, making batch 1 \(indices \[1\]\).*SystemExit\(3\)"
    with pytest.raises(RuntimeError, match=message):
        list(threads(Rows(lambda i: fail(1) if i == 1 else i), 1))
    with pytest.raises(RuntimeError, match="worker thread 0"):
        list(threads(Rows(), worker_init_fn=lambda _: flambeau.ones(2) @ flambeau.ones(3)))


def test_timeout():
    stop = threading.Event()
    loader = threads(Rows(lambda i: stop.wait(20)), timeout=0.2)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker 0 \(a thread\) is busy with batch 0"):
        list(loader)
    assert time.monotonic() - begin < 5
    stop.set()


def test_a_pass_broken_off_ends_its_threads():
    made = []
    loader = threads(Rows(lambda i: made.append(i) or np.float32(i)), 5)
    for _ in loader:
        break
    del _
    assert len(made) <= 40  # not the whole dataset


def test_options_that_exclude_each_other():
    with pytest.raises(ValueError, match="worker_method"):
        DataLoader(Rows(), worker_method="process")
    with pytest.raises(ValueError, match="multiprocessing_context"):
        threads(Rows(), multiprocessing_context="fork")
