"""MIOpen, AMD's library: not in this build; its switch is kept."""

from __future__ import annotations

from ._flags import setters

immediate = False

set_flags, _ = setters(globals(), _immediate="immediate")
_, flags = setters(globals(), immediate="immediate")
