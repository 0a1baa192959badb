"""Instruction sets that the compiler would use."""

from __future__ import annotations


class VecISA:
    """A set of vector instructions."""

    def __init__(self, name="", bits=0):
        self._name, self._bits = name, bits

    def bit_width(self):
        """Bits of a vector."""
        return self._bits

    def __str__(self):
        return self._name

    def __bool__(self):
        return bool(self._bits)


class InvalidVecISA(VecISA):
    """None: nothing is compiled."""


def valid_vec_isa_list():
    """The sets that a C++ compiler and this processor have: nothing is compiled."""
    return []


def pick_vec_isa():
    """The set that compiled code would use: none.

    Example:
        >>> bool(pick_vec_isa())
        False
    """
    return InvalidVecISA("INVALID_VEC_ISA")
