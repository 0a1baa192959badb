"""`flambeau.fft`: operators of the table under the names of this namespace."""

from __future__ import annotations

from ._namespaces import fill

__all__ = fill(globals(), "fft")
