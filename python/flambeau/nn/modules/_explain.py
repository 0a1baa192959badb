"""Errors of layers say which layer of the model it was, and what it was called with.

`Module.__call__` comes here while an exception passes through it. Nothing is kept during calls: the
modules are found in the traceback, the name by walking from the outermost one.
"""

from __future__ import annotations

import sys
from types import FrameType

from flambeau._C import Tensor

# Only these, and only with a text: exceptions of other classes may give their arguments a meaning.
_KINDS = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, AssertionError)
_MARK = "\nRaised in "


def explain(error, call):
    """Adds to the message of an error which layer of the library raised it.

    Args:
        error: what was raised within the call that is running.
        call: the code of `Module.__call__`.
    """
    if type(error) not in _KINDS or len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    if _within_another_call(call) or _MARK in error.args[0]:
        return
    frames = []
    step = error.__traceback__
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    calls = [frame.f_locals for frame in frames if frame.f_code is call]
    module = calls[-1]["self"]
    # Errors that a user's own code raises, in a module or a hook, stay as they are.
    if not str(frames[-1].f_globals.get("__name__")).startswith("flambeau."):
        return
    try:
        text = _described(calls[0]["self"], module, calls[-1]["args"], calls[-1]["kwargs"])
    except Exception:  # modules may override what is used here; the error itself comes first
        return
    error.args = (error.args[0] + text,)


def _within_another_call(call):
    """Whether the call that an exception is leaving was made by another module's."""
    # This function, `explain`, the call itself.
    frame: FrameType | None = sys._getframe(3)
    while frame is not None:
        if frame.f_code is call:
            return True
        frame = frame.f_back
    return False


def _described(outermost, module, args, kwargs):
    name = ""
    if module is not outermost:
        paths = (path for path, m in outermost.named_modules() if m is module)
        name = f"{next(paths, '?')} of {type(outermost).__name__}: "
    options = module.extra_repr().partition("\n")[0]
    given = [_brief(a) for a in args]
    given += [f"{k}={_brief(v)}" for k, v in kwargs.items() if v is not None]
    text = f"{_MARK}{name}{type(module).__name__}({options}), called with {', '.join(given)}."
    hint = getattr(module, "_call_hint", None)
    advice = hint(*args, **kwargs) if hint else None
    return f"{text} {advice}" if advice else text


def _brief(value):
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {list(value.shape)}"
    return f"a {type(value).__name__}" if value is not None else "None"
