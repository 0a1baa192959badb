"""Checkpoints of all kinds: what they hold, a writer and a check, for PyTorch and for flambeau.

    python tests/serialization/checkpoints.py write FOLDER     # writes each kind with PyTorch
    python tests/serialization/checkpoints.py check FOLDER     # loads what is in FOLDER, compares
    python -m flambeau run tests/serialization/checkpoints.py write FOLDER      # … with flambeau

``data/checkpoints`` holds what the first command wrote with PyTorch 2.13.0. Files of flambeau go
the other way: write them with flambeau, check them with PyTorch. `check` prints the differences;
its exit code is their number.
"""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
import struct
import sys
import types

import numpy as np

# Classes that files name, under a module that both programs make.
KINDS = sys.modules.setdefault("checkpoint_kinds", types.ModuleType("checkpoint_kinds"))


class Case:
    """One file: how to make its object, save it and load it."""

    def __init__(self, make, *, save=None, load=None, safe=None, close=False, needs=None) -> None:
        self.make = make
        self.save = save or {}
        self.load = load or {}
        self.safe = safe
        self.close = close  # computed values: equal but for rounding
        self.needs = needs  # a function that a build may lack


def _kind(name: str, base, **attributes):
    found = getattr(KINDS, name, None)
    if found is None or not issubclass(found, base):
        found = type(name, (base,), {"__module__": "checkpoint_kinds", **attributes})
        setattr(KINDS, name, found)
    return found


def _shared(torch):
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    return {"base": base, "row": base[2], "columns": base[:, 1:3], "t": base.t(), "same": base}


def _dtypes(torch):
    names = (
        "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 bool"
    )
    return {n: torch.tensor([0, 1, 2, 3]).to(getattr(torch, n)) for n in names.split()}


def _special(torch, dtype):
    values = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, 65504.0, -1.5]
    return torch.tensor(values, dtype=torch.float64).to(dtype)


def _filled(module, torch):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((torch.arange(p.numel()) % 7 - 3).reshape(p.shape) * 0.25 + i)
    return module


def _conv(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten())
    return _filled(net, torch)


def _tied(torch):
    nn = torch.nn
    net = nn.Sequential(collections.OrderedDict(a=nn.Linear(3, 3), b=nn.Linear(3, 3)))
    net.b.weight = net.a.weight
    return _filled(net, torch)


def _transformer(torch):
    return _filled(torch.nn.TransformerEncoderLayer(4, 2, 4), torch)


def _optimizer(torch, name, **options):
    net = _filled(torch.nn.Linear(3, 2), torch)
    optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.125, **options)
    for step in range(2):
        for p in net.parameters():
            p.grad = torch.ones_like(p) * (step + 1)
        optimizer.step()
    return optimizer.state_dict()


def _schedulers(torch):
    optimizer = torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.5, momentum=0.9)
    lr = torch.optim.lr_scheduler
    found = [
        lr.StepLR(optimizer, 2),
        lr.MultiStepLR(optimizer, [2, 3]),
        lr.CosineAnnealingLR(optimizer, 10),
        lr.ReduceLROnPlateau(optimizer),
    ]
    optimizer.step()
    return {type(s).__name__: s.state_dict() for s in found}


def _training(torch):
    net = _conv(torch)
    return {
        "model": net.state_dict(),
        "epoch": 3,
        "best": 0.875,
        "optimizer": _optimizer(torch, "Adam"),
        "history": [{"loss": 1.5, "lr": (0.1, 0.2)}, {"loss": 1.25, "lr": (0.1, 0.2)}],
        "name": "run é 3",
        "shape": torch.Size([2, 3]),
    }


def _ordered(torch):
    state = collections.OrderedDict(w=torch.ones(2), b=torch.zeros(1))
    state._metadata = collections.OrderedDict({"": {"version": 1}, "bn": {"version": 2}})
    return state


def _containers(torch):
    return {
        "list": [1, [2, [3, []]], ()],
        "tuple": (1, (2, (3, ())), [torch.ones(1)]),
        (1, "key"): {True: None, None: 1.5, 2.5: {}},
        "set": {1, 2, "three", (4, 5)},
        "numbers": [0, -1, 255, 256, 65536, 2**31, -(2**31), 2**63, -(2**70), 1e-300, 1 + 2j],
        "texts": ["", "é", "\U0001f525", "a" * 300],
        "bytes": [b"\x00\xff" * 10, bytearray(b"abc")],
    }


def _subclass(torch):
    t = torch.arange(3.0).as_subclass(_kind("Tagged", torch.Tensor))
    t.tag = {"note": [1, 2]}
    return t


def _parameter(torch):
    p = torch.nn.Parameter(torch.arange(4.0).reshape(2, 2))
    p.tag = "tied"
    return [p, p, p.detach(), torch.nn.Parameter(torch.ones(1), requires_grad=False)]


def _buffer(torch):
    return [torch.nn.Buffer(torch.ones(2)), torch.nn.Buffer(torch.zeros(1), persistent=False)]


def _overlapping(torch):
    t = torch.arange(10.0)
    return [torch.as_strided(t, (4, 3), (2, 1)), torch.as_strided(t, (3,), (0,), 7)]


def _complex(torch):
    t = torch.tensor([1 + 2j, 3 - 4j])
    return {"t": t, "conj": t.conj(), "expanded": t[:1].conj().expand(3)}


def _storages(torch):
    return [torch.FloatStorage([1.5, 2.5]), torch.LongStorage([1, -2])]


def _storage_and_tensor(torch):
    t = torch.arange(6, dtype=torch.int32)
    return {"t": t[2:4], "s": t._typed_storage()}


def _random_states(torch):
    g = torch.Generator()
    g.manual_seed(7)
    return {"generator": g.get_state()}


def _generator(torch):
    g = torch.Generator()
    g.manual_seed(11)
    torch.rand(3, generator=g)
    return g


def _meta(torch):
    return [torch.empty(2, 3, device="meta"), torch.nn.Parameter(torch.empty(2, device="meta"))]


def _numpy(torch):
    return {
        "a": np.arange(6, dtype=np.float64).reshape(2, 3),
        "i": np.arange(3, dtype=np.int64),
        "s": np.float64(1.5),
        "n": np.int64(7),
        "t": torch.ones(1),
    }


def _numpy_safe(torch):
    core = np._core.multiarray
    kinds = [np.dtypes.Float64DType, np.dtypes.Int64DType]
    found = [np.ndarray, np.dtype, *kinds, core._reconstruct, core.scalar]
    # Files of NumPy 1 have it elsewhere.
    names = "_reconstruct scalar".split()
    return found + [(getattr(core, n), f"numpy.core.multiarray.{n}") for n in names]


def _linear_safe(torch):
    return [torch.nn.Linear, torch.nn.Sequential, torch.nn.ReLU]


def _module(torch):
    nn = torch.nn
    return _filled(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)), torch)


def _coo(torch):
    return torch.sparse_coo_tensor(torch.tensor([[0, 1], [2, 0]]), torch.tensor([1.0, 2.0]), (2, 3))


def _csr(torch):
    return torch.sparse_csr_tensor(
        torch.tensor([0, 1, 2]), torch.tensor([2, 0]), torch.tensor([1.0, 2.0]), (2, 3)
    )


LEGACY = {"_use_new_zipfile_serialization": False}
TRUST = {"weights_only": False}
CASES = {
    "tensor": Case(lambda torch: torch.arange(5.0)),
    "dtypes": Case(_dtypes),
    "special_bfloat16": Case(lambda torch: _special(torch, torch.bfloat16)),
    "special_float16": Case(lambda torch: _special(torch, torch.float16)),
    "special_float32": Case(lambda torch: _special(torch, torch.float32)),
    "complex": Case(_complex),
    "negated": Case(lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj().imag.clone()),
    "shared": Case(_shared),
    "overlapping": Case(_overlapping),
    "expanded": Case(lambda torch: torch.ones(1, 3).expand(4, 3)),
    "permuted": Case(lambda torch: torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)),
    "channels_last": Case(
        lambda torch: torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    ),
    "offset": Case(lambda torch: torch.arange(10)[3:6]),
    "small": Case(lambda torch: [torch.tensor(2.5), torch.empty(0, 3), torch.empty(2, 0)]),
    "leaf": Case(lambda torch: torch.ones(3, requires_grad=True)),
    "parameter": Case(_parameter),
    "buffer": Case(_buffer),
    "state_linear": Case(lambda torch: _filled(torch.nn.Linear(3, 2), torch).state_dict()),
    "state_conv": Case(lambda torch: _conv(torch).state_dict()),
    "state_tied": Case(lambda torch: _tied(torch).state_dict()),
    "state_lstm": Case(lambda torch: _filled(torch.nn.LSTM(2, 2), torch).state_dict()),
    "state_transformer": Case(lambda torch: _transformer(torch).state_dict()),
    "sgd": Case(lambda torch: _optimizer(torch, "SGD", momentum=0.9), close=True),
    "adam": Case(lambda torch: _optimizer(torch, "Adam", amsgrad=True), close=True),
    "adamw": Case(lambda torch: _optimizer(torch, "AdamW", weight_decay=0.1), close=True),
    "adagrad": Case(lambda torch: _optimizer(torch, "Adagrad"), close=True),
    "rmsprop": Case(lambda torch: _optimizer(torch, "RMSprop", centered=True), close=True),
    "schedulers": Case(_schedulers, close=True, load=TRUST),
    "training": Case(_training, close=True),
    "ordered": Case(_ordered),
    "counter": Case(lambda torch: collections.Counter("abracadabra")),
    "containers": Case(_containers),
    "tags": Case(
        lambda torch: [
            torch.float16,
            torch.int64,
            torch.device("cpu"),
            torch.strided,
            torch.Size([1]),
        ]
    ),
    "meta": Case(_meta),
    "random": Case(_random_states),
    "generator": Case(_generator, load=TRUST),
    "numpy": Case(_numpy, safe=_numpy_safe),
    "numpy_trusted": Case(_numpy, load=TRUST),
    "module": Case(_module, load=TRUST),
    "module_safe": Case(_module, safe=_linear_safe),
    "module_conv": Case(_conv, load=TRUST),
    "subclass": Case(_subclass, safe=lambda torch: [_kind("Tagged", torch.Tensor)]),
    "subclass_trusted": Case(_subclass, load=TRUST),
    "storages": Case(_storages),
    "untyped": Case(lambda torch: torch.UntypedStorage([1, 2, 255])),
    "storage_and_tensor": Case(_storage_and_tensor),
    "protocol_4": Case(_training, save={"pickle_protocol": 4}, close=True, load=TRUST),
    "protocol_5": Case(_containers, save={"pickle_protocol": 5}, load=TRUST),
    "no_byteorder": Case(_shared, save={"_disable_byteorder_record": True}),
    "mapped": Case(_shared, load={"mmap": True}),
    "legacy_tensor": Case(lambda torch: torch.arange(5.0), save=LEGACY),
    "legacy_shared": Case(_shared, save=LEGACY),
    "legacy_dtypes": Case(_dtypes, save=LEGACY),
    "legacy_training": Case(_training, save=LEGACY, close=True),
    "legacy_storages": Case(_storages, save=LEGACY),
    "legacy_module": Case(_module, save=LEGACY, load=TRUST),
    "legacy_complex": Case(_complex, save=LEGACY),
    "legacy_parameter": Case(_parameter, save=LEGACY),
    "sparse_coo": Case(_coo, needs="sparse_coo_tensor"),
    "sparse_csr": Case(_csr, needs="sparse_csr_tensor"),
}


def available(torch) -> dict[str, Case]:
    """The cases for which a build has everything."""
    return {n: c for n, c in CASES.items() if c.needs is None or hasattr(torch, c.needs)}


def load(torch, path, case: Case):
    """The object of a file, loaded as the case says."""
    block = contextlib.nullcontext()
    if case.safe is not None:
        block = torch.serialization.safe_globals(case.safe(torch))
    with block:
        return torch.load(path, **case.load)


# ---- comparison ---------------------------------------------------------------------------------


class Comparison:
    """Collects differences of what was loaded and what was expected."""

    def __init__(self, torch, close: bool) -> None:
        self.torch = torch
        self.close = close
        self.differences: list[str] = []
        self._memory: dict = {}
        self._objects: dict[int, int] = {}

    def fail(self, where: str, got, expected) -> None:
        self.differences.append(f"{where}: got {got!r:.200}, expected {expected!r:.200}")

    def expect(self, where: str, got, expected) -> None:
        if got != expected:
            self.fail(where, got, expected)

    def compare(self, where: str, got, expected) -> None:
        torch = self.torch
        if torch.is_storage(expected):
            # PyTorch gives an untyped storage back as a typed one.
            self._shares(where, got, expected)
            self.expect(where, got.tolist(), expected.tolist())
        elif type(got).__name__ != type(expected).__name__:
            self.fail(where + " type", type(got), type(expected))
        elif isinstance(expected, torch.Tensor):
            self._tensors(where, got, expected)
        elif isinstance(expected, torch.nn.Module):
            self._mappings(where, vars(got), vars(expected))
        elif isinstance(expected, dict):
            self._mappings(where, got, expected)
            self._mappings(where + ".__dict__", _attributes(got), _attributes(expected))
        elif isinstance(expected, list | tuple):
            self.expect(where + " length", len(got), len(expected))
            for i, (g, e) in enumerate(zip(got, expected)):
                self.compare(f"{where}[{i}]", g, e)
        elif isinstance(expected, np.ndarray):
            self.expect(where, (got.dtype, got.tolist()), (expected.dtype, expected.tolist()))
        elif isinstance(expected, torch.Generator):
            self.compare(where, got.get_state(), expected.get_state())
        elif isinstance(expected, float):
            if not (self.close and abs(got - expected) <= 1e-6 * abs(expected)):
                self.expect(where, struct.pack("d", got), struct.pack("d", expected))
        elif isinstance(expected, type | types.FunctionType | types.MethodType):
            self.expect(where, got.__name__, expected.__name__)
        elif type(expected).__eq__ is not object.__eq__:
            self.expect(where, got, expected)
        elif hasattr(expected, "__dict__"):
            self._mappings(where, vars(got), vars(expected))

    def _mappings(self, where: str, got, expected) -> None:
        self.expect(where + " keys", list(got), list(expected))
        for key in expected:
            if key in got:
                self.compare(f"{where}[{key!r}]", got[key], expected[key])

    def _tensors(self, where: str, got, expected) -> None:
        for name in "dtype shape requires_grad is_leaf layout device".split():
            self.expect(f"{where}.{name}", getattr(got, name), getattr(expected, name))
        self._mappings(where + ".__dict__", _attributes(got), _attributes(expected))
        known = self._objects.setdefault(id(expected), id(got))
        self.expect(where + " identity", known, id(got))
        if str(expected.layout) != "torch.strided":
            self.expect(where, got.to_dense().tolist(), expected.to_dense().tolist())
            return
        self.expect(where + ".stride", got.stride(), expected.stride())
        if expected.device.type == "meta":
            return
        self._shares(where, got.untyped_storage(), expected.untyped_storage())
        g, e = got.detach().resolve_conj().resolve_neg(), expected.detach().resolve_conj()
        g, e = g.contiguous(), e.resolve_neg().contiguous()
        if self.close and e.is_floating_point():
            if not self.torch.allclose(g, e, rtol=1e-5):
                self.fail(where, got, expected)
        elif _bytes(self.torch, g) != _bytes(self.torch, e):
            self.fail(where, got, expected)

    def _shares(self, where: str, got, expected) -> None:
        # Conjugates share their memory in PyTorch and not in flambeau.
        if "conj" in where or "expanded" in where:
            return
        if expected.nbytes():
            known = self._memory.setdefault(expected.data_ptr(), got.data_ptr())
            self.expect(where + " memory", known, got.data_ptr())


def _attributes(value) -> dict:
    return dict(getattr(value, "__dict__", None) or {})


def _bytes(torch, t) -> bytes:
    return bytes(t.flatten().view(torch.uint8).tolist()) if t.numel() else b""


def differences(torch, path, case: Case) -> list[str]:
    """How the object of a file differs from what it should be."""
    comparison = Comparison(torch, case.close)
    comparison.compare("it", load(torch, path, case), case.make(torch))
    return comparison.differences


def write(torch, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in available(torch).items():
        torch.save(case.make(torch), folder / f"{name}.pt", **case.save)


def check(torch, folder: pathlib.Path) -> int:
    found = 0
    cases = {n: c for n, c in available(torch).items() if (folder / f"{n}.pt").exists()}
    for name, case in cases.items():
        try:
            problems = differences(torch, folder / f"{name}.pt", case)
        except Exception as e:  # each file has its say
            problems = [f"{type(e).__name__}: {e}"]
        found += len(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"{len(cases)} files, {found} differences")
    return found


def main() -> int:
    import torch

    action, folder = sys.argv[1:]
    if action == "write":
        write(torch, pathlib.Path(folder))
        return 0
    return min(check(torch, pathlib.Path(folder)), os.EX_USAGE)


if __name__ == "__main__":
    sys.exit(main())
