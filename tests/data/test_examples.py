"""The examples in the docstrings of `utils.data` and `multiprocessing` print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

import flambeau

MODULES = [
    "flambeau._exception_wrapper",
    "flambeau.multiprocessing",
    "flambeau.multiprocessing.spawn",
    "flambeau.utils.data._utils.collate",
    "flambeau.utils.data._utils.worker",
    "flambeau.utils.data.dataloader",
    "flambeau.utils.data.datapipe",
    "flambeau.utils.data.dataset",
    "flambeau.utils.data.distributed",
    "flambeau.utils.data.sampler",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    scope = {**vars(module), "flambeau": flambeau}
    runner = doctest.DocTestRunner(verbose=False)
    report = []
    for case in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=scope):
        runner.run(case, out=report.append)
    assert not runner.failures, "".join(report)
