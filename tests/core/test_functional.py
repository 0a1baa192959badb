"""autograd.functional against closed forms; structures and errors are PyTorch 2.13's."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys

import pytest

import flambeau
from flambeau.autograd import functional, grad
from flambeau.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

PRODUCTS = [vjp, jvp, vhp, hvp]
ALL = [*PRODUCTS, jacobian, hessian]
SECOND = (vhp, hvp, hessian)
FORWARD = {"vectorize": True, "strategy": "forward-mode"}
X, Y, V = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 0.5, 2.0]


def t(values, **options):
    return flambeau.tensor(values, **options)


def leaf(values=X):
    return t(values, requires_grad=True)


def cubes(x):
    return x**3


def sum_of_cubes(x):
    return (x**3).sum()


def fits(which):
    """A function that ``which`` takes, and its vector."""
    return sum_of_cubes if which in SECOND else cubes, () if which in ALL[4:] else (t(V),)


def structure(value):
    """Nested tuples of shapes, whether each tensor has history in front."""
    if isinstance(value, tuple):
        return tuple(structure(v) for v in value)
    assert type(value) is flambeau.Tensor
    return [value.requires_grad, *value.shape]


def diagonal(*values):
    return [[v if i == j else 0.0 for j in range(len(values))] for i, v in enumerate(values)]


# ---- values --------------------------------------------------------------------------------------


def test_products():
    # J = diag(3 x²), H = diag(6 x)
    for product in (vjp, jvp):
        out, got = product(cubes, t(X), t(V))
        assert out.tolist() == [1.0, 8.0, 27.0] and got.tolist() == [3.0, 6.0, 54.0]
    for product in (vhp, hvp):
        out, got = product(sum_of_cubes, t(X), t(V))
        assert out.item() == 36.0 and got.tolist() == [6.0, 6.0, 36.0]


def test_products_take_the_side():
    # rows against columns: J = [[2, 3, 0], [0, 0, 5]]
    def func(x):
        return flambeau.stack([2 * x[0] + 3 * x[1], 5 * x[2]])

    assert vjp(func, t(X), t([1.0, 10.0]))[1].tolist() == [2.0, 3.0, 50.0]
    assert jvp(func, t(X), t([1.0, 10.0, 100.0]))[1].tolist() == [32.0, 500.0]


def test_jacobian():
    assert jacobian(cubes, t(X)).tolist() == diagonal(3.0, 12.0, 27.0)
    # a matrix times a column: the shape is that of the output, then that of the input
    got = jacobian(lambda a: a @ t(X)[:, None], t([X, Y]))
    assert got.shape == (2, 1, 2, 3)
    assert got.tolist() == [[[X, [0.0] * 3]], [[[0.0] * 3, X]]]
    assert jacobian(cubes, t(2.0)).item() == 12.0


def test_hessian():
    assert hessian(sum_of_cubes, t(X)).tolist() == diagonal(6.0, 12.0, 18.0)
    (aa, ab), (ba, bb) = hessian(lambda a, b: (a * a * b).sum(), (t(X), t(Y)))
    assert aa.tolist() == diagonal(8.0, 10.0, 12.0) and bb.tolist() == diagonal(0.0, 0.0, 0.0)
    assert ab.tolist() == ba.tolist() == diagonal(2.0, 4.0, 6.0)
    # one element of any shape
    assert hessian(lambda x: (x * x).sum()[None, None], t(X)).tolist() == diagonal(2.0, 2.0, 2.0)
    assert hessian(cubes, t(2.0)).item() == 12.0


def test_hessian_of_a_product_with_zeros():
    # the mixed derivative of the two zeros is the product of the others; every other one is zero
    h = hessian(lambda x: x.prod(), t([2.0, 3.0, 0.0, 0.0]))
    assert h[2, 3] == 6 and h[3, 2] == 6 and h.sum() == 12


def test_products_agree_with_the_whole():
    flambeau.manual_seed(0)
    w = flambeau.randn(4, 3, dtype=flambeau.float64)
    x, u, v = (flambeau.randn(n, dtype=flambeau.float64) for n in (3, 4, 3))

    def many(x):
        return (w @ x).sin() * x.exp().sum()

    def one(x):
        return many(x).pow(2).sum()

    jac, hess = jacobian(many, x), hessian(one, x)
    assert flambeau.allclose(vjp(many, x, u)[1], u @ jac)
    assert flambeau.allclose(jvp(many, x, v)[1], jac @ v)
    assert flambeau.allclose(vhp(one, x, v)[1], v @ hess)
    assert flambeau.allclose(hvp(one, x, v)[1], hess @ v)
    assert flambeau.allclose(hess, hess.T)
    assert flambeau.allclose(jacobian(many, x, **FORWARD), jac)
    forward = hessian(one, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert flambeau.allclose(forward, hess)
    assert flambeau.equal(jacobian(many, x, vectorize=True), jac)


def test_left_out_v():
    assert vjp(lambda x: (x * x).sum(), t([2.0]))[1].tolist() == [4.0]
    assert jvp(lambda x: (x * x, 3 * x), t(2.0))[1] == (t(4.0), t(3.0))
    assert vhp(cubes, t([[2.0]]))[1].tolist() == hvp(cubes, t([[2.0]]))[1].tolist() == [[12.0]]


def test_dtypes():
    # reverse mode: the inputs' dtype; forward mode: the outputs'
    assert jacobian(lambda x: x.double() ** 2, t(X)).dtype is flambeau.float32
    assert jacobian(lambda x: x.double() ** 2, t(X), **FORWARD).dtype is flambeau.float64
    assert vjp(cubes, t(X), t(V).double())[1].dtype is flambeau.float32


# ---- structure -----------------------------------------------------------------------------------


def test_structure_of_products():
    def two(a, b):
        return a * a * b, a.sum()

    x, v = t(X), t(V)
    assert structure(vjp(two, (x, x), (v, t(1.0)))) == (
        ([False, 3], [False]),
        ([False, 3], [False, 3]),
    )
    assert structure(jvp(two, (x, x), (v, v))) == (([False, 3], [False]), ([False, 3], [False]))
    # a tuple of one stays a tuple; v may be either
    for which in PRODUCTS:
        func, v = fits(which)
        out, got = which(func, (x,), v[0])
        assert isinstance(got, tuple) is (which is not jvp) and isinstance(out, flambeau.Tensor)
        out, got = which(func, x, v)
        assert isinstance(got, flambeau.Tensor)
    assert structure(vjp(lambda a: (a * a,), x, v)) == (([False, 3],), [False, 3])


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, FORWARD])
def test_structure_of_jacobians(options):
    def two(a, b):
        return a * b, b.sum()

    x, s = t(X), t(2.0)
    block, rows = [False, 3, 3], ([False, 3, 3], [False, 3])
    assert structure(jacobian(two, (x, s), **options)) == (rows, ([False, 3], [False]))
    assert structure(jacobian(lambda a: (a, a.sum()), x, **options)) == (block, [False, 3])
    assert structure(jacobian(lambda a, b: a * b, (x, s), **options)) == rows
    assert structure(jacobian(cubes, (x,), **options)) == (block,)
    assert structure(jacobian(lambda a: (a * 2,), x, **options)) == (block,)


def test_structure_of_hessians():
    assert structure(hessian(sum_of_cubes, (t(X),))) == (([False, 3, 3],),)
    got = hessian(lambda a, b: (a.sum() * b).sum(), (t(X), t([1.0, 2.0])))
    assert structure(got) == (([False, 3, 3], [False, 3, 2]), ([False, 2, 3], [False, 2, 2]))


def test_inputs_are_left_alone():
    x, seen = leaf(), []
    jacobian(lambda a: seen.append((a is x, a.requires_grad, a.is_leaf)) or a * 2, x)
    jacobian(lambda a: seen.append((a is x, a.requires_grad, a.is_leaf)) or a * 2, x, True)
    assert seen == [(False, True, True), (False, True, False)] and x.grad is None
    plain = t(X)
    vjp(cubes, plain, t(V), create_graph=True)
    assert not plain.requires_grad
    with pytest.raises(RuntimeError, match="in-place"):
        jacobian(lambda a: a.mul_(2), plain)
    assert plain.tolist() == X
    assert vjp(lambda a: a, plain, t(V))[0] is not plain


def test_recording_is_on_inside():
    with flambeau.no_grad():
        assert jacobian(cubes, t(X)).tolist() == diagonal(3.0, 12.0, 27.0)
        assert hvp(sum_of_cubes, t(X), t(V), create_graph=True)[1].requires_grad
        assert not flambeau.is_grad_enabled()


# ---- what does not depend ------------------------------------------------------------------------


def test_zeros_where_nothing_connects():
    x, y, v = t(X), t(Y), t(V)
    zero = [0.0, 0.0, 0.0]
    assert [g.tolist() for g in vjp(lambda a, b: a * 3, (x, y), v)[1]] == [[3.0, 1.5, 6.0], zero]
    assert [g.tolist() for g in jvp(lambda a: (a * 3, y), x, v)[1]] == [[3.0, 1.5, 6.0], zero]
    for which in (vhp, hvp):
        # b is unused, a only linear
        got = which(lambda a, b: a.sum(), (x, y), (v, v))[1]
        assert [g.tolist() for g in got] == [zero, zero]
    for options in ({}, {"vectorize": True}, FORWARD):
        (aa, ab), (ba, bb) = jacobian(lambda a, b: (a * a, y), (x, y), **options)
        assert aa.tolist() == diagonal(2.0, 4.0, 6.0)
        assert ab.tolist() == ba.tolist() == bb.tolist() == [zero] * 3
    assert hessian(lambda a: t(5.0), x).tolist() == [zero] * 3
    assert jacobian(lambda a: a.long(), x).tolist() == [zero] * 3


def test_nothing_to_derive():
    for options in ({}, {"vectorize": True}, FORWARD):
        assert jacobian(lambda a: a[:0], t(X), **options).shape == (0, 3)
        assert jacobian(lambda a: a.sum(), flambeau.zeros(0), **options).shape == (0,)
        assert jacobian(lambda a: a.reshape(2, 0), flambeau.zeros(0, 3), **options).shape == (
            2, 0, 0, 3,
        )  # fmt: skip
    assert hessian(sum_of_cubes, flambeau.zeros(0)).shape == (0, 0)


UNUSED = (lambda a, b: a**3, lambda a, b: (a**3).sum())
LINEAR = (lambda a: a * 3, lambda a: (a * 3).sum())
CONSTANT = (lambda a: t(Y), lambda a: t(5.0))
UNRELATED = (lambda a: leaf(Y) * 1, lambda a: leaf(Y).sum())


@pytest.mark.parametrize("which", ALL)
def test_strict(which):
    second = which in SECOND
    func, v = fits(which)
    plain = which(func, t(X), *v)
    assert structure(which(func, t(X), *v, strict=True)) == structure(plain)
    with pytest.raises(RuntimeError, match=r"output 0 of func does not require grad.*strict"):
        which(CONSTANT[second], t(X), *v, strict=True)
    with pytest.raises(RuntimeError, match="does not depend on input 0: strict=True"):
        which(UNRELATED[second], t(X), *v, strict=True)
    with pytest.raises(RuntimeError, match="does not depend on input 1: strict=True"):
        w = v if which is vjp else (v * 2,) if v else ()
        which(UNUSED[second], (t(X), t(Y)), *w, strict=True)
    # a constant derivative is only refused where another derivative follows
    if not second:
        which(LINEAR[0], t(X), *v, strict=True)
    with pytest.raises(RuntimeError, match="derivative 0 of func is constant"):
        which(LINEAR[second], t(X), *v, strict=True, create_graph=True)
    if second:
        with pytest.raises(RuntimeError, match="derivative 0 of func is constant"):
            which(LINEAR[1], t(X), *v, strict=True)


def test_strict_pairs():
    # the blocks of a jacobian one by one, products over all of them
    def apart(a, b):
        return a * a, b * b

    x, y, v = t(X), t(Y), t(V)
    with pytest.raises(RuntimeError, match="jacobian: output 0 .* does not depend on input 1"):
        jacobian(apart, (x, y), strict=True)
    vjp(apart, (x, y), (v, v), strict=True)
    jvp(apart, (x, y), (v, v), strict=True)
    with pytest.raises(RuntimeError, match="jvp: the product with v does not depend on output 1"):
        jvp(lambda a: (a * a, leaf(Y) * 1), x, v, strict=True)
    with pytest.raises(RuntimeError, match="hessian: output 0 .* does not depend on input 1"):
        hessian(lambda a, b: sum_of_cubes(a) + sum_of_cubes(b), (x, y), strict=True)


# ---- graphs over the results ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "which, want",
    [
        (vjp, [24.0, 60.0, 108.0]),  # d(3 y x²)/dx = 6 x y
        (jvp, [24.0, 60.0, 108.0]),
        (jacobian, [6.0, 12.0, 18.0]),
        (vhp, [24.0, 30.0, 36.0]),  # d(6 x y)/dx = 6 y
        (hvp, [24.0, 30.0, 36.0]),
        (hessian, [6.0, 6.0, 6.0]),
    ],
)
def test_create_graph(which, want):
    func, v = fits(which)
    v = (t(Y),) if v else ()
    x = leaf()
    result = which(func, x, *v, create_graph=True)
    product = result[1] if v else result
    assert grad(product.sum(), x, retain_graph=True)[0].tolist() == want
    if v:
        # the values are on the graph as well
        assert grad(result[0].sum(), x)[0].tolist() == [3.0, 12.0, 27.0]
    product = which(func, x, *v)
    assert not (product[1] if v else product).requires_grad


def test_create_graph_to_second_order():
    # x⁵: the jacobian is 5 x⁴, its second derivative 60 x²
    x = leaf()
    first = jacobian(lambda a: a**5, x, create_graph=True).sum()
    (second,) = grad(first, x, create_graph=True)
    assert second.tolist() == [20.0, 160.0, 540.0]
    assert grad(second.sum(), x)[0].tolist() == [60.0, 240.0, 540.0]
    # nested: the hessian is the jacobian of the jacobian
    nested = jacobian(lambda a: jacobian(sum_of_cubes, a, create_graph=True), t(X))
    assert nested.tolist() == hessian(sum_of_cubes, t(X)).tolist()


@pytest.mark.parametrize("which", PRODUCTS)
def test_create_graph_reaches_v(which):
    func, v = fits(which)
    v = v[0].requires_grad_()
    want = [6.0, 12.0, 18.0] if which in SECOND else [3.0, 12.0, 27.0]
    assert grad(which(func, t(X), v, create_graph=True)[1].sum(), v)[0].tolist() == want
    assert not which(func, t(X), v)[1].requires_grad


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ALL)
def test_wrong_types(which):
    func, v = fits(which)
    name = which.__name__
    for wrong in (3.0, None, {}, [t(X)]):
        with pytest.raises(TypeError, match=f"{name}: inputs must be a Tensor or a tuple"):
            which(func, wrong, *v)
    with pytest.raises(TypeError, match="got float at index 1"):
        which(func, (t(X), 3.0), *v)
    for wrong in (3.0, None, [t(1.0)]):
        with pytest.raises(TypeError, match=f"{name}: the result of func must be a Tensor or"):
            which(lambda a, wrong=wrong: wrong, t(X), *v)
    with pytest.raises(TypeError, match="the result of func .* got float at index 1"):
        which(lambda a: (a.sum(), 3.0), t(X), *v)
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        which(func, t([1, 2, 3]), *v)
    with pytest.raises(RuntimeError, match="inputs is an empty tuple|without v|as many"):
        which(lambda: leaf().sum(), ())


@pytest.mark.parametrize("which", PRODUCTS)
def test_wrong_vectors(which):
    func, (v,) = fits(which)
    # that of jvp and the hessians is for the inputs
    func = cubes if which is vjp else func
    for wrong in (2.0, [v], (2.0,)):
        with pytest.raises(TypeError, match="v must be a Tensor or a tuple of Tensors, got"):
            which(func, t(X), wrong)
    for wrong in ((v, v), ()):
        with pytest.raises(RuntimeError, match=r"v must have as many Tensors as there are \w+, 1"):
            which(func, t(X), wrong)
    for wrong in (v[:2], v[:1], v[None], t(1.0)):
        with pytest.raises(RuntimeError, match=r"v at index 0 must have the shape .* \(3,\), got"):
            which(func, t(X), wrong)
    with pytest.raises(RuntimeError, match=r"without v the \w+ must be one element; give v"):
        which(func, t(X))


@pytest.mark.parametrize("which", SECOND)
def test_functions_of_one_element(which):
    _, v = fits(which)
    with pytest.raises(RuntimeError, match="func must return one Tensor, got a tuple"):
        which(lambda a: (a.sum(),), t(X), *v)
    with pytest.raises(RuntimeError, match=r"one element, got shape \(3,\); reduce it"):
        which(cubes, t(X), *v)


@pytest.mark.parametrize(
    "which, key", [(jacobian, "strategy"), (hessian, "outer_jacobian_strategy")]
)
def test_strategies(which, key):
    func, _ = fits(which)
    for wrong in ("x", None):
        with pytest.raises(AssertionError, match="the strategy must be"):
            which(func, t(X), **{key: wrong})
    forward = {key: "forward-mode"}
    with pytest.raises(NotImplementedError, match="only there for vectorize=True"):
        which(func, t(X), **forward)
    with pytest.raises(NotImplementedError, match="create_graph=True is not supported"):
        which(func, t(X), create_graph=True, vectorize=True, **forward)
    with pytest.raises(RuntimeError, match="strict=True is not supported"):
        which(func, t(X), strict=True, vectorize=True, **forward)
    with pytest.raises(RuntimeError, match="strict=True needs vectorize=False"):
        which(func, t(X), strict=True, vectorize=True)


def test_complex():
    z, w = t([1 + 1j, 2.0]), t([1.0 + 0j, 1.0])

    def square(a):
        return a * a

    # products: the conjugate from the left, the derivative itself from the right
    assert vjp(square, z, w)[1].tolist() == [2 - 2j, 4]
    assert jvp(square, z, w)[1].tolist() == [2 + 2j, 4]
    assert hvp(lambda a: (a * a.conj()).real.sum(), z, w)[1].tolist() == [2, 2]
    # rows are of real outputs; vectorize gives the products with ones, forward mode the derivative
    for func, x in ((square, z), (lambda a: a * 1j, t(X))):
        with pytest.raises(RuntimeError, match="jacobian: output 0 is complex"):
            jacobian(func, x)
    assert jacobian(square, z, vectorize=True).tolist() == [[2 - 2j, 0], [0, 4]]
    assert jacobian(square, z, **FORWARD).tolist() == [[2 + 2j, 0], [0, 4]]
    assert jacobian(lambda a: a * 1j, t([1.0, 2.0]), **FORWARD).tolist() == [[1j, 0], [0, 1j]]
    with pytest.raises(RuntimeError, match="hessian: output 0 is complex"):
        hessian(lambda a: (a * a.conj()).real.sum(), z)
    for which in (vhp, hvp, hessian):
        with pytest.raises(RuntimeError, match="only for real scalar outputs"):
            which(lambda a: (a * 1j).sum(), t(X), *fits(which)[1])
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        vjp(square, z, t([1.0, 1.0]))


# ---- the module ----------------------------------------------------------------------------------


def test_signatures():
    product = "(func, inputs, v=None, create_graph=False, strict=False)"
    assert {str(inspect.signature(f)) for f in PRODUCTS} == {product}
    same = "(func, inputs, create_graph=False, strict=False, vectorize=False, "
    assert str(inspect.signature(jacobian)) == same + "strategy='reverse-mode')"
    assert str(inspect.signature(hessian)) == same + "outer_jacobian_strategy='reverse-mode')"
    assert set(functional.__all__) == {f.__name__ for f in ALL}


def test_reached_without_its_own_import_and_loaded_late():
    code = (
        "import sys, flambeau; name = 'flambeau.autograd.functional'\n"
        "assert name not in sys.modules\n"
        "flambeau.autograd.functional.hvp\n"
        "assert name in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'functionals'"):
        flambeau.autograd.functionals


def test_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    ran = 0
    for which in ALL:
        # the decorator's wrapper hides the function from a search of the module
        for case in finder.find(which, which.__name__, functional, {"flambeau": flambeau}):
            outcome = doctest.DocTestRunner().run(case)
            assert not outcome.failed
            ran += outcome.attempted
    assert ran == 2 * len(ALL)
