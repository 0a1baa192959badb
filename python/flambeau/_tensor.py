"""Methods of Tensor that are written in Python; they are added to the C type."""

from __future__ import annotations

from . import _C
from ._C import Tensor, ops
from ._torch_function import DisableTorchFunction, _overridable
from ._torch_function import _disabled_torch_function_impl as _disabled_torch_function_impl


def _plain_method(function):
    """Decorator: a method of Tensor that overrides do not see."""
    setattr(Tensor, function.__name__, function)
    return function


def _method(function):
    """Decorator: a method of Tensor, which `__torch_function__` can override."""
    return _plain_method(_overridable(function))


class RemovableHandle:
    """What a hook registration returns: ``remove()`` takes the hook away."""

    def __init__(self, owner, id):
        self._owner, self.id = owner, id

    def remove(self):
        if self._owner is not None:
            self._owner._remove_hook(self.id)
            self._owner = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


@_method
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of this tensor to ``.grad`` of the leaves it was computed from.

    Args: ``gradient``, of this tensor's shape, weights its elements (1 for a one-element tensor);
    ``inputs`` limits accumulation to these leaves. Raises RuntimeError without a graph.
    """
    from . import autograd

    return autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@_method
def register_hook(self, hook):
    """Calls ``hook(grad)`` when this tensor's gradient is known; a returned tensor replaces it."""
    return RemovableHandle(self, self._add_hook(hook))


@_method
def register_post_accumulate_grad_hook(self, hook):
    """Calls ``hook(tensor)`` after ``.grad`` of this leaf has been accumulated."""
    return RemovableHandle(self, self._add_post_accumulate_hook(hook))


@_method
def __repr__(self, *, tensor_contents=None):
    from ._tensor_str import _str

    return _str(self, tensor_contents=tensor_contents)


@_method
def __format__(self, spec):
    return (
        self.item().__format__(spec)
        if self.dim() == 0 and not self.is_meta and _type(self) is Tensor
        else object.__format__(self, spec)
    )


@_method
def __contains__(self, element):
    if isinstance(element, (Tensor, _bool, int, float, complex)):
        return bool((self == element).any().item())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {_type(element)}."
    )


@_method
def __reversed__(self):
    return self if self.dim() == 0 else self.flip(0)


@_method
def numpy(self, *, force=False):
    """A NumPy array that shares memory with this tensor."""
    import numpy as np

    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    return np.asarray(_C._array_export(self))


@_method
def __array__(self, dtype=None, *, copy=None):
    array = self.numpy()
    if dtype is None and not copy:
        return array
    if copy is False and array.dtype != dtype:
        raise ValueError(
            f"Unable to avoid copy while creating an array as requested: {array.dtype} is not"
            f" {dtype}"
        )
    return array.astype(dtype or array.dtype, copy=bool(copy))


@_method
def __array_wrap__(self, array, context=None, return_scalar=False):
    if array.dtype == bool:
        array = array.astype("uint8")
    return _C._from_array(array, False)


Tensor.__array_priority__ = 1000


@_method
def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of this tensor, as consumers such as ``numpy.from_dlpack`` ask for it.

    Args:
        stream: None or -1: the cpu has no streams.
        max_version: the newest DLPack version the consumer reads, as (major, minor); from (1, 0)
            on the capsule is a versioned one.
        dl_device: the device that the consumer wants, (1, 0) for the cpu.
        copy: True for memory of its own.

    Raises:
        BufferError: the tensor requires a gradient or has no data.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and _type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream is not None and stream != -1:
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise NotImplementedError(
            f"__dlpack__: device {tuple(dl_device)} is not available in this build, (1, 0) is: the"
            " cpu"
        )
    versioned = max_version is not None and max_version[0] >= 1
    return _C._to_dlpack(self.clone() if copy else self, versioned, _bool(copy))


@_method
def __dlpack_device__(self):
    from ._dlpack import DLDeviceType

    if not self.is_cpu:
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return DLDeviceType.kDLCPU, 0


@_method
def type(self, dtype=None, non_blocking=False, **kwargs):
    """The tensor's type name, or the tensor converted to another dtype."""
    if dtype is None:
        return f"torch.{'sparse.' if self.is_sparse else ''}{_LEGACY_NAMES[self.dtype]}"
    if isinstance(dtype, str):
        dtype = dtype.replace("torch.sparse.", "torch.") if self.is_sparse else dtype
        names = {"torch." + v: k for k, v in _LEGACY_NAMES.items()}
        if dtype not in names:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = names[dtype]
    if not isinstance(dtype, _C.dtype) and dtype not in (float, int, complex, _bool):
        kind, dtype = dtype, getattr(dtype, "dtype", None)
        if not isinstance(dtype, _C.dtype):
            raise ValueError(f"invalid type: '{getattr(kind, '__module__', '')}.{kind.__name__}'")
    return self.to(dtype)


_LEGACY_NAMES = {
    _C.float32: "FloatTensor", _C.float64: "DoubleTensor", _C.float16: "HalfTensor",
    _C.bfloat16: "BFloat16Tensor", _C.uint8: "ByteTensor", _C.int8: "CharTensor",
    _C.int16: "ShortTensor", _C.int32: "IntTensor", _C.int64: "LongTensor", _C.bool: "BoolTensor",
    _C.complex64: "ComplexFloatTensor", _C.complex128: "ComplexDoubleTensor",
}  # fmt: skip

_bool = True.__class__
_type = __builtins__["type"] if isinstance(__builtins__, dict) else __builtins__.type


def _legacy_new(cls, *args, device=None):
    """Tensor(2, 3), Tensor([1., 2.]), Tensor(other): float tensors (uninitialised for sizes)."""
    with DisableTorchFunction():
        return _construct(cls, args)


def _construct(cls, args):
    from ._factory import tensor

    dtype = _C.get_default_dtype()
    if len(args) == 1 and not isinstance(args[0], Tensor):
        if args[0] is None or isinstance(args[0], (float, complex)):
            kind = _type(args[0])
            raise TypeError(f"new(): data must be a sequence (got {kind.__name__})")
        if hasattr(args[0], "__index__") and not hasattr(args[0], "__len__"):
            args = (args[0].__index__(),)
    if len(args) == 1 and isinstance(args[0], Tensor):
        out = args[0].detach()
        if cls is Tensor:
            return out
    elif len(args) == 1 and not isinstance(args[0], int):
        out = (
            ops.empty(tuple(args[0]))
            if hasattr(args[0], "numel") and isinstance(args[0], tuple)
            else tensor(args[0], dtype=dtype)
        )
    else:
        out = ops.empty(args or (0,), dtype=dtype)
    return out if cls is Tensor else _C._make_subclass(cls, out)


@_method
def where(self, condition, other):
    """Elements of this tensor where ``condition``, of ``other`` elsewhere."""
    return ops.where(condition, self, other)


@_method
def nonzero(self, *, as_tuple=False):
    """Positions of the elements that are not zero: one row each, or one tensor a dimension."""
    return (
        ops.nonzero(self if self.dim() else self.reshape(1)).unbind(1)
        if as_tuple
        else ops.nonzero(self)
    )


@_method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of ``data`` with this tensor's dtype and device by default."""
    from ._factory import tensor

    return tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


@_method
def __reduce_ex__(self, protocol):
    from ._pickle import _reduce_tensor

    return _reduce_tensor(self, protocol)


@_method
def __deepcopy__(self, memo):
    from ._pickle import _deepcopy_tensor

    return _deepcopy_tensor(self, memo)


@_plain_method
def __dir__(self):
    return sorted(set(object.__dir__(self)) - {"volatile", "__cuda_array_interface__"})


@_method
def is_shared(self):
    """Whether other processes can show this tensor's memory.

    >>> flambeau.zeros(2).is_shared()
    False
    """
    return self.device.type == "cpu" and self.untyped_storage().is_shared()


@_method
def share_memory_(self):
    """Moves the memory of this tensor, and of all its views, to where other processes can show it.

    >>> flambeau.zeros(2).share_memory_().is_shared()
    True
    """
    self.untyped_storage().share_memory_()
    return self


@_method
def is_same_size(self, other):
    return self.shape == other.shape


@_method
def dim_order(self):
    """Dimensions from the outermost to the innermost in memory."""
    return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))


@_method
def get_device(self):
    return -1


@_method
def to_sparse_coo(self):
    """The tensor in the layout sparse_coo; `to_sparse` is the shorter name."""
    return self.to_sparse()


@_method
def pin_memory(self, device=None):
    return self


@_method
def is_pinned(self, device=None):
    return False


@_method
def apply_(self, function):
    """Replaces each element by ``function(element)``; slow, for cpu tensors."""
    from ._legacy import apply_to_elements

    return apply_to_elements("apply_", function, self)


@_method
def storage(self):
    """The memory as a `TypedStorage`; `untyped_storage` is the newer way."""
    from ._storage import _warn, typed

    _warn()
    return typed(self)


@_method
def _typed_storage(self):
    from ._storage import typed

    return typed(self)


@_method
def storage_type(self):
    """The class of the storage by dtype, `FloatStorage` for float32."""
    from ._storage import typed

    return typed(self)._get_legacy_storage_class()


def __torch_function__(cls, func, types, args=(), kwargs=None):
    """The default protocol: computes, then gives results the subclass's type."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    before = _C._set_torch_function_enabled(False)
    try:
        out = func(*args, **(kwargs or {}))
        if cls is Tensor or func in _not_converted:
            return out
        return _as_subclass(out, cls)
    finally:
        _C._set_torch_function_enabled(before)


Tensor.__torch_function__ = classmethod(__torch_function__)
_not_converted = {Tensor._base.__get__, Tensor.grad.__get__}  # type: ignore[union-attr]


@_method
def histogram(self, bins=100, *, range=None, weight=None, density=False):
    """`flambeau.histogram` of this tensor."""
    from ._statistics import histogram

    return histogram(self, bins, range=range, weight=weight, density=density)


def _as_subclass(value, cls):
    if isinstance(value, Tensor) and not isinstance(value, cls):
        return value.as_subclass(cls)
    if isinstance(value, (tuple, list)):
        items = [_as_subclass(v, cls) for v in value]
        if all(a is b for a, b in zip(items, value)):
            return value
        make = getattr(_type(value), "_make", _type(value))
        return make(items)
    return value


@_plain_method
def as_subclass(self, cls):
    """This tensor as an instance of a subclass, sharing memory and history.

    >>> class Named(flambeau.Tensor): ...
    >>> flambeau.ones(2).as_subclass(Named)
    Named([1., 1.])
    """
    return _C._as_subclass(cls, self)


def _rebuild_from_type_v2(function, kind, args, state):
    """PyTorch's plain pickles name this for tensors of subclasses or with attributes."""
    t = function(*args)
    if _type(t) is not kind:
        t = t.as_subclass(kind)
    t.__dict__.update(state)
    return t


Tensor.__rdiv__ = Tensor.__rtruediv__
Tensor.__div__ = Tensor.__truediv__
Tensor.__idiv__ = Tensor.__itruediv__
Tensor._make_subclass = staticmethod(
    lambda cls, data, require_grad=False: _C._make_subclass(cls, data, require_grad)
)
Tensor.names = property(lambda self: (None,) * self.dim())
Tensor.name = property(lambda self: None)
Tensor._cdata = property(id)  # a tensor has one Python object for as long as anybody could ask
Tensor.__module__ = "torch"
_C.TensorBase = Tensor
