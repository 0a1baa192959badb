"""The `__torch_function__` protocol: classes and modes that see calls of the public functions.

A class with the protocol (a subclass of Tensor, or any other) is asked first when one of its
instances is among the arguments; an active `TorchFunctionMode` is asked before it, about every
call. What they are given as ``func`` is the public function, the method of Tensor or the
``__get__`` or ``__set__`` of an attribute.
"""

from __future__ import annotations

import contextlib
import functools
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MethodDescriptorType

from . import _C
from ._C import Tensor
from ._torch_function import BaseTorchFunctionMode as BaseTorchFunctionMode
from ._torch_function import DisableTorchFunction as DisableTorchFunction
from ._torch_function import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ._torch_function import TorchFunctionMode as TorchFunctionMode
from ._torch_function import _get_current_function_mode as _get_current_function_mode
from ._torch_function import _get_current_function_mode_stack as _get_current_function_mode_stack
from ._torch_function import _overridable
from ._torch_function import _pop_mode as _pop_mode
from ._torch_function import _pop_mode_temporarily as _pop_mode_temporarily
from ._torch_function import _push_mode as _push_mode

__all__ = [
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

has_torch_function = _C._has_torch_function
has_torch_function_unary = _C._has_torch_function_unary
has_torch_function_variadic = _C._has_torch_function_variadic


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Asks the innermost mode, then the classes of ``relevant_args``, subclasses first.

    Raises:
        TypeError: all of them returned NotImplemented.

    >>> class Length:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return len(args)
    >>> overrides.handle_torch_function(flambeau.add, (Length(),), Length(), 1)
    2
    """
    return _C._handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher):
    """Decorator: lets the arguments that ``dispatcher(*args, **kwargs)`` names override a function.

    >>> @overrides.wrap_torch_function(lambda a: (a,))
    ... def twice(a):
    ...     return a + a
    >>> twice(flambeau.ones(1))
    tensor([2.])
    """

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp):
    """Whether ``inp`` is a Tensor or has the protocol.

    >>> overrides.is_tensor_like(flambeau.ones(1)), overrides.is_tensor_like([1])
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """Context manager: inside an override, classes of arguments are asked again.

    >>> with overrides.DisableTorchFunctionSubclass(), overrides.enable_reentrant_dispatch():
    ...     _C._is_torch_function_enabled()
    True
    """
    before = _C._set_torch_function_enabled(True)
    try:
        yield
    finally:
        _C._set_torch_function_enabled(before)


def redispatch_function(func, types, args, kwargs):
    """Runs the body of ``func`` without asking about this call; calls in the body are asked about.

    >>> class Plain(flambeau.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return overrides.redispatch_function(func, types, args, kwargs)
    >>> flambeau.ones(1).as_subclass(Plain) + 1
    tensor([2.])
    """
    kwargs = kwargs or {}
    if isinstance(func, _overridable):
        return func.__wrapped__(*args, **kwargs)
    if isinstance(func, FunctionType):
        _C._set_skip_next_torch_function(True)
        try:
            return func(*args, **kwargs)
        finally:
            _C._set_skip_next_torch_function(False)
    with DisableTorchFunction():
        return func(*args, **kwargs)


# ---- what can be overridden ----------------------------------------------------------------------

_IGNORED_ROOT = (
    "are_deterministic_algorithms_enabled as_tensor asarray autocast_decrement_nesting"
    " autocast_increment_nesting bartlett_window blackman_window broadcast_shapes can_cast"
    " clear_autocast_cache empty empty_permuted empty_quantized empty_strided enable_grad eye fill"
    " from_dlpack from_file from_numpy frombuffer full arange get_autocast_dtype"
    " get_default_device get_default_dtype get_deterministic_debug_mode"
    " get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state"
    " hamming_window hann_window inference_mode initial_seed is_autocast_enabled is_grad_enabled"
    " is_inference_mode_enabled is_storage is_tensor is_warn_always_enabled kaiser_window linspace"
    " load logspace manual_seed no_grad normal ones promote_types rand rand_like randint"
    " randint_like randn randn_like randperm range result_type save scalar_tensor seed"
    " set_default_device set_default_tensor_type set_flush_denormal set_grad_enabled"
    " set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always tensor"
    " to_dlpack tril_indices triu_indices typename use_deterministic_algorithms vander vmap zeros"
    " as_strided"
)
_IGNORED_TENSOR = (
    "__class__ __delitem__ __dir__ __doc__ __getattribute__ __hash__ __init__ __init_subclass__"
    " __iter__ __new__ __setattr__ __delattr__ __subclasshook__ __torch_function__ as_subclass"
    " _make_subclass new new_empty new_empty_strided new_full new_ones new_tensor new_zeros stride"
    " unflatten"
)
_IGNORED_FUNCTIONAL = "upsample upsample_bilinear upsample_nearest"


def _namespaces():
    """(what the functions are found in, its public name, names that are ignored)."""
    import flambeau

    nothing = ""
    return [
        (flambeau.nn.functional, "torch.nn.functional", _IGNORED_FUNCTIONAL),
        (flambeau, "torch", _IGNORED_ROOT),
        (flambeau.linalg, "torch.linalg", nothing),
        (flambeau.fft, "torch.fft", "fftfreq rfftfreq"),
        (flambeau.special, "torch.special", nothing),
    ]


@functools.cache
def get_ignored_functions():
    """Public functions that overrides never see, because their arguments are no tensors.

    >>> flambeau.zeros in overrides.get_ignored_functions()
    True
    """
    found = {getattr(Tensor, n) for n in _IGNORED_TENSOR.split() if hasattr(Tensor, n)}
    for module, _, ignored in _namespaces():
        found.update(getattr(module, n) for n in ignored.split() if hasattr(module, n))
    return found


def get_default_nowrap_functions():
    """Attributes that `Tensor.__torch_function__` returns without giving them the subclass.

    >>> Tensor.grad.__get__ in overrides.get_default_nowrap_functions()
    True
    """
    return {Tensor._base.__get__, Tensor.grad.__get__}  # type: ignore[union-attr]


_CALLABLE = (BuiltinFunctionType, MethodDescriptorType, _overridable)
# Methods of an object or of the class's own machinery.
_NOT_OPERATORS = {
    "__reduce__", "__getstate__", "__sizeof__", "__format__", "__complex__", "__nonzero__",
    "__long__", "_add_hook", "_add_post_accumulate_hook", "_remove_hook",
}  # fmt: skip
_SLOTS = (
    "__len__ __bool__ __int__ __float__ __index__ __getitem__ __setitem__ __complex__ __format__"
    " __add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __matmul__ __and__ __or__"
    " __xor__ __lshift__ __rshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rmod__"
    " __rpow__ __rmatmul__ __rand__ __ror__ __rxor__ __rlshift__ __rrshift__ __iadd__ __isub__"
    " __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __ior__ __ixor__ __ilshift__"
    " __irshift__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__"
    " __div__ __rdiv__ __idiv__"
)


@functools.cache
def _overridable_functions():
    """{namespace: functions}, {function: its public name}."""
    ignored = get_ignored_functions()
    functions: dict = {}
    names: dict = {}

    def add(where, function, name):
        if function not in names:
            names[function] = name
            if function not in ignored:
                functions.setdefault(where, []).append(function)

    for module, public, _ in _namespaces():
        later = getattr(module, "_LAZY_MODULES", ())  # not to be loaded for this
        for name in dir(module):
            if name.startswith("_") or name in later:
                continue
            function = getattr(module, name, None)
            if isinstance(function, _CALLABLE):
                if getattr(function, "__module__", "") != "flambeau._C":
                    add(module, function, f"{public}.{name}")
    attributes = {n: v for t in reversed(Tensor.__mro__[:-1]) for n, v in vars(t).items()}
    for name, value in sorted(attributes.items()):
        if isinstance(value, GetSetDescriptorType) and name != "__dict__":
            add(value, value.__get__, f"torch.Tensor.{name}.__get__")
        elif isinstance(value, _CALLABLE) and name not in _NOT_OPERATORS:
            add(Tensor, value, f"torch.Tensor.{name}")
    for name in _SLOTS.split():
        if hasattr(Tensor, name):
            add(Tensor, getattr(Tensor, name), f"torch.Tensor.{name}")
    return functions, names


def get_overridable_functions():
    """The functions, methods and attributes that can be overridden, by where they are found.

    >>> flambeau.add in overrides.get_overridable_functions()[flambeau]
    True
    """
    return {where: list(found) for where, found in _overridable_functions()[0].items()}


def resolve_name(f):
    """The public name of a function that can be overridden; None for another.

    >>> overrides.resolve_name(flambeau.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    return _overridable_functions()[1].get(f)


@functools.cache
def _tensor_members():
    functions, names = _overridable_functions()
    return {f for f, name in names.items() if name.startswith("torch.Tensor.")} | {
        getattr(Tensor, n) for n in _IGNORED_TENSOR.split() if hasattr(Tensor, n)
    }


def is_tensor_method_or_property(func):
    """Whether ``func`` belongs to Tensor: a method, or the getter of an attribute.

    >>> overrides.is_tensor_method_or_property(flambeau.Tensor.add)
    True
    >>> overrides.is_tensor_method_or_property(flambeau.add)
    False
    """
    return func in _tensor_members() or getattr(func, "__name__", "") == "__get__"


def _signature(function, name):
    """The signature that users see; that of the first overload for an operator of the table."""
    import inspect
    import keyword

    if name.endswith(".__get__"):
        return inspect.signature(lambda self: -1)
    if isinstance(function, _overridable):
        return inspect.signature(function.__wrapped__)
    anything = inspect.signature(lambda *args, **kwargs: -1)
    parameters = []
    kind: inspect._ParameterKind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    text, arrow, _ = (function.__doc__ or "").partition("\n")[0].partition(" -> ")
    if not arrow:
        return anything
    for part in _parts(text.partition("(")[2].removesuffix(")")):
        words = part.partition("=")
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        default = _default(words[2].strip()) if words[1] else inspect.Parameter.empty
        word = words[0].split()[-1]
        word += "_" if keyword.iskeyword(word) else ""
        if not word.isidentifier():
            return anything
        parameters.append(inspect.Parameter(word, kind, default=default))
    method = name.startswith("torch.Tensor.")
    if method and parameters:
        parameters[0] = parameters[0].replace(name="self")
    try:
        return inspect.Signature(parameters or [inspect.Parameter("self", kind)] * method)
    except ValueError:  # a default before a parameter without one
        return anything


def _parts(text):
    """The parameters of a signature: the commas in brackets separate nothing."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "[(") - (c in "])")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def _default(text):
    import ast

    try:
        return ast.literal_eval(text.capitalize() if text in ("true", "false") else text)
    except (ValueError, SyntaxError):
        return None


@functools.cache
def get_testing_overrides():
    """For every function that can be overridden one with the same signature that returns -1.

    >>> import inspect
    >>> inspect.signature(overrides.get_testing_overrides()[flambeau.nn.functional.relu])
    <Signature (input, inplace=False)>
    """

    def stand_in(function, name):
        def dummy(*args, **kwargs):
            return -1

        dummy.__name__ = dummy.__qualname__ = name.rpartition(".")[2]
        dummy.__signature__ = _signature(function, name)  # type: ignore[attr-defined]
        return dummy

    functions, names = _overridable_functions()
    return {f: stand_in(f, names[f]) for found in functions.values() for f in found}
