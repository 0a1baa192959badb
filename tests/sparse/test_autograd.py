"""Gradients through sparse tensors, of the first and second order, and their layouts."""

import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

AT = flambeau.tensor([[0, 2, 2, 0, 1, 2], [2, 0, 3, 2, 1, 3]])
DENSE = flambeau.arange(12, dtype=flambeau.float64).reshape(4, 3) / 4 - 1
SQUARE = flambeau.arange(12, dtype=flambeau.float64).reshape(3, 4) / 2 - 3


def values(n=6, dtype=flambeau.float64):
    real = flambeau.linspace(-1.3, 2.1, n, dtype=flambeau.float64)
    return real if dtype == flambeau.float64 else flambeau.complex(real, real.flip(0))


def coo(v, coalesce=False):
    t = flambeau.sparse_coo_tensor(AT, v, (3, 4))
    return t.coalesce() if coalesce else t


FUNCTIONS = {
    "to_dense": lambda s, d: s.to_dense(),
    "coalesce": lambda s, d: s.coalesce().values(),
    "sparse.mm": lambda s, d: flambeau.sparse.mm(s, d),
    "matmul": lambda s, d: s @ d,
    "matmul from the left": lambda s, d: d.t()[:, :3] @ s,
    "mv": lambda s, d: s @ d[:, 0],
    "sparse.mm of a dense matrix": lambda s, d: flambeau.sparse.mm(d.t()[:, :3], s),
    "sparse.addmm": lambda s, d: flambeau.sparse.addmm(d[:3], s, d, beta=0.5, alpha=2.0),
    "addmm": lambda s, d: flambeau.addmm(d[:3], s, d, beta=0.5, alpha=2.0),
    "two sparse": lambda s, d: flambeau.sparse.mm(s, s.t()).to_dense(),
    "scaled": lambda s, d: (s * 3.0 / 2).to_dense(),
    "negated": lambda s, d: (-s).to_dense(),
    "added": lambda s, d: (s + s * 2).to_dense(),
    "added to dense": lambda s, d: d.t() @ flambeau.ones_like(d) + s @ d,
    "times dense": lambda s, d: (s * (d @ d.t())[:3]).to_dense(),
    "times sparse": lambda s, d: (s * s).to_dense(),
    "transposed": lambda s, d: s.t().to_dense(),
    "csr": lambda s, d: flambeau.sparse.mm(s.to_sparse_csr(), d),
    "csc": lambda s, d: s.to_sparse_csc().to_dense(),
    "sum": lambda s, d: flambeau.sparse.sum(s),
    "sum of rows": lambda s, d: flambeau.sparse.sum(s, 1).to_dense(),
    "sum of columns": lambda s, d: flambeau.sparse.sum(s, 0).to_dense(),
    "softmax": lambda s, d: flambeau.sparse.softmax(s, 1).to_dense(),
    "log_softmax": lambda s, d: flambeau.sparse.log_softmax(s, 0).to_dense(),
    "mask": lambda s, d: (d @ d.t())[:3].sparse_mask(s.detach()).to_dense() + s.to_dense(),
    "reduced": lambda s, d: flambeau.sparse.mm(s.to_sparse_csr(), d, "mean"),
    "largest": lambda s, d: flambeau.sparse.mm(s.to_sparse_csr(), d, "amax"),
    "sampled": lambda s, d: flambeau.sparse.sampled_addmm(
        s.to_sparse_csr(), d[:3], d.t(), beta=2.0
    ).values(),
    "joined": lambda s, d: flambeau.cat([s, s * 2]).to_dense(),
    "stacked": lambda s, d: flambeau.stack([s, s * 2]).to_dense(),
    "clone": lambda s, d: s.clone().to_dense(),
}
REAL = {"softmax", "log_softmax", "largest", "reduced"}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [flambeau.float64, flambeau.complex128], ids=str)
def test_derivatives(name, dtype):
    if dtype.is_complex and name in REAL:
        pytest.skip("real numbers only")
    function = FUNCTIONS[name]
    v = values(dtype=dtype).requires_grad_()
    d = DENSE.clone().to(dtype).requires_grad_()

    def run(v, d):
        return function(coo(v, coalesce=True), d)

    assert gradcheck(run, (v, d))
    assert gradgradcheck(run, (v, d))


def test_uncoalesced_operands_get_gradients_for_each_value():
    v = values().requires_grad_()
    d = DENSE.clone().requires_grad_()
    assert gradcheck(lambda v, d: flambeau.mm(coo(v), d), (v, d))
    assert gradcheck(lambda v: coo(v).to_dense(), (v,))
    assert gradgradcheck(lambda v, d: flambeau.sparse.mm(coo(v), d), (v, d))


def test_csr_from_its_values():
    v = values(3).requires_grad_()

    def csr(v):
        return flambeau.sparse_csr_tensor([0, 1, 3], [2, 0, 1], v, (2, 4))

    d = DENSE.clone().requires_grad_()
    assert csr(v).grad_fn.name() == "SparseCompressedTensorBackward0"
    assert gradcheck(lambda v, d: flambeau.sparse.mm(csr(v), d), (v, d))
    assert gradgradcheck(lambda v, d: flambeau.sparse.mm(csr(v), d), (v, d))
    assert gradcheck(lambda v: csr(v).to_dense(), (v,))
    assert gradcheck(lambda v: csr(v).values() * 2, (v,))


def test_dense_to_sparse_and_back():
    d = DENSE.clone().requires_grad_()
    for convert in (
        lambda t: t.to_sparse(),
        lambda t: t.to_sparse(1),
        lambda t: t.to_sparse_csr(),
        lambda t: t.to_sparse_csc(),
        lambda t: t.to_sparse_bsr((2, 3)),
        lambda t: t.to_sparse_bsc((2, 1)),
    ):
        weights = flambeau.arange(12.0, dtype=flambeau.float64).reshape(4, 3)
        convert(d).to_dense().backward(weights)
        pattern = convert(d.detach())
        ones = flambeau.ones_like(pattern.values())
        specified = flambeau._C.ops._sparse_like(pattern, ones).to_dense()
        assert (d.grad == weights * specified).all()
        d.grad = None


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_along_a_dense_dimension(dim):
    v = flambeau.linspace(-1, 1, 6, dtype=flambeau.float64).reshape(3, 2).requires_grad_()

    def run(v):
        t = flambeau.sparse_coo_tensor([[1, 0, 2]], v, (4, 2))
        return flambeau.sparse.softmax(t, dim).to_dense()

    assert gradcheck(run, (v,))
    assert gradgradcheck(run, (v,))


# ---- layouts -------------------------------------------------------------------------------------


def leaf():
    return coo(values(), coalesce=True).detach().requires_grad_()


@pytest.mark.parametrize(
    "function, name, layout",
    [
        (lambda s: flambeau.sparse.mm(s, DENSE), "SparseAddmmBackward0", "sparse_coo"),
        (lambda s: s @ DENSE, "MmBackward0", "strided"),
        (lambda s: s.to_dense(), "ToDenseBackward0", "sparse_coo"),
        (lambda s: flambeau.sparse.sum(s), "SumBackward0", "sparse_coo"),
        (lambda s: s.coalesce().values(), "ValuesBackward0", "sparse_coo"),
        (lambda s: s.sum(), "SumBackward0", "strided"),
        (lambda s: s.to_sparse_csr().to_dense(), "ToDenseBackward0", "sparse_coo"),
    ],
)
def test_layout_of_gradients(function, name, layout):
    s = leaf()
    out = function(s)
    assert out.grad_fn.name() == name
    out.sum().backward()
    assert str(s.grad.layout) == "torch." + layout
    assert s.grad.shape == s.shape
    again = function(s)
    again.sum().backward()  # gradients add up in their layout
    first = s.grad.to_dense()
    s.grad = None
    function(s).sum().backward()
    assert flambeau.allclose(first, 2 * s.grad.to_dense())


def test_dense_and_sparse_gradients_of_one_tensor():
    for order in (False, True):
        s = leaf()
        parts = [flambeau.sparse.mm(s, DENSE).sum(), (s @ DENSE).sum()]
        if order:
            parts.reverse()
        sum(parts).backward()
        want = flambeau.ones(3, 3, dtype=flambeau.float64) @ DENSE.t()
        specified = s.detach().to_dense() != 0
        assert flambeau.allclose(s.grad.to_dense(), want + want * specified)
        s.grad = None
        for part in ("sparse", "dense") if order else ("dense", "sparse"):
            out = flambeau.sparse.mm(s, DENSE) if part == "sparse" else s @ DENSE
            out.sum().backward()
        assert flambeau.allclose(s.grad.to_dense(), want + want * specified)


def test_to_dense_without_mask():
    s = leaf()
    s.to_dense(masked_grad=False).sum().backward()
    assert s.grad.is_sparse
    assert s.grad._nnz() == 12


def test_products_without_derivative_say_so():
    s = leaf()
    for out in (flambeau.smm(s, DENSE), flambeau.hspmm(s, DENSE)):
        with pytest.raises(RuntimeError, match="derivative for aten::.* is not implemented"):
            out.to_dense().sum().backward()


def test_nothing_is_recorded_without_gradients():
    s = coo(values())
    assert (s @ DENSE).grad_fn is None
    with flambeau.no_grad():
        assert coo(values().requires_grad_()).grad_fn is None


def test_gradcheck_of_sparse_inputs():
    check = flambeau.sparse.as_sparse_gradcheck(gradcheck)
    assert check(lambda s: flambeau.sparse.mm(s, DENSE), (leaf(),), masked=True)
    assert check(lambda s: s * 2, (leaf(),), masked=True)


def test_function_transforms():
    v = values()

    def loss(v):
        return (flambeau.sparse.mm(coo(v), DENSE) ** 2).sum()

    want = v.clone().requires_grad_()
    loss(want).backward()
    assert flambeau.allclose(flambeau.func.grad(loss)(v), want.grad)


# ---- products with a reduction -------------------------------------------------------------------


@pytest.mark.parametrize(("short", "long"), [("max", "amax"), ("min", "amin")])
def test_names_of_reductions(short, long):
    s = coo(values(), True).to_sparse_csr()
    assert flambeau.equal(flambeau.sparse.mm(s, DENSE, short), flambeau.sparse.mm(s, DENSE, long))


def test_reductions_that_are_refused():
    s = coo(values(), True)
    rows = s.to_sparse_csr()
    for call, error in (
        (lambda: flambeau.sparse.mm(s, DENSE, "max"), NotImplementedError),
        (lambda: flambeau.sparse.mm(rows, DENSE, "prod"), RuntimeError),
        (lambda: flambeau.sparse.mm(rows, DENSE.float(), "max"), RuntimeError),
        (lambda: flambeau.sparse.mm(rows, rows.t(), "max"), RuntimeError),
        (lambda: flambeau.sparse.mm(s.to_sparse_csc(), DENSE, "max"), RuntimeError),
    ):
        with pytest.raises(error):
            call()
