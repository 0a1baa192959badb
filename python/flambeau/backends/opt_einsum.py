"""The package opt_einsum, which would order the products of `einsum`; not used."""

from __future__ import annotations

from ._flags import setters

enabled = False
strategy = None

set_flags, _ = setters(globals(), _enabled="enabled", _strategy="strategy")
_, flags = setters(globals(), enabled="enabled", strategy="strategy")


def is_available() -> bool:
    """Whether `einsum` asks opt_einsum: never."""
    return False


def get_opt_einsum():
    """None: the package is not used."""
