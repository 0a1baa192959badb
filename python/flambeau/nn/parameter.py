"""Tensors that a module owns: `Parameter`, `Buffer`, and the kinds whose shape is not known yet."""

from __future__ import annotations

from collections import OrderedDict

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau._tensor import _disabled_torch_function_impl


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Tensors of other subclasses count as parameters once they carry `_is_param`."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and _flag(instance, "_is_param")


def _flag(tensor, name):
    return bool(getattr(tensor, name, False))


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that becomes a parameter of the module it is assigned to.

    Args:
        data: the values; the parameter shares their memory. An empty tensor if left out.
        requires_grad: whether gradients are computed for it.

    Raises:
        AttributeError: data is not a tensor.
        RuntimeError: gradients are required of a tensor of integers.

    Example:
        >>> nn.Parameter(flambeau.ones(2))
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
    """

    # Results of operators on parameters are plain tensors, also for subclasses.
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = ops.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return _C._make_subclass(cls, data, requires_grad)
        # A tensor of another class keeps its class and is only marked.
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires "
                "that detach() returns an instance of the same type, but return type "
                f"{type(t).__name__} was found instead. To use the type as a Parameter, please "
                "correct the detach() semantics defined by its __torch_dispatch__() implementation."
            )
        t._is_param = True
        return t

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, proto):
        # Hooks are not kept; the empty dictionary stands for them in the saved form.
        arguments: tuple = (self.data, self.requires_grad, OrderedDict())
        state = getattr(self, "__dict__", None)
        if state:
            return _rebuild_parameter_with_state, (*arguments, dict(state))
        return _rebuild_parameter, arguments


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    param = _rebuild_parameter(data, requires_grad, backward_hooks)
    for name, value in state.items():
        setattr(param, name, value)
    return param


# What may be called on a tensor without shape: conversions and what loading of states needs.
_CALLABLE = frozenset(
    "copy_ cpu cuda to half float double bfloat16 char short int long get_device "
    "is_complex is_floating_point size".split()
)


def _refuse(what, kind):
    raise ValueError(
        f"Attempted to use an uninitialized parameter in {what}: a {kind.__name__} has no shape "
        "before `materialize` or its module's first call. Call the module once, with inputs of "
        "the right shape."
    )


def _not_yet(name):
    """A method that only tensors with a shape have."""

    def method(self, *args, **kwargs):
        _refuse(name, self.__class__)

    method.__name__ = name
    return method


class UninitializedTensorMixin:
    """A tensor without shape until `materialize` is called.

    Until then it can be moved, converted, saved and loaded; ValueError otherwise.
    """

    cls_to_become: type
    data: Tensor

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor its shape; the values are uninitialised.

        >>> weight = nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, weight.shape
        ('Parameter', torch.Size([2, 3]))
        """
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = ops.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    # Methods that do not pass through __torch_function__.
    numel = _not_yet("numel")
    nelement = _not_yet("nelement")
    dim = _not_yet("dim")
    requires_grad_ = _not_yet("requires_grad_")
    backward = _not_yet("backward")
    register_hook = _not_yet("register_hook")
    numpy = _not_yet("numpy")
    tolist = _not_yet("tolist")
    type = _not_yet("type")
    __len__ = _not_yet("__len__")
    __iter__ = _not_yet("__iter__")

    def __repr__(self):
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self, proto):
        return self.__class__, (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name not in ("__get__", "__set__") and name.removeprefix("to_") not in _CALLABLE:
            _refuse(func, cls)
        before = _C._set_torch_function_enabled(False)
        try:
            return func(*args, **(kwargs or {}))
        finally:
            _C._set_torch_function_enabled(before)


def is_lazy(param):
    """Whether a parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape the first input of its module decides.

    Args:
        requires_grad: whether gradients are computed for it.
        device, dtype: of the tensor that it becomes.

    Example:
        >>> nn.UninitializedParameter()
        <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        data = ops.empty(0, device=device, dtype=dtype)
        return _C._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and _flag(instance, "_is_buffer")


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    Args:
        data: the values; an empty tensor if left out.
        persistent: whether the buffer is part of the module's `state_dict`.
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = ops.empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first input of its module decides.

    Args:
        requires_grad: whether gradients are computed for it.
        device, dtype: of the tensor that it becomes.
        persistent: whether it is part of the module's `state_dict`.

    Example:
        >>> nn.UninitializedBuffer()
        <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        data = ops.empty(0, device=device, dtype=dtype)
        buffer = _C._make_subclass(cls, data, requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer

    def _like(self, data):
        return self.__class__(self.requires_grad, data.device, data.dtype, self.persistent)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self._like(self.data)
        return memo[id(self)]

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs)
        # Modules put the conversion of a buffer in its place: it goes on waiting.
        if type(out) is Tensor and isinstance(args[0], UninitializedBuffer):
            return args[0]._like(out)
        return out


_C._register_type("Parameter", Parameter)
