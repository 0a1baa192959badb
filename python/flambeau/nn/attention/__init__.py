"""What attention is computed by, and the masks that it knows."""

from __future__ import annotations

import contextlib

from flambeau import _attention_backends as _state
from flambeau._attention_backends import SDPBackend

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


def _backend_from_string(name):
    return getattr(SDPBackend, name)


def _cur_sdpa_kernel_backends(with_priority=False):
    """The allowed implementations; with_priority the first is preferred."""
    order = _state.priority if with_priority else _state.ALL
    return [backend for backend in order if backend in _state.allowed]


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False):
    """Within it, or in a function decorated with it, attention may use only these implementations.

    There is one implementation here, which is used in any case.

    Args:
        backends: one, or several.
        set_priority: whether their order says which is preferred.

    Raises:
        AssertionError: backends is neither.

    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(*[flambeau.ones(1, 2, 2)] * 3).shape
    torch.Size([1, 2, 2])
    """
    if isinstance(backends, SDPBackend):
        backends = [backends]
    elif not isinstance(backends, (list, tuple, set)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    before, order = set(_state.allowed), list(_state.priority)
    chosen = [backend for backend in _state.ALL if backend in backends]
    try:
        _state.allowed.clear()
        _state.allowed.update(chosen)
        if set_priority:
            first = [backend for backend in backends if backend in chosen]
            _state.priority[:] = first + [b for b in order if b not in first]
        yield {}
    finally:
        _state.allowed.clear()
        _state.allowed.update(before)
        _state.priority[:] = order


from . import bias as bias  # noqa: E402
