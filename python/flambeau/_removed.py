"""Functions that PyTorch has removed: they say what to use."""

from __future__ import annotations

_START = "This function was deprecated since version 1.9 and is now removed. "


def eig(self, eigenvectors=False, *, e=None, v=None):
    """Removed: see `linalg.eig`."""
    raise RuntimeError(_START + "Use torch.linalg.eig or torch.linalg.eigvals, which return complex"
                       " tensors.")  # fmt: skip


def lstsq(input, A, *, out=None):
    """Removed: see `linalg.lstsq`."""
    raise RuntimeError(_START + "Use torch.linalg.lstsq, whose arguments are in the other order.")


def matrix_rank(input, tol=None, symmetric=False, *, out=None):
    """Removed: see `linalg.matrix_rank`."""
    raise RuntimeError(_START + "Use torch.linalg.matrix_rank; 'symmetric' is 'hermitian' there.")


def solve(input, A, *, out=None):
    """Removed: see `linalg.solve`."""
    raise RuntimeError(_START + "Use torch.linalg.solve, whose arguments are in the other order;"
                       " torch.lu_factor gives the factors.")  # fmt: skip


def symeig(input, eigenvectors=False, upper=True, *, out=None):
    """Removed: see `linalg.eigh`."""
    raise RuntimeError(_START + "Use torch.linalg.eigh or torch.linalg.eigvalsh, which take the"
                       " lower triangle unless UPLO='U'.")  # fmt: skip
