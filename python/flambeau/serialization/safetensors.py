"""The safetensors format: tensors by name and nothing else, read and written without a package.

A file is the length of the header in 8 bytes, the header in JSON (dtype, shape and place of each
tensor, and texts under ``__metadata__``), and the bytes of the tensors without a gap.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import sys
from typing import Any

from flambeau import _C
from flambeau._pickle import with_memory
from flambeau._untyped import swap_bytes

from ._save import replacing

__all__ = ["SafeFile", "load", "load_file", "save", "save_file"]

_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool", "C64": "complex64", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_MAX_HEADER = 100_000_000
_METADATA = "__metadata__"


def _error(problem: str) -> RuntimeError:
    return RuntimeError(f"safetensors: {problem}")


# ---- writing ------------------------------------------------------------------------------------


def _layout(tensors: dict, metadata: dict | None) -> tuple[bytes, list]:
    """(header with its length, tensors in the order of their bytes)."""
    if not isinstance(tensors, dict):
        raise ValueError(f"save: expected a dict of tensors, got {type(tensors).__name__}")
    for name, t in tensors.items():
        if not isinstance(name, str) or name == _METADATA:
            raise ValueError(f"save: expected names of tensors, got {name!r:.80}")
        if not isinstance(t, _C.Tensor):
            raise ValueError(f"save: '{name}' is a {type(t).__name__}, expected a tensor")
        if str(t.dtype).removeprefix("torch.") not in _NAMES:
            raise ValueError(f"save: '{name}' has dtype {t.dtype}, which the format lacks")
        if t.device.type == "meta" or t.layout is not _C.strided:
            raise ValueError(f"save: '{name}' is on meta or sparse; the format holds dense data")
    # Wide elements first, so that all of them are aligned.
    order = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict = {}
    if metadata is not None:
        if not all(isinstance(x, str) for pair in metadata.items() for x in pair):
            raise ValueError("save: metadata must map texts to texts")
        header[_METADATA] = metadata
    position = 0
    for name, t in order:
        end = position + t.numel() * t.dtype.itemsize
        header[name] = {
            "dtype": _NAMES[str(t.dtype).removeprefix("torch.")],
            "shape": list(t.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _MAX_HEADER:
        raise ValueError(
            f"save: the names and shapes take {len(text)} bytes, at most {_MAX_HEADER}"
        )
    return len(text).to_bytes(8, "little") + text, [t for _, t in order]


def _bytes_of(t):
    t = with_memory(t.detach()).contiguous()
    start = t.storage_offset() * t.dtype.itemsize
    size = t.numel() * t.dtype.itemsize
    if sys.byteorder == "big":
        copy = t.clone().untyped_storage()
        copy.byteswap(t.dtype)
        return memoryview(copy)
    return memoryview(t.untyped_storage())[start : start + size]


def save_file(tensors: dict, filename, metadata: dict | None = None) -> None:
    """Writes tensors to a file, at once or not at all.

    Args:
        tensors: dict of names and tensors. Each is written whole: memory that tensors share is not
            shared after loading.
        filename: path of the file.
        metadata: texts by name to keep with them.

    Example: see `load`.
    """
    header, order = _layout(tensors, metadata)
    with replacing(os.fspath(filename)) as file:
        file.write(header)
        for t in order:
            file.write(_bytes_of(t))


def save(tensors: dict, metadata: dict | None = None) -> bytes:
    """As `save_file`, to bytes."""
    header, order = _layout(tensors, metadata)
    return b"".join([header, *(bytes(_bytes_of(t)) for t in order)])


# ---- reading ------------------------------------------------------------------------------------


def _pairs(pairs: list) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice")
    return found


def _refuse_constant(text: str):
    raise ValueError(f"{text} is no number of JSON")


class _Entry:
    """Where a tensor is."""

    __slots__ = ("dtype", "shape", "start", "stop")
    dtype: Any

    def __init__(self, name: str, described, available: int) -> None:
        fields = {"dtype", "shape", "data_offsets"}
        if not isinstance(described, dict) or set(described) != fields:
            raise _error(f"the entry of {name[:80]!r} is damaged")
        kind = described["dtype"]
        if not isinstance(kind, str) or kind not in _DTYPES:
            raise _error(f"{name[:80]!r} has the unknown dtype {str(kind)[:40]!r}")
        self.dtype = getattr(_C, _DTYPES[kind], None)
        if self.dtype is None:
            raise _error(f"{name[:80]!r} has the dtype {kind}, which this build does not have")
        self.shape = _whole_numbers(name, described["shape"], 64)
        offsets = _whole_numbers(name, described["data_offsets"], 2)
        count = self.dtype.itemsize
        for n in self.shape:
            count *= n
        if len(offsets) != 2 or offsets[1] - offsets[0] != count or offsets[1] > available:
            raise _error(
                f"the place of {name[:80]!r} does not fit its shape, or the file is cut off"
            )
        self.start, self.stop = offsets


def _whole_numbers(name: str, values, at_most: int) -> tuple[int, ...]:
    if not isinstance(values, list) or len(values) > at_most:
        raise _error(f"the entry of {name[:80]!r} is damaged")
    if any(type(v) is not int or not 0 <= v < 1 << 62 for v in values):
        raise _error(f"the entry of {name[:80]!r} is damaged")
    return tuple(values)


def _parse(view: memoryview) -> tuple[dict[str, _Entry], dict[str, str], int]:
    """(entries, metadata, where the data begins) of a whole file."""
    if view.nbytes < 8:
        raise _error(f"the file has {view.nbytes} bytes, it is cut off")
    length = int.from_bytes(view[:8], "little")
    if length > min(_MAX_HEADER, view.nbytes - 8):
        raise _error(f"the header has {length} bytes: the file is cut off or another kind of file")
    try:
        header = json.loads(
            bytes(view[8 : 8 + length]).decode(),
            object_pairs_hook=_pairs,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as e:
        raise _error(f"the header is damaged ({str(e)[:100]})") from None
    if not isinstance(header, dict):
        raise _error("the header is damaged")
    metadata = header.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _error("the metadata are damaged")
    available = view.nbytes - 8 - length
    entries = {name: _Entry(name, described, available) for name, described in header.items()}
    position = 0
    for entry in sorted(entries.values(), key=lambda e: (e.start, e.stop)):
        if entry.start != position:
            raise _error("there is a gap between tensors, or they lie on each other")
        position = entry.stop
    if position != available:
        raise _error(f"the tensors take {position} bytes, the file has {available}")
    return entries, metadata, 8 + length


def _tensor(entry: _Entry, data: memoryview, share: bool, device):
    part = data[entry.start : entry.stop]
    strides: list[int] = []
    step = 1
    for n in reversed(entry.shape):
        strides.insert(0, step)
        step *= max(n, 1)
    aligned = entry.start % entry.dtype.itemsize == 0
    if share and part.nbytes and aligned and sys.byteorder == "little":
        storage = _C._from_buffer(part).untyped_storage()
    else:
        storage = _C.UntypedStorage(part.nbytes)
        memoryview(storage)[:] = part
        if sys.byteorder == "big":
            halves = 2 if entry.dtype.is_complex else 1
            swap_bytes(storage, entry.dtype.itemsize // halves)
    t = _C._tensor_from_storage(storage, entry.dtype, 0, entry.shape, tuple(strides))
    return t.to(device=device)


class SafeFile:
    """A safetensors file whose tensors are read one by one.

    Args:
        filename: path of the file, which is mapped into memory.
        device: where the tensors go.

    Example:
        >>> import flambeau, os, tempfile
        >>> from flambeau.serialization import safetensors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "a.safetensors")
        ...     safetensors.save_file({"w": flambeau.ones(2)}, path, {"by": "me"})
        ...     with safetensors.SafeFile(path) as file:
        ...         file.keys(), file.metadata(), file.get_tensor("w")
        (['w'], {'by': 'me'}, tensor([1., 1.]))
    """

    def __init__(self, filename, device="cpu") -> None:
        self._device = device
        with open(filename, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise _error("the file is empty")
            # Tensors over it may be written to; the file stays as it is.
            self._map = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        self._entries, self._metadata, start = _parse(self._map)
        # An odd header puts all tensors at odd addresses.
        self._data, self._share = self._map[start:], start % 8 == 0

    def keys(self) -> list[str]:
        """The names of the tensors, in the order of the alphabet."""
        return sorted(self._entries)

    def metadata(self) -> dict[str, str] | None:
        """The texts that are with the tensors."""
        return self._metadata or None

    def get_tensor(self, name: str):
        """The tensor of a name; its memory is the file's until it is written to."""
        if name not in self._entries:
            raise _error(f"there is no tensor {name!r:.80}")
        return _tensor(self._entries[name], self._data, self._share, self._device)

    def __enter__(self) -> SafeFile:
        return self

    def __exit__(self, *exc) -> None:
        with contextlib.suppress(BufferError):  # tensors over it keep it
            self._data.release()
            self._map.release()


def load_file(filename, device="cpu") -> dict:
    """The tensors of a file by name.

    Args:
        filename: path of the file.
        device: where the tensors go.
    """
    file = SafeFile(filename, device)
    return {name: file.get_tensor(name) for name in file.keys()}


def load(data: bytes) -> dict:
    """The tensors in the bytes of a file.

    Example:
        >>> import flambeau
        >>> from flambeau.serialization import safetensors
        >>> data = safetensors.save({"w": flambeau.ones(2)})
        >>> safetensors.load(data)
        {'w': tensor([1., 1.])}

    Raises:
        RuntimeError: the bytes are not those of a sound file.
    """
    view = memoryview(data).cast("B")
    entries, _, start = _parse(view)
    return {name: _tensor(entries[name], view[start:], False, "cpu") for name in sorted(entries)}
