"""Helpers for tests: `assert_close` and `make_tensor`."""

from ._close import assert_close
from ._make import make_tensor

__all__ = ["assert_close", "make_tensor"]
