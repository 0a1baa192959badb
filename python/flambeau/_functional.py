"""Public functions that need Python: variable arguments, several kinds of results, global state."""

from __future__ import annotations

from . import _C
from ._C import Tensor, ops
from ._size import Size
from ._torch_function import let_override

__all__ = [
    "are_deterministic_algorithms_enabled",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "detach_",
    "embedding_renorm_",
    "from_file",
    "get_default_device",
    "get_device",
    "get_rng_state",
    "initial_seed",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "manual_seed",
    "meshgrid",
    "nonzero",
    "numel",
    "seed",
    "set_default_device",
    "set_flush_denormal",
    "set_rng_state",
    "to_dlpack",
    "typename",
    "use_deterministic_algorithms",
    "vander",
]


def _tensors(args):
    """f(a, b) and f([a, b]) mean the same."""
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)


def is_tensor(obj):
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether ``obj`` is a storage."""
    return isinstance(obj, _C.UntypedStorage) or hasattr(type(obj), "_new_wrapped_storage")


def is_floating_point(input):
    """Whether the dtype is one of the real floating ones."""
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is complex."""
    return input.is_complex()


def is_nonzero(input):
    """Truth of a one-element tensor."""
    if input.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with "
            f"{'no values' if not input.numel() else 'more than one value'} is ambiguous"
        )
    return bool(input)


def detach_(input):
    """Takes the tensor itself out of its graph; it becomes a leaf without gradient."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"detach_(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input.detach_()


def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scales, in place, the rows that ``indices`` names to a norm of at most ``max_norm``.

    >>> flambeau.embedding_renorm_(flambeau.tensor([[3.0, 4.0]]), flambeau.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
    if input.dim() != 2:
        raise RuntimeError(
            "embedding_renorm_: Expected 2-dimensional tensor, but got "
            f"{input.dim()}-dimensional tensor for argument 'input'"
        )
    if indices.dtype not in (_C.int64, _C.int32):
        raise RuntimeError(
            "embedding_renorm_: Expected tensor for argument 'indices' to have one of the "
            f"following scalar types: Long, Int; but got {indices.dtype}"
        )
    indices = indices.reshape(-1)
    rows = input.detach().index_select(0, indices)
    norms = rows.norm(norm_type, 1, keepdim=True)
    factor = ops.where(norms > max_norm, max_norm / (norms + 1e-7), ops.ones_like(norms))
    return input.index_copy_(0, indices.long(), rows * factor)


def _asks(name):
    """The function form of a method without arguments."""

    def function(input):
        return getattr(input, name)()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``input.{name}()``."
    return function


get_device, is_conj, is_inference, is_neg, is_signed = map(
    _asks, ("get_device", "is_conj", "is_inference", "is_neg", "is_signed")
)


def is_same_size(input, other):
    """Whether both have one shape."""
    return input.shape == other.shape


def to_dlpack(tensor):
    """A DLPack capsule that shares the tensor's memory."""
    return _C._to_dlpack(tensor, False, False)


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None,
              pin_memory=False, requires_grad=False):  # fmt: skip
    """A 1-d tensor of ``size`` elements in a file that is mapped into memory.

    Args: with ``shared`` the file is made or grown as needed, and changes of the tensor reach it.
    """
    import mmap
    import os

    dtype = _C.get_default_dtype() if dtype is None else dtype
    count = size * dtype.itemsize
    with open(filename, "a+b" if shared else "rb") as file:
        have = os.fstat(file.fileno()).st_size
        if have < count and not shared:
            raise RuntimeError(
                f"from_file: {filename!r} has {have} bytes, {size} elements of {dtype} need {count}"
            )
        if count == 0:
            return ops.empty((0,), dtype=dtype)
        if have < count:
            file.truncate(count)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        memory = mmap.mmap(file.fileno(), count, access=access)
    out = _C._from_buffer(memoryview(memory)).view(dtype)
    return out.requires_grad_(True) if requires_grad else out


def numel(input):
    """The number of elements."""
    if not isinstance(input, Tensor):
        raise TypeError(
            "numel(): argument 'input' (position 1) must be Tensor, not " + type(input).__name__
        )
    return input.numel()


def typename(obj):
    """The name of a tensor's type, or of any object's."""
    if isinstance(obj, Tensor):
        return obj.type()
    module = getattr(type(obj), "__module__", "")
    return (
        f"{module}.{type(obj).__qualname__}"
        if module not in ("", "builtins")
        else type(obj).__qualname__
    )


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    out: tuple[int, ...] = ()
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        n = max(len(out), len(shape))
        a, b = (1,) * (n - len(out)) + tuple(out), (1,) * (n - len(shape)) + shape
        for x, y in zip(a, b):
            if y < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({y}): ({y})")
            if x != y and x != 1 and y != 1:
                raise RuntimeError(
                    f"Shape mismatch: objects cannot be broadcast to a single shape: {shapes}"
                )
        out = tuple(y if x == 1 else x for x, y in zip(a, b))
    return Size(out)


def broadcast_tensors(*tensors):
    """Views of the tensors with their common shape."""
    tensors = _tensors(tensors)
    shape = broadcast_shapes(*[t.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


def meshgrid(*tensors, indexing=None):
    """Coordinate grids of 0-d or 1-d tensors; ``indexing`` "ij" or "xy"."""
    given = _tensors(tensors)
    if not given:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for t in given:
        if t.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t.dim()}D"
            )
        if t.dtype != given[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = [t.numel() for t in given]
    grids = [
        t.reshape([-1 if i == k else 1 for i in range(len(shape))]).expand(shape)
        for k, t in enumerate(given)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def nonzero(input, *, out=None, as_tuple=False):
    """Positions of the elements that are not zero: one row each, or one tensor a dimension."""
    if as_tuple:
        return ops.nonzero(input if input.dim() else input.reshape(1)).unbind(1)
    found = ops.nonzero(input)
    if out is not None and out.dtype != found.dtype:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have dtype {found.dtype}, but got {out.dtype} instead"
        )
    return found if out is None else out.resize_(found.shape).copy_(found)


def _at_least(function, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple(function(t) for t in _tensors(tensors))


def atleast_1d(*tensors):
    """Tensors with at least one dimension."""
    return _at_least(ops.atleast_1d, tensors)


def atleast_2d(*tensors):
    """Tensors with at least two dimensions."""
    return _at_least(ops.atleast_2d, tensors)


def atleast_3d(*tensors):
    """Tensors with at least three dimensions."""
    return _at_least(ops.atleast_3d, tensors)


def cartesian_prod(*tensors):
    """Every combination of the elements of 1-d tensors, one row each."""
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([g.reshape(-1) for g in meshgrid(*tensors, indexing="ij")], 1)


def vander(x, N=None, increasing=False):
    """Powers of the elements of a vector, one row each: ``N`` columns, the highest power first.

    >>> flambeau.vander(flambeau.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor, got {x.dim()} dimensions")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"vander: N must be non-negative, got {N}")
    if x.dtype == _C.bool:
        x = x.long()
    if count == 0:
        return x.new_empty((x.shape[0], 0))
    column = x.unsqueeze(1)
    powers = column.expand(-1, count - 1).cumprod(1, dtype=x.dtype)
    out = ops.cat([ops.ones_like(column), powers], 1)
    return out if increasing else out.flip(1)


def block_diag(*tensors):
    """Matrices along the diagonal of one matrix of zeros."""
    parts = [ops.atleast_2d(t) for t in tensors]
    for i, p in enumerate(parts):
        if p.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has "
                f"{p.dim()} dimensions"
            )
    if not parts:
        return ops.empty((1, 0))
    columns = sum(p.shape[1] for p in parts)
    rows, at = [], 0
    for p in parts:
        rows.append(ops.pad(p, (at, columns - at - p.shape[1])))
        at += p.shape[1]
    return ops.cat(rows)


# ---- random state --------------------------------------------------------------------------------


def manual_seed(seed):
    """Seeds the default generator; returns it."""
    return _C.default_generator.manual_seed(int(seed))


def seed():
    """Seeds the default generator from the system; returns the seed."""
    return _C.default_generator.seed()


def initial_seed():
    """The seed the default generator was given last."""
    return _C.default_generator.initial_seed()


def get_rng_state():
    """The default generator's state as a uint8 tensor."""
    return _C.default_generator.get_state()


def set_rng_state(new_state):
    """Restores a state of get_rng_state."""
    _C.default_generator.set_state(new_state)


# ---- global switches -----------------------------------------------------------------------------


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted for compatibility: results here never depend on thread timing."""


def are_deterministic_algorithms_enabled():
    """Always true here."""
    return True


def set_flush_denormal(mode):
    """Denormals are kept; returns False, as on processors without the switch."""
    return False


def get_default_device():
    """The device of new tensors: the innermost ``with device:``, else `set_default_device`'s.

    >>> flambeau.get_default_device()
    device(type='cpu')
    """
    if not _C._len_torch_function_stack():
        return _C.device("cpu")
    from ._device_mode import current_device

    return current_device()


_C._get_default_device = lambda: str(get_default_device())


def set_default_device(device):
    """Sets the device of tensors that factories make without ``device``; None means the cpu.

    Costs factories the time of a mode of `overrides.TorchFunctionMode` unless it is the cpu.

    >>> flambeau.set_default_device("meta")
    >>> flambeau.ones(2).device
    device(type='meta')
    >>> flambeau.set_default_device(None)
    """
    from ._device_mode import set_default

    set_default(device)


let_override(
    globals(),
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod detach_"
    " embedding_renorm_ is_complex is_conj is_floating_point is_inference is_neg is_nonzero"
    " is_same_size is_signed get_device meshgrid nonzero numel vander".split(),
)
