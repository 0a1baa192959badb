"""Errors of the compiler, for programs that catch them."""

from __future__ import annotations


class InductorError(RuntimeError):
    """The compiler has failed."""


class CppCompileError(RuntimeError):
    """A C++ compiler has failed."""


class InvalidCxxCompiler(RuntimeError):
    """There is no C++ compiler."""


class MissingOperatorWithDecomp(RuntimeError):
    """An operator has no rule."""
