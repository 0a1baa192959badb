"""The processor."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The instruction set in use: "DEFAULT", "AVX2" or "AVX512".

    >>> torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    from flambeau import _C

    return {"avx2": "AVX2", "avx512": "AVX512"}.get(_C._cpu_target(), "DEFAULT")
