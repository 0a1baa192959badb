"""The docstring examples of `distributions`, `jit` and `multiprocessing` print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import flambeau
from flambeau import distributions

MODULES = [
    "flambeau.distributions",
    "flambeau.jit",
    "flambeau.multiprocessing",
    *sorted(
        name
        for _, name, _ in pkgutil.walk_packages(distributions.__path__, "flambeau.distributions.")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    scope = {**vars(distributions), **vars(module), "flambeau": flambeau}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    report = []
    for case in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=scope):
        runner.run(case, out=report.append)
    assert not runner.failures, "".join(report)
