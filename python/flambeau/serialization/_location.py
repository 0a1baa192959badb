"""Where storages go: tags of devices, the registry of packages, and `map_location`."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from flambeau import _C
from flambeau._storage import LEGACY, TypedStorage
from flambeau._untyped import UntypedStorage

from ._options import data_is_skipped

_registry: list[tuple[int, Callable, Callable]] = []


def register_package(priority: int, tagger: Callable, deserializer: Callable) -> None:
    """Adds a kind of device to `save` and `load`.

    Args:
        priority: the lowest is asked first.
        tagger: function of a storage: the tag to save it with, or None for the next one to say.
        deserializer: function of a storage and its tag: the storage on the device, or None.

    Example:
        >>> import flambeau
        >>> def tag(storage):
        ...     return "ipu" if storage.device.type == "ipu" else None
        >>> def restore(storage, location):
        ...     return storage if location == "ipu" else None
        >>> flambeau.serialization.register_package(50, tag, restore)
        >>> flambeau.serialization.default_restore_location(
        ...     flambeau.UntypedStorage(2), "ipu"
        ... ).nbytes()
        2
    """
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def _tag_of(kind: str) -> Callable:
    def tag(storage):
        device = storage.device
        if device.type != kind:
            return None
        return kind if device.index is None or kind in ("cpu", "meta") else str(device)

    return tag


def _keep_on_cpu(storage, location: str):
    return storage if location == "cpu" else None


def _move_to_meta(storage, location: str):
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _validate(location, kind: str):
    """The index of a device; there is none of another kind than the CPU."""
    module = getattr(importlib.import_module("flambeau"), kind, None)
    if module is None or not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}."
            "is_available() is False. If you are running on a CPU-only machine, please use "
            "torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    index = _C.device(location).index or 0
    if index >= module.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on {kind.upper()} device {index} but torch.{kind}."
            f"device_count() is {module.device_count()}. Please use torch.load with map_location "
            "to map your storages to an existing device."
        )
    return index


def validate_cuda_device(location) -> int:
    """The index of a CUDA device; an error where there is none."""
    return _validate(location, "cuda")


def validate_hpu_device(location) -> int:
    """The index of an HPU device; an error where there is none."""
    return _validate(location, "hpu")


def _refuse_device(kind: str) -> Callable:
    def restore(storage, location: str):
        if location == kind or location.startswith(kind + ":"):
            _validate(location, kind)
            return storage.to(device=location)
        return None

    return restore


register_package(10, _tag_of("cpu"), _keep_on_cpu)
register_package(20, _tag_of("cuda"), _refuse_device("cuda"))
register_package(21, _tag_of("mps"), _refuse_device("mps"))
register_package(22, _tag_of("meta"), _move_to_meta)
for _priority, _kind in ((24, "hpu"), (25, "xpu"), (26, "mtia")):
    register_package(_priority, _tag_of(_kind), _refuse_device(_kind))


def location_tag(storage) -> str:
    """The tag with which `save` notes where ``storage`` is."""
    for _, tagger, _ in _registry:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage, location: str):
    """``storage``, or one in place of it, where ``location`` says."""
    for _, _, deserializer in _registry:
        placed = deserializer(storage, location)
        if placed is not None:
            return placed
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        f"{location[:80]})"
    )


def normalize_storage_type(storage_type):
    """The class by dtype in the module of this package."""
    return LEGACY.get(storage_type.__name__) or getattr(
        importlib.import_module("flambeau"), storage_type.__name__
    )


def storage_to_tensor_type(storage):
    """The tensor type (`FloatTensor` …) of a typed storage."""
    name = storage.pickle_storage_type().replace("Storage", "Tensor")
    return getattr(importlib.import_module("flambeau"), name)


class Placement:
    """`map_location`, applied to storages."""

    def __init__(self, map_location) -> None:
        self._function = self._names = self._device = None
        if isinstance(map_location, dict):
            self._names = map_location
        elif isinstance(map_location, str | _C.device):
            self._device = str(map_location)
        elif callable(map_location):
            self._function = map_location
        elif map_location is not None:
            raise TypeError(
                "load: map_location must be None, a device, a string, a dict or a function, got "
                f"{type(map_location).__name__}"
            )

    def _target(self, location: str) -> str:
        if self._device is not None:
            return self._device
        if self._names is not None:
            return str(self._names.get(location, location))
        return location

    def reads(self, location: str) -> bool:
        """False where the bytes of a storage are not needed."""
        if data_is_skipped():
            return False
        return self._function is not None or self._target(location) != "meta"

    def place(self, storage, location: str):
        """The storage to use for one saved at ``location``."""
        placed = None if self._function is None else self._function(storage, location)
        if placed is None:
            placed = default_restore_location(storage, self._target(location))
        if isinstance(placed, TypedStorage):
            placed = placed.untyped()
        if not isinstance(placed, UntypedStorage):
            raise TypeError(
                f"load: map_location must return a storage or None, got {type(placed).__name__}"
            )
        return placed
