"""In-place functions of the module (`flambeau.relu_`), and `Tensor.unflatten`."""

from __future__ import annotations

import pytest

import flambeau

# Of PyTorch 2.13: callable names of the module that end in "_"; sparse tensors are missing here.
NAMES = """
abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_
as_strided_ asin_ asinh_ atan_ atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_
conj_physical_ cos_ cosh_ deg2rad_ detach_ dropout_ embedding_renorm_ erf_ erfc_ exp2_ exp_ expm1_
feature_alpha_dropout_ feature_dropout_ fill_ fix_ floor_ frac_ gcd_ index_put_ lcm_ log10_ log1p_
log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rrelu_
rsqrt_ selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_
""".split()
UNARY = """
abs_ acos_ arccos_ asin_ atan_ ceil_ conj_physical_ cos_ deg2rad_ erf_ exp_ expm1_ fix_ floor_ frac_
log1p_ neg_ negative_ reciprocal_ relu_ round_ selu_ sigmoid_ sin_ square_ tan_ tanh_ trunc_
""".split()


def test_names():
    assert not [name for name in NAMES if not callable(getattr(flambeau, name, None))]
    # PyTorch has these as methods only.
    assert not [n for n in ("add_", "mul_", "lgamma_", "sign_", "t_") if hasattr(flambeau, n)]


@pytest.mark.parametrize("name", UNARY)
def test_changes_its_argument(name):
    x = flambeau.tensor([-0.75, 0.25, 0.5])
    want = getattr(x.clone(), name)()
    version = x._version
    assert getattr(flambeau, name)(x) is x
    assert flambeau.equal(x.nan_to_num(), want.nan_to_num()) and x._version > version


def test_gradient():
    x = flambeau.tensor([0.25, 2.0], requires_grad=True)
    flambeau.exp_(x * 1).sum().backward()
    assert flambeau.allclose(x.grad, x.exp())
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        flambeau.exp_(x)


def test_arguments():
    x = flambeau.tensor([-3.0, 0.5, 3.0])
    assert flambeau.clamp_(x, min=-1, max=1).tolist() == [-1.0, 0.5, 1.0]
    assert flambeau.threshold_(x, 0.0, 9.0).tolist() == [9.0, 0.5, 1.0]
    assert flambeau.dropout_(x, 0.5, False) is x
    y = flambeau.zeros(2, requires_grad=True) * 1
    assert flambeau.detach_(y) is y and not y.requires_grad
    with pytest.raises(TypeError, match="relu_"):
        flambeau.relu_(3)
    with pytest.raises(TypeError, match="detach_.*must be Tensor"):
        flambeau.detach_(3)


def test_embedding_renorm():
    weight = flambeau.tensor([[3.0, 4.0], [0.1, 0.0], [6.0, 8.0]])
    got = flambeau.embedding_renorm_(weight, flambeau.tensor([[0, 1], [0, 0]]), 1.0, 2.0)
    assert got is weight
    want = flambeau.tensor([[0.6, 0.8], [0.1, 0.0], [6.0, 8.0]])
    assert flambeau.allclose(weight, want, atol=1e-6)
    with pytest.raises(RuntimeError, match="2-dimensional"):
        flambeau.embedding_renorm_(weight[0], flambeau.tensor([0]), 1.0, 2.0)
    with pytest.raises(RuntimeError, match="scalar types: Long, Int"):
        flambeau.embedding_renorm_(weight, flambeau.tensor([0.0]), 1.0, 2.0)
    with pytest.raises(IndexError):
        flambeau.embedding_renorm_(weight, flambeau.tensor([3]), 1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        flambeau.embedding_renorm_(weight.requires_grad_(), flambeau.tensor([0]), 1.0, 2.0)


def test_unflatten():
    x = flambeau.arange(12.0).reshape(2, 6)
    assert x.unflatten(1, (2, 3)).shape == (2, 2, 3)
    assert x.unflatten(-1, [2, -1]).shape == (2, 2, 3)
    assert x.unflatten(dim=0, sizes=flambeau.Size([1, 2])).shape == (1, 2, 6)
    assert flambeau.unflatten(x, 1, (6, 1)).data_ptr() == x.data_ptr()
    assert x.t().unflatten(0, (2, 3)).stride() == (3, 1, 6)
    assert flambeau.zeros(2, 0).unflatten(1, (2, -1)).shape == (2, 2, 0)
    x.requires_grad_().unflatten(1, (3, 2)).sum().backward()
    assert x.grad.tolist() == [[1.0] * 6] * 2


@pytest.mark.parametrize(
    "shape, dim, sizes, error, message",
    [
        ((2, 6), 1, (4, 2), RuntimeError, "don't multiply up to the size of dim 1"),
        ((2, 6), 1, (4, -1), RuntimeError, "don't multiply up to the size of dim 1"),
        ((2, 6), 1, (-1, -1), RuntimeError, "only one dimension can be inferred"),
        ((2, 6), 1, (), RuntimeError, "sizes must be non-empty"),
        ((2, 6), 2, (2, 3), IndexError, "out of range"),
        ((), 0, (1, 1), RuntimeError, "0 dimensions"),
        ((2, 6), 1.5, (2, 3), TypeError, "unflatten"),
    ],
)
def test_unflatten_refuses(shape, dim, sizes, error, message):
    with pytest.raises(error, match=message):
        flambeau.zeros(shape).unflatten(dim, sizes)
