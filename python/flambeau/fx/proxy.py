"""Parts of `torch.fx`."""

from __future__ import annotations

import flambeau.fx as _fx

Proxy = _fx.Proxy  # type: ignore[attr-defined]

__all__ = ["Proxy"]


class TraceError(ValueError):
    """A program cannot be traced."""
