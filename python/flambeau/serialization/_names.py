"""Names of storages and globals in PyTorch's files, and what they stand for here."""

from __future__ import annotations

import importlib
from collections import Counter, OrderedDict, defaultdict

from flambeau import _C
from flambeau._size import Size

STORAGE_NAMES = {
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
STORAGE_OF_DTYPE = {dtype: name for name, dtype in STORAGE_NAMES.items()}


class StorageType:
    """Stands for `torch.FloatStorage` and its like in a file; `dtype` None: untyped bytes."""

    __slots__ = ("name", "dtype")

    def __init__(self, name: str, dtype) -> None:
        self.name = name
        self.dtype = dtype

    @property
    def itemsize(self) -> int:
        return 1 if self.dtype is None else self.dtype.itemsize


def dtype_name(dtype) -> str:
    """``float32`` of `flambeau.float32`."""
    return str(dtype).removeprefix("torch.")


def _storage_types() -> dict[str, StorageType]:
    found = {
        f"torch.{name}": StorageType(name, getattr(_C, dtype))
        for name, dtype in STORAGE_NAMES.items()
    }
    for name in ("torch.UntypedStorage", "torch.storage.UntypedStorage"):
        found[name] = StorageType("UntypedStorage", None)
    return found


STORAGE_TYPES = _storage_types()

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
        "torch.strided": _C.strided,
        "torch.Tensor": _C.Tensor,
        **STORAGE_TYPES,
    }
    for kind in _BUILTINS:
        found[f"builtins.{kind.__name__}"] = kind
        found[f"__builtin__.{kind.__name__}"] = kind
    for name in vars(_C):
        value = getattr(_C, name)
        if isinstance(value, _C.dtype | _C.memory_format):
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
