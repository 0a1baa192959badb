"""Random wrong calls of every public operator: an exception is fine, a dying process is not."""

from __future__ import annotations

import os
import random
import resource
import signal

import pytest

import flambeau
from flambeau._ops import OPS

CALLS = 12
SHAPES = [(), (0,), (3,), (2, 3), (0, 3), (2, 0), (2, 3, 4), (1, 2, 3, 4), (2,) * 5, (1,) * 8]
DTYPES = [
    "float32",
    "float64",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
    "bfloat16",
    "float16",
]
NUMBERS = [
    0,
    1,
    2,
    3,
    -1,
    -2,
    7,
    2**40,
    2**62,
    -(2**62),
    0.5,
    1e300,
    float("nan"),
    float("inf"),
    True,
]
ODD = [None, "a", "mean", "reflect", [], (), [None], object(), {}, flambeau.float32]
PUBLIC = sorted(
    {op.base for op in OPS.values() if op.has("function") and "internal" not in op.tags}
)


def a_tensor(rng):
    t = flambeau.ones(rng.choice(SHAPES), dtype=getattr(flambeau, rng.choice(DTYPES)))
    kind = rng.random()
    if kind < 0.1:
        return t.to("meta")
    if kind < 0.2 and t.dim():
        return t.transpose(0, -1)
    if kind < 0.3:
        return t[None].expand(3, *t.shape)
    if kind < 0.4 and t.is_floating_point():
        return t.mul(float("nan")).requires_grad_()
    return t


def a_value(rng):
    kind = rng.random()
    if kind < 0.5:
        return a_tensor(rng)
    if kind < 0.75:
        return rng.choice(NUMBERS)
    if kind < 0.9:
        return [rng.choice(NUMBERS[:10]) for _ in range(rng.randrange(1, 4))]
    return [a_tensor(rng), a_tensor(rng)] if kind < 0.95 else rng.choice(ODD)


def call(name, index):
    rng = random.Random(f"{name}{index}")
    args = [a_tensor(rng)] * (rng.random() < 0.8) + [a_value(rng) for _ in range(rng.randrange(4))]
    try:
        out = getattr(flambeau._C.ops, name)(*args)
        if isinstance(out, flambeau.Tensor) and not out.is_meta and out.numel() < 1000:
            out.tolist()
            if out.requires_grad:
                out.backward(flambeau.ones_like(out))
    except SystemError:
        raise
    except Exception:
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_call_kills_the_process():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(60)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        status = 1
        try:
            for name in PUBLIC:
                for index in range(CALLS):
                    os.write(write, f"{name} {index}\n".encode())
                    call(name, index)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as lines:
        last = list(lines)[-1]
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"call {last!r} ended the process with status {status}"
