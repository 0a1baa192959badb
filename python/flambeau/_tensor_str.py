"""Text of tensors: `repr(t)`, `set_printoptions`, `get_printoptions`.

Only the elements that appear are ever read: a summarised tensor is cropped to its edges by
`_shown`, which gives nested lists with `_ELLIPSIS` in the gaps, and everything else works on lists.
"""

from __future__ import annotations

import contextlib
import math
from math import inf, isfinite

from . import _C

_ELLIPSIS = "..."
_ELLIPSIS_ITEM = [_ELLIPSIS]
_DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
_PROFILES = {
    "default": _DEFAULTS,
    "short": {**_DEFAULTS, "precision": 2, "edgeitems": 2},
    "full": {**_DEFAULTS, "threshold": inf},
}


class _PrintOptions:
    """The options in force; attributes as the arguments of `set_printoptions`."""

    __slots__ = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")

    def __init__(self) -> None:
        self.precision: int = 4
        self.threshold: float = 1000
        self.edgeitems: int = 3
        self.linewidth: int = 80
        self.sci_mode: bool | None = None

    def __repr__(self) -> str:
        items = ", ".join(f"{k}={v!r}" for k, v in get_printoptions().items())
        return f"PrintOptions({items})"


PRINT_OPTS = _PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed.

    Args:
        precision: digits after the point (4).
        threshold: number of elements above which a tensor is summarised (1000).
        edgeitems: elements shown at each end of a summarised dimension (3).
        linewidth: characters in a line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``; the other arguments override it.
        sci_mode: scientific notation always (True), never (False) or where it helps (None).
            Every call sets it, so a call without it goes back to None.

    Example:
        >>> import flambeau
        >>> flambeau.set_printoptions(precision=2)
        >>> flambeau.tensor([1.12345])
        tensor([1.12])
        >>> flambeau.set_printoptions(profile="default")
    """
    for name, value in _PROFILES.get(profile or "", {}).items():
        setattr(PRINT_OPTS, name, value)
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict:
    """The options in force, as a dict that `set_printoptions` accepts."""
    return {name: getattr(PRINT_OPTS, name) for name in _PrintOptions.__slots__}


@contextlib.contextmanager
def printoptions(**kwargs):
    """`set_printoptions` for the length of a `with` block."""
    before = get_printoptions()
    set_printoptions(**{**before, **kwargs})
    try:
        yield
    finally:
        set_printoptions(**before)


# ---- which elements appear --------------------------------------------------------------------


def _shown(t, summarize: bool):
    """Nested lists of the elements of `t` that appear; gaps hold `_ELLIPSIS`."""
    edge = PRINT_OPTS.edgeitems
    if not summarize or all(n <= 2 * edge for n in t.shape):
        return t.tolist()
    if edge == 0:
        return _ELLIPSIS_ITEM
    size = t.shape[0]
    if t.dim() == 1:
        return t[:edge].tolist() + _ELLIPSIS_ITEM + t[size - edge :].tolist()
    if size <= 2 * edge:
        return [_shown(t[i], True) for i in range(size)]
    first = [_shown(t[i], True) for i in range(edge)]
    last = [_shown(t[i], True) for i in range(size - edge, size)]
    return first + _ELLIPSIS_ITEM + last


def _flatten(shown, out: list) -> list:
    if not isinstance(shown, list):
        out.append(shown)
    elif shown and isinstance(shown[0], list):
        for part in shown:
            if part is not _ELLIPSIS:
                _flatten(part, out)
    else:
        out.extend(x for x in shown if x is not _ELLIPSIS)
    return out


# ---- one element --------------------------------------------------------------------------------


class _RealFormatter:
    """Common width and notation of the floating-point numbers `values`."""

    def __init__(self, values) -> None:
        self.sci_mode = False
        self.width = 1
        digits = PRINT_OPTS.precision
        numbers = [v for v in values if v and isfinite(v)]
        self.int_mode = all(v.is_integer() for v in numbers)
        if not numbers:
            return
        largest = max(abs(v) for v in numbers)
        smallest = min(abs(v) for v in numbers)
        wide = largest / smallest > 1000.0 or largest > 1.0e8
        helps = wide or (not self.int_mode and smallest < 1.0e-4)
        self.sci_mode = helps if PRINT_OPTS.sci_mode is None else PRINT_OPTS.sci_mode
        if self.sci_mode:
            self.width = max(len(f"{v:.{digits}e}") for v in numbers)
        elif self.int_mode:
            self.width = max(len(f"{v:.0f}") for v in numbers) + 1
        else:
            self.width = max(len(f"{v:.{digits}f}") for v in numbers)

    def format(self, value: float) -> str:
        if self.sci_mode:
            text = f"{value:.{PRINT_OPTS.precision}e}"
        elif self.int_mode:
            text = f"{value:.0f}" + ("." if isfinite(value) else "")
        else:
            text = f"{value:.{PRINT_OPTS.precision}f}"
        return text.rjust(self.width)


class _ExactFormatter:
    """Integers and bools, right-aligned."""

    def __init__(self, values) -> None:
        self.width = max((len(str(v)) for v in values), default=1)

    def format(self, value) -> str:
        return str(value).rjust(self.width)


class _ComplexFormatter:
    """Real and imaginary part, each with a formatter of its own."""

    def __init__(self, values) -> None:
        self.real = _RealFormatter([v.real for v in values])
        self.imag = _RealFormatter([v.imag for v in values])
        self.width = self.real.width + self.imag.width + 1

    def format(self, value: complex) -> str:
        imag = (self.imag.format(value.imag) + "j").lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return self.real.format(value.real) + sign + imag


def _formatter(t, shown):
    values = _flatten(shown, [])
    if t.is_complex():
        return _ComplexFormatter(values)
    return _RealFormatter(values) if t.is_floating_point() else _ExactFormatter(values)


# ---- layout -------------------------------------------------------------------------------------


def _vector(shown: list, indent: int, formatter) -> str:
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (formatter.width + 2)))
    # The gap takes a leading space so that it lines up with the numbers around it.
    lone = len(shown) == 1
    items = [
        (_ELLIPSIS if lone else " ...") if x is _ELLIPSIS else formatter.format(x) for x in shown
    ]
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(shown, dim: int, indent: int, formatter) -> str:
    if dim == 0:
        return formatter.format(shown)
    if dim == 1:
        return _vector(shown, indent, formatter)
    parts = [
        _ELLIPSIS if part is _ELLIPSIS else _nested(part, dim - 1, indent + 1, formatter)
        for part in shown
    ]
    return "[" + ("," + "\n" * (dim - 1) + " " * (indent + 1)).join(parts) + "]"


def _tensor_str(t, indent: int) -> str:
    """The bracketed elements of `t`, without ``tensor(`` and suffixes."""
    if t.numel() == 0:
        return "[]"
    summarize = t.numel() > PRINT_OPTS.threshold
    shown = _shown(t, summarize)
    return _nested(shown, t.dim(), indent, _formatter(t, shown))


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Appends ``dtype=…`` and the like, breaking the line where it would pass the width."""
    parts = [tensor_str]
    column = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
            force_newline = False
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(parts) + ")"


def _implied_dtypes() -> tuple:
    """dtypes that a reader infers from the elements."""
    floating = _C.get_default_dtype()
    complex_ = _C.complex128 if floating == _C.float64 else _C.complex64
    return (floating, complex_, _C.int64, _C.bool)


def _history(inp) -> str:
    grad_fn = inp.grad_fn
    if grad_fn is not None:
        return f"grad_fn=<{grad_fn.name().rsplit('::', 1)[-1]}>"
    return "requires_grad=True" if inp.requires_grad else ""


def _str_intern(inp, *, tensor_contents: str | None = None) -> str:
    plain = type(inp) is _C.Tensor or type(inp).__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{type(inp).__name__}("
    indent = len(prefix)
    suffixes = []
    device, dtype = inp.device, inp.dtype
    meta = device.type == "meta"
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    data = inp.detach()
    size = "size=" + str(tuple(data.shape))
    empty = data.numel() == 0
    if meta or (data.dim() != 1 if empty else PRINT_OPTS.edgeitems == 0):
        suffixes.append(size)
    if meta or empty:
        explicit = dtype != _C.get_default_dtype()
    else:
        explicit = dtype not in _implied_dtypes()
    if explicit:
        suffixes.append(f"dtype={dtype}")
    if tensor_contents is None:
        tensor_contents = _ELLIPSIS if meta else _tensor_str(data, indent)
    if history := _history(inp):
        suffixes.append(history)
    return _add_suffixes(prefix + tensor_contents, suffixes, indent, force_newline=False)


def _str(inp, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor; `tensor_contents` replaces the elements."""
    enabled = _C._set_torch_function_enabled(False)
    try:
        if _C._transform_level(inp):
            level, _, _, value, tangent, dim = _C._transform_of(inp)
            return level.text(_str, value, tangent, dim)
        if tensor_contents is None and inp.layout is not _C.strided:
            from ._sparse.text import text

            return text(inp, _history(inp))
        return _str_intern(inp, tensor_contents=tensor_contents)
    finally:
        _C._set_torch_function_enabled(enabled)
