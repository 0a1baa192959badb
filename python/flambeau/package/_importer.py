"""`PackageImporter`: the resources of an archive, and an import system for the modules in it.

Modules of the archive live beside those of the process, under a prefix of their own. Their code
runs when they are imported, and unpickling imports what the pickle names; nothing runs on opening.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import io
import itertools
import linecache
import os
import pickle
import types
from collections.abc import Callable

from flambeau._untyped import UntypedStorage
from flambeau.serialization._archive import ArchiveReader
from flambeau.serialization._location import Placement
from flambeau.serialization._names import STORAGE_TYPES, import_global
from flambeau.serialization._rebuild import REBUILD
from flambeau.serialization._unpickle import Reading, meta_storage, storage_id, with_kind

_numbers = itertools.count()
# What every archive may import besides the modules that it lists.
_ALWAYS = ("builtins", "numpy", "torch")


def is_from_package(obj) -> bool:
    """Whether an object, class or module comes from an archive."""
    if isinstance(obj, types.ModuleType):
        name = obj.__name__
    else:
        name = (obj if isinstance(obj, type) else type(obj)).__module__
    return name.startswith("<torch_package_")


class PackageImporter:
    """An archive that `torch.package.PackageExporter` wrote.

    Args:
        file_or_buffer: path of the archive, or a binary file object.
        module_allowed: function of the name of a module outside the archive that says whether the
            archive's code may import it.

    `load_pickle` and `import_module` run code of the archive: only for archives that you trust.
    Resources are ``(package, resource)``: the file ``resource`` in the folder ``package``.
    """

    def __init__(
        self, file_or_buffer, module_allowed: Callable[[str], bool] = lambda name: True
    ) -> None:
        is_path = isinstance(file_or_buffer, str | os.PathLike)
        self.filename = os.fspath(file_or_buffer) if is_path else "<binary>"
        file = open(file_or_buffer, "rb") if is_path else file_or_buffer
        self._archive = ArchiveReader(file, f"'{self.filename}'")
        self._names = self._archive.names()
        self._id = f"<torch_package_{next(_numbers)}>"
        self._modules: dict[str, types.ModuleType] = {}
        self._reduced: dict = {}
        self._outside = self._read_text_or("", ".data/extern_modules").split()
        for name in self._outside:
            if not module_allowed(name):
                raise ImportError(
                    f"package '{self.filename}' needs the external module '{name}' but that module "
                    "has been disallowed"
                )

    def _read_text_or(self, default: str, name: str) -> str:
        return self._archive.read(name).decode() if name in self._archive else default

    # -- resources --

    def _path(self, package: str, resource: str) -> str:
        if os.path.basename(resource) != resource or not resource:
            raise ValueError(f"expected the name of a file without folders, got {resource!r}")
        return f"{package.replace('.', '/')}/{resource}" if package else resource

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a resource."""
        return self._archive.read(self._path(package, resource))

    def load_text(
        self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict"
    ) -> str:
        """The text of a resource."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(
        self, package: str, resource: str, map_location=None, *, weights_only: bool = False
    ):
        """The object of a pickle.

        Args:
            package, resource: where it is.
            map_location: as of `load`.
            weights_only: True refuses all but tensors and plain data, and runs no code. PyTorch has
                no such argument; there, unpickling runs whatever the archive says.
        """
        data = io.BytesIO(self.load_binary(package, resource))
        place = Placement(map_location)
        storages: dict[tuple, object] = {}

        def persistent_load(pid):
            if not weights_only and isinstance(pid, tuple) and pid[:1] == ("reduce_package",):
                return self._reduce(*pid[1:])
            if isinstance(pid, tuple) and len(pid) == 5 and isinstance(pid[2], int):
                pid = (*pid[:2], str(pid[2]), *pid[3:])
            kind, key, location, count = storage_id(pid, 5)
            if (key, kind.name) not in storages:
                untyped = self._storage(key, count * kind.itemsize, place, location)
                storages[key, kind.name] = with_kind(untyped, kind)
            return storages[key, kind.name]

        if weights_only:
            return Reading(False).unpickle(data, persistent_load)
        return _Unpickler(data, self, persistent_load).load()

    def _storage(self, key: str, nbytes: int, place: Placement, location: str):
        name = f".data/{key}.storage"
        size = self._archive.size(name)
        if size < nbytes:
            raise self._archive.error(f"the record '{name}' has {size} of {nbytes} bytes")
        if not place.reads(location):
            return place.place(meta_storage(size), location)
        if self._archive.is_stored(name):
            self._archive.locate(name)
        storage = UntypedStorage(size)
        self._archive.read_into(name, memoryview(storage))
        return place.place(storage, location)

    def _reduce(self, id, function, args):
        if id not in self._reduced:
            self._reduced[id] = function(self, *args)
        return self._reduced[id]

    # -- about the archive --

    def id(self) -> str:
        """The prefix of the names of its modules."""
        return self._id

    def python_version(self) -> str | None:
        """The version of Python that wrote the archive."""
        return self._read_text_or("", ".data/python_version").strip() or None

    def file_names(self) -> list[str]:
        """The names of all files in the archive."""
        return sorted(self._names)

    def get_source(self, module_name: str) -> str:
        """The source of a module of the archive."""
        path = self._source_path(module_name)
        if path is None:
            raise ModuleNotFoundError(f"no module '{module_name}' in '{self.filename}'")
        return self._archive.read(path).decode()

    # -- modules --

    def _source_path(self, name: str) -> str | None:
        base = name.replace(".", "/")
        for path in (f"{base}/__init__.py", f"{base}.py"):
            if path in self._archive:
                return path
        return None

    def _is_outside(self, name: str) -> bool:
        parents = [name, *_parents(name)]
        return any(p in self._outside or p in _ALWAYS for p in parents)

    def import_module(self, name: str, package: str | None = None) -> types.ModuleType:
        """A module of the archive, or one of those outside that it lists.

        Args:
            name: full name, or one with leading dots.
            package: what leading dots are relative to.
        """
        if name.startswith("."):
            name = importlib.util.resolve_name(name, package)  # type: ignore[arg-type]
        if name not in self._modules:
            parent, _, last = name.rpartition(".")
            above = self.import_module(parent) if parent else None
            if name not in self._modules:  # the parent's code may have imported it
                self._modules[name] = self._find(name)
            if above is not None and parent in self._modules and not self._is_outside(parent):
                setattr(above, last, self._modules[name])
        return self._modules[name]

    def _find(self, name: str) -> types.ModuleType:
        path = self._source_path(name)
        folder = name.replace(".", "/") + "/"
        if path is None and self._is_outside(name):
            if name.partition(".")[0] == "torch":
                return _torch(name)
            return importlib.import_module(name)
        if path is None and not any(n.startswith(folder) for n in self._names):
            raise ModuleNotFoundError(
                f"No module named '{name}' in self-contained archive '{self.filename}' and the "
                f"module is also not in the list of allowed external modules: {self._outside}",
                name=name,
            )
        return self._make(name, path)

    def _make(self, name: str, path: str | None) -> types.ModuleType:
        module = types.ModuleType(f"{self._id}.{name}")
        is_package = path is None or path.endswith("/__init__.py")
        module.__package__ = module.__name__ if is_package else module.__name__.rpartition(".")[0]
        module.__file__ = f"{self._id}.{(path or name).replace('/', '.')}"
        if is_package:
            module.__path__ = []
        # Its imports go through this importer.
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        module.__dict__["__torch_package__"] = True
        if path is None:
            return module
        source = self._archive.read(path).decode()
        # For tracebacks and inspect.
        lines = source.splitlines(keepends=True)
        linecache.cache[module.__file__] = (len(source), None, lines, module.__file__)
        self._modules[name] = module
        try:
            exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
        except BaseException:
            del self._modules[name]
            raise
        return module

    def _import(self, name, globals=None, locals=None, fromlist=(), level=0):
        if level:
            package = (globals or {}).get("__package__", "").removeprefix(self._id + ".")
            name = importlib.util.resolve_name("." * level + name, package)
        module = self.import_module(name)
        if not fromlist:
            # ``import a.b`` binds ``a``.
            return module if level else self.import_module(name.partition(".")[0])
        for item in fromlist:
            if item != "*" and not hasattr(module, item) and not self._is_outside(name):
                self.import_module(f"{name}.{item}")
        return module


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(len(parts) - 1, 0, -1)]


def _torch(name: str) -> types.ModuleType:
    return importlib.import_module("flambeau" + name.removeprefix("torch"))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, importer: PackageImporter, persistent_load) -> None:
        super().__init__(file)
        self._importer = importer
        self._load_storage = persistent_load

    def persistent_load(self, pid):
        return self._load_storage(pid)

    def find_class(self, module: str, name: str):
        full = f"{module}.{name}"
        if full in REBUILD:
            return REBUILD[full].call
        if full in STORAGE_TYPES:
            return STORAGE_TYPES[full]
        if module.partition(".")[0] == "torch":
            return import_global(module, name)
        found = self._importer.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
