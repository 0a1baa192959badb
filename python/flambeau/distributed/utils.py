"""Helpers of training on several processes."""

from __future__ import annotations


def _sync_module_states(
    module, process_group, broadcast_bucket_size=None, src=0, params_and_buffers_to_ignore=(),
    broadcast_buffers=True,
):  # fmt: skip
    """Gives all processes the state of one: one process has it."""


__all__: list[str] = []
