"""Functions that set options of `save` and `load`, and the ones for a ``with`` block."""

from __future__ import annotations

import enum
import os
import sys
import threading
import warnings

from flambeau import _file_options

# As in the module mmap, which not every platform has.
MAP_SHARED, MAP_PRIVATE = 1, 2


class LoadEndianness(enum.Enum):
    """A byte order."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order that `load` takes for files that do not say theirs."""
    return _file_options.load.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Sets the byte order of files that do not say theirs; None is this machine's.

    Example:
        >>> import flambeau
        >>> flambeau.serialization.set_default_load_endianness(None)
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "set_default_load_endianness: Invalid argument type, expected LoadEndianness or None, "
            f"got {type(endianness).__name__}"
        )
    _file_options.load.endianness = endianness


def default_byte_order() -> str:
    """``little`` or ``big``."""
    order = _file_options.load.endianness or LoadEndianness.NATIVE
    return sys.byteorder if order is LoadEndianness.NATIVE else order.name.lower()


def get_crc32_options() -> bool:
    """Whether `save` writes the CRC of each record."""
    return _file_options.save.compute_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Sets whether `save` writes the CRC of each record.

    Without it `load` cannot find damage in a file, and other programs may refuse to unzip it.
    """
    _file_options.save.compute_crc32 = compute_crc32


def get_default_mmap_options() -> int | None:
    """The flag with which ``load(mmap=True)`` maps files."""
    return _file_options.load.mmap_flags


class set_default_mmap_options:
    """Sets how ``load(mmap=True)`` maps files, for good or for a ``with`` block.

    Args:
        flags: ``mmap.MAP_PRIVATE``, with which writes to the tensors stay in memory, or
            ``mmap.MAP_SHARED``, with which they change the file (and leave its CRCs as they were:
            only another ``load(mmap=True)`` takes it then).
    """

    def __init__(self, flags: int) -> None:
        if sys.platform == "win32":
            raise RuntimeError("set_default_mmap_options: not supported on Windows")
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "set_default_mmap_options: Invalid argument, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self._before = _file_options.load.mmap_flags
        _file_options.load.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc) -> None:
        _file_options.load.mmap_flags = self._before


class _Local(threading.local):
    skip_data = False


_local = _Local()


def data_is_skipped() -> bool:
    """Whether a `skip_data` block is open in this thread."""
    return _local.skip_data


class skip_data:
    """For a ``with`` block: `save` leaves room for the bytes of storages, `load` reads none.

    Args:
        materialize_fake_tensors: accepted; there are no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = _local.skip_data
        _local.skip_data = True

    def __exit__(self, *exc) -> None:
        _local.skip_data = self._before


def _is_set(name: str) -> bool:
    return os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")


def weights_only_of(weights_only: bool | None, pickle_module) -> bool:
    """What `load` does after its arguments and the environment.

    TORCH_FORCE_WEIGHTS_ONLY_LOAD makes every load a restricted one,
    TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD makes those unrestricted that do not say.
    """
    restrict = _is_set("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    trust = _is_set("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if restrict and trust:
        raise RuntimeError(
            "load: Only one of TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD "
            "should be set, but both were set"
        )
    if weights_only is None:
        weights_only = pickle_module is None and not trust
    if restrict:
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "load: Can not safely load weights when explicit pickle_module is specified; leave "
            "pickle_module out, or say weights_only=False if you trust the file"
        )
    return bool(weights_only)


class SourceChangeWarning(Warning):
    """The source of a class is not what it was when the file was written."""


def check_module_version_greater_or_equal(
    module, req_version_tuple, error_if_malformed: bool = True
) -> bool:
    """Whether ``module.__version__`` is at least ``req_version_tuple``."""
    try:
        parts = module.__version__.split(".")
        found = tuple(type(r)(parts[i]) for i, r in enumerate(req_version_tuple))
        return found >= req_version_tuple
    except Exception as e:
        message = (
            f"the version string {module.__version__!r} of module '{module.__name__}' is malformed "
            f"and cannot be compared with {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from e
        warnings.warn(message + "; it is taken to be enough", stacklevel=2)
        return True
