"""The names that `torch.compile(backend=…)` takes. Functions run as they are with each of them."""

from __future__ import annotations

from flambeau._absent import missing
from flambeau._dynamo.exc import InvalidBackend

_NAMES: dict[str, tuple[str, ...]] = {
    "cudagraphs": (),
    "inductor": (),
    "openxla": (),
    "tvm": (),
    "eager": ("debug",),
    "eager_noexcept": ("debug",),
    "aot_eager": ("debug",),
    "aot_eager_decomp_partition": ("debug",),
    "aot_ts": ("experimental",),
    "ts": ("experimental",),
}
_given: dict = {}


def list_backends(exclude_tags=("debug", "experimental")):
    """The known names.

    Example:
        >>> "inductor" in list_backends(), "eager" in list_backends(None)
        (True, True)
    """
    excluded = set(exclude_tags or ())
    found = {**_NAMES, **{name: tags for name, (_, tags) in _given.items()}}
    return sorted(name for name, tags in found.items() if not excluded & set(tags))


def register_backend(compiler_fn=None, name=None, tags=()):
    """Adds a name for a function, which nothing calls yet; also a decorator."""
    if compiler_fn is None:
        return lambda fn: register_backend(fn, name, tags)
    _given[name or compiler_fn.__name__] = (compiler_fn, tuple(tags))
    return compiler_fn


def known(name):
    """Raises where a name is not known."""
    if name not in _NAMES and name not in _given:
        raise InvalidBackend(name)


def lookup_backend(compiler_fn):
    """The function of a name that a program has added."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    known(compiler_fn)
    if compiler_fn in _given:
        return _given[compiler_fn][0]
    raise missing(f"the backend {compiler_fn!r}", "the compiler")
