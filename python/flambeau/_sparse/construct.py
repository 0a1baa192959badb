"""sparse_coo_tensor, sparse_csr_tensor and the others: tensors from indices and values."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau._factory import tensor

from .record import BSC, BSR, CSC, CSR, NAMES
from .rules import empty_coo

_state: dict = {"check": False}


def _values(values, dtype, device):
    if isinstance(values, Tensor):
        if dtype is not None or device is not None:
            values = values.to(device or values.device, dtype or values.dtype)
        return values
    return tensor(values, dtype=dtype, device=device)


def _indices(indices, device, dtype=None):
    if not isinstance(indices, Tensor):
        indices = tensor(indices, dtype=_C.int64)
    if dtype is not None and indices.dtype != dtype:
        indices = indices.to(dtype)
    return indices if device is None else indices.to(device)


def _sizes(size):
    return tuple(int(s) for s in size)


# ---- COO -----------------------------------------------------------------------------------------


def _check_coo(indices, values, size, coalesced):
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if values.dim() == 0:
        raise RuntimeError("values must have at least one dimension, that of the elements")
    n, nnz = indices.shape
    dense = values.dim() - 1
    if len(size) != n + dense:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, "
            f"sparse_dim = {n}, dense_dim = {dense}"
        )
    if nnz != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from "
            f"values: {values.shape[0]}"
        )
    want = [nnz, *size[n:]]
    if list(values.shape) != want:
        raise RuntimeError(f"values has incorrect size, expected {want}, got {list(values.shape)}")
    if any(s < 0 for s in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(size)}")


def check_coo_indices(indices, size, coalesced):
    """The invariants of the indices themselves; RuntimeError where one does not hold."""
    n, nnz = indices.shape
    if nnz == 0 or indices.is_meta or n == 0:
        return
    low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
    for d in range(n):
        if low[d] < 0:
            raise RuntimeError(f"found negative index {low[d]} for dim {d}")
        if high[d] >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found "
                f"index {high[d]}"
            )
    if coalesced:
        from .record import keys

        flat = keys(indices, size)
        if bool((flat[1:] <= flat[:-1]).any()):
            raise RuntimeError(
                "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            )


def sparse_coo_tensor(
    indices, values=None, size=None, *, dtype=None, layout=None, device=None, pin_memory=None,
    requires_grad=False, check_invariants=None, is_coalesced=None,
):  # fmt: skip
    """A sparse tensor of values at coordinates; values at equal ones are added up when needed.

    Args:
        indices: (sparse_dim, n), a column for each element; or sizes alone, for no elements.
        values: (n, *sizes of the dense dimensions).
        size: of the tensor; as small as the indices allow if left out.
        check_invariants: False makes it without a look at the indices.
        is_coalesced: True promises that indices are sorted and each is there once.

    >>> flambeau.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        if size is None:
            size = indices
        size = _sizes(size)
        if any(s < 0 for s in size):
            raise RuntimeError(f"Trying to create tensor with negative dimension: {list(size)}")
        out = empty_coo(size, len(size), 0, dtype or _C.get_default_dtype(), device)
        return out.requires_grad_() if requires_grad else out
    values = _values(values, dtype, device)
    indices = _indices(indices, device if device is not None else values.device, _C.int64)
    check = check_invariants is not False
    if size is None:
        if indices.dim() != 2:
            raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
        if indices.shape[1]:
            low = indices.amin(1).tolist()
            for d, least in enumerate(low):
                if least < 0:
                    raise RuntimeError(f"found negative index {least} for dim {d}")
            found = [s + 1 for s in indices.amax(1).tolist()]
        else:
            found = [0] * indices.shape[0]
        size = (*found, *values.shape[1:])
    size = _sizes(size)
    _check_coo(indices, values, size, is_coalesced)
    if check:
        check_coo_indices(indices, size, is_coalesced)
    out = ops._sparse_coo_tensor_with_dims_and_tensors(
        indices.shape[0], values.dim() - 1, size, indices, values, is_coalesced
    )
    return _leaf(out, values, requires_grad)


def _leaf(out, values, requires_grad):
    return out.detach().requires_grad_() if requires_grad else out


def _sparse_coo_tensor_unsafe(
    indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=None,
    requires_grad=False, check_invariants=None, is_coalesced=None,
):  # fmt: skip
    """`sparse_coo_tensor` without a look at the indices."""
    return sparse_coo_tensor(
        indices, values, size, dtype=dtype, device=device, requires_grad=requires_grad,
        check_invariants=check_invariants or False, is_coalesced=is_coalesced,
    )  # fmt: skip


# ---- compressed ----------------------------------------------------------------------------------


def _names(layout):
    return ("crow", "col") if layout in (CSR, BSR) else ("ccol", "row")


def _check_compressed(layout, starts, plain, values, size, look=True):
    a, b = _names(layout)
    block = 2 if layout in (BSR, BSC) else 0
    batch = starts.dim() - 1
    dense = values.dim() - batch - block - 1
    what, other = f"{a}_indices", f"{b}_indices"

    def need(ok, *text):
        if not ok:
            raise RuntimeError("".join(map(str, text)))

    need(
        starts.dim() >= 1,
        f"{what} must have dimensionality >= 1 but got {starts.dim()}",
    )
    need(
        starts.dim() == plain.dim(),
        f"{what} and {other} dimensionalities must be equal but got ",
        f"{starts.dim()} and {plain.dim()}, respectively",
    )
    need(
        dense >= 0,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + "
        f"{block}) but got {values.dim()}",
    )
    need(
        len(size) == batch + 2 + dense,
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + "
        f"2 + {dense}) but got {len(size)}",
    )
    need(
        all(s >= 0 for s in size), f"Trying to create tensor with negative dimension: {list(size)}"
    )
    need(
        starts.dtype == plain.dtype and starts.dtype in (_C.int64, _C.int32),
        f"{what} and {other} must have the same dtype, int32 or int64, but got {starts.dtype} and "
        f"{plain.dtype}, respectively",
    )
    rows, columns = size[batch], size[batch + 1]
    height, width = values.shape[batch + 1 : batch + 3] if block else (1, 1)
    need(
        not block or (height > 0 and width > 0 and rows % height == 0 and columns % width == 0),
        f"tensor shape[{batch}:{batch + 2}]={[rows, columns]} must be divisible by the blocksize "
        f"{[height, width]}",
    )
    across = [rows // height, columns // width]
    if layout in (CSC, BSC):
        across.reverse()
    need(
        starts.shape[-1] == across[0] + 1,
        f"{what}.shape[-1] must be equal to the number of "
        f"{'rows' if layout in (CSR, BSR) else 'columns'} + 1 (={across[0] + 1}), but got "
        f"{starts.shape[-1]}",
    )
    need(
        plain.shape[-1] == values.shape[batch],
        f"{other}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by "
        f"values.shape[{batch}], but got {plain.shape[-1]}",
    )
    need(
        tuple(values.shape[batch + 1 + block :]) == tuple(size[batch + 2 :]),
        f"values: expected dense sizes {list(size[batch + 2 :])}, got shape {list(values.shape)}",
    )
    if not look or starts.is_meta or values.is_meta:
        return
    nnz = plain.shape[-1]
    need(
        bool((starts[..., 0] == 0).all()),
        f"`{what}[..., 0] == 0` is not satisfied.",
    )
    need(bool((starts[..., -1] == nnz).all()), f"`{what}[..., -1] == nnz` is not satisfied.")
    step = starts[..., 1:] - starts[..., :-1]
    need(
        bool((step >= 0).all()) and bool((step <= across[1]).all()),
        f"`0 <= {what}[..., 1:] - {what}[..., :-1] <= "
        f"{'ncols' if layout in (CSR, BSR) else 'nrows'}` is not satisfied.",
    )
    need(
        nnz == 0 or (bool((plain >= 0).all()) and bool((plain < across[1]).all())),
        f"`0 <= {b}_indices < {'ncols' if layout in (CSR, BSR) else 'nrows'}` is not satisfied.",
    )
    if nnz > 1 and batch == 0:
        falls = plain[1:] <= plain[:-1]
        inner = starts[1:-1]
        inner = inner[(inner > 0) & (inner < nnz)] - 1
        falls[inner.long()] = False
        need(
            not bool(falls.any()),
            f"`{b}_indices[..., {a}_indices[..., i - 1]:{a}_indices[..., i]] for all i = 1, ..., "
            f"{'nrows' if layout in (CSR, BSR) else 'ncols'} are sorted and distinct along the "
            "last dimension values` is not satisfied.",
        )


def _index_part(x, device):
    return (
        _indices(x, device) if not isinstance(x, Tensor) else x if device is None else x.to(device)
    )


def _make(layout, starts, plain, values, size, dtype, device, requires_grad, check, op):
    values = _values(values, dtype, device)
    device = device if device is not None else values.device
    starts, plain = _index_part(starts, device), _index_part(plain, device)
    if starts.dim() == 0 or values.dim() == 0:
        raise RuntimeError(f"{op}: compressed_indices and values must have a dimension")
    if size is None:
        batch = starts.dim() - 1
        block = values.shape[batch + 1 : batch + 3] if layout in (BSR, BSC) else (1, 1)
        if len(block) != 2:
            raise RuntimeError(f"{op}: values of blocks need {batch + 3} dimensions")
        far = (int(plain.max()) + 1) if plain.numel() else 0
        sizes = [starts.shape[-1] - 1, far]
        if layout in (CSC, BSC):
            sizes.reverse()
        rest = values.shape[batch + 1 + (2 if layout in (BSR, BSC) else 0) :]
        size = (*starts.shape[:-1], sizes[0] * block[0], sizes[1] * block[1], *rest)
    size = _sizes(size)
    _check_compressed(layout, starts, plain, values, size, check is not False)
    if starts.dim() > 1:
        raise NotImplementedError(
            f"{op}: batches of compressed matrices are not implemented; got compressed indices of "
            f"shape {list(starts.shape)}"
        )
    out = ops._sparse_compressed_tensor(starts, plain, values, size, NAMES[layout])
    return _leaf(out, values, requires_grad)


def sparse_compressed_tensor(
    compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None,
    pin_memory=None, requires_grad=False, check_invariants=None,
):  # fmt: skip
    """A sparse matrix with compressed rows or columns; ``layout`` says which.

    Args:
        compressed_indices: where each row (column) begins in the elements, and the last ends.
        plain_indices: the column (row) of each element.
        values: one for each element, a block for the layouts of blocks.
        size: as small as the indices allow if left out.

    >>> flambeau.sparse_compressed_tensor(
    ...     [0, 1, 2], [1, 0], [3.0, 4.0], layout=flambeau.sparse_csr
    ... ).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    name = "none" if layout is None else str(layout).removeprefix("torch.")
    if name not in NAMES[1:]:
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {name}"
        )
    return _make(
        NAMES.index(name), compressed_indices, plain_indices, values, size, dtype, device,
        requires_grad, check_invariants, "sparse_compressed_tensor",
    )  # fmt: skip


def _maker(layout, first, second, example):
    name = NAMES[layout] + "_tensor"

    def make(
        compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None,
        device=None, pin_memory=None, requires_grad=False, check_invariants=None,
    ):  # fmt: skip
        number = NAMES.index(name.removesuffix("_tensor"))
        if layout is not None and str(layout) != "torch." + NAMES[number]:
            raise RuntimeError(f"{name}: expected layout torch.{NAMES[number]}, but got {layout}")
        return _make(
            number, compressed_indices, plain_indices, values, size, dtype, device, requires_grad,
            check_invariants, name,
        )  # fmt: skip

    def outer(*args, **kwargs):
        for short, long in ((first, "compressed_indices"), (second, "plain_indices")):
            if short in kwargs:
                kwargs[long] = kwargs.pop(short)
        return make(*args, **kwargs)

    outer.__name__ = outer.__qualname__ = name
    outer.__doc__ = example
    return outer


sparse_csr_tensor = _maker(
    CSR,
    "crow_indices",
    "col_indices",
    """A sparse matrix with compressed rows; see `sparse_compressed_tensor`.

    >>> flambeau.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """,
)
sparse_csc_tensor = _maker(
    CSC,
    "ccol_indices",
    "row_indices",
    """A sparse matrix with compressed columns; see `sparse_compressed_tensor`.

    >>> flambeau.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """,
)
sparse_bsr_tensor = _maker(
    BSR,
    "crow_indices",
    "col_indices",
    """A sparse matrix of blocks with compressed rows; see `sparse_compressed_tensor`.

    >>> flambeau.sparse_bsr_tensor([0, 1], [1], [[[3.0, 4.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 3., 4.]])
    """,
)
sparse_bsc_tensor = _maker(
    BSC,
    "ccol_indices",
    "row_indices",
    """A sparse matrix of blocks with compressed columns; see `sparse_compressed_tensor`.

    >>> flambeau.sparse_bsc_tensor([0, 0, 1], [0], [[[3.0, 4.0]]], (1, 4)).to_dense()
    tensor([[0., 0., 3., 4.]])
    """,
)

FACTORIES = (
    "sparse_coo_tensor", "sparse_compressed_tensor", "sparse_csr_tensor", "sparse_csc_tensor",
    "sparse_bsr_tensor", "sparse_bsc_tensor", "_sparse_coo_tensor_unsafe",
)  # fmt: skip
