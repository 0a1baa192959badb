"""`torch.utils._pytree` under its public name."""

from __future__ import annotations

from flambeau.utils._pytree import *
