"""CUDA, which this build has not; the choice of algorithms for attention."""

from __future__ import annotations

from flambeau import _attention_backends as _attention

from ._flags import Precision

matmul = Precision(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)


def is_built() -> bool:
    """Whether the build has CUDA: never."""
    return False


def is_available() -> bool:
    """Whether there is a CUDA device: never."""
    return False


def is_flash_attention_available() -> bool:
    """Whether attention has CUDA's flash algorithm: never."""
    return False


def preferred_linalg_library(backend=None):
    """The library for linear algebra on CUDA devices: "default"."""
    return "default"


def preferred_blas_library(backend=None):
    """The library for matrix products on CUDA devices: "default"."""
    return "default"


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


globals().update(_attention_switches())
