"""Results do not depend on the number of threads, to the bit, whatever the operator."""

from __future__ import annotations

import importlib.util
import pathlib
import zlib

import numpy
import pytest

import flambeau
from flambeau._ops import OPS
from flambeau._ops.samples import T

# how samples become tensors is known there
_SPEC = importlib.util.spec_from_file_location(
    "table_of_samples", pathlib.Path(__file__).with_name("test_table.py")
)
table = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(table)
REFUSED, SAMPLED, build = table.REFUSED, table.SAMPLED, table.build

# Sizes grow until a tensor of so many dimensions is split among threads.
FACTORS = {0: (1,), 1: (16384, 64), 2: (128, 16), 3: (24, 4), 4: (8, 2), 5: (4, 2)}
MOST = 1 << 22  # elements of a result
UNGROWN = {"combinations"}  # these find positions on meta tensors too: as many as there are results


def grown(value, factor, lead):
    """The specification with larger sizes; only the first of `lead` dimensions if that is set."""
    if isinstance(value, list):
        return [grown(v, factor, lead) for v in value]
    if not isinstance(value, T) or lead and len(value.shape) != lead:
        return value
    sizes = [s * factor if s > 1 and (not lead or i == 0) else s for i, s in enumerate(value.shape)]
    spec = T(*sizes, low=value.low, high=value.high, integers=value.integers, nonzero=value.nonzero)
    spec.positions = value.positions
    return spec


def specs(values):
    for v in values:
        if isinstance(v, T):
            yield v
        elif isinstance(v, list):
            yield from specs(v)


def tensors(result):
    items = result if isinstance(result, (tuple, list)) else [result]
    return [t for t in items if isinstance(t, flambeau.Tensor)]


def called(op, values):
    names = [a.name if a.name != "self" else "input" for a in op.args]
    given = list(zip(op.args, names, values))
    flambeau.manual_seed(1)
    return getattr(flambeau._C.ops, op.base)(
        *[v for a, _, v in given if not a.kwonly], **{n: v for a, n, v in given if a.kwonly}
    )


def moved(value, device):
    if isinstance(value, flambeau.Tensor):
        return value.to(device)
    return [moved(v, device) for v in value] if isinstance(value, list) else value


def fits(op, values):
    """Whether the call is allowed with these sizes and its result is not too large."""
    try:
        results = tensors(called(op, [moved(v, "meta") for v in values]))
    except (*REFUSED, IndexError, ValueError, MemoryError):
        return False
    return sum(t.numel() for t in results) <= MOST


def inputs(op, index):
    """The largest form of a sample that the operator takes."""
    sample = op.samples[index]
    most = max((len(s.shape) for s in specs(sample)), default=0)
    large, small = (*FACTORS[most], 1)[:2]
    ways = [(large, 0), (4096, most), (small, 0), (1, 0)]
    if op.name in UNGROWN:
        ways = ways[-1:]
    elif "internal" in op.tags:  # those leave the checks of sizes to others
        ways.pop(1)
    for factor, lead in ways:
        rng = numpy.random.default_rng(zlib.crc32(f"{op.name}{index}".encode()))
        values = [build(grown(v, factor, lead), "float32", rng) for v in sample]
        if factor == 1 or fits(op, values):
            return values
    raise AssertionError


def bits(result):
    return [(tuple(t.shape), t.contiguous().numpy().tobytes()) for t in tensors(result)]


@pytest.fixture
def threads():
    before = flambeau.get_num_threads()
    yield flambeau.set_num_threads
    flambeau.set_num_threads(before)


@pytest.mark.parametrize("name", [n for n in SAMPLED if not OPS[n].mutates])
def test_one_and_two_threads_agree(name, threads):
    op = OPS[name]
    for index in range(len(op.samples)):
        values = inputs(op, index)
        found = []
        for count in (1, 2):
            threads(count)
            try:
                found.append(bits(called(op, values)))
            except REFUSED:
                found.append("refused")
        assert found[0] == found[1], f"sample {index}"
