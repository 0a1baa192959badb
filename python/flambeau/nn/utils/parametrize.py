"""Tensors of a module that are computed from others: parametrizations.

A parametrized module gets a class of its own, made on the fly, in which a property stands for each
parametrized tensor. What the tensor is computed from lies in ``module.parametrizations``.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from typing import Any

from flambeau._C import Tensor
from flambeau.autograd import no_grad
from flambeau.nn.modules.container import ModuleDict, ModuleList
from flambeau.nn.modules.module import Module
from flambeau.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

# How many `cached` blocks are open, and the values seen within them by (id of module, name).
_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextlib.contextmanager
def cached():
    """Within it each parametrized tensor is computed once, on first use.

    >>> layer = register_parametrization(nn.Linear(2, 2), "weight", nn.Tanh())
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set_values(tensor, value):
    """Makes tensor, which stays the object it is, share the memory of value."""
    tensor.data = value.detach()


def _check_like(what, value, shape, dtype):
    """ValueError unless value is a tensor of that shape and dtype."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{what} must be a tensor. Got {type(value).__name__}")
    if value.dtype != dtype:
        raise ValueError(
            f"{what} must have the dtype of the tensor that is parametrized, unless the "
            f"`unsafe` flag is enabled.\nexpected dtype: {dtype}\ngot: {value.dtype}"
        )
    if value.shape != shape:
        raise ValueError(
            f"{what} must have the shape of the tensor that is parametrized, unless the "
            f"`unsafe` flag is enabled.\nexpected shape: {shape}\ngot: {value.shape}"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors that its value is computed from.

    Those are ``original``, or ``original0``, ``original1`` … where the `right_inverse` of the first
    parametrization returns several. `register_parametrization` makes the list.

    Args:
        modules: the parametrizations; the first is applied first.
        original: the parameter or buffer that is parametrized.
        unsafe: whether dtype and shape may change; nothing is checked then.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        start = self._inverse_of_all(original)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            if start.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {start.dtype}"
                )
            # The same object: optimizers may hold it already.
            _set_values(original, start)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, tensor in enumerate(start):
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                tensor.requires_grad_(original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", tensor)
        if not unsafe:
            _check_like("What a parametrization returns", self(), shape, dtype)

    def _inverse_of_all(self, original):
        value = original
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    # One that is declared but not implemented counts as the identity.
                    with contextlib.suppress(NotImplementedError):
                        value = module.right_inverse(value)
        if isinstance(value, Tensor):
            return value
        kind = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)."
        if not isinstance(value, Sequence):
            raise ValueError(f"{kind} Got {type(value).__name__}")
        for i, tensor in enumerate(value):
            if not isinstance(tensor, Tensor):
                raise ValueError(f"{kind} Got element {i} of the sequence with type {type(tensor)}")
        return value

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parametrized tensor becomes value.

        Raises:
            RuntimeError: a parametrization has no `right_inverse`.
            ValueError: a `right_inverse` returns something of another kind or number.
        """
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"`right_inverse` should return a tensor. Got {type(value).__name__}"
                )
            self._take("original", value)
            return
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, tensor in enumerate(value):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    f"`right_inverse` must return tensors. Got element {i}: {tensor!r}"
                )
            self._take(f"original{i}", tensor)

    def _take(self, name, value):
        original = getattr(self, name)
        if original.dtype != value.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `{name}` "
                f"has dtype {original.dtype}"
            )
        _set_values(original, value)

    def forward(self) -> Tensor:
        """The value of the parametrized tensor."""
        modules: Any = iter(self._modules.values())
        if self.is_tensor:
            value = next(modules)(self.original)
        else:
            value = next(modules)(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in modules:
            value = module(value)
        return value


def _property_of(name):
    def get(self):
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), name)
        value = _cache.get(key)
        if value is None:
            value = _cache[key] = parametrization()
        return value

    def put(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _inject_property(module, tensor_name):
    """The tensor as a property of the module's own class."""
    # A plain attribute of that name would hide nothing, but go on to be saved and copied.
    assert not hasattr(module, tensor_name)
    setattr(type(module), tensor_name, _property_of(tensor_name))


def _refuse_pickle(self):
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). "
        "See the documentation of torch.nn.utils.parametrize: save state_dict(), build and "
        "parametrize the module again, then load it."
    )


def _deepcopy(self, memo):
    """A copy with a class of its own, so that removals from one do not show in the other."""
    if id(self) in memo:
        return memo[id(self)]
    cls: Any = type(self)
    own = type(cls)(cls.__name__, cls.__bases__, dict(_class_body(cls)))
    replica = memo[id(self)] = own.__new__(own)
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return replica


def _class_body(cls):
    return {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__")}


def _inject_new_class(module):
    """Gives the module a class of its own, which properties can be put into."""
    cls: Any = type(module)
    body = {"__getstate__": _refuse_pickle, "__module__": cls.__module__}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = _deepcopy
    module.__class__ = type(cls)(f"Parametrized{cls.__name__}", (cls,), body)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """From now on ``module.tensor_name`` is parametrization of the tensor it was.

    The tensor itself becomes ``module.parametrizations.tensor_name.original``, and stays what
    optimizers change. A second parametrization is applied to the result of the first. Where
    parametrization has a method ``right_inverse(value)``, it gives the original's first value, and
    the tensor can be assigned to; it may return several tensors, which `forward` then takes.

    Args:
        module: the owner of the tensor.
        tensor_name: name of a parameter or buffer.
        parametrization: a module that maps a tensor to one of the same shape and dtype.
        unsafe: whether shape and dtype may change; nothing is checked then.

    Returns:
        module, whose class is now a subclass of what it was.

    Raises:
        ValueError: there is no such tensor, or a result has another shape or dtype.

    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    ...     def right_inverse(self, x):
    ...         return x.triu()
    >>> layer = register_parametrization(nn.Linear(2, 2, bias=False), "weight", Symmetric())
    >>> layer.weight = flambeau.tensor([[1.0, 2.0], [2.0, 3.0]])
    >>> layer.parametrizations.weight.original
    Parameter containing:
    tensor([[1., 2.],
            [0., 3.]], requires_grad=True)
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_one_more(getattr(module, tensor_name), parametrization)
        members = module.parametrizations[tensor_name]
        members.append(parametrization)
        members.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        # The list first: where it refuses, the module is as it was.
        members = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = members
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_one_more(before, parametrization):
    """ValueError where a further parametrization does not go with what there is."""
    after = parametrization(before)
    _check_like("What a parametrization returns", after, before.shape, before.dtype)
    if hasattr(parametrization, "right_inverse"):
        with contextlib.suppress(NotImplementedError):
            back = parametrization.right_inverse(after)
            _check_like("What `right_inverse` returns", back, before.shape, before.dtype)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of the module, or any if there is no name, is parametrized.

    >>> is_parametrized(nn.Linear(1, 1))
    False
    """
    members = getattr(module, "parametrizations", None)
    if not isinstance(members, ModuleDict):
        return False
    return len(members) > 0 if tensor_name is None else tensor_name in members


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Makes a parametrized tensor a plain parameter or buffer again.

    Args:
        leave_parametrized: it keeps the value it has now; else it gets that of its original.

    Raises:
        ValueError: the tensor is not parametrized, or is computed from several originals and
            leave_parametrized is False.

    >>> layer = register_parametrization(nn.Linear(2, 2), "weight", nn.Tanh())
    >>> remove_parametrizations(layer, "weight")
    Linear(in_features=2, out_features=2, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    members = module.parametrizations[tensor_name]
    if members.is_tensor:
        tensor = members.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            _set_values(tensor, value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before a tensor of it was parametrized.

    >>> layer = register_parametrization(nn.Linear(2, 2), "weight", nn.Tanh())
    >>> type(layer).__name__, type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrizes to_module as from_module is, with the same originals.

    Args:
        tensor_name: the one tensor to transfer; all if left out. A tensor that to_module lacks is
            made.

    Returns:
        to_module.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        if source.is_tensor:
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
