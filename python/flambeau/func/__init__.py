"""Modules as functions of their parameters."""

from __future__ import annotations

from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]
