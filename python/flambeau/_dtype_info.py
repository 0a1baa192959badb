"""Numerical limits of dtypes: `finfo` and `iinfo`."""

from __future__ import annotations

from . import _C

# name: (bits, mantissa bits without the hidden one, exponent of the smallest normal, max, digits)
_FLOATS = {
    "float16": (16, 10, -14, 65504.0, 3),
    "bfloat16": (16, 7, -126, (2 - 2.0**-7) * 2.0**127, 2),
    "float32": (32, 23, -126, (2 - 2.0**-23) * 2.0**127, 6),
    "float64": (64, 52, -1022, (2 - 2.0**-52) * 2.0**1023, 15),
    "float8_e4m3fn": (8, 3, -6, 448.0, 0),
    "float8_e4m3fnuz": (8, 3, -7, 240.0, 0),
    "float8_e5m2": (8, 2, -14, 57344.0, 0),
    "float8_e5m2fnuz": (8, 3, -15, 57344.0, 0),  # eps as PyTorch gives it
    "float8_e8m0fnu": (8, 0, -127, 2.0**127, 0),
}
_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_INTS = {f"{sign}int{bits}": (bits, sign == "") for bits in (8, 16, 32, 64) for sign in ("", "u")}


def _name(function: str, type) -> str:
    if not isinstance(type, _C.dtype):
        raise TypeError(
            f"{function}(): argument 'type' (position 1) must be torch.dtype, "
            f"not {type.__class__.__name__}"
        )
    return str(type).removeprefix("torch.")


class _DTypeInfo:
    """What `finfo` and `iinfo` share: equality by dtype, no hash, read-only attributes."""

    __slots__ = ("bits", "dtype", "max", "min")

    def _fill(self, **values) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value) -> None:
        kind = self.__class__.__name__
        raise AttributeError(f"attribute '{name}' of 'torch.{kind}' objects is not writable")

    def __eq__(self, other) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return (self.__class__, (getattr(_C, self.dtype),))


class finfo(_DTypeInfo):
    """Limits of a floating-point (or, by its parts, complex) dtype; the default dtype if none.

    Attributes: bits, dtype (its name), eps, max, min, resolution, smallest_normal, tiny.

    Example:
        >>> import flambeau
        >>> flambeau.finfo(flambeau.bfloat16).eps
        0.0078125
    """

    __slots__ = ("eps", "resolution", "smallest_normal", "tiny")

    def __init__(self, type=None) -> None:
        name = _name("finfo", _C.get_default_dtype() if type is None else type)
        name = _REAL.get(name, name)
        if name not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        bits, mantissa, exponent, largest, digits = _FLOATS[name]
        normal = 2.0**exponent
        lowest = normal if name == "float8_e8m0fnu" else -largest  # which has no sign
        self._fill(bits=bits, dtype=name, max=largest, min=lowest, eps=2.0**-mantissa)
        self._fill(resolution=float(f"1e-{digits}"), smallest_normal=normal, tiny=normal)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        limits = ", ".join(f"{n}={getattr(self, n):g}" for n in names)
        return f"finfo({limits}, dtype={self.dtype})"


class iinfo(_DTypeInfo):
    """Limits of an integer dtype.

    Attributes: bits, dtype (its name), max, min.

    Example:
        >>> import flambeau
        >>> flambeau.iinfo(flambeau.int8).max
        127
    """

    __slots__ = ()

    def __init__(self, type) -> None:
        name = _name("iinfo", type)
        if name == "bool":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if name not in _INTS:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        bits, signed = _INTS[name]
        low = -(2 ** (bits - 1)) if signed else 0
        self._fill(bits=bits, dtype=name, max=low + 2**bits - 1, min=low)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
