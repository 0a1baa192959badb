"""How the package is built, as text."""

from __future__ import annotations

import platform

from flambeau import _C


def show():
    """What is built in.

    Example:
        >>> show().startswith("flambeau")
        True
    """
    lines = ["flambeau built with:", f"  - Python {platform.python_version()}"]
    for name, value in dict(_C._libraries()).items():
        lines.append(f"  - {name} {value}")
    lines.append(f"  - CPU capability usage: {_C._cpu_target()}")
    return "\n".join(lines) + "\n"


def parallel_info():
    """The threads of operators."""
    count = _C.get_num_threads()
    return f"flambeau threads:\n\tget_num_threads() : {count}\n"


def _cxx_flags():
    return "-ffp-contract=off"
