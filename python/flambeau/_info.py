"""`flambeau info`: what is installed and what it runs on."""

from __future__ import annotations

import os
import platform
import sys

from . import _C
from ._version import __version__
from .torch_version import __version__ as api_version

_OPTIONAL = ("numpy", "llvmlite", "mpi4py", "safetensors", "onnx")


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() in ("model name", "Model"):
                    return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _packages() -> dict[str, str]:
    from importlib import metadata  # slow to import

    found = {}
    for name in _OPTIONAL:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def collect() -> dict[str, dict[str, str]]:
    """Sections of names and values."""
    return {
        "versions": {
            "flambeau": __version__,
            "follows PyTorch": str(api_version),
            "Python": f"{platform.python_implementation()} {platform.python_version()}",
            "platform": platform.platform(),
        },
        "build": {
            "core": os.path.basename(_C.__file__),
            "package": os.path.dirname(os.path.abspath(__file__)),
            "operators": str(len(_C._registry())),
        },
        "CPU": {
            "name": _cpu_name(),
            "cores usable": str(_cores()),
            "features": " ".join(_C._cpu_features()) or "none beyond the baseline",
            "kernels for": _C._cpu_target(),
            "threads": str(_C.get_num_threads()),
        },
        "libraries": dict(_C._libraries()),
        "optional packages": _packages(),
    }


def show(file=None) -> None:
    """Prints `collect` as aligned text."""
    out = file or sys.stdout
    for title, rows in collect().items():
        print(title, file=out)
        for name, value in rows.items():
            print(f"  {name + ':':<18} {value}", file=out)
