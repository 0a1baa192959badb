"""Matrix products and contractions against NumPy in float64."""

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck


def rand(*shape, dtype="float64", seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(dtype)


def tensor(array, grad=False):
    t = flambeau.from_numpy(array)
    return t.requires_grad_() if grad else t


SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((4, 3), (3, 5)),
    ((2, 4, 3), (3, 5)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((3,), (2, 3, 4)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
]


@pytest.mark.parametrize("a, b", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_matmul(a, b, dtype):
    x, y = (10 * rand(*s, seed=i) for i, s in enumerate((a, b)))
    x, y = x.astype(dtype), y.astype(dtype)
    got = flambeau.matmul(tensor(x), tensor(y)).numpy()
    np.testing.assert_allclose(got, x @ y, rtol=1e-5, atol=1e-4)
    assert got.dtype == x.dtype


@pytest.mark.parametrize("m, k, n", [(1, 70, 90), (90, 70, 1), (65, 33, 129), (300, 200, 100)])
@pytest.mark.parametrize("left", ["plain", "transposed", "strided"])
def test_mm_layouts(m, k, n, left):
    x, y = rand(m, k), rand(k, n, seed=1)
    a = tensor(x)
    if left == "transposed":
        a = tensor(np.ascontiguousarray(x.T)).t()
    elif left == "strided":
        a = tensor(np.repeat(x, 2, axis=1))[:, ::2]
    np.testing.assert_allclose(flambeau.mm(a, tensor(y)).numpy(), x @ y, rtol=1e-10, atol=1e-10)


def test_results_do_not_depend_on_threads():
    a, b = tensor(rand(257, 300, dtype="float32")), tensor(rand(300, 260, dtype="float32", seed=1))
    before = flambeau.get_num_threads()
    try:
        results = []
        for n in (1, 2, 4):
            flambeau.set_num_threads(n)
            results.append(flambeau.mm(a, b).numpy().tobytes())
    finally:
        flambeau.set_num_threads(before)
    assert results[0] == results[1] == results[2]


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bij,bjk", [(2, 2, 3), (2, 3, 4)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("i,j->ij", [(2,), (3,)]),
    ("...ij,...jk->...ik", [(5, 1, 2, 3), (4, 3, 2)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("ba,b->", [(2, 3), (2,)]),
]


@pytest.mark.parametrize("equation, shapes", EQUATIONS)
def test_einsum(equation, shapes):
    arrays = [rand(*s, seed=i) for i, s in enumerate(shapes)]
    got = flambeau.einsum(equation, *map(tensor, arrays)).numpy()
    np.testing.assert_allclose(got, np.einsum(equation, *arrays), rtol=1e-10)
    assert gradcheck(lambda *t: flambeau.einsum(equation, *t), [tensor(a, True) for a in arrays])


def test_einsum_sublists():
    a, b = rand(2, 3), rand(3, 4, seed=1)
    got = flambeau.einsum(tensor(a), [0, 1], tensor(b), [1, 2], [0, 2])
    np.testing.assert_allclose(got.numpy(), a @ b)


def test_multi_dot_kron_cross_tensordot():
    a, b, c = rand(2, 5), rand(5, 3, seed=1), rand(3, 4, seed=2)
    product = flambeau.linalg.multi_dot([tensor(a), tensor(b), tensor(c)]).numpy()
    np.testing.assert_allclose(product, a @ b @ c)
    np.testing.assert_allclose(flambeau.kron(tensor(a), tensor(b)).numpy(), np.kron(a, b))
    u, v = rand(4, 3), rand(4, 3, seed=1)
    np.testing.assert_allclose(flambeau.linalg.cross(tensor(u), tensor(v)).numpy(), np.cross(u, v))
    x, y = rand(2, 3, 4), rand(4, 3, 2, seed=1)
    got = flambeau.tensordot(tensor(x), tensor(y), dims=([1, 2], [1, 0])).numpy()
    np.testing.assert_allclose(got, np.tensordot(x, y, ([1, 2], [1, 0])))


@pytest.mark.parametrize("rows", [4, 40])
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, float("inf")])
def test_cdist(rows, p):
    a, b = rand(rows, 5), rand(7, 5, seed=1)
    expected = np.linalg.norm(a[:, None] - b[None], ord=p, axis=-1)
    got = flambeau.cdist(tensor(a), tensor(b), p).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_cdist_of_equal_points():
    x = tensor(rand(30, 3), True)
    d = flambeau.cdist(x, x)
    assert float(d.diagonal().abs().max()) == 0
    d.sum().backward()
    assert bool(flambeau.isfinite(x.grad).all())


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_linear(shape):
    x, w, b = tensor(rand(*shape), True), tensor(rand(5, 3, seed=1), True), tensor(rand(5), True)
    f = flambeau.nn.functional.linear
    expected = x.detach().numpy() @ w.detach().numpy().T + b.detach().numpy()
    np.testing.assert_allclose(f(x, w, b).detach().numpy(), expected)
    assert gradcheck(f, (x, w, b)) and gradgradcheck(f, (x, w, b))


def test_errors():
    ones = flambeau.ones
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        flambeau.mm(ones(2, 3), ones(2, 3))
    with pytest.raises(RuntimeError, match="self must be a matrix"):
        flambeau.mm(ones(3), ones(3, 2))
    with pytest.raises(RuntimeError, match="same dtype"):
        flambeau.mm(ones(2, 2), ones(2, 2, dtype=flambeau.float64))
    with pytest.raises(RuntimeError, match="operands were provided"):
        flambeau.einsum("ij,jk", ones(2, 2))
    with pytest.raises(RuntimeError, match="does not appear"):
        flambeau.einsum("ij->k", ones(2, 2))
    with pytest.raises(RuntimeError, match="must have length 3"):
        flambeau.linalg.cross(ones(2), ones(2))


GROUPED = {  # shapes of the matrices, and where the groups end
    "2d 3d": ((7, 3), (3, 3, 4), [2, 2, 6]),
    "3d 2d": ((3, 4, 3), (3, 7), [2, 2, 6]),
    "2d 2d": ((4, 7), (7, 5), [2, 2, 6]),
    "3d 3d": ((3, 4, 3), (3, 3, 5), None),
}


def one_by_one(a, b, ends):
    """The definition: a product per group."""
    if ends is None:
        return flambeau.stack([x @ y for x, y in zip(a, b)])
    begins = [0, *ends[:-1]]
    spans = [slice(*span) for span in zip(begins, ends)]
    if a.dim() == b.dim():
        return flambeau.stack([a[:, s] @ b[s] for s in spans])
    if a.dim() == 2:
        return flambeau.cat(
            [a[s] @ y for s, y in zip(spans, b)] + [a[ends[-1] :, :1] * 0 * b[0, :1]]
        )
    return flambeau.cat(
        [x @ b[:, s] for s, x in zip(spans, a)] + [0 * a[0, :, :1] * b[:1, ends[-1] :]], 1
    )


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.bfloat16, flambeau.float16])
@pytest.mark.parametrize("kind", GROUPED)
def test_grouped_products(kind, dtype):
    left, right, ends = GROUPED[kind]
    flambeau.manual_seed(0)
    offs = None if ends is None else flambeau.tensor(ends, dtype=flambeau.int32)
    for transposed in (False, True):
        a = flambeau.randn(left).to(dtype)
        b = (flambeau.randn(right).mT.contiguous().mT if transposed else flambeau.randn(right)).to(
            dtype
        )
        a.requires_grad_(), b.requires_grad_()
        got = flambeau.nn.functional.grouped_mm(a, b, offs=offs)
        expected = one_by_one(a, b, ends)
        assert got.dtype is dtype and got.is_contiguous()
        assert type(got.grad_fn).__name__ == "GroupedMmBackward0"
        assert flambeau.equal(got, expected)
        weight = flambeau.randn(got.shape).to(dtype)
        for x, y in zip(
            *(flambeau.autograd.grad((r * weight).sum(), (a, b)) for r in (got, expected))
        ):
            flambeau.testing.assert_close(x, y)
        meta = flambeau._grouped_mm(a.to("meta"), b.to("meta"), offs)
        assert meta.shape == got.shape and meta.dtype is dtype


def test_grouped_products_refuse():
    f = flambeau.nn.functional.grouped_mm
    a, b = flambeau.ones(4, 3), flambeau.ones(2, 3, 5)
    offs = flambeau.tensor([1, 4], dtype=flambeau.int32)
    for arguments, message in [
        ((a.double(), b.double(), offs), "Float32, BFloat16 or Float16"),
        ((a[0], b, offs), "2 or 3d"),
        ((a[:, :2], b, offs), "contraction dimension"),
        ((a, b.half(), offs), "same dtype"),
        ((a, b, None), "offsets"),
        ((flambeau.ones(2, 4, 3), b, offs), "no offset"),
        ((a, b, offs.long()), "int32"),
        ((a, b, offs[:1]), "batch sizes"),
        ((a, b, offs.flip(0)), "rise"),
        ((a, b, offs + 1), "at most 4"),
        ((a, b, -offs), "rise"),
        ((a, b, offs, flambeau.ones(5)), "Bias"),
        ((a, b, offs, None, flambeau.float64), "out"),
    ]:
        options = dict(zip(("offs", "bias", "out_dtype"), arguments[2:]))
        with pytest.raises(RuntimeError, match=message):
            f(*arguments[:2], **options)
    assert f(a[:0], b, offs=offs * 0).shape == (0, 5)
