"""Typed storages: `TypedStorage`, and the classes `FloatStorage`, `LongStorage` … by dtype.

PyTorch has them for old programs and files; new code uses `UntypedStorage`.
"""

from __future__ import annotations

import collections.abc
import warnings
from typing import Any

from . import _C
from ._untyped import _CASTS, UntypedStorage, map_file, tensor_over

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
_NAMES_BY_DTYPE = {getattr(_C, dtype): name for name, dtype in STORAGE_NAMES.items()}

_warned = False


def _warn(level: int = 3) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "TypedStorage is deprecated: use tensor.untyped_storage() for the memory of a tensor",
            UserWarning,
            stacklevel=level,
        )


def _is_size(value) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


class TypedStorage:
    """A storage whose elements have a dtype.

    Args:
        *args: nothing, a number of elements, or a sequence of values.
        device: where the memory is.
        dtype: of the elements; the default dtype unless given.
        wrap_storage: an `UntypedStorage` to use.

    Example:
        >>> import flambeau
        >>> flambeau.TypedStorage([1, 2], dtype=flambeau.int16).nbytes()
        4
    """

    is_sparse = False
    dtype: Any = None
    _untyped_storage: Any

    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if not _internal:
            _warn()
        if cls is TypedStorage:
            return super().__new__(cls)
        # The classes by dtype only make typed storages.
        if cls.dtype is None:
            raise RuntimeError("Only child classes of _LegacyStorage can be instantiated")
        what = f"{cls}.__new__ received an invalid combination of arguments"
        if device is not None or dtype is not None:
            raise RuntimeError(f"{what}: 'device' and 'dtype' cannot be specified")
        if len(args) > (wrap_storage is None):
            raise RuntimeError(f"{what}: at most one of a size, a sequence and 'wrap_storage'")
        if wrap_storage is not None and wrap_storage.device.type != "cpu":
            raise RuntimeError(f"{what}: 'wrap_storage' is on {wrap_storage.device}, not on cpu")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype, _internal=True)

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False) -> None:
        what = "TypedStorage.__init__ received an invalid combination of arguments"
        if len(args) > (wrap_storage is None):
            raise RuntimeError(f"{what}: at most one of a size, a sequence and 'wrap_storage'")
        if wrap_storage is not None:
            if dtype is None or device is not None:
                raise RuntimeError(f"{what}: 'wrap_storage' needs 'dtype' and no 'device'")
            if not isinstance(dtype, _C.dtype):
                raise TypeError(f"{what}: 'dtype' must be torch.dtype, not {type(dtype)}")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    f"{what}: 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
                )
            self.dtype, self._untyped_storage = dtype, wrap_storage
            return
        self.dtype = _C.get_default_dtype() if dtype is None else dtype
        device = _C.device("cpu" if device is None else device)
        if not args:
            self._untyped_storage = UntypedStorage(0, device=device)
        elif _is_size(args[0]):
            nbytes = int(args[0]) * self.dtype.itemsize
            self._untyped_storage = UntypedStorage(nbytes, device=device)
        elif isinstance(args[0], collections.abc.Sequence):
            t = _C._from_sequence(args[0], self.dtype)
            self._untyped_storage = t.to(device).untyped_storage()
        else:
            raise TypeError(f"{what}: argument type not recognized: {type(args[0])}")

    # -- what it is --

    @property
    def _dtype(self):
        return self.dtype

    @property
    def _dtype_or_none(self):
        return self.dtype

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def filename(self):
        """The mapped file's name, if the storage is over one."""
        return self._untyped_storage.filename

    is_cuda = property(lambda self: False)
    is_hpu = property(lambda self: False)

    def untyped(self):
        """The storage without the dtype."""
        return self._untyped_storage

    def size(self):
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = _size = size

    def nbytes(self):
        return self._untyped_storage.nbytes()

    _nbytes = nbytes

    def element_size(self):
        return self.dtype.itemsize

    _element_size = element_size

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr

    def get_device(self):
        return self._untyped_storage.get_device()

    def resizable(self):
        return self._untyped_storage.resizable()

    def is_pinned(self, device=None):
        return self._untyped_storage.is_pinned(device)

    def is_shared(self):
        return self._untyped_storage.is_shared()

    _is_shared = is_shared

    def pickle_storage_type(self):
        """The name of the class by dtype, ``FloatStorage`` for float32."""
        if self.dtype not in _NAMES_BY_DTYPE:
            raise KeyError(f"dtype {self.dtype} is not recognized")
        return _NAMES_BY_DTYPE[self.dtype]

    _pickle_storage_type = pickle_storage_type

    def _get_legacy_storage_class(self):
        return LEGACY.get(_NAMES_BY_DTYPE.get(self.dtype, ""))

    # -- elements --

    def _tensor(self):
        return tensor_over(self._untyped_storage, self.dtype)

    def _check_index(self, index, *kinds) -> None:
        if not isinstance(index, (int, *kinds)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if isinstance(index, int) and not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")

    def __getitem__(self, index):
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        self._check_index(index)
        return self._tensor()[index].item()

    _getitem = __getitem__

    def __setitem__(self, index, value):
        if isinstance(value, TypedStorage | UntypedStorage):
            raise RuntimeError(f"cannot set item with value type {type(value)}")
        self._check_index(index, slice)
        self._tensor()[index] = value

    _setitem = __setitem__

    def fill_(self, value):
        """Sets every element to ``value``."""
        self._tensor().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies the bytes of a storage of the same size."""
        self._untyped_storage.copy_(source)
        return self

    def tolist(self):
        """The elements as a list."""
        return self._tensor().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __str__(self):
        info = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {self.size()}]"
        )
        if self.device.type == "meta":
            return "...\n" + info
        return " " + "\n ".join(map(str, self.tolist())) + "\n" + info

    __repr__ = __str__

    def __eq__(self, other):
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self._cdata == other._cdata and self.dtype == other.dtype

    def __hash__(self):
        return hash(self._cdata)

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    # -- others like it --

    def _new_wrapped_storage(self, untyped):
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    def new(self):
        """An empty storage of the same dtype."""
        return self._new_wrapped_storage(self._untyped_storage.new())

    def clone(self):
        """A copy of this storage."""
        return self._new_wrapped_storage(self._untyped_storage.clone())

    __copy__ = clone

    def __deepcopy__(self, memo):
        return self._new_wrapped_storage(self._untyped_storage.__deepcopy__(memo))

    _deepcopy = __deepcopy__

    def __reduce__(self):
        return _wrap, (self._untyped_storage, self.dtype)

    def cpu(self):
        return self._new_wrapped_storage(self._untyped_storage.cpu())

    def to(self, *, device, non_blocking=False):
        """This storage on ``device``."""
        return self._new_wrapped_storage(self._untyped_storage.to(device=device))

    def cuda(self, device=None, non_blocking=False):
        return self._new_wrapped_storage(self._untyped_storage.cuda(device))

    def pin_memory(self, device=None):
        return self._new_wrapped_storage(self._untyped_storage.pin_memory(device))

    def share_memory_(self):
        """Moves the memory to where other processes reach it."""
        self._untyped_storage.share_memory_()
        return self

    _share_memory_ = share_memory_

    def resize_(self, size):
        """Changes the number of elements."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    _resize_ = resize_

    def type(self, dtype=None, non_blocking=False):
        """The name of the class by dtype, or the elements cast to ``dtype``."""
        if dtype is None:
            kind = self._get_legacy_storage_class()
            return "torch.storage.TypedStorage" if kind is None else f"torch.{kind.__name__}"
        if isinstance(dtype, str):
            dtype = LEGACY.get(dtype.rpartition(".")[2])
        wanted = dtype if isinstance(dtype, _C.dtype) else getattr(dtype, "dtype", None)
        if not isinstance(wanted, _C.dtype):
            raise TypeError(f"type: expected a storage class, its name or a dtype, got {dtype!r}")
        return self if wanted == self.dtype else self._to(wanted)

    def _to(self, dtype):
        if not isinstance(dtype, _C.dtype):
            raise TypeError(f"Argument 'dtype' must be torch.dtype, not {type(dtype)}")
        t = self._tensor()
        return typed(t.clone() if dtype == self.dtype else t.to(dtype))

    def _write_file(self, *args):
        return self._untyped_storage._write_file(*args)

    def _new_shared(self, size, *, device=None):
        """A storage of the same dtype that child processes share."""
        return _wrap(UntypedStorage._new_shared(size * self.dtype.itemsize), self.dtype)

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        """A storage of elements copied from a buffer; see `UntypedStorage.from_buffer`."""
        if cls is not TypedStorage and (dtype is not None or device is not None):
            raise RuntimeError(
                "from_buffer: 'dtype' and 'device' can only be specified in UntypedStorage's and "
                "TypedStorage's from_buffer"
            )
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(f"TypedStorage.from_buffer: Not available for device {device}")
        dtype = cls.dtype or dtype or _C.get_default_dtype()
        return _wrap(UntypedStorage.from_buffer(*args, dtype=dtype, **kwargs), dtype)

    _from_buffer = from_buffer

    @classmethod
    def from_file(cls, filename, shared=False, size=0):
        """A storage of ``size`` elements over a mapped file; see `UntypedStorage.from_file`."""
        if cls is TypedStorage:
            raise RuntimeError("from_file can only be called on derived classes")
        return _wrap(map_file(filename, size * cls.dtype.itemsize, bool(shared)), cls.dtype)


def _wrap(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


def typed(t):
    """The storage of a tensor with the tensor's dtype."""
    return _wrap(t.untyped_storage(), t.dtype)


def _cast(name: str, dtype):
    def cast(self):
        return self._to(dtype)

    cast.__name__, cast.__doc__ = name, f"The elements as {dtype}, in a storage of their own."
    return cast


for _name, _dtype in _CASTS.items():
    setattr(TypedStorage, _name, _cast(_name, _dtype))
TypedStorage.__module__ = "torch.storage"


class _LegacyStorageMeta(type):
    def __instancecheck__(cls, instance):
        if type(instance) is not TypedStorage or instance.device.type != "cpu":
            return False
        return cls.dtype is None or cls.dtype == instance.dtype


class _LegacyStorage(TypedStorage, metaclass=_LegacyStorageMeta):
    """Base of the classes by dtype."""

    @classmethod
    def _new_shared(cls, size):  # type: ignore[override]
        """A storage that child processes share."""
        return _wrap(UntypedStorage._new_shared(size * cls.dtype.itemsize), cls.dtype)


_LegacyStorage.__module__ = "torch.storage"
LEGACY: dict[str, type] = {
    name: _LegacyStorageMeta(
        name,
        (_LegacyStorage,),
        {
            "__module__": "torch",
            "__doc__": f"Storages of {dtype} on the CPU.",
            "dtype": getattr(_C, dtype),
            "_dtype": getattr(_C, dtype),
        },
    )
    for name, dtype in STORAGE_NAMES.items()
}
