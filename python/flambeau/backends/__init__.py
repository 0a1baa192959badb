"""What libraries and devices this build has; switches are accepted and kept."""

from __future__ import annotations


class _Backend:
    """A library or device with an availability flag and free attributes."""

    def __init__(self, available, **attributes):
        self._available = available
        self.__dict__.update(attributes)

    def is_available(self):
        return self._available

    def is_built(self):
        return self._available


cudnn = _Backend(
    False,
    enabled=False,
    benchmark=False,
    deterministic=False,
    allow_tf32=False,
    version=lambda: None,
)
cuda = _Backend(False, matmul=_Backend(False, allow_tf32=False))
mps = _Backend(False)
mkl = _Backend(False)
mkldnn = _Backend(True, enabled=True)
openmp = _Backend(False)

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
