"""Worker processes of the data loader: order, seeds, memory, ends of all kinds."""

import gc
import os
import random
import re
import signal
import subprocess
import sys
import time
from multiprocessing import active_children

import numpy as np
import pytest

import flambeau
from flambeau.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    default_collate,
    get_worker_info,
)

PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(flambeau.__file__)))


@pytest.fixture(autouse=True)
def _no_process_stays():
    yield
    deadline = time.monotonic() + 10
    while active_children() and time.monotonic() < deadline:
        gc.collect()  # what pytest kept of an exception keeps its loader
        time.sleep(0.01)
    assert not active_children()
    assert not [name for name in os.listdir("/dev/shm") if "flambeau" in name]


class Draws(Dataset):
    """The index, a number of each generator, and what the worker knows of itself."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        info = get_worker_info()
        drawn = (random.random(), np.random.rand(), flambeau.rand(1).item())
        return (i, *drawn, info.id, info.num_workers, info.seed)


class Parts(IterableDataset):
    """Each worker has its own numbers, and another count of them."""

    def __iter__(self):
        info = get_worker_info()
        first = 100 * info.id
        return iter(range(first, first + 3 + 4 * info.id))


class Faulty(Dataset):
    """Does something at index 9."""

    def __init__(self, fault):
        self.fault = fault

    def __len__(self):
        return 40

    def __getitem__(self, i):
        if i == 9:
            self.fault()
        return flambeau.full((3,), float(i))


def pairs(n=10):
    return TensorDataset(flambeau.arange(2 * n).reshape(n, 2), flambeau.arange(n))


# Small batches of a TensorDataset are made by workers only where there is something else to do.
REAL_WORKERS = {"num_workers": 2, "worker_init_fn": int}


def lists(loader):
    return [
        b.tolist() if isinstance(b, flambeau.Tensor) else [t.tolist() for t in b] for b in loader
    ]


# Recorded from PyTorch 2.13.0, with seed 7 and batches of 5.
RECORDED = {
    "order": [[3, 2, 7, 8, 6], [1, 5, 9, 0, 4]],
    "draws": [
        3,
        0.9290632898373887,
        0.03541536592796235,
        0.11662513017654419,
        0,
        2,
        1407639518939636932,
    ],
    "seeds": [1407639518939636932, 1407639518939636933],
    "second order": [[1, 3, 5, 2, 8], [9, 6, 7, 4, 0]],
    "after": 0.36531615257263184,
}


def test_order_and_random_numbers_are_pytorchs():
    flambeau.manual_seed(7)
    loader = DataLoader(Draws(), batch_size=5, shuffle=True, num_workers=2)
    first, second = (lists(loader) for _ in range(2))
    assert [first[0][0], first[1][0]] == RECORDED["order"]
    assert [column[0] for column in first[0]] == pytest.approx(RECORDED["draws"], rel=1e-7)
    assert [batch[6][0] for batch in first] == RECORDED["seeds"]
    assert [second[0][0], second[1][0]] == RECORDED["second order"]
    assert flambeau.rand(1).item() == pytest.approx(RECORDED["after"], rel=1e-6)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_batches_are_those_of_this_process(method):
    loaders = [
        DataLoader(pairs(50), 8, shuffle=True, **options)
        for options in ({}, {**REAL_WORKERS, "multiprocessing_context": method})
    ]
    alone = together = None
    flambeau.manual_seed(1)
    alone = lists(loaders[0])
    flambeau.manual_seed(1)
    together = list(loaders[1])
    assert lists(together) == alone
    assert all(t.is_shared() for batch in together for t in batch)


@pytest.mark.parametrize("method", ["multiprocessing", "thread"])
@pytest.mark.parametrize("persistent", [False, True])
def test_small_batches_of_tensors_need_no_worker(method, persistent):
    part = flambeau.utils.data.Subset(pairs(50), range(5, 45))
    passes, after = [], []
    for options in ({"worker_init_fn": int}, {}):
        flambeau.manual_seed(3)
        loader = DataLoader(
            part, 8, True, num_workers=2, worker_method=method, persistent_workers=persistent,
            timeout=5, **options,
        )  # fmt: skip
        batches = iter(loader)
        first = lists([next(batches) for _ in range(2)])
        state = loader.state_dict()
        resumed = DataLoader(part, 8, True, num_workers=2, worker_method=method, **options)
        resumed.load_state_dict(state)
        passes.append([first, lists(batches), lists(resumed), lists(loader), lists(loader)])
        after.append(flambeau.rand(1).item())
        assert len(loader._iterator._workers) == 2 * bool(options) if persistent else True
    assert passes[0] == passes[1]
    assert passes[0][1] == passes[0][2]
    assert after[0] == after[1]
    with pytest.raises(IndexError):
        list(DataLoader(pairs(3), 2, sampler=[0, 3], num_workers=2))


def test_large_batches_of_tensors_are_made_by_workers():
    dataset = TensorDataset(flambeau.zeros(8, 1 << 19), flambeau.arange(8))
    (small, _), *_ = DataLoader(dataset, 1, num_workers=1)
    (large, _), *_ = DataLoader(dataset, 4, num_workers=1)
    (own, _), *_ = DataLoader(pairs(), 2, num_workers=1, collate_fn=lambda b: default_collate(b))
    assert [t.is_shared() for t in (small, large, own)] == [False, True, True]


def test_iterable_parts_end_one_by_one():
    expected = [[0, 1], [100, 101], [2], [102, 103], [104, 105], [106]]
    for persistent in (False, True):
        loader = DataLoader(Parts(), 2, num_workers=2, persistent_workers=persistent)
        assert lists(loader) == lists(loader) == expected
        del loader
    loader = DataLoader(Parts(), 2, num_workers=2, drop_last=True, in_order=False)
    assert sorted(lists(loader)) == [[0, 1], [100, 101], [102, 103], [104, 105]]
    loader = DataLoader(Parts(), None, num_workers=2)
    assert list(loader)[:4] == [0, 100, 1, 101]


def test_kept_workers_forget_a_pass_that_was_broken_off():
    loader = DataLoader(pairs(), 2, **REAL_WORKERS, persistent_workers=True)
    for _ in loader:
        break
    pids = [process.pid for process in loader._iterator._workers]
    assert [batch[1] for batch in lists(loader)] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert [process.pid for process in loader._iterator._workers] == pids


def structure(samples):
    i = samples[0]
    big = flambeau.arange(50_000)
    return {
        "number": i,
        "text": "x" * 100_000,
        "array": np.arange(5000) + i,
        "small array": np.arange(3),
        "parameter": flambeau.nn.Parameter(flambeau.ones(2)),
        "view": big[i : i + 3],
        "twice": (big, big.T, big[:40_000]),
        "half": flambeau.ones(2, 3, dtype=flambeau.bfloat16).T,
        "empty": flambeau.empty(0, 3),
        "meta": flambeau.empty(4, device="meta"),
        "complex": flambeau.full((70_000,), 1j),
    }


def test_any_structure_arrives():
    first, second = DataLoader([5, 6], 1, num_workers=1, collate_fn=structure)
    assert first["number"] == 5 and first["text"] == "x" * 100_000
    assert np.array_equal(second["array"], np.arange(5000) + 6) and second["array"].flags.writeable
    assert first["small array"].tolist() == [0, 1, 2]
    assert type(first["parameter"]) is flambeau.nn.Parameter and first["parameter"].requires_grad
    assert first["view"].tolist() == [5, 6, 7]
    assert first["view"].untyped_storage().nbytes() == 24  # not the whole
    whole, _, part = first["twice"]
    whole[3] = -1
    assert part[3] == -1 and second["twice"][0][3] == 3
    assert first["half"].shape == (3, 2) and first["half"].dtype is flambeau.bfloat16
    assert first["empty"].shape == (0, 3) and first["meta"].device.type == "meta"
    assert first["complex"].sum() == 70_000j


class Same(Dataset):
    """Always the same tensor, which the program shares."""

    def __init__(self):
        self.x = flambeau.zeros(1000).share_memory_()

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.x


def test_what_the_program_shares_is_not_copied():
    data = Same()
    for x in DataLoader(data, None, num_workers=1):
        x += 1
    assert data.x[0] == 3


def test_kept_batches_are_not_overwritten():
    kept = [
        x for (x,) in DataLoader(TensorDataset(flambeau.arange(400_000)), 20_000, num_workers=2)
    ]
    assert flambeau.equal(flambeau.cat(kept), flambeau.arange(400_000))


def test_memory_is_used_again():
    loader = DataLoader(TensorDataset(flambeau.zeros(512, 4096)), 16, num_workers=2)
    blocks = set()
    for (x,) in loader:
        blocks.add(x.data_ptr())
    assert len(blocks) <= 12


def mapped():
    with open("/proc/self/maps") as maps:
        return sum("memfd:flambeau" in line for line in maps)


def test_memory_does_not_grow():
    loader = DataLoader(TensorDataset(flambeau.zeros(64, 5000)), 8, num_workers=2)
    list(loader)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        list(loader)
    assert mapped() == 0 and len(os.listdir("/proc/self/fd")) == before


def end_3():
    os._exit(3)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def raise_key_error():
    raise KeyError("nothing here")


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


def raise_odd():
    raise Odd(1, 2)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize(
    "fault, message",
    [
        (end_3, r"worker \(pid\(s\) \d+\) exited unexpectedly with exit code 3: worker 0 of 2"),
        (
            kill_self,
            r"worker \(pid \d+\) is killed by signal: Killed. It was worker 0 of 2.*memory",
        ),
    ],
)
def test_a_worker_that_ends_is_reported_at_once(method, fault, message):
    loader = DataLoader(Faulty(fault), 4, num_workers=2, multiprocessing_context=method)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=message) as caught:
        list(loader)
    assert time.monotonic() - begin < (10 if method == "spawn" else 3)
    assert "batch 2 (indices [8, 9, 10, 11])" in str(caught.value)


def test_exceptions_of_a_worker():
    loader = DataLoader(Faulty(raise_key_error), 4, num_workers=2)
    with pytest.raises(KeyError, match="nothing here") as caught:
        list(loader)
    text = str(caught.value)
    assert text.startswith("Caught KeyError in DataLoader worker process 0.\nOriginal Traceback")
    assert "in raise_key_error" in text
    batches = iter(loader)
    assert [next(batches)[0, 0].item() for _ in range(2)] == [0, 4]
    with pytest.raises(KeyError):
        next(batches)
    assert next(batches)[0, 0] == 12
    del batches
    with pytest.raises(RuntimeError, match="Caught Odd in DataLoader worker"):
        list(DataLoader(Faulty(raise_odd), 4, num_workers=1))


def test_what_cannot_be_sent_is_an_error():
    with pytest.raises(Exception, match="pickle.*lambda"):
        list(DataLoader([1], num_workers=1, collate_fn=lambda samples: lambda: samples))
    weight = flambeau.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf"):
        list(DataLoader([1], num_workers=1, collate_fn=lambda samples: weight * 2))


def test_init_function():
    def check(worker_id):
        assert get_worker_info().id == worker_id
        raise ValueError("not ready")

    with pytest.raises(ValueError, match="not ready"):
        list(DataLoader([1, 2], num_workers=2, worker_init_fn=check))


def hang():
    time.sleep(1000)


def test_timeout_names_the_worker():
    message = r"timed out after 0.3 seconds: worker 0 \(pid \d+\) is busy with batch 2"
    with pytest.raises(RuntimeError, match=message):
        list(DataLoader(Faulty(hang), 4, num_workers=2, timeout=0.3))


def test_too_many_workers_are_warned_of():
    with pytest.warns(UserWarning, match="will create 1000 worker processes in total"):
        DataLoader([1], num_workers=1000)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        list(DataLoader([1], pin_memory=True))


HANGING = """
import os, signal, sys, time, multiprocessing
import flambeau
from flambeau.utils.data import DataLoader, Dataset

# a shell starts what runs in its background with SIGINT ignored
signal.signal(signal.SIGINT, signal.default_int_handler)

class Late(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, i):
        if i >= 8:
            time.sleep(1000)
        return flambeau.zeros(100_000)

for i, batch in enumerate(DataLoader(Late(), 2, num_workers=2)):
    if i == 2:
        print(*[process.pid for process in multiprocessing.active_children()], flush=True)
"""


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_main_process(sent):
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    with subprocess.Popen(
        [sys.executable, "-c", HANGING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment, start_new_session=True,
    ) as program:  # fmt: skip
        workers = [int(pid) for pid in program.stdout.readline().split()]
        assert len(workers) == 2 and all(map(running, workers))
        begin = time.monotonic()
        if sent == signal.SIGINT:
            os.killpg(program.pid, sent)  # as a terminal does
        else:
            program.kill()
        try:
            program.wait(20)
        finally:
            program.kill()  # or the test would wait for ever
        while any(map(running, workers)):
            assert time.monotonic() - begin < 10
            time.sleep(0.01)


def test_base_classes_keep_their_pytorch_names():
    from flambeau.utils.data.dataloader import _MultiProcessingDataLoaderIter

    iterator = iter(DataLoader([1, 2], num_workers=1))
    assert isinstance(iterator, _MultiProcessingDataLoaderIter)
    iterator._shutdown_workers()
    assert re.match("<WorkerInfo|None", repr(get_worker_info()))
    with pytest.raises(StopIteration):
        next(iterator)
