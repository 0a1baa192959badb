"""Training with unequal numbers of batches: one process needs no join."""

from __future__ import annotations

from abc import ABC


class JoinHook:
    """What a process does for others that still train: nothing, as there are none."""

    def main_hook(self):
        """Shadows a collective of others."""

    def post_hook(self, is_last_joiner):
        """Runs when all processes are done."""


class Joinable(ABC):  # noqa: B024 - programs derive from it and override
    """What takes part in `Join`: `DistributedDataParallel` and the like."""

    def join_hook(self, **kwargs):
        """The hook of this object."""
        return JoinHook()


class Join:
    """Context manager for unequal numbers of batches; with one process they are equal.

    Example:
        >>> with Join([]):
        ...     pass
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        self._joinables = joinables

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if exc[0] is None:
            for joinable in self._joinables:
                joinable.join_hook().post_hook(True)

    @staticmethod
    def notify_join_context(joinable):
        """Says that a process has not run out of batches: nobody waits to hear it."""


__all__ = ["Join", "JoinHook", "Joinable"]
