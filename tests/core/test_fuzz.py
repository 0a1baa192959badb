"""Random calls of every operator and Tensor method: an exception is fine, a dying process is not.

Each call follows from its target's name and a round number, so a failure says how to repeat it:

    python tests/core/test_fuzz.py conv_forward 17          # one call, described and made

FLAMBEAU_FUZZ_SECONDS=180 goes on with further rounds for that long.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

import flambeau
from flambeau._ops import OPS

ROUNDS = 50
CALL_SECONDS = 20
MAX_FAILURES = 12
SPARE_MEMORY = 2 << 30

DTYPES = "float32 float64 int64 int32 uint8 bool complex64 bfloat16 float16 int8".split()
INTS = [0, 1, 2, 3, 4, -1, -2, -3, 5, 7]
ODD_INTS = [10**4, 2**31, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**62), -(2**63)]
FLOATS = [0.5, 0.0, -1.5, 2.0, 1e-5, 1e300, -1e300, float("nan"), float("inf"), -float("inf")]
STRINGS = ["mean", "sum", "none", "reflect", "circular", "replicate", "tanh", "floor", "add", "xx"]
EINSUMS = [
    "ij,jk->ik",
    "ii->i",
    "i,i->",
    "...ij->...ji",
    "ij",
    "->",
    "i...",
    ",",
    "iiiii->",
    "ij,jk,kl->",
]
ODD = ["a", object(), {}, [None], float, b"x", 1j, True, None, 2**70, [[1]], ["a"], (2.5,)]
# They act on the process, wait for input, or are tested by what they are for.
SKIPPED = {
    "__class__",
    "__init_subclass__",
    "__subclasshook__",
    "__dir__",
    "__repr__",
    "__str__",
    "__format__",
}


class Maker:
    """The arguments of one call: mostly of the right type, shapes and dtypes that nearly agree."""

    def __init__(self, name, number):
        self.rng = random.Random(f"{name} {number}")
        self.rank = self.rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
        self.pool = [self.rng.choice([0, 1, 1, 2, 2, 3, 4]) for _ in range(self.rank)]
        self.dtype = self.rng.choice(DTYPES[:2] * 4 + DTYPES)
        self.meta = self.rng.random() < 0.06

    def shape(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return list(self.pool)
        if kind < 0.65:  # the channels alone
            return self.pool[1:2]
        if kind < 0.8:
            return [d if rng.random() < 0.8 else rng.choice([0, 1, 2, 3]) for d in self.pool]
        return [rng.choice([0, 1, 2, 3]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 6, 8]))]

    def tensor(self):
        rng = self.rng
        shape = self.shape()
        dtype = getattr(flambeau, self.dtype if rng.random() < 0.85 else rng.choice(DTYPES))
        count = 1
        for d in shape:
            count *= d
        if dtype.is_floating_point or dtype.is_complex:
            values = [rng.choice([0.5, 1.0, -1.0, 2.0, 0.0]) for _ in range(count)]
            if rng.random() < 0.1 and count:
                values[rng.randrange(count)] = rng.choice(FLOATS)
        else:
            top = rng.choice([1, 2, 3, 100])
            low = -top if rng.random() < 0.2 and dtype != flambeau.uint8 else 0
            values = [rng.randint(low, top) for _ in range(count)]
        t = flambeau.tensor(values).to(dtype).reshape(shape)
        kind = rng.random()
        if kind < 0.08 and t.dim():
            t = t.transpose(0, -1)
        elif kind < 0.14:
            t = t[None].expand(2, *t.shape)
        elif kind < 0.2 and t.dim():
            t = t.repeat_interleave(2, -1)[..., 1::2]
        if self.meta or rng.random() < 0.01:
            t = t.to("meta")
        if rng.random() < 0.3 and (dtype.is_floating_point or dtype.is_complex):
            t.requires_grad_()
        return t

    def integer(self):
        rng = self.rng
        return rng.choice(INTS if rng.random() < 0.9 else ODD_INTS)

    def integers(self, count=None):
        rng = self.rng
        if count is None or rng.random() < 0.1:
            count = rng.choice([self.rank, max(self.rank - 2, 0), rng.randrange(7)])
        kind = rng.random()
        if kind < 0.25:
            return list(self.shape())
        if kind < 0.5:
            return [rng.choice([1, 1, 1, 2, 3, 0]) for _ in range(count)]
        return [self.integer() for _ in range(count)]

    def value(self, type):
        rng = self.rng
        if rng.random() < 0.02:
            return rng.choice(ODD)
        if type.endswith("?"):
            if rng.random() < 0.4:
                return None
            type = type[:-1]
        if type == "Tensor":
            return self.tensor()
        if type in ("Tensor[]", "Tensor?[]"):
            items = [self.tensor() for _ in range(rng.randrange(4))]
            return [None if "?" in type and rng.random() < 0.3 else t for t in items]
        if type in ("Operand", "Scalar"):
            if type == "Operand" and rng.random() < 0.5:
                return self.tensor()
            return rng.choice([self.integer(), rng.choice(FLOATS), True, 2 - 1j])
        if type == "int":
            return self.integer()
        if type.startswith("int["):
            size = type[4:-1]
            if rng.random() < 0.1:
                return self.integer()
            return self.integers(int(size) if size else None)
        if type == "float":
            return rng.choice(FLOATS)
        if type in ("bool", "rg", "pin"):
            return rng.random() < 0.5
        if type == "str":
            return rng.choice(STRINGS)
        if type == "dtype":
            return getattr(flambeau, rng.choice(DTYPES))
        if type == "device":
            return rng.choice(["cpu", "cpu", "meta"])
        if type == "layout":
            return flambeau.strided
        if type == "memory_format":
            return rng.choice(
                [flambeau.channels_last, flambeau.contiguous_format, flambeau.preserve_format]
            )
        if type == "Generator":
            return flambeau.Generator()
        return rng.choice(ODD)

    def arguments(self, op, form):
        args, kwargs = [], {}
        for i, a in enumerate(op.args):
            if a.default is not None and self.rng.random() < 0.4:
                if not a.kwonly and i + 1 < len(op.args):
                    args.append(self.value(a.type))
                continue
            v = self.value(a.type) if op.base != "_einsum" or i else self.rng.choice(EINSUMS)
            if a.kwonly:
                kwargs["input" if a.name == "self" else a.name] = v
            else:
                args.append(v)
        if form == "out":
            outs = [self.tensor().detach() for _ in op.returns]
            kwargs["out"] = outs[0] if len(outs) == 1 else tuple(outs)
        if self.rng.random() < 0.02:
            args = args[:-1] if self.rng.random() < 0.5 else [*args, self.rng.choice(ODD)]
        return args, kwargs


def targets():
    """Name -> (function, entry or None, form)."""
    out = {}
    for op in OPS.values():
        for form, name in (("", op.base), ("inplace", op.base + "_"), ("out", op.base)):
            if (form and not op.has(form)) or not hasattr(flambeau._C.ops, name):
                continue
            label = op.name + {"": "", "inplace": "_", "out": ".out"}[form]
            out[label] = (getattr(flambeau._C.ops, name), op, form)
    for name in dir(flambeau.Tensor):
        method = getattr(flambeau.Tensor, name)
        if callable(method) and name not in SKIPPED and f"{name}" not in out:
            out[f"Tensor.{name}"] = (method, None, "")
    return out


def make(name, number, table):
    """(function, args, kwargs) of one call."""
    function, op, form = table[name]
    maker = Maker(name, number)
    if op is not None:
        return function, *maker.arguments(op, form)
    args = [maker.tensor()]
    kinds = "Tensor Operand int int[] float bool str dtype Tensor[] Tensor? device".split()
    args += [maker.value(maker.rng.choice(kinds)) for _ in range(maker.rng.randrange(4))]
    return function, args, {}


def shown(v):
    if isinstance(v, flambeau.Tensor):
        text = f"tensor({list(v.shape)}, {str(v.dtype)[6:]}, strides {v.stride()}"
        text += ", meta" if v.is_meta else f", {v.detach().flatten().tolist()}"
        return text + (", requires_grad)" if v.requires_grad else ")")
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(map(shown, v)) + "]"
    return repr(v)


def describe(name, number, table):
    _, args, kwargs = make(name, number, table)
    text = [shown(a) for a in args] + [f"{k}={shown(v)}" for k, v in kwargs.items()]
    return f"{name}({', '.join(text)})   # round {number}"


def use(out):
    """Reads the result, and goes back through its history."""
    if isinstance(out, (list, tuple)):
        for part in out[:3]:
            use(part)
    if not isinstance(out, flambeau.Tensor) or out.numel() > 1000:
        return
    if not out.is_meta:
        out.tolist()
    if out.requires_grad and not out.is_leaf:
        out.backward(flambeau.ones_like(out), retain_graph=True)


def call(name, number, table):
    try:
        function, args, kwargs = make(name, number, table)
        use(function(*args, **kwargs))
    except SystemError as e:  # a failure reported without an exception
        print(f"{name} {number} SystemError {e}", flush=True)
    except Exception:
        pass


def child(start, rounds, seconds, note):
    """Makes the calls from number `start` on; `note` always holds the one that runs."""
    table = targets()
    names = sorted(table)
    flambeau.manual_seed(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        with open("/proc/self/statm") as f:
            used = int(f.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + SPARE_MEMORY, used + SPARE_MEMORY))
    sink = os.open(os.devnull, os.O_RDWR)
    os.dup2(sink, 0)
    end = time.monotonic() + seconds
    with open(note, "wb", 0) as f:
        for at in range(start, rounds * len(names) if not seconds else 1 << 60):
            os.pwrite(f.fileno(), b"%20d" % at, 0)
            signal.alarm(CALL_SECONDS)
            call(names[at % len(names)], at // len(names), table)
            if seconds and time.monotonic() > end:
                break
    signal.alarm(0)
    os._exit(0)


def run(note, rounds, seconds=0.0):
    """All failures, described."""
    table = targets()
    names = sorted(table)
    failures, start, begun = [], 0, time.monotonic()
    while len(failures) < MAX_FAILURES:
        left = max(seconds - (time.monotonic() - begun), 1) if seconds else 0
        argv = [sys.executable, __file__, "--child", str(start), str(rounds), str(left), str(note)]
        done = subprocess.run(argv, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            name, number, *what = line.split(" ")
            failures.append(f"{' '.join(what)}: {describe(name, int(number), table)}")
        if done.returncode == 0:
            break
        at = int(note.read_bytes())
        how = f"died with {done.returncode}"
        if done.returncode < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-done.returncode).name
        failures.append(
            f"{how}: "
            f"{describe(names[at % len(names)], at // len(names), table)}\n{done.stderr[-3000:]}"
        )
        start = at + 1
    return failures


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_no_call_kills_the_process(tmp_path):
    seconds = float(os.environ.get("FLAMBEAU_FUZZ_SECONDS", 0))
    failures = run(tmp_path / "note", ROUNDS, seconds)
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
    print(describe(sys.argv[1], int(sys.argv[2]), targets()))
    function, args, kwargs = make(sys.argv[1], int(sys.argv[2]), targets())
    out = function(*args, **kwargs)
    print(out)
    use(out)
