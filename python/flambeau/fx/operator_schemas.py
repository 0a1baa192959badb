"""Signatures of operators."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "graphs of programs (torch.fx)",
    functions="get_signature_for_torch_op normalize_function normalize_module",
)
