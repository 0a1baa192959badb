"""Names from PyTorch's early days: tensor types (FloatTensor …) and some methods of Tensor."""

from __future__ import annotations

import warnings

from . import _C
from ._C import Tensor, ops
from ._factory import tensor
from ._size import Size

_DTYPES = {
    "FloatTensor": _C.float32, "DoubleTensor": _C.float64, "HalfTensor": _C.float16,
    "BFloat16Tensor": _C.bfloat16, "ByteTensor": _C.uint8, "CharTensor": _C.int8,
    "ShortTensor": _C.int16, "IntTensor": _C.int32, "LongTensor": _C.int64, "BoolTensor": _C.bool,
}  # fmt: skip


def _construct(dtype, device, args):
    """Type(2, 3), Type([1, 2]), Type(other): uninitialised for sizes."""
    if not args:
        return ops.empty((0,), dtype=dtype, device=device)
    first = args[0]
    if len(args) == 1 and isinstance(first, Tensor):
        if first.dtype != dtype:
            raise TypeError(f"expected a tensor of dtype {dtype}, got {first.dtype}")
        return ops.alias(first)
    untyped = getattr(first, "_untyped_storage", first)
    if len(args) == 1 and isinstance(untyped, _C.UntypedStorage):
        return ops.empty((0,), dtype=dtype, device=device).set_(first)
    if len(args) == 1 and isinstance(first, Size):
        return ops.empty(tuple(first), dtype=dtype, device=device)
    if all(isinstance(a, int) for a in args):
        return ops.empty(args, dtype=dtype, device=device)
    if len(args) > 1:
        raise TypeError(f"expected sizes, one sequence or one tensor, got {len(args)} arguments")
    return tensor(first, dtype=dtype, device=device)


class tensortype(type):
    """The type of FloatTensor and its relatives: isinstance() looks at the dtype."""

    def __call__(cls, *args, device=None):
        return _construct(cls.dtype, device, args)

    def __instancecheck__(cls, value):
        if not isinstance(value, Tensor) or value.dtype != cls.dtype or value.is_meta:
            return False
        return value.layout is _C.strided


TYPES = {
    name: tensortype(
        name,
        (),
        {
            "dtype": dtype,
            "is_cuda": False,
            "is_sparse": False,
            "__module__": "torch",
            "__doc__": f"Tensors of {dtype}; `tensor` and `empty` are the newer ways to make one.",
        },
    )
    for name, dtype in _DTYPES.items()
}


def _method(function):
    setattr(Tensor, function.__name__, function)


@_method
def new(self, *args, device=None):
    """A new tensor of this dtype, of data or, uninitialised, of sizes."""
    return _construct(self.dtype, self.device if device is None else device, args)


@_method
def resize(self, *sizes):
    """A tensor of other sizes over the same memory; `reshape` is the newer name."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=2)
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        sizes = tuple(sizes[0])
    count = 1
    for s in sizes:
        count *= s
    if count != self.numel():
        raise RuntimeError(
            f"requested resize to {sizes} ({count} elements in total), but the given tensor has a"
            f" size of {tuple(self.shape)} ({self.numel()} elements). autograd's resize can only"
            " change the shape of a given tensor, while preserving the number of elements."
        )
    return self.contiguous().view(sizes)


@_method
def resize_as(self, tensor):
    """As ``resize`` with the sizes of another tensor."""
    return self.resize(tuple(tensor.shape))


@_method
def reinforce(self, reward):
    """Removed: `distributions` computes log-probabilities of samples."""
    raise RuntimeError("reinforce() was removed; use torch.distributions instead")


@_method
def map_(self, tensor, callable):
    """Replaces each element ``a`` by ``callable(a, b)`` with ``b`` of another tensor; slow."""
    return apply_to_elements("map_", callable, self, tensor)


@_method
def map2_(self, x, y, callable):
    """As `map_` with elements of two tensors."""
    return apply_to_elements("map2_", callable, self, x, y)


def apply_to_elements(name, function, self, *others):
    """Replaces each element by ``function`` of it and those of the other tensors."""
    if self.requires_grad or any(o.requires_grad for o in others):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() "
            "instead."
        )
    for t in (self, *others):
        if _C._transform_level(t):  # what function returns would have no derivative
            raise RuntimeError(
                f"{name}: Cannot access data pointer of Tensor that doesn't have storage (it is "
                "inside a function transform: vmap, grad, jvp)"
            )
        if t.dtype != self.dtype:
            raise TypeError(f"{name}: expected a tensor of dtype {self.dtype}, got {t.dtype}")
    if self.is_meta:
        return self
    lists = [t.expand_as(self).reshape(-1).tolist() for t in (self, *others)]
    values = [function(*row) for row in zip(*lists)]
    return self.copy_(tensor(values, dtype=self.dtype).reshape(self.shape))


@_method
def is_set_to(self, tensor):
    """Whether both show the same memory in the same way."""
    return (
        self.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


@_method
def is_nonzero(self):
    """Truth of a one-element tensor."""
    return bool(self)


@_method
def const_data_ptr(self):
    """The address of the first element, of memory that is only read."""
    return self.data_ptr()


@_method
def float_power_(self, exponent):
    """`float_power` in place: only float64 and complex128 hold its result."""
    exponent_complex = (
        exponent.is_complex() if isinstance(exponent, Tensor) else isinstance(exponent, complex)
    )
    needed = _C.complex128 if self.is_complex() or exponent_complex else _C.float64
    if self.dtype != needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype} but the operation's result"
            f" requires dtype {needed}"
        )
    return self.pow_(exponent)


@_method
def module_load(self, other, assign=False):
    """What a parameter becomes when ``other`` is loaded: itself with new values, or ``other``."""
    return other.detach() if assign else self.copy_(other).detach()


Tensor.volatile = property(lambda self: False)
Tensor.grad_dtype = property(lambda self: self.dtype)
