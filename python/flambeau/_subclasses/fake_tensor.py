"""Tensors without data for the compiler; the device meta serves."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "fake tensors (the device meta has tensors without data)",
    classes=(
        "DynamicOutputShapeException FakeTensor FakeTensorMode UnsupportedFakeTensorException"
    ),
)


def is_fake(x):
    """Whether a tensor is a fake one: none is."""
    return False


def maybe_get_fake_mode(t):
    """The mode of a fake tensor: there is none."""
    return


def unset_fake_temporarily():
    """Context without fake tensors."""
    import contextlib

    return contextlib.nullcontext()
