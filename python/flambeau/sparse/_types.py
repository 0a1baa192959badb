"""torch.sparse.FloatTensor and its relatives: types that isinstance() and type() know."""

from __future__ import annotations

from flambeau._C import Tensor
from flambeau._legacy import _DTYPES
from flambeau._sparse.construct import sparse_coo_tensor


class tensortype(type):
    """The type of the sparse tensor types: isinstance() looks at layout and dtype."""

    def __call__(cls, *args, device=None):
        if not args:
            return sparse_coo_tensor((0,), dtype=cls.dtype, device=device)
        if isinstance(args[0], Tensor):
            if len(args) == 1:
                return args[0]
            return sparse_coo_tensor(*args, dtype=cls.dtype, device=device)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        return sparse_coo_tensor(tuple(size), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and value.is_sparse and value.dtype == cls.dtype


TYPES = {
    name: tensortype(
        name,
        (),
        {
            "dtype": dtype,
            "is_cuda": False,
            "is_sparse": True,
            "__module__": "torch.sparse",
            "__doc__": f"Sparse COO tensors of {dtype}; `sparse_coo_tensor` is the newer way.",
        },
    )
    for name, dtype in _DTYPES.items()
    if name != "BoolTensor"
}
