"""Factorisations, solvers, eigenvalues: what they must satisfy, their derivatives, their errors."""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau import linalg
from flambeau.autograd import gradcheck, gradgradcheck

REAL, COMPLEX = flambeau.float64, flambeau.complex128
DTYPES = [flambeau.float32, REAL, flambeau.complex64, COMPLEX]
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 3), (2, 1, 4, 3), (0, 3, 2), (3, 0), (0, 3), (1, 1)]


def random(*shape, dtype=REAL, seed=0):
    rng = numpy.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return flambeau.from_numpy(numpy.asarray(values)).to(dtype)


def positive(*shape, dtype=REAL, seed=0):
    a = random(*shape, dtype=dtype, seed=seed)
    return a @ a.mH + flambeau.eye(shape[-1], dtype=dtype)


def well(*shape, dtype=REAL, seed=0):
    return random(*shape, dtype=dtype, seed=seed) + 3 * flambeau.eye(shape[-1], dtype=dtype)


def near(got, want, tolerance=None):
    single = got.dtype in (flambeau.float32, flambeau.complex64)
    tolerance = tolerance or (1e-4 if single else 1e-9)
    assert got.shape == want.shape
    numpy.testing.assert_allclose(
        got.detach().numpy(), want.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def orthonormal(q):
    near(q.mH @ q, flambeau.eye(q.shape[-1], dtype=q.dtype).expand(q.mH.shape[:-1] + q.shape[-1:]))


def each(*values):
    return pytest.mark.parametrize("dtype", values)


# ---- the factors multiply to the matrix ----------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@each(*DTYPES)
def test_factors(shape, dtype):
    a = random(*shape, dtype=dtype)
    m, n = shape[-2:]
    q, r = linalg.qr(a)
    near(q @ r, a)
    orthonormal(q)
    assert (r.tril(-1) == 0).all()
    q, r = linalg.qr(a, mode="complete")
    near(q @ r, a)
    assert q.shape[-2:] == (m, m)
    near(linalg.qr(a, mode="r").R, linalg.qr(a).R)
    p, lower, upper = linalg.lu(a)
    near(p @ lower @ upper, a)
    assert (upper.tril(-1) == 0).all() and (lower.triu(1) == 0).all()
    near(flambeau.lu_unpack(*linalg.lu_factor(a)).L if min(m, n) else lower, lower)
    for full in (False, True):
        u, s, vh = linalg.svd(a, full_matrices=full)
        k = min(m, n)
        near((u[..., :k] * s.unsqueeze(-2).to(dtype)) @ vh[..., :k, :], a)
        orthonormal(u)
        orthonormal(vh.mH)
    near(linalg.svdvals(a), s)
    near(linalg.householder_product(*flambeau.geqrf(a)), linalg.qr(a).Q) if m >= n else None


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (0, 2, 2), (0, 0), (1, 1)])
@each(*DTYPES)
def test_square(shape, dtype):
    a, pd = well(*shape, dtype=dtype), positive(*shape, dtype=dtype)
    one = flambeau.eye(shape[-1], dtype=dtype).expand(shape)
    near(linalg.inv(a) @ a, one)
    lower = linalg.cholesky(pd)
    near(lower @ lower.mH, pd)
    near(linalg.cholesky(pd, upper=True), lower.mH.contiguous())
    near(flambeau.cholesky_inverse(lower) @ pd, one)
    near(flambeau.cholesky_inverse(lower.mH, upper=True) @ pd, one)
    w, v = linalg.eigh(pd)
    near(pd @ v, v * w.unsqueeze(-2).to(dtype))
    orthonormal(v)
    near(linalg.eigvalsh(pd, UPLO="U"), w)
    w, v = linalg.eig(a)
    near(a.to(w.dtype) @ v, v * w.unsqueeze(-2))
    near(linalg.slogdet(a).logabsdet, linalg.det(a).abs().log())
    near(linalg.matrix_exp(a) @ linalg.matrix_exp(-a), one)
    rhs = random(*shape[:-1], 2, dtype=dtype)
    near(a @ linalg.solve(a, rhs), rhs)
    near(linalg.solve(a, rhs.mT, left=False) @ a, rhs.mT)
    near(pd @ flambeau.cholesky_solve(rhs, lower), rhs)
    factors = linalg.lu_factor(a)
    near(a @ linalg.lu_solve(*factors, rhs), rhs)
    near(a.mH @ linalg.lu_solve(*factors, rhs, adjoint=True), rhs)
    near(linalg.lu_solve(*factors, rhs.mT, left=False) @ a, rhs.mT)
    near(linalg.lu_solve(*factors, rhs.mT, left=False, adjoint=True) @ a.mH, rhs.mT)
    near(a.triu() @ linalg.solve_triangular(a, rhs, upper=True), rhs)
    near(linalg.solve_triangular(a, rhs.mT, upper=False, left=False) @ a.tril(), rhs.mT)
    hermitian = a + a.mH
    for h, flag in ((hermitian, True), (a + a.mT, False)):
        ld, pivots = linalg.ldl_factor(h, hermitian=flag)
        near(
            h @ linalg.ldl_solve(ld, pivots, rhs, hermitian=flag),
            rhs,
            1e-3 if a.real.dtype == flambeau.float32 else None,
        )


@each(*DTYPES)
def test_ormqr_is_a_product_with_the_square_q(dtype):
    a, tau = flambeau.geqrf(random(2, 4, 3, dtype=dtype))
    q = linalg.householder_product(
        flambeau.cat([a, flambeau.zeros(2, 4, 1, dtype=dtype)], -1),
        tau,
    )
    c = random(2, 4, 2, dtype=dtype)
    near(flambeau.ormqr(a, tau, c), q @ c)
    near(flambeau.ormqr(a, tau, c, transpose=True), q.mH @ c)
    near(flambeau.ormqr(a, tau, c.mT, left=False), c.mT @ q)
    near(flambeau.ormqr(a, tau, c.mT, left=False, transpose=True), c.mT @ q.mH)


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss", None])
@each(*DTYPES)
def test_least_squares(driver, dtype):
    a, b = random(2, 5, 3, dtype=dtype), random(2, 5, 2, dtype=dtype)
    x, residuals, rank, values = linalg.lstsq(a, b, driver=driver)
    near(x, linalg.pinv(a) @ b)
    if driver in ("gels", "gelsd", "gelss"):
        near(residuals, ((a @ x - b).abs() ** 2).sum(-2))
    if driver != "gels":
        assert rank.tolist() == [3, 3]
    if driver in ("gelsd", "gelss"):
        near(values, linalg.svdvals(a))
    near(
        linalg.lstsq(a.mH, b[..., :3, 0], driver=driver).solution,
        (linalg.pinv(a.mH) @ b[..., :3, :1])[..., 0],
    )


def test_pseudoinverse_rank_condition():
    a = flambeau.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=REAL)
    near(linalg.pinv(a), a / 25)
    near(linalg.pinv(a, hermitian=True), a / 25)
    near(flambeau.pinverse(a), a / 25)
    assert linalg.matrix_rank(a).item() == linalg.matrix_rank(a, hermitian=True).item() == 1
    assert linalg.matrix_rank(a, tol=100.0).item() == 0
    assert linalg.matrix_rank(flambeau.eye(2), rtol=flambeau.tensor([0.5, 2.0])).tolist() == [2, 0]
    assert linalg.matrix_rank(flambeau.empty(2, 0, 3)).tolist() == [0, 0]
    b = well(2, 3, 3)
    for p in (None, 2, -2, 1, -1, float("inf"), "fro", "nuc"):
        want = [numpy.linalg.cond(x.numpy(), p) for x in b]
        assert linalg.cond(b, p).tolist() == pytest.approx(want)
    assert linalg.cond(flambeau.zeros(2, 2), 1).item() == float("inf")


def test_norms_of_singular_values():
    a = random(2, 4, 3)
    for order in (2, -2, "nuc"):
        want = [numpy.linalg.norm(x.numpy(), order) for x in a]
        assert linalg.matrix_norm(a, order).tolist() == pytest.approx(want)
        assert linalg.norm(a, order, dim=(-2, -1)).tolist() == pytest.approx(want)
    assert linalg.matrix_norm(flambeau.zeros(2, 0, 3), 2).tolist() == [0, 0]
    assert flambeau.norm(a[0], "nuc").item() == pytest.approx(
        numpy.linalg.norm(a[0].numpy(), "nuc")
    )


def test_determinant_of_singular_matrices():
    z = flambeau.zeros(2, 3, 3)
    assert linalg.det(z).tolist() == [0, 0]
    sign, size = linalg.slogdet(z)
    assert sign.tolist() == [0, 0] and size.tolist() == [-float("inf")] * 2
    assert flambeau.logdet(flambeau.tensor([[0.0, 1.0], [1.0, 0.0]])).isnan()


def test_powers():
    a = well(2, 3, 3)
    near(linalg.matrix_power(a, 5), a @ a @ a @ a @ a)
    near(linalg.matrix_power(a, -3) @ a @ a @ a, flambeau.eye(3, dtype=REAL).expand(2, 3, 3))
    near(linalg.matrix_power(a, 0), flambeau.eye(3, dtype=REAL).expand(2, 3, 3))
    assert linalg.vander(flambeau.tensor([2, 3]), N=3).tolist() == [[1, 2, 4], [1, 3, 9]]
    assert linalg.vander(flambeau.tensor(2.0), N=3).tolist() == [[1, 2, 4]]
    diagonal = flambeau.diag(flambeau.tensor([-1.0, 0.0, 300.0, -400.0], dtype=REAL))
    near(linalg.matrix_exp(diagonal), flambeau.diag(diagonal.diagonal().exp()), 1e-10)


def test_tensors_as_maps():
    a, b = random(2, 3, 6), random(2, 3)
    near(flambeau.tensordot(a, linalg.tensorsolve(a, b), 1), b)
    inverse = linalg.tensorinv(a)
    near(flambeau.tensordot(inverse, b, 2), linalg.tensorsolve(a, b))


def test_low_rank():
    a = random(2, 6, 2) @ random(2, 2, 5)
    for x in (a, a.mT):
        u, s, v = flambeau.svd_lowrank(x, q=3)
        near((u * s.unsqueeze(-2)) @ v.mH, x)
        u, s, v = flambeau.pca_lowrank(x, q=3)
        near((u * s.unsqueeze(-2)) @ v.mH, x - x.mean(-2, keepdim=True))


def test_big_batch_in_parallel():
    a = well(700, 6, 6)
    near(linalg.inv(a)[513], linalg.inv(a[513]))
    near(linalg.svdvals(a)[699], linalg.svdvals(a[699]))


# ---- layouts, names, forms -----------------------------------------------------------------------


def test_results_lie_as_in_pytorch():
    a, b = well(2, 4, 4), random(2, 4, 2)
    columns, rows = (16, 1, 4), (16, 4, 1)
    assert [t.stride() for t in linalg.qr(random(2, 5, 3))] == [(15, 1, 5), (9, 1, 3)]
    assert [t.stride() for t in linalg.svd(random(2, 5, 3))] == [(25, 1, 5), (3, 1), (9, 1, 3)]
    assert [t.stride() for t in linalg.lu(a)] == [rows] * 3
    assert linalg.lu_factor(a).LU.stride() == columns
    assert linalg.inv(a).stride() == linalg.cholesky(positive(2, 4, 4)).stride() == columns
    assert linalg.eigh(a).eigenvectors.stride() == linalg.eig(a).eigenvectors.stride() == columns
    assert linalg.solve(a, b).stride() == (8, 1, 4)
    assert linalg.solve(a, b.mT, left=False).stride() == (8, 4, 1)
    assert linalg.solve(a, b[..., 0]).stride() == (1, 2)
    assert linalg.lstsq(random(2, 5, 3), random(2, 5, 2)).solution.stride() == (10, 1, 5)


def test_named_results_and_grad_fn():
    a = well(3, 3).requires_grad_()
    assert linalg.qr(a)._fields == ("Q", "R") if hasattr(linalg.qr(a), "_fields") else True
    assert type(linalg.slogdet(a)).__name__ == "linalg_slogdet"
    names = {
        "LinalgQrBackward0": linalg.qr(a).Q,
        "LinalgSvdBackward0": linalg.svdvals(a),
        "LinalgEigBackward0": linalg.eigvals(a),
        "LinalgEighBackward0": linalg.eigvalsh(a),
        "LinalgInvExBackward0": flambeau.inverse(a),
        "LinalgSolveExBackward0": linalg.solve(a, flambeau.ones(3, dtype=REAL)),
        "LinalgDetBackward0": a.det(),
        "LinalgLuBackward0": linalg.lu(a).U,
        "LinalgPinvBackward0": linalg.pinv(a),
        "LinalgMatrixExpBackward0": a.matrix_exp(),
    }
    for name, t in names.items():
        assert type(t.grad_fn).__name__ == name or t.grad_fn.name() == name
    assert not linalg.lu(a).P.requires_grad and not linalg.lu_factor(a).pivots.requires_grad


def test_diagonal_of_the_last_dimensions():
    a = random(2, 3, 4)
    assert linalg.diagonal(a).tolist() == a.diagonal(0, 1, 2).tolist()
    assert linalg.diagonal(a, offset=1, dim1=0, dim2=1).tolist() == a.diagonal(1).tolist()


def test_old_names():
    a = well(3, 3)
    near(a.lu()[0], linalg.lu_factor(a).LU)
    assert len(flambeau.lu(a, get_infos=True)) == 3
    u, s, v = a.svd()
    near((u * s) @ v.mT, a)
    assert a.svd(compute_uv=False).U.tolist() == [[0.0] * 3] * 3
    near(a.inverse(), linalg.inv(a))
    near(flambeau.triangular_solve(a, a)[0], linalg.solve_triangular(a, a, upper=True))


# ---- derivatives ---------------------------------------------------------------------------------


def symmetric(a):
    return (a + a.mH) / 2


def phase_free(t):
    """What remains of a vector's numbers when its phase is arbitrary."""
    return t.abs()


def gauge_free_svd(a, full):
    u, s, vh = linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    u, vh = u[..., :k], vh[..., :k, :]
    return phase_free(u), s, phase_free(vh), u[..., :1] @ vh[..., :1, :]


CASES = {
    "cholesky": (lambda a: linalg.cholesky(symmetric(a)), [positive]),
    "cholesky_upper": (lambda a: linalg.cholesky(symmetric(a), upper=True), [positive]),
    "cholesky_old": (lambda a: flambeau.cholesky(symmetric(a)), [positive]),
    "cholesky_inverse": (
        lambda a: flambeau.cholesky_inverse(linalg.cholesky(symmetric(a))),
        [positive],
    ),
    "cholesky_inverse_upper": (
        lambda a: flambeau.cholesky_inverse(linalg.cholesky(symmetric(a)).mH, True),
        [positive],
    ),
    "cholesky_solve": (lambda a, b: flambeau.cholesky_solve(b, a.tril()), [positive, "b"]),
    "cholesky_solve_upper": (
        lambda a, b: flambeau.cholesky_solve(b, a.triu(), True),
        [positive, "b"],
    ),
    "lu": (lambda a: linalg.lu(a)[1:], [well]),
    "lu_factor": (lambda a: linalg.lu_factor(a)[0], [well]),
    "lu_unpack": (lambda a: flambeau.lu_unpack(*linalg.lu_factor(a))[1:], [well]),
    "lu_solve": (lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), [well, "b"]),
    "lu_solve_adjoint": (
        lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, adjoint=True),
        [well, "b"],
    ),
    "lu_solve_right": (
        lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b.mT, left=False),
        [well, "b"],
    ),
    "lu_solve_right_adjoint": (
        lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b.mT, left=False, adjoint=True),
        [well, "b"],
    ),
    "solve": (linalg.solve, [well, "b"]),
    "solve_right": (lambda a, b: linalg.solve(a, b.mT, left=False), [well, "b"]),
    "solve_vector": (lambda a, b: linalg.solve(a, b[..., 0]), [well, "b"]),
    "solve_broadcast": (lambda a, b: linalg.solve(a, b[0]), [well, "b"]),
    "inv": (linalg.inv, [well]),
    "det": (linalg.det, [well]),
    "slogdet": (lambda a: tuple(linalg.slogdet(a)), [well]),
    "logdet": (flambeau.logdet, [positive]),
    "triangular_upper": (lambda a, b: linalg.solve_triangular(a, b, upper=True), [well, "b"]),
    "triangular_right": (
        lambda a, b: linalg.solve_triangular(a, b.mT, upper=False, left=False, unitriangular=True),
        [well, "b"],
    ),
    "triangular_old": (
        lambda a, b: flambeau.triangular_solve(b, a, transpose=True)[0],
        [well, "b"],
    ),
    "lstsq": (lambda a, b: linalg.lstsq(a, b)[0], ["tall", "b4"]),
    "lstsq_residuals": (lambda a, b: linalg.lstsq(a, b, driver="gels")[:2], ["tall", "b4"]),
    "pinv_tall": (linalg.pinv, ["tall"]),
    "pinv_wide": (linalg.pinv, ["wide"]),
    "matrix_exp": (linalg.matrix_exp, [well]),
    "matrix_power": (lambda a: linalg.matrix_power(a, -3), [well]),
    "eigvals": (lambda a: linalg.eigvals(a).abs(), [well]),
    "eigvalsh": (lambda a: linalg.eigvalsh(symmetric(a)), [well]),
    "eigh": (
        lambda a: (linalg.eigh(symmetric(a))[0], phase_free(linalg.eigh(symmetric(a))[1])),
        [well],
    ),
    "eigh_only_vectors": (lambda a: phase_free(linalg.eigh(symmetric(a))[1]), [well]),
    "eig": (lambda a: tuple(phase_free(t) for t in linalg.eig(a)), [well]),
    "qr": (lambda a: tuple(linalg.qr(a)), [well]),
    "qr_tall": (lambda a: tuple(linalg.qr(a)), ["tall"]),
    "qr_wide": (lambda a: tuple(linalg.qr(a)), ["wide"]),
    "qr_only_q": (lambda a: linalg.qr(a)[0], ["wide"]),
    "qr_only_r": (lambda a: linalg.qr(a)[1], ["tall"]),
    "qr_complete": (lambda a: tuple(linalg.qr(a, "complete")), ["wide"]),
    "lu_tall": (lambda a: linalg.lu(a)[1:], ["tall"]),
    "lu_wide": (lambda a: linalg.lu(a)[1:], ["wide"]),
    "lu_factor_tall": (lambda a: linalg.lu_factor(a)[0], ["tall"]),
    "lu_factor_wide": (lambda a: linalg.lu_factor(a)[0], ["wide"]),
    "svd": (lambda a: gauge_free_svd(a, False), [well]),
    "svd_tall": (lambda a: gauge_free_svd(a, False), ["tall"]),
    "svd_wide": (lambda a: gauge_free_svd(a, True), ["wide"]),
    "svd_only_u": (lambda a: phase_free(linalg.svd(a, False)[0]), ["tall"]),
    "svd_only_v": (lambda a: phase_free(linalg.svd(a, False)[2]), ["tall"]),
    "svdvals": (linalg.svdvals, ["wide"]),
    "householder_product": (lambda a, t: linalg.householder_product(a, t), ["tall", "tau"]),
    "householder_fewer": (lambda a, t: linalg.householder_product(a, t[..., :1]), ["tall", "tau"]),
    "ormqr": (lambda a, t, b: flambeau.ormqr(a, t, b), ["tall", "tau", "b4"]),
    "ormqr_right": (lambda a, t, b: flambeau.ormqr(a, t, b.mT, False, True), ["tall", "tau", "b4"]),
    "nuclear": (lambda a: linalg.matrix_norm(a, "nuc"), ["tall"]),
    "spectral": (lambda a: linalg.matrix_norm(a, 2), ["tall"]),
    "cond": (lambda a: linalg.cond(a, "fro"), [well]),
    "tensorinv": (lambda a: linalg.tensorinv(a.reshape(2, 3, 3)[0].reshape(3, 3, 1), 1), [well]),
}  # fmt: skip
INPUTS = {"tall": (2, 4, 3), "wide": (2, 3, 4), "b": (2, 3, 2), "b4": (2, 4, 2), "tau": (2, 3)}


def inputs(kinds, dtype):
    for i, kind in enumerate(kinds):
        made = (
            random(*INPUTS[kind], dtype=dtype, seed=i)
            if isinstance(kind, str)
            else kind(2, 3, 3, dtype=dtype, seed=i)
        )
        yield made.requires_grad_()


@pytest.mark.parametrize("name", CASES)
@each(REAL, COMPLEX)
def test_gradients(name, dtype):
    function, kinds = CASES[name]
    leaves = tuple(inputs(kinds, dtype))
    assert gradcheck(function, leaves)
    assert gradgradcheck(function, leaves)


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_gradient_of_a_vanishing_determinant(rank):
    a = (random(3, rank) @ random(rank, 3, seed=1)).requires_grad_()
    if rank == 0:
        (grad,) = flambeau.autograd.grad(linalg.det(a), a)
        assert grad.tolist() == [[0.0] * 3] * 3
    else:
        assert gradcheck(linalg.det, (a,))


def test_gradient_of_equal_singular_values():
    a = flambeau.eye(3, dtype=REAL).requires_grad_()
    (grad,) = flambeau.autograd.grad(linalg.svdvals(a).sum(), a)
    near(grad, flambeau.eye(3, dtype=REAL))
    (grad,) = flambeau.autograd.grad(linalg.eigvalsh(a).sum(), a)
    near(grad, flambeau.eye(3, dtype=REAL))


def test_derivatives_that_do_not_exist():
    a, z = random(4, 3).requires_grad_(), well(3, 3, dtype=COMPLEX).requires_grad_()
    with pytest.raises(RuntimeError, match="depends on Q"):
        linalg.qr(a, mode="r").R.sum().backward()
    with pytest.raises(RuntimeError, match="mode='complete' and nrows > ncols"):
        linalg.qr(a, mode="complete").R.sum().backward()
    with pytest.raises(RuntimeError, match="geqrf"):
        flambeau.geqrf(a)[0].sum().backward()
    for vectors in (linalg.eig(z)[1], linalg.eigh(z)[1], linalg.svd(z)[0]):
        with pytest.raises(RuntimeError, match="factor"):
            (vectors * vectors).sum().abs().backward()


# ---- errors --------------------------------------------------------------------------------------


def test_failures_are_linalg_errors():
    assert issubclass(linalg.LinAlgError, RuntimeError)
    assert flambeau._C._LinAlgError is linalg.LinAlgError
    zero, batch = flambeau.zeros(3, 3), flambeau.stack([flambeau.eye(3), flambeau.zeros(3, 3)])
    for function, message in (
        (linalg.cholesky, "leading minor of order 1 is not positive-definite"),
        (linalg.inv, "diagonal element 1 is zero"),
        (lambda a: linalg.solve(a, flambeau.ones(3, 1)), "singular"),
        (linalg.ldl_factor, "is zero"),
        (flambeau.cholesky_inverse, "diagonal element 1"),
    ):
        with pytest.raises(linalg.LinAlgError, match=message):
            function(zero)
        with pytest.raises(linalg.LinAlgError, match=r"\(Batch element 1\)"):
            function(batch)
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\): U\[1,1\] is zero"):
        linalg.lu_factor(batch)
    nan = flambeau.full((3, 3), float("nan"))
    for function in (linalg.svd, linalg.svdvals, linalg.eigh, linalg.eigvalsh):
        with pytest.raises(linalg.LinAlgError, match="failed to converge"):
            function(nan)
    for function in (linalg.eig, linalg.eigvals):
        with pytest.raises(RuntimeError, match="infs or NaNs"):
            function(nan)
    assert linalg.inv_ex(zero).info.item() == 1
    with pytest.raises(linalg.LinAlgError):
        linalg.inv_ex(zero, check_errors=True)
    assert linalg.matrix_exp(nan).isnan().all()


@pytest.mark.parametrize(
    "name", ["cholesky", "inv", "det", "slogdet", "eigh", "eigvals", "eig", "matrix_exp"]
)
def test_square_matrices_are_expected(name):
    with pytest.raises(RuntimeError, match="must be batches of square matrices.* 2 by 3"):
        getattr(linalg, name)(flambeau.ones(2, 3))
    with pytest.raises(RuntimeError, match="at least 2 dimensions"):
        getattr(linalg, name)(flambeau.ones(3))
    with pytest.raises((RuntimeError, NotImplementedError)):
        getattr(linalg, name)(flambeau.ones(2, 2, dtype=flambeau.int64))


def test_wrong_arguments():
    a, b = flambeau.eye(3), flambeau.ones(4, 2)
    for function in (
        lambda: linalg.solve(a, b),
        lambda: linalg.solve_triangular(a, b, upper=True),
        lambda: linalg.lstsq(a, b),
        lambda: flambeau.cholesky_solve(b, a),
        lambda: linalg.solve(a, flambeau.ones(3, 2, dtype=REAL)),
        lambda: linalg.qr(a, mode="full"),
        lambda: linalg.eigh(a, UPLO="X"),
        lambda: linalg.svd(a, driver="gesvd"),
        lambda: linalg.lstsq(a, a, driver="qr"),
        lambda: linalg.lu(a, pivot=False),
        lambda: linalg.cond(a, 3),
        lambda: linalg.cond(a, "spectral"),
        lambda: linalg.vander(flambeau.ones(3), N=1),
        lambda: linalg.tensorinv(flambeau.ones(2, 3), 1),
        lambda: linalg.tensorsolve(flambeau.ones(2, 3), flambeau.ones(2)),
        lambda: linalg.householder_product(flambeau.ones(2, 3), flambeau.ones(2)),
        lambda: flambeau.ormqr(flambeau.ones(3, 2), flambeau.ones(2), flambeau.ones(4, 1)),
    ):
        with pytest.raises(RuntimeError):
            function()


def test_pivots_from_elsewhere_do_not_write_outside():
    a = flambeau.eye(3)
    for bad in ([0, 1, 2], [1, 2, 9], [-5, 1, 1]):
        pivots = flambeau.tensor(bad, dtype=flambeau.int32)
        with pytest.raises(RuntimeError, match="pivots"):
            linalg.lu_solve(a, pivots, a)
        with pytest.raises(RuntimeError, match="pivots"):
            flambeau.lu_unpack(a, pivots)
        with pytest.raises(RuntimeError, match="pivots"):
            linalg.ldl_solve(a, pivots, a)
    with pytest.raises(RuntimeError, match="int32"):
        linalg.lu_solve(a, flambeau.tensor([1, 2, 3]), a)


def test_meta_tensors_have_the_shapes():
    a, b = flambeau.empty(2, 5, 3, device="meta"), flambeau.empty(2, 5, 2, device="meta")
    square = flambeau.empty(2, 3, 3, device="meta")
    assert [t.shape for t in linalg.svd(a)] == [(2, 5, 5), (2, 3), (2, 3, 3)]
    assert linalg.lstsq(a, b).solution.shape == (2, 3, 2)
    for function in (linalg.inv, linalg.cholesky, linalg.pinv, linalg.matrix_exp):
        assert function(square).shape == (2, 3, 3)
    assert linalg.eig(square).eigenvalues.dtype == flambeau.complex64
    assert linalg.solve(square, flambeau.empty(2, 3, device="meta")).shape == (2, 3)
    assert linalg.matrix_rank(a).shape == (2,)
