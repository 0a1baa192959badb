"""What programs say to `torch.compile`. The compiler is a later stage: functions run as they are.

Marks are accepted and change nothing; questions have true answers: nothing is being compiled.
"""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="load_cache_artifacts load_compiled_function save_cache_artifacts wrap_numpy",
)
_default = {"backend": "inductor"}
_MARKS = (
    "allow_in_graph", "assume_constant_result", "disable", "set_stance", "substitute_in_graph",
)  # fmt: skip


def compile(*args, **kwargs):
    """`torch.compile`."""
    return importlib.import_module("flambeau._dynamo.eval_frame").compile(*args, **kwargs)


def is_compiling():
    """Whether the code runs to be compiled: never.

    Example:
        >>> is_compiling(), is_dynamo_compiling(), is_exporting()
        (False, False, False)
    """
    return False


def is_dynamo_compiling():
    """Whether the code runs to be captured: never."""
    return False


def is_exporting():
    """Whether the code runs to be exported: never."""
    return False


def reset():
    """Forgets what was compiled: nothing."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `torch.compile(backend=…)` takes."""
    registry = importlib.import_module("flambeau._dynamo.backends.registry")
    return registry.list_backends(exclude_tags)


def get_default_backend():
    """The backend of `torch.compile` where none is given."""
    return _default["backend"]


def set_default_backend(backend):
    """Sets the backend of `torch.compile` where none is given."""
    if isinstance(backend, str):
        importlib.import_module("flambeau._dynamo.backends.registry").known(backend)
    _default["backend"] = backend


def cudagraph_mark_step_begin():
    """Says that an iteration begins: nothing is kept of the last."""


def set_enable_guard_collectives(enabled):
    """Accepted: there are no guards to agree on. Returns the setting before."""
    before = _default.get("collectives", False)
    _default["collectives"] = enabled
    return before


def nested_compile_region(fn=None, **options):
    """Marks a function that is compiled once for all its calls."""
    return (lambda f: f) if fn is None else fn


def _keep_all(guard_entries):
    return [True for _ in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries):
    """A filter of guards: there are none."""
    return _keep_all(guard_entries)


def skip_guard_on_all_nn_modules_unsafe(guard_entries):
    """A filter of guards: there are none."""
    return _keep_all(guard_entries)


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    """A filter of guards: there are none."""
    return _keep_all(guard_entries)


def keep_portable_guards_unsafe(guard_entries):
    """A filter of guards: there are none."""
    return _keep_all(guard_entries)


def skip_guard_on_globals_unsafe(guard_entries):
    """A filter of guards: there are none."""
    return _keep_all(guard_entries)


def skip_all_guards_unsafe(guard_entries):
    """A filter of guards: there are none."""
    return [False for _ in guard_entries]


def __getattr__(name):
    if name in _MARKS:
        return getattr(importlib.import_module("flambeau._dynamo._marks"), name)
    if name == "config":
        return importlib.import_module(".config", __name__)
    raise AttributeError(f"module 'torch.compiler' has no attribute '{name}'")


__all__ = [
    *_MARKS, "compile", "cudagraph_mark_step_begin", "get_default_backend", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe", "list_backends", "load_cache_artifacts", "load_compiled_function",
    "nested_compile_region", "reset", "save_cache_artifacts", "set_default_backend",
    "set_enable_guard_collectives", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe", "wrap_numpy",
]  # fmt: skip
