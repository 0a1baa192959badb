"""Operators that programs write in Python.

`custom_op` makes an operator of a function; `Library` defines operators by schemas. They are called
by name below `ops`, take part in gradients by `register_autograd`, and on the device meta by
`register_fake`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import types
import typing
from typing import Any

from flambeau import _C
from flambeau._absent import declare, missing
from flambeau._C import Tensor

_PART = "rules of operators for modes, autocast and Triton"
declare(globals(), _PART, functions="get_kernel register_autocast register_torch_dispatch"
        " triton_op wrap_triton")  # fmt: skip

# ---- schemas

_NAMES = {
    int: "SymInt", float: "float", bool: "bool", str: "str", Tensor: "Tensor", _C.dtype: "ScalarType",
    _C.device: "Device", complex: "complex",
}  # fmt: skip
_NUMBER = {int | float | bool, int | float | complex, int | float | bool | complex}


def _type_name(annotation, fail, name):
    if annotation in _NAMES:
        return _NAMES[annotation]
    if annotation in _NUMBER:
        return "Scalar"
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and type(None) in args:
        rest = [a for a in args if a is not type(None)]
        inner = rest[0] if len(rest) == 1 else typing.Union[tuple(rest)]  # noqa: UP007
        return _type_name(inner, fail, name) + "?"
    is_list = origin is list or getattr(origin, "__name__", "") == "Sequence"
    if is_list and args:
        return _type_name(args[0], fail, name) + "[]"
    raise fail(f"Parameter {name} has unsupported type {annotation}.")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function from its annotations.

    Example:
        >>> def f(x: Tensor, n: int = 2) -> Tensor: ...
        >>> infer_schema(f, mutates_args=())
        '(Tensor x, SymInt n=2) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)

    def fail(text):
        return ValueError(f"infer_schema(func): {text} Got func with signature {signature})")

    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated"
            " or the string 'unknown'."
        )
    parts, starred = [], False
    mutated = 0
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise fail("We do not support positional-only args, varargs, or varkwargs.")
        if name not in hints:
            raise fail(f"Parameter {name} must have a type annotation.")
        kind = _type_name(hints[name], fail, name)
        if kind.startswith("Tensor") and (unknown or name in mutates_args):
            kind = f"Tensor(a{mutated}!){kind.removeprefix('Tensor')}"
            mutated += 1
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = ""
        if parameter.default is not parameter.empty:
            value = parameter.default
            if not isinstance(value, int | float | bool | str | _C.dtype | type(None)):
                raise fail(f"Parameter {name} has an unsupported default value type {type(value)}.")
            default = f'="{value}"' if isinstance(value, str) else f"={value}"
        parts.append(f"{kind} {name}{default}")
    if not unknown:
        extra = set(mutates_args) - set(signature.parameters)
        if extra:
            raise fail(f"{extra} in mutates_args were not found in the parameters.")
    returned = hints.get("return", inspect.Signature.empty)
    if returned is inspect.Signature.empty:
        raise fail("No return type annotation was provided. Please add one.")
    if returned is type(None):
        result = "()"
    elif typing.get_origin(returned) is tuple:
        inner = ", ".join(_type_name(a, fail, "return") for a in typing.get_args(returned))
        result = f"({inner})"
    else:
        result = _type_name(returned, fail, "return")
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


# ---- operators


def _tensors(values):
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


@contextlib.contextmanager
def _no_grad():
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        yield
    finally:
        _C._set_grad_enabled(before)


class _Operator:
    """Kernels by device, and the rules of an operator."""

    def __init__(self, qualname, signature=None):
        self.qualname, self.signature = qualname, signature
        self.kernels: dict[str, Any] = {}
        self.composite: Any = None
        self.fake: Any = None
        self.backward: Any = None
        self.setup: Any = None
        self.vmap: Any = None

    @property
    def shown(self):
        return self.qualname.replace("::", ".") + ".default"

    def __call__(self, *args, **kwargs):
        if self.signature is not None:
            bound = self.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if self.composite is not None:
            return self.composite(*args, **kwargs)
        inputs = list(_tensors([*args, *kwargs.values()]))
        if _C.is_grad_enabled() and any(t.requires_grad for t in inputs):
            return self._recorded(args, kwargs)
        return self._run(inputs, args, kwargs)

    def _run(self, inputs, args, kwargs):
        device = next((t.device.type for t in inputs), "cpu")
        if device == "meta" and "meta" not in self.kernels:
            if self.fake is None:
                raise RuntimeError(
                    f"There was no fake impl registered for {self.qualname}: use register_fake to"
                    " add one, which gives the shape of the result on the device meta."
                )
            kernel = self.fake
        else:
            kernel = self.kernels.get(device) or self.kernels.get("")
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self.qualname}' with arguments from the '{device.upper()}' backend."
            )
        with _no_grad():
            return kernel(*args, **kwargs)

    def _recorded(self, args, kwargs):
        function = importlib.import_module("flambeau.autograd.function").Function
        operator, names = self, list(kwargs)

        class Node(function):  # type: ignore[misc, valid-type]
            @staticmethod
            def forward(ctx, *values):
                given = values[: len(values) - len(names)]
                named = dict(zip(names, values[len(given) :]))
                result = operator._run(list(_tensors(values)), given, named)
                if operator.setup is not None:
                    if names:
                        operator.setup(
                            ctx=ctx, inputs=given, keyword_only_inputs=named, output=result
                        )
                    else:
                        operator.setup(ctx=ctx, inputs=given, output=result)
                return result

            @staticmethod
            def backward(ctx, *grads):
                if operator.backward is None:
                    raise RuntimeError(
                        f"Trying to backward through {operator.shown} but no autograd formula was"
                        " registered. Please use register_autograd to add one."
                    )
                found = operator.backward(ctx, *grads)
                found = found if isinstance(found, tuple) else (found,)
                return (*found, *[None] * len(names))

        Node.__name__ = f"GeneratedBackwardFor_{self.shown.replace('.', '_')}"
        return Node.apply(*args, *kwargs.values())


_operators: dict[str, _Operator] = {}


def _split(qualname):
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(
            f"Expected {qualname} to be of the form 'namespace::name': it has no namespace"
        )
    return namespace, name.partition(".")[0]


class CustomOpDef:
    """What `custom_op` makes: call it, and add rules."""

    def __init__(self, namespace, name, schema, function, signature):
        self._namespace, self._name, self._schema = namespace, name, schema
        self._qualname = f"{namespace}::{name}"
        self._init_fn = function
        self._operator = _operators[self._qualname] = _Operator(self._qualname, signature)
        ops = importlib.import_module("flambeau.ops")
        ops.unregister(namespace, name)
        self._opoverload = ops.register(namespace, name, self._operator, f"{name}{schema}")
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._operator(*args, **kwargs)

    def register_kernel(self, device_types, fn=None, /):
        """What computes the operator on devices; also a decorator."""

        def add(function):
            kinds = [device_types] if isinstance(device_types, str) else device_types
            for kind in kinds or [""]:
                self._operator.kernels[kind] = function
            return function

        return add if fn is None else add(fn)

    def register_fake(self, fn, /):
        """What gives an empty result on the device meta; also a decorator."""
        self._operator.fake = fn
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """The gradient: a function of the context and the gradients of the results."""
        self._operator.backward, self._operator.setup = backward, setup_context

    def register_vmap(self, func=None, /):
        """Not used yet: vmap calls operators of programs for each element."""
        raise missing("CustomOpDef.register_vmap", "rules of operators of programs for vmap")

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Not built yet."""
        raise missing("CustomOpDef.register_torch_dispatch", _PART)

    def register_autocast(self, device_type, cast_inputs):
        """Not built yet."""
        raise missing("CustomOpDef.register_autocast", _PART)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a function; also a decorator.

    Args:
        name: ``namespace::name``.
        mutates_args: the names of arguments that the function changes.

    Example:
        >>> @custom_op("example::double", mutates_args=())
        ... def double(x: Tensor) -> Tensor:
        ...     return x * 2
        >>> double.register_autograd(lambda ctx, grad: grad * 2)
        >>> from flambeau import ones
        >>> x = ones(1, requires_grad=True)
        >>> double(x).backward()
        >>> x.grad
        tensor([2.])
    """

    def make(function):
        namespace, plain = _split(name)
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        made = CustomOpDef(namespace, plain, text, function, inspect.signature(function))
        made.register_kernel(device_types, function)
        return made

    return make if fn is None else make(fn)


def _find(op):
    name = op if isinstance(op, str) else getattr(op, "_qualname", None) or op.name()
    name = "::".join([*_split(name)])
    if name not in _operators:
        raise RuntimeError(f"operator {name} does not exist: custom_op or define makes one")
    return _operators[name]


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """What computes an operator on devices; also a decorator."""

    def add(function):
        for kind in [device_types] if isinstance(device_types, str) else device_types or [""]:
            _find(op).kernels[kind] = function
        return function

    return add if func is None else add(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """What gives an empty result on the device meta; also a decorator."""

    def add(function):
        _find(op).fake = function
        return function

    return add if func is None else add(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The gradient of an operator."""
    operator = _find(op)
    operator.backward, operator.setup = backward, setup_context


def register_vmap(op, func=None, /, *, lib=None):
    """Not used yet: vmap calls operators of programs for each element."""
    raise missing("torch.library.register_vmap", "rules of operators of programs for vmap")


def define(qualname, schema=None, *, lib=None, tags=()):
    """An operator by its schema ``(Tensor x) -> Tensor``."""
    namespace, name = _split(qualname)
    Library(namespace, "FRAGMENT").define(f"{name}{schema}")


def impl(qualname, types, func=None, *, lib=None):
    """What computes an operator on devices; also a decorator."""

    def add(function):
        kinds = (types,) if isinstance(types, str) else tuple(types)
        for kind in kinds:
            _find(qualname).kernels["" if kind == "default" else kind.lower()] = function
        return function

    return add if func is None else add(func)


_KEYS = {"": "", "CPU": "cpu", "Meta": "meta", "CUDA": "cuda", "CompositeExplicitAutograd": ""}


class Library:
    """Operators of a namespace: ``define`` and ``impl``.

    Example:
        >>> lib = Library("example_lib", "DEF")
        >>> name = lib.define("half(Tensor x) -> Tensor")
        >>> lib.impl("half", lambda x: x / 2, "CPU")
        >>> from flambeau import ones, ops
        >>> ops.example_lib.half(ones(1))
        tensor([0.5000])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim", "prims") or (ns == "aten" and kind == "DEF"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with"
                             " another name.")  # fmt: skip
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []

    def define(self, schema, alias_analysis="", *, tags=()):
        """Adds an operator by its schema; returns its name."""
        name = schema[: schema.index("(")].strip()
        plain, _, overload = name.partition(".")
        qualname = f"{self.ns}::{plain}"
        operator = _operators.setdefault(qualname, _Operator(qualname))
        ops = importlib.import_module("flambeau.ops")
        ops.register(self.ns, plain, operator, schema, overload or "default")
        self._defined.append(plain)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Sets what computes an operator for a key."""
        if self.ns == "aten":
            raise missing("torch.library.Library.impl of aten operators", "rules by users")
        name = op_name if isinstance(op_name, str) else op_name.name()
        operator = _find(name if "::" in name else f"{self.ns}::{name}")
        key = dispatch_key or self.dispatch_key
        if key in ("CompositeImplicitAutograd", "Autograd", "AutogradCPU"):
            operator.composite = fn
        elif key in _KEYS:
            operator.kernels[_KEYS[key]] = fn
        else:
            raise missing(f"torch.library.Library.impl for {key}", _PART)

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        _find(f"{self.ns}::{op_name}").fake = fn

    def _destroy(self):
        ops = importlib.import_module("flambeau.ops")
        for name in self._defined:
            ops.unregister(self.ns, name)
            _operators.pop(f"{self.ns}::{name}", None)


def get_ctx():
    """What a fake rule may ask: sizes that are not known, of which there are none."""
    raise missing("torch.library.get_ctx", "symbolic shapes")


def fallthrough_kernel():
    """Not built yet: a rule that leaves an operator to the next."""
    raise missing("torch.library.fallthrough_kernel", _PART)


def opcheck(op, args, kwargs=None, **options):
    """Not built yet: checks of an operator's rules."""
    raise missing("torch.library.opcheck", "checks of operators of programs")


__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "get_kernel",
    "impl", "impl_abstract", "infer_schema", "register_autocast", "register_autograd",
    "register_fake", "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op",
    "wrap_triton",
]  # fmt: skip
