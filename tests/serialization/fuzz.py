"""Mutated files for the loaders: `python tests/serialization/fuzz.py COUNT [SEED]`.

Every mutation must load or end in one of `CLEAN`, in bounded time and memory. The seeds are the
files in ``data``, of flambeau and of safetensors. What a mutation did is a function of its number,
so that a failure can be looked at again: ``Mutator(seed).mutation(number)``.
"""

from __future__ import annotations

import faulthandler
import io
import pathlib
import pickle
import pickletools
import random
import resource
import struct
import sys
import time
import warnings
import zipfile

import flambeau
from flambeau.serialization import safetensors

DATA = pathlib.Path(__file__).parent / "data"
# What damaged and refused files end in.
CLEAN = (RuntimeError, pickle.UnpicklingError, EOFError)
SECONDS, MEMORY = 10.0, 1 << 30

OPCODES = [ord(op.code) for op in pickletools.opcodes]
NUMBERS = [0, 1, 127, 128, 255, 1 << 15, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1]
TEXTS = [b"builtins", b"eval", b"os", b"system", b"torch", b"FloatStorage", b"storage", b"cpu"]
TEXTS += [b"cuda:0", b"meta", b"__class__", b"__dict__", b"__reduce__", b"collections", b"Counter"]


def flip(r: random.Random, data: bytearray) -> None:
    for _ in range(r.choice((1, 1, 2, 4, 16))):
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)


def overwrite(r: random.Random, data: bytearray) -> None:
    start = r.randrange(len(data))
    piece = r.choice(
        [
            bytes(r.randrange(256) for _ in range(r.randrange(1, 9))),
            struct.pack("<I", r.choice(NUMBERS) & 0xFFFFFFFF),
            struct.pack("<Q", r.choice(NUMBERS)),
            r.choice(TEXTS),
        ]
    )
    data[start : start + len(piece)] = piece


def truncate(r: random.Random, data: bytearray) -> None:
    del data[r.randrange(len(data)) :]


def cut(r: random.Random, data: bytearray) -> None:
    start = r.randrange(len(data))
    del data[start : start + r.choice((1, 2, 4, 8, 64))]


def repeat(r: random.Random, data: bytearray) -> None:
    start = r.randrange(len(data))
    piece = data[start : start + r.choice((1, 2, 8, 64, 512))]
    data[start:start] = piece * r.choice((1, 1, 2, 50))


def splice(r: random.Random, data: bytearray) -> None:
    a, b = r.randrange(len(data)), r.randrange(len(data))
    n = r.choice((1, 4, 16, 64))
    data[a : a + n], data[b : b + n] = data[b : b + n], data[a : a + n]


BYTES = [flip, flip, overwrite, truncate, cut, repeat, splice]


def edit_opcodes(r: random.Random, data: bytearray) -> None:
    """Changes opcodes or arguments where they are, so that most of the pickle stays sound."""
    try:
        ops = list(pickletools.genops(bytes(data)))
    except ValueError:
        return flip(r, data)
    for _ in range(r.choice((1, 1, 2, 3))):
        op, _, position = r.choice(ops)
        kind = r.randrange(5)
        if kind == 0:
            data[position] = r.choice(OPCODES)
        elif kind == 1 and position + 1 < len(data):
            data[position + 1] = r.choice((0, 1, 2, 127, 255, r.randrange(256)))
        elif kind == 2:
            data[position:position] = bytes([r.choice(OPCODES)])
        elif kind == 3:
            other = r.choice(ops)[2]
            n = r.randrange(1, 40)
            data[position:position] = data[other : other + n]
        else:
            number = r.choice(NUMBERS) | (r.randrange(2) << 71)
            data[position:position] = b"\x8a\x09" + number.to_bytes(9, "little")
    return None


class Mutator:
    """Mutations by number."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        paths = [p for p in sorted(DATA.rglob("*.pt")) if p.name != "package.pt"]
        self.files = [(p.name, p.read_bytes()) for p in paths]
        tensors = {"a": flambeau.ones(3, 2), "b": flambeau.arange(5), "c": flambeau.ones(0)}
        self.tensors = [safetensors.save(tensors, {"k": "v"}), safetensors.save({})]

    def mutation(self, number: int) -> tuple[str, bytes]:
        """(kind, bytes of the file)."""
        r = random.Random(self.seed * 1_000_003 + number)
        if r.random() < 0.15:
            data = bytearray(r.choice(self.tensors))
            for _ in range(r.choice((1, 1, 2))):
                r.choice(BYTES)(r, data) if data else None
            return "safetensors", bytes(data)
        name, whole = r.choice(self.files)
        if whole[:2] == b"PK" and r.random() < 0.6:
            return "zip of " + name, self._rewritten(r, whole)
        data = bytearray(whole)
        if whole[:2] != b"PK" and r.random() < 0.5:
            edit_opcodes(r, data)
        else:
            r.choice(BYTES)(r, data)
        return "bytes of " + name, bytes(data)

    def _rewritten(self, r: random.Random, whole: bytes) -> bytes:
        """Records changed, and the archive made anew around them with right CRCs."""
        source = zipfile.ZipFile(io.BytesIO(whole))
        records = [(n, bytearray(source.read(n))) for n in source.namelist()]
        kind = r.randrange(8)
        pickled = next(data for name, data in records if name.endswith("data.pkl"))
        if kind < 5:
            r.choice([edit_opcodes, edit_opcodes, edit_opcodes, overwrite, repeat, flip])(
                r, pickled
            )
        elif kind == 5:
            i, j = r.randrange(len(records)), r.randrange(len(records))
            (a, x), (b, y) = records[i], records[j]
            records[i], records[j] = (a, y), (b, x)
        elif kind == 6:
            _, data = r.choice(records)
            r.choice(BYTES)(r, data) if data else None
        else:
            del records[r.randrange(len(records))]
        method = r.choice((zipfile.ZIP_STORED,) * 9 + (zipfile.ZIP_DEFLATED,))
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as target:
            for name, data in records:
                target.writestr(name, bytes(data))
        return file.getvalue()


def run_one(kind: str, data: bytes) -> str:
    """``loaded`` or the name of the clean error; others come through."""
    try:
        safetensors.load(data) if kind == "safetensors" else flambeau.load(io.BytesIO(data))
    except CLEAN as e:
        return type(e).__name__
    return "loaded"


def fuzz(count: int, seed: int = 0, first: int = 0) -> dict[str, int]:
    """Runs mutations; raises AssertionError with the number of the first bad one."""
    mutator = Mutator(seed)
    outcomes: dict[str, int] = {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + count):
        kind, data = mutator.mutation(number)
        start = time.process_time()
        try:
            outcome = run_one(kind, data)
        except Exception as e:
            raise AssertionError(f"mutation {number} of seed {seed} ({kind}): {e!r}") from e
        seconds = time.process_time() - start
        assert seconds < SECONDS, f"mutation {number} of seed {seed} ({kind}): {seconds:.1f} s"
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MEMORY, f"the memory grew by {grown >> 20} MB"
    outcomes["MB more memory"] = grown >> 20
    return outcomes


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    print(fuzz(int(sys.argv[1]), *map(int, sys.argv[2:])))
