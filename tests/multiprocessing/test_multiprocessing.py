"""Tensors go through queues and pools of other processes."""

from __future__ import annotations

import multiprocessing as python_multiprocessing

import flambeau
from flambeau import multiprocessing as mp


def put_double(queue, x):
    queue.put(x * 2)


def test_is_the_module_of_python():
    assert set(python_multiprocessing.__all__) <= set(dir(mp))
    assert mp.Process is python_multiprocessing.Process
    assert mp.get_context("fork").get_start_method() == "fork"


def test_tensors_go_by_value():
    context = mp.get_context("fork")
    queue = context.Queue()
    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]).T
    process = context.Process(target=put_double, args=(queue, x))
    process.start()
    got = queue.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0
    assert flambeau.equal(got, x * 2) and got.dtype is x.dtype
    assert x.tolist() == [[1.0, 3.0], [2.0, 4.0]]
