"""Tensors and modules go to other processes by shared memory."""

from __future__ import annotations

import multiprocessing as python_multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import flambeau
from flambeau import multiprocessing as mp
from flambeau import nn

METHODS = ["fork", "spawn"]


def test_is_the_module_of_python():
    assert set(python_multiprocessing.__all__) <= set(dir(mp))
    assert mp.Process is python_multiprocessing.Process
    assert mp.get_context("fork").get_start_method() == "fork"


def change(x, module, queue, ready):
    x.mul_(2)
    with flambeau.no_grad():
        module.weight.fill_(3)
    y = queue.get()
    y += 1
    queue.put(flambeau.arange(4.0))
    ready.wait(60)


@pytest.mark.parametrize("method", METHODS)
def test_changes_are_seen_in_both_processes(method):
    context = mp.get_context(method)
    x, module, whole = flambeau.ones(3), nn.Linear(2, 2).share_memory(), flambeau.zeros(4, 2)
    x.share_memory_()
    queue, ready = context.Queue(), context.Event()
    process = context.Process(target=change, args=(x, module, queue, ready))
    process.start()
    queue.put(whole[1:3])
    time.sleep(0)
    while not whole.any():
        time.sleep(0.01)
    got = queue.get(timeout=60)
    ready.set()
    process.join(60)
    assert process.exitcode == 0
    assert x.tolist() == [2, 2, 2] and module.weight.tolist() == [[3, 3], [3, 3]]
    assert whole.tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]] and whole.is_shared()
    assert got.tolist() == [0, 1, 2, 3] and got.is_shared()


def square(x):
    return x * x


def test_pool():
    with mp.get_context("fork").Pool(2) as pool:
        squares = pool.map(square, [flambeau.full((2,), float(i)) for i in range(4)])
    assert [s[1].item() for s in squares] == [0, 1, 4, 9]


def through_a_pipe(value):
    one, other = mp.Pipe()
    one.send(value)
    return other.recv()


def test_kinds_of_tensors():
    x = flambeau.arange(6.0).reshape(2, 3)
    got = through_a_pipe((x.T, x[1], x))
    x[1, 2] = 50
    assert got[0].tolist() == [[0, 3], [1, 4], [2, 50]] and got[1].tolist() == [3, 4, 50]
    assert got[0].data_ptr() == got[2].data_ptr()
    weight = through_a_pipe(nn.Parameter(flambeau.ones(2), requires_grad=False))
    assert type(weight) is nn.Parameter and not weight.requires_grad
    assert through_a_pipe(flambeau.ones(2, requires_grad=True)).requires_grad
    assert through_a_pipe(flambeau.empty(0, 3)).shape == (0, 3)
    assert through_a_pipe(flambeau.empty(2, device="meta")).device.type == "meta"
    assert through_a_pipe(flambeau.ones(2, dtype=flambeau.bfloat16)).tolist() == [1, 1]
    storage = flambeau.ones(2, dtype=flambeau.uint8).untyped_storage()
    assert bytes(through_a_pipe(storage)) == b"\x01\x01" and storage.is_shared()
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf"):
        through_a_pipe(flambeau.ones(2, requires_grad=True) * 2)


def test_sharing_moves_the_storage_under_its_views():
    x = flambeau.zeros(6)
    view = x[2:4]
    assert not x.is_shared()
    assert x.share_memory_() is x and view.is_shared()
    x.fill_(1)
    assert view.tolist() == [1, 1]
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(1000)
    assert flambeau.empty(0).share_memory_().is_shared()
    assert not flambeau.empty(2, device="meta").is_shared()


def test_arrays_keep_the_memory_that_they_show():
    array = np.zeros(3)
    x = flambeau.from_numpy(array).share_memory_()
    x += 1
    assert array.tolist() == [0, 0, 0]
    y = flambeau.zeros(3)
    shown = y.numpy()
    y.share_memory_()
    y += 1
    assert shown.tolist() == [0, 0, 0] and y.tolist() == [1, 1, 1]


def test_descriptors_are_checked():
    with pytest.raises(RuntimeError, match="is no block"):
        flambeau._C._open_shared_block(-1, 10)
    file = os.open("/dev/null", os.O_RDONLY)
    with pytest.raises(RuntimeError, match="is no block of 10 bytes"):
        flambeau._C._open_shared_block(file, 10)
    block = flambeau._C._new_shared_block(10)
    with pytest.raises(ValueError, match="are not in a block of 10"):
        block.storage(8, 3)
    with pytest.raises(RuntimeError, match="is no block of 1000000"):
        flambeau._C._open_shared_block(os.dup(block.descriptor), 1_000_000)


def test_sharing_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="unknown strategy"):
        mp.set_sharing_strategy("telepathy")


def fail(index):
    if index == 1:
        raise ValueError("process one fails")
    time.sleep(60)


def leave(index):
    if index == 1:
        os._exit(4)
    time.sleep(60)


def die(index):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("method", METHODS)
def test_errors_of_started_processes(method):
    with pytest.raises(mp.ProcessRaisedException, match="Process 1 terminated.*") as caught:
        mp.start_processes(fail, nprocs=2, start_method=method)
    assert "process one fails" in str(caught.value) and caught.value.error_index == 1


def test_started_processes_that_end_early():
    with pytest.raises(
        mp.ProcessExitedException, match="process 1 terminated with exit code 4"
    ) as e:
        mp.start_processes(leave, nprocs=2, start_method="fork")
    assert e.value.exit_code == 4 and e.value.error_pid > 0
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as e:
        mp.start_processes(die, start_method="fork")
    assert e.value.signal_name == "SIGKILL" and e.value.exit_code == -9


def put(index, queue, x):
    x[index] = index + 1.0
    queue.put(index)


def test_spawn():
    x = flambeau.zeros(2).share_memory_()
    queue = mp.get_context("spawn").SimpleQueue()
    context = mp.spawn(put, (queue, x), nprocs=2, join=False)
    assert len(context.pids()) == 2
    while not context.join():
        pass
    assert x.tolist() == [1, 2] and {queue.get(), queue.get()} == {0, 1}


PROGRAM = """
import multiprocessing, sys
import torch
import torch.multiprocessing as mp

def work(index, x):
    assert torch.__name__ == "torch" and type(x) is torch.Tensor
    x[index] = 1

if __name__ == "__main__":
    x = torch.zeros(1)
    mp.start_processes(work, (x,), start_method=sys.argv[1])
    print(x.tolist(), flush=True)
    # Python's own module, too.
    process = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(0, x))
    process.start()
    process.join()
    print(process.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_of_flambeau_run_have_the_alias(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    packages = os.path.dirname(os.path.dirname(os.path.abspath(flambeau.__file__)))
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", "run", str(script), method],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": packages},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("[1.0]\n0\n", "")


ORPHANS = """
import os, signal, sys, time
import flambeau.multiprocessing as mp

if "ignored" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
else:
    signal.signal(signal.SIGINT, signal.default_int_handler)

def work(index):
    print(os.getpid(), flush=True)
    time.sleep(1000)

if __name__ == "__main__":
    mp.start_processes(work, nprocs=2, start_method="fork")
"""


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("interrupts", ["heard", "ignored"])
def test_started_processes_end_with_their_parent(interrupts):
    packages = os.path.dirname(os.path.dirname(os.path.abspath(flambeau.__file__)))
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS, interrupts], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": packages},
    ) as program:  # fmt: skip
        children = [int(program.stdout.readline()) for _ in range(2)]
        program.kill()
        program.wait(60)
        deadline = time.monotonic() + 30
        while any(map(running, children)):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_pool_and_queue_modules():
    from flambeau.multiprocessing.pool import Pool, ThreadPool
    from flambeau.multiprocessing.queue import SimpleQueue

    with Pool(1) as pool, ThreadPool(1) as threads:
        assert pool.map(abs, [-1]) == threads.map(abs, [-1]) == [1]
    queue = SimpleQueue(ctx=mp.get_context("fork"))
    queue.put(flambeau.ones(2))
    assert queue.get().is_shared()
