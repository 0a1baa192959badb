"""Checks that programs make with `torch._check` and the like."""

from __future__ import annotations

from ._C import Tensor


def _raise(error, cond, message):
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use"
            " torch._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error("Expected cond to be True, but got False.")
    if callable(message):
        message = message()
    raise error(str(message))


def _check_with(error_type, cond, message):
    """Raises an error of a type where a condition is False."""
    _raise(error_type, cond, message)


def _check(cond, message=None):
    """Raises RuntimeError where a condition is False; ``message`` gives the text."""
    _raise(RuntimeError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """Raises RuntimeError where a number cannot be a size."""
    _raise(RuntimeError, bool(i >= 0), message)
    if max is not None:
        _raise(RuntimeError, bool(i <= max), message)


def _check_index(cond, message=None):
    """Raises IndexError where a condition is False."""
    _raise(IndexError, cond, message)


def _check_value(cond, message=None):
    """Raises ValueError where a condition is False."""
    _raise(ValueError, cond, message)


def _check_type(cond, message=None):
    """Raises TypeError where a condition is False."""
    _raise(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """Raises NotImplementedError where a condition is False."""
    _raise(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises an error of a type where an element of a tensor is False."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _raise(error_type, bool(cond.all()), message)


def _check_tensor_all(cond, message=None):
    """Raises RuntimeError where an element of a tensor is False."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message):
    """`assert` as a function."""
    if isinstance(condition, Tensor) and type(condition) is not Tensor:
        condition = bool(condition)
    assert condition, message


def _assert_async(condition, assert_msg=None):
    """Raises RuntimeError where a tensor of one element is zero."""
    if not isinstance(condition, Tensor):
        raise TypeError(
            "_assert_async(): argument 'input' (position 1) must be Tensor, not"
            f" {type(condition).__name__}"
        )
    if condition.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            f"{'no values' if not condition.numel() else 'more than one value'} is ambiguous"
        )
    if not bool(condition):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")
