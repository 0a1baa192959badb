"""The version of PyTorch whose API this is, and of flambeau itself."""

from __future__ import annotations

from ._version import __version__ as flambeau_version

__version__ = "2.13.0"
cuda = None
hip = None
git_version = "unknown"
debug = False

__all__ = ["__version__", "cuda", "debug", "flambeau_version", "git_version", "hip"]
