"""`assert_close`: are two structures of tensors and numbers the same within tolerances?

Works in two passes, so that a difference in structure is reported before one in values: `_pairs`
walks both structures together and yields leaves, `_compare` judges one leaf.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau import _C
from flambeau._factory import as_tensor

# rtol, atol
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_EXACT = (0.0, 0.0)


class _Mismatch(Exception):
    """A difference; `where` is the path of the leaf in the structure."""

    def __init__(self, message: str, where: tuple = (), kind: type = AssertionError) -> None:
        super().__init__(message)
        self.where = where
        self.kind = kind

    def text(self) -> str:
        path = "".join(f"[{key!r}]" for key in self.where)
        return f"{self}\n\nThe failure occurred for item {path}" if path else str(self)


class _Options:
    """The arguments of `assert_close` after `expected`, without `msg`."""

    def __init__(self, rtol, atol, **flags) -> None:
        self.rtol, self.atol = rtol, atol
        self.allow_subclasses: bool = flags["allow_subclasses"]
        self.equal_nan: bool = flags["equal_nan"]
        self.check_device: bool = flags["check_device"]
        self.check_dtype: bool = flags["check_dtype"]
        self.check_layout: bool = flags["check_layout"]
        self.check_stride: bool = flags["check_stride"]

    def tolerances(self, *names: str) -> tuple[float, float]:
        """(rtol, atol): as given, else the loosest of the dtypes named."""
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(name, _EXACT) for name in names]
        return max(r for r, _ in found), max(a for _, a in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises unless ``|actual - expected| <= atol + rtol * |expected|`` everywhere.

    Args:
        actual, expected: tensors, arrays, numbers, bools, None, or sequences and mappings of them.
        allow_subclasses: accept two related but different types of tensors.
        rtol, atol: tolerances, both or neither; the default depends on the dtype (float32
            1.3e-6 and 1e-5, bfloat16 1.6e-2 and 1e-5, float64 1e-7 and 1e-7, integers 0).
        equal_nan: NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: which properties have to agree.
        msg: the message to raise with, or a function from the generated message to it.

    Raises:
        AssertionError: a value, shape or property differs; names the count and the worst index.
        TypeError: the two inputs cannot be compared.
        ValueError: only one of `rtol` and `atol` is given.

    Example:
        >>> import flambeau
        >>> flambeau.testing.assert_close(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 2.0]))
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and value < 0:
            raise RuntimeError(f"assert_close: {name} must not be negative, but got {value}")
    options = _Options(
        rtol,
        atol,
        allow_subclasses=allow_subclasses,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
    )
    try:
        for where, compare, a, b in list(_pairs(actual, expected, options, ())):
            try:
                compare(a, b, options)
            except _Mismatch as mismatch:
                mismatch.where = where
                raise
        return
    except _Mismatch as mismatch:
        text, kind = mismatch.text(), mismatch.kind
    if kind is AssertionError and msg is not None:
        text = msg(text) if callable(msg) else msg
    raise kind(text)


# ---- structure ----------------------------------------------------------------------------------


def _pairs(actual, expected, options: _Options, where: tuple):
    if _both(actual, expected, Sequence) and not isinstance(actual, str | bytes):
        if len(actual) != len(expected):
            raise _Mismatch(
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", where
            )
        for i in range(len(actual)):
            yield from _pairs(actual[i], expected[i], options, (*where, i))
    elif _both(actual, expected, Mapping):
        missing = [k for k in expected if k not in actual]
        additional = [k for k in actual if k not in expected]
        if missing or additional:
            raise _Mismatch(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {_ordered(missing)}\n"
                f"Additional keys in the actual mapping: {_ordered(additional)}",
                where,
            )
        for key in _ordered(list(actual)):
            yield from _pairs(actual[key], expected[key], options, (*where, key))
    else:
        yield where, *_leaf(actual, expected, options, where)


def _both(actual, expected, kind) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _ordered(keys: list) -> list:
    try:
        return sorted(keys)
    except TypeError:
        return keys


def _leaf(actual, expected, options: _Options, where: tuple):
    """(comparison, actual, expected), the two in the form that the comparison takes."""
    if actual is None or expected is None:
        return _compare_none, actual, expected
    a, b = _plain_number(actual), _plain_number(expected)
    if _both(a, b, bool):
        return _compare_bools, a, b
    if _both(a, b, int | float | complex):
        return _compare_numbers, a, b
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if related and (options.allow_subclasses or type(actual) is type(expected)):
        a, b = _as_tensor(actual), _as_tensor(expected)
        if a is not None and b is not None:
            return _compare_tensors, a, b
    raise _Mismatch(
        "No comparison pair was able to handle inputs of type "
        f"{type(actual)} and {type(expected)}.",
        where,
        TypeError,
    )


def _plain_number(value):
    """A NumPy scalar as Python's number; anything else as it is."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        kind = getattr(value, "dtype", None)
        if getattr(kind, "kind", "") in "biufc" and not hasattr(value, "__setitem__"):
            return value.item()
    return value


def _as_tensor(value):
    if isinstance(value, _C.Tensor):
        return value.detach()
    if hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__"):
        try:
            return as_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            return None
    return None


# ---- leaves -------------------------------------------------------------------------------------


def _compare_none(actual, expected, options: _Options) -> None:
    if actual is not expected:
        raise _Mismatch(f"None mismatch: {actual} is not {expected}")


def _compare_bools(actual, expected, options: _Options) -> None:
    if actual is not expected:
        raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(actual, expected, options: _Options) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    names = {float: "float64", complex: "complex128"}
    tolerances = options.tolerances(names.get(type(actual), ""), names.get(type(expected), ""))
    if not _numbers_close(actual, expected, tolerances, options.equal_nan):
        raise _Mismatch(_scalar_message(actual, expected, *tolerances))


def _numbers_close(actual, expected, tolerances, equal_nan: bool) -> bool:
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return True
    difference = abs(actual - expected)
    rtol, atol = tolerances
    return cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)


def _check_attributes(actual, expected, options: _Options) -> None:
    attributes: list[tuple[str, Any, Any]] = [("shape", actual.shape, expected.shape)]
    if options.check_layout:
        attributes.append(("layout", actual.layout, expected.layout))
    if options.check_device:
        attributes.append(("device", actual.device, expected.device))
    if options.check_dtype:
        attributes.append(("dtype", actual.dtype, expected.dtype))
    if options.check_stride:
        attributes.append(("stride()", actual.stride(), expected.stride()))
    for name, a, b in attributes:
        if a != b:
            raise _Mismatch(f"The values for attribute '{name}' do not match: {a} != {b}.")


def _compare_tensors(actual, expected, options: _Options) -> None:
    _check_attributes(actual, expected, options)
    if "meta" in (actual.device.type, expected.device.type):
        return  # no values
    dtypes = [str(t.dtype).removeprefix("torch.") for t in (actual, expected)]
    rtol, atol = options.tolerances(*dtypes)
    if actual.dtype != expected.dtype:
        dtype = _C.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    if actual.layout is not _C.strided or expected.layout is not _C.strided:
        _compare_sparse(actual, expected, options)
        return
    matches = actual.isclose(expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if matches.all().item():
        return
    if actual.dim() == 0:
        raise _Mismatch(_scalar_message(actual.item(), expected.item(), rtol, atol))
    raise _Mismatch(_tensor_message(actual, expected, matches, rtol, atol))


def _compare_sparse(actual, expected, options: _Options) -> None:
    """The parts of two sparse tensors; dense tensors where the layouts differ."""
    if actual.layout is not expected.layout:
        _compare_tensors(actual.to_dense(), expected.to_dense(), options)
        return
    from flambeau._sparse.text import parts_of

    if actual.is_sparse and actual.is_coalesced() != expected.is_coalesced():
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        raise _Mismatch(
            f"The number of specified values in sparse tensors of layout {actual.layout} does not "
            f"match: {actual._nnz()} != {expected._nnz()}"
        )
    for (name, a), (_, b) in zip(parts_of(actual.detach()), parts_of(expected.detach())):
        try:
            _compare_tensors(a, b, options)
        except _Mismatch as mismatch:
            raise _Mismatch(f"Sparse tensor, {name}: {mismatch}") from None


# ---- messages -----------------------------------------------------------------------------------


def _title(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'equal' if rtol == 0 and atol == 0 else 'close'}!\n\n"


def _allowed(rtol: float, atol: float, tolerance: float) -> str:
    return "" if rtol == 0 and atol == 0 else f" (up to {tolerance} allowed)"


def _scalar_message(actual, expected, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    return (
        _title("Scalars", rtol, atol)
        + f"Expected {expected} but got {actual}.\n"
        + f"Absolute difference: {absolute}{_allowed(rtol, atol, atol)}\n"
        + f"Relative difference: {relative}{_allowed(rtol, atol, rtol)}"
    )


def _tensor_message(actual, expected, matches, rtol: float, atol: float) -> str:
    total = matches.numel()
    mismatched = total - int(matches.sum().item())
    if not (actual.is_floating_point() or actual.is_complex()):
        # Differences of narrow integers and bools would wrap around.
        actual, expected = actual.to(_C.int64), expected.to(_C.int64)
    shape = tuple(actual.shape)
    matches = matches.reshape(-1)
    absolute = (actual - expected).abs().reshape(-1)
    relative = absolute / expected.abs().reshape(-1)
    lines = [
        f"Mismatched elements: {mismatched} / {total} ({mismatched / total:.1%})",
        _worst("absolute", absolute.masked_fill(matches, 0), shape, _allowed(rtol, atol, atol)),
        _worst("relative", relative.masked_fill(matches, 0), shape, _allowed(rtol, atol, rtol)),
    ]
    return _title("Tensor-likes", rtol, atol) + "\n".join(lines)


def _worst(kind: str, differences, shape: tuple, allowed: str) -> str:
    position = int(differences.argmax().item())
    value = differences[position].item()
    index: list[int] = []
    for size in reversed(shape):
        position, i = divmod(position, size)
        index.insert(0, i)
    return f"Greatest {kind} difference: {value} at index {tuple(index)}{allowed}"
