"""Compiled code on disk: there is none."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    classes="CppCodeCache FxGraphCache PyCodeCache",
)


def cache_dir():
    """The folder that compiled code would lie in."""
    from .runtime.cache_dir_utils import cache_dir as folder

    return folder()
