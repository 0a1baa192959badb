"""The version of PyTorch's API that this package follows."""

from __future__ import annotations

import re

_PRE = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1}


def _key(version) -> tuple:
    """What orders versions: the release without trailing zeros, then the pre-release."""
    if not isinstance(version, str):
        version = ".".join(str(part) for part in version)
    text = str.__str__(version)
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)[.\-_]?(?:(dev|alpha|beta|a|b|rc)\.?(\d*))?", text)
    if match is None:
        raise ValueError(f"Invalid version: '{text}'")
    release = [int(part) for part in match[1].split(".")]
    while release and release[-1] == 0:
        release.pop()
    return tuple(release), _PRE.get(match[2], 0), int(match[3] or 0)


class TorchVersion(str):
    """A version: a str that compares as a version with other versions, strings and tuples.

    Example:
        >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
        (True, True)
    """

    __slots__ = ()

    def _compare(self, other, result):
        try:
            return result(_key(self), _key(other))
        except (TypeError, ValueError):
            return NotImplemented

    def __lt__(self, other):
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._compare(other, lambda a, b: a >= b)

    def __eq__(self, other):
        return self._compare(other, lambda a, b: a == b)

    def __ne__(self, other):
        return self._compare(other, lambda a, b: a != b)

    __hash__ = str.__hash__


__version__ = TorchVersion("2.13.0")
