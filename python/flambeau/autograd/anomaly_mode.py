"""Anomaly mode: backward names the forward call that made the failing node, and looks for NaN."""

from __future__ import annotations

import os
import sys
import warnings

from flambeau import _C

from .grad_mode import _Mode

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _stack():
    """The lines of the running stack, as traceback.format_stack gives them."""
    import traceback  # here: it takes long to import

    frames = traceback.extract_stack(sys._getframe(1))
    # the innermost frames are ours: the user's call is what matters
    while len(frames) > 1 and frames[-1].filename.startswith(_PACKAGE):
        frames.pop()
    return traceback.format_list(frames)


def _report(node):
    """Warns where `node` comes from; an error of its backward is in flight."""
    lines = node.metadata.get("traceback_")
    if lines is None:
        text = (
            f"Error detected in {node.name()}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information."
        )
    else:
        text = (
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
            + "".join(lines)
        )
    parent = node.metadata.get("parent_")
    while parent is not None:
        lines = parent.metadata.get("traceback_")
        if lines is None:
            text += (
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass "
                "information available."
            )
            break
        text += (
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call "
            "that induced the previous calculation:\n" + "".join(lines)
        )
        parent = parent.metadata.get("parent_")
    warnings.warn(text, stacklevel=1)


class set_detect_anomaly(_Mode):
    """Anomaly detection on or off from now on, or inside a ``with``.

    While on, every node keeps the Python stack of the call that made it. A backward that fails, or
    (``check_nan``) that returns NaN, then shows it. Only for debugging: it takes time.

    >>> flambeau.is_anomaly_enabled()
    False
    """

    def __init__(self, mode, check_nan=True):
        self.mode, self.check_nan = bool(mode), bool(check_nan)
        self.before = _C._get_anomaly()
        _C._set_anomaly(self.mode, self.check_nan)

    def __call__(self, function):
        _C._set_anomaly(*self.before)
        return super().__call__(function)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _C._set_anomaly(*self.before)

    def clone(self):
        return type(self)(self.mode, self.check_nan)


class detect_anomaly(_Mode):
    """Anomaly detection inside a ``with`` or a decorated function: see set_detect_anomaly.

    >>> x = flambeau.tensor(0.0, requires_grad=True)
    >>> with flambeau.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output
    """

    def __init__(self, check_nan=True):
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        self.before = _C._get_anomaly()
        _C._set_anomaly(True, bool(self.check_nan))

    def __exit__(self, *exc):
        _C._set_anomaly(*self.before)

    def clone(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return type(self)(self.check_nan)
