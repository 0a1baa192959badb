"""Results depend neither on the number of threads nor on the instruction set, to the bit."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
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
    ran = False
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
        ran |= found[0] != "refused"
    assert ran, "every sample was refused"


# ---- instruction sets


def digests():
    """A digest of each operator's results; this file run as a program prints them."""
    found = {}
    for name in (n for n in SAMPLED if not OPS[n].mutates):
        op = OPS[name]
        for dtype in ("float32", "complex64", "complex128"):
            rng = numpy.random.default_rng(zlib.crc32(name.encode()))
            digest = hashlib.sha256()
            for sample in op.samples:
                most = max((len(s.shape) for s in specs(sample)), default=0)
                values = [build(grown(v, 8 if most < 4 else 2, 0), dtype, rng) for v in sample]
                if not fits(op, values):
                    values = [build(v, dtype, rng) for v in sample]
                try:
                    digest.update(repr(bits(called(op, values))).encode())
                except (*REFUSED, IndexError, ValueError):
                    digest.update(b"refused")
            found[f"{name} {dtype}"] = digest.hexdigest()
    return found


def test_all_instruction_sets_agree():
    found = [
        json.loads(
            subprocess.run(
                [sys.executable, __file__],
                env={**os.environ, "FLAMBEAU_CPU": target},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for target in ("baseline", "avx2", "")
    ]
    baseline, avx2, best = found
    assert {n for n in best if best[n] != avx2[n]} == set()
    # without fused operations libraries are faster than the tiles of matrix products
    tiled = ("conv", "_layer", "lstm", "gru", "rnn")
    differ = {n for n in avx2 if avx2[n] != baseline[n]}
    assert {n for n in differ if not any(t in n for t in tiled)} == set()


if __name__ == "__main__":
    print(json.dumps(digests()))
