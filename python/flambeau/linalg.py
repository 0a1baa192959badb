"""`flambeau.linalg`: operators of the table under the names of this namespace."""

from __future__ import annotations

from ._C import ops
from ._errors import LinAlgError
from ._namespaces import fill
from ._torch_function import let_override

__all__ = [*fill(globals(), "linalg"), "LinAlgError", "diagonal"]


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """`flambeau.diagonal` of matrices: the last two dimensions are meant unless others are named.

    >>> linalg.diagonal(flambeau.ones(5, 2, 3)).shape
    torch.Size([5, 2])
    """
    return ops.diagonal(A, offset, dim1, dim2)


let_override(globals(), ["diagonal"])
