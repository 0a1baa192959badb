"""What libraries and devices this build has; switches are accepted and kept."""

from __future__ import annotations

from . import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
    xnnpack,
)

fp32_precision = "none"
_frozen = {"value": False}


def flags_frozen():
    """Whether `disable_global_flags` was called."""
    return _frozen["value"]


def disable_global_flags():
    """Accepted: switches stay as they are."""
    _frozen["value"] = True


__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "disable_global_flags",
    "flags_frozen",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
]
