"""What compiled code depends on: there is none."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    classes="CompileContext TracingContext",
)


def detect_fake_mode(inputs=None):
    """The mode of fake tensors among tensors: there are no such."""
    return


def active_fake_mode():
    """The mode of fake tensors: there is none."""
    return
