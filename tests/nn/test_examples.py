"""The examples in the docstrings of `nn` print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import flambeau
from flambeau import nn

MODULES = sorted(
    name
    for _, name, is_package in pkgutil.walk_packages(nn.__path__, "flambeau.nn.")
    if not is_package
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    scope = {**vars(module), "flambeau": flambeau, "nn": nn, "F": nn.functional}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    report = []
    for case in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=scope):
        runner.run(case, out=report.append)
    assert not runner.failures, "".join(report)
