"""What libraries and devices this build has; switches are accepted and kept."""

from __future__ import annotations

from flambeau import _attention_backends as _attention


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


def _attention_switches():
    """``flash_sdp_enabled()``, ``enable_flash_sdp(True)`` and their like."""

    def pair(backend):
        def enabled():
            return backend in _attention.allowed

        def enable(enabled):
            (_attention.allowed.add if enabled else _attention.allowed.discard)(backend)

        return enabled, enable

    found = {}
    for name, backend in (
        ("flash", _attention.SDPBackend.FLASH_ATTENTION),
        ("mem_efficient", _attention.SDPBackend.EFFICIENT_ATTENTION),
        ("math", _attention.SDPBackend.MATH),
        ("cudnn", _attention.SDPBackend.CUDNN_ATTENTION),
    ):
        found[f"{name}_sdp_enabled"], found[f"enable_{name}_sdp"] = pair(backend)
    return found


cuda = _Backend(False, matmul=_Backend(False, allow_tf32=False), **_attention_switches())
mps = _Backend(False)
mkl = _Backend(False)
mkldnn = _Backend(True, enabled=True)
openmp = _Backend(False)

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]
