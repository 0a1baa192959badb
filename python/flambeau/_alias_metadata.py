"""What `importlib.metadata` finds as ``torch`` while `flambeau run` stands in for it."""

from __future__ import annotations

import importlib.metadata
import pathlib

from .torch_version import __version__


class TorchDistribution(importlib.metadata.Distribution):
    """Name, version and top-level package; no files."""

    _TEXTS = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {str(__version__)}\n"
        "Summary: flambeau, standing in for PyTorch\n",
        "top_level.txt": "torch\n",
    }

    def read_text(self, filename) -> str | None:
        return self._TEXTS.get(str(filename))

    def locate_file(self, path):
        return pathlib.Path(__file__).parent / path
