"""Makes `import torch` mean flambeau in this process (`flambeau run`).

A finder at the front of `sys.meta_path` answers for ``torch`` and everything below it with the very
module object of flambeau, so a class has one identity under both names. An installed PyTorch is
never reached. `importlib.metadata` sees a distribution ``torch`` of the version we follow.
Processes that `multiprocessing` starts by "spawn" or "forkserver" have the alias, too.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import Any

from ._import_hooks import after_import

_ALIAS = "torch"


def _mirrored(name: str) -> str:
    return "flambeau" + name.removeprefix(_ALIAS)


class TorchFinder:
    """Meta-path finder and loader for the alias."""

    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:
        if fullname != _ALIAS and not fullname.startswith(_ALIAS + "."):
            return None
        try:
            original = importlib.util.find_spec(_mirrored(fullname))
        except ModuleNotFoundError:
            return None
        if original is None:
            return None
        loader: Any = self  # by its methods; importlib.abc is slow to import
        spec = ModuleSpec(fullname, loader, origin=original.origin)
        spec.submodule_search_locations = original.submodule_search_locations
        spec.has_location = original.has_location
        return spec

    def create_module(self, spec: ModuleSpec):
        module = importlib.import_module(_mirrored(spec.name))
        # The import system is about to put the alias's spec on the module.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module) -> None:
        module.__spec__ = module.__spec__.loader_state
        # Modules whose name in their package is a function's (nn.utils.weight_norm) are found at
        # once: importing them would put them in the function's place.
        for name, loaded in list(sys.modules.items()):
            package, _, attribute = name.rpartition(".")
            if name.startswith("flambeau.") and package in sys.modules:
                if vars(sys.modules[package]).get(attribute, loaded) is not loaded:
                    sys.modules.setdefault(_ALIAS + name.removeprefix("flambeau"), loaded)

    def get_code(self, fullname: str):
        original = importlib.util.find_spec(_mirrored(fullname))
        return original.loader.get_code(original.name)  # type: ignore[union-attr]

    def is_package(self, fullname: str) -> bool:
        original = importlib.util.find_spec(_mirrored(fullname))
        return original is not None and original.submodule_search_locations is not None

    def find_distributions(self, context=None):
        """The hook of `importlib.metadata`."""
        from ._alias_metadata import TorchDistribution  # importlib.metadata is slow to import

        name = getattr(context, "name", None)
        if name is None or name.lower() == _ALIAS:
            yield TorchDistribution()


class _InChild:
    """Installs the alias where it is unpickled."""

    def __reduce__(self):
        root = __file__.rpartition("/flambeau/")[0]
        code = (
            f"import sys\nif {root!r} not in sys.path: sys.path.append({root!r})\n"
            "from flambeau import _alias\n_alias.install()"
        )
        return exec, (code,)


def _carry_to_children(spawn) -> None:
    """What a new interpreter reads before it imports the program gets the alias."""
    original = spawn.get_preparation_data

    def get_preparation_data(name):
        return {"flambeau": _InChild(), **original(name)}

    spawn.get_preparation_data = get_preparation_data


def _preload(forkserver) -> None:
    # The server would import the program, which lacks the alias there; flambeau saves each child
    # its start.
    forkserver.set_forkserver_preload(["flambeau"])


def install() -> None:
    """Installs the finder; a second call changes nothing.

    Raises:
        RuntimeError: another ``torch`` is imported already.
    """
    if any(isinstance(finder, TorchFinder) for finder in sys.meta_path):
        return
    import flambeau

    from .torch_version import __version__

    present = sys.modules.get(_ALIAS)
    if present is not None and present is not flambeau:
        raise RuntimeError("flambeau cannot stand in for torch: another torch is imported already")
    flambeau.__version__ = __version__  # scripts ask for the version of the API
    flambeau.__name__ = _ALIAS  # and some for the name
    finder: Any = TorchFinder()
    sys.meta_path.insert(0, finder)
    after_import("multiprocessing.spawn", _carry_to_children)
    after_import("multiprocessing.forkserver", _preload)
