"""Names of storages and globals in PyTorch's files, and what they stand for here."""

from __future__ import annotations

import importlib
from collections import Counter, OrderedDict, defaultdict

from flambeau import _C
from flambeau._legacy import TYPES
from flambeau._size import Size
from flambeau._storage import STORAGE_NAMES

STORAGE_OF_DTYPE = {dtype: name for name, dtype in STORAGE_NAMES.items()}


class StorageType:
    """Stands for `torch.FloatStorage` and its like in a file; `dtype` None: untyped bytes."""

    __slots__ = ("name", "_dtype")

    def __init__(self, name: str, dtype=...) -> None:
        self.name = name
        self._dtype = dtype

    @property
    def dtype(self):
        if self._dtype is not ...:
            return self._dtype
        if self.name not in STORAGE_NAMES:
            raise KeyError(f'pickle storage type "{self.name}" is not recognized')
        return getattr(_C, STORAGE_NAMES[self.name])

    @property
    def itemsize(self) -> int:
        return 1 if self.dtype is None else self.dtype.itemsize

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


class Lazy:
    """A global whose module is imported only for files that name it."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def get(self):
        return getattr(importlib.import_module(self.module), self.name)


def dtype_name(dtype) -> str:
    """``float32`` of `flambeau.float32`."""
    return str(dtype).removeprefix("torch.")


def _storage_types() -> dict[str, StorageType]:
    found = {}
    for name, dtype in STORAGE_NAMES.items():
        kind = StorageType(name, getattr(_C, dtype))
        found[f"torch.{name}"] = found[f"torch.cuda.{name}"] = kind
    untyped = StorageType("UntypedStorage", None)
    for name in ("torch.UntypedStorage", "torch.storage.UntypedStorage"):
        found[name] = untyped
    return found


STORAGE_TYPES = _storage_types()

# Dtypes and storages of PyTorch that files may name and this build may lack.
_OTHER_DTYPES = (
    "complex32 uint16 uint32 uint64 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float4_e2m1fn_x2 qint8 qint32 quint8 quint4x2 quint2x4 bits8 bits16 bits1x8 "
    "bits2x4 bits4x2 int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7"
).split()


def missing_here(module: str, name: str) -> str | None:
    """What to say of a global of PyTorch's that is data and that this build lacks."""
    if module == "torch" and name in _OTHER_DTYPES:
        return f"the file holds tensors of dtype torch.{name}, which this build does not have"
    if module == "torch" and name.startswith("Q") and name.endswith("Storage"):
        return "the file holds quantized tensors, which this build does not have"
    return None


# A file may say __builtin__ (protocol 2 and Python 2) or builtins.
_BUILTINS = (set, frozenset, list, dict, tuple, int, float, complex, bool, str, bytes, slice)


def plain_globals() -> dict[str, object]:
    """Globals that any file may name and that run no code of ours: types and dtypes."""
    found: dict[str, object] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "collections.defaultdict": defaultdict,
        "torch.Size": Size,
        "torch.device": _C.device,
        "torch.Tensor": _C.Tensor,
        "torch.nn.parameter.Parameter": Lazy("flambeau.nn.parameter", "Parameter"),
        "torch.nn.parameter.Buffer": Lazy("flambeau.nn.parameter", "Buffer"),
        **{f"torch.{name}": kind for name, kind in TYPES.items()},
        **STORAGE_TYPES,
    }
    for kind in _BUILTINS:
        found[f"builtins.{kind.__name__}"] = kind
        found[f"__builtin__.{kind.__name__}"] = kind
    for name in vars(_C):
        value = getattr(_C, name)
        if isinstance(value, _C.dtype | _C.memory_format | _C.layout):
            found[f"torch.{name}"] = value
    return found


# Where PyTorch keeps operators that are not functions of its root; first match of the name.
_OPERATORS = "flambeau._C.ops"
_HOMES = {
    "linalg_": "torch._C._linalg",
    "fft_": "torch._C._fft",
    "special_": "torch._C._special",
    "": "torch._C._nn",
}


def to_torch(module: str, name: str = "") -> str:
    """The module under which PyTorch knows a class or function of `module`."""
    head, dot, rest = module.partition(".")
    if head != "flambeau":
        return module
    if module == _OPERATORS:
        if name in _C._public:
            return "torch"
        return next(home for prefix, home in _HOMES.items() if name.startswith(prefix))
    if rest.startswith("_") and hasattr(importlib.import_module("flambeau"), name or "-"):
        return "torch"  # a function of the root, wherever it is written
    return "torch" + dot + rest if rest != "_C" else "torch"


def to_flambeau(module: str) -> str:
    """The module here that stands for `module` of a file."""
    head, dot, rest = module.partition(".")
    return "flambeau" + dot + rest if head == "torch" else module


def _operator(name):
    """An operator that PyTorch keeps outside its root."""
    if hasattr(_C.ops, name):
        return getattr(_C.ops, name)
    return getattr(importlib.import_module("flambeau.nn.functional"), name)


def import_global(module: str, name: str):
    """The object that a trusted file means by ``module.name``."""
    if module in _HOMES.values():
        return _operator(name)
    if (module, name) == ("torch._C", "_VariableFunctionsClass"):
        # The files then take functions of the root from it.
        return importlib.import_module("flambeau")
    if (module, name) == ("torch._C", "TensorBase"):
        return _C.Tensor
    found = importlib.import_module(to_flambeau(module))
    for part in name.split("."):
        found = getattr(found, part)
    return found
