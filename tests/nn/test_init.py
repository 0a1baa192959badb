"""`nn.init`: seeded values recorded from PyTorch 2.13, and the laws each function follows."""

import json
import math
import pathlib

import pytest

import flambeau
from flambeau import nn

DATA = pathlib.Path(__file__).parent / "data" / "init.json"
I = nn.init  # noqa: E741

SEEDED = {
    "uniform_": lambda t: I.uniform_(t, -2.0, 3.0),
    "normal_": lambda t: I.normal_(t, 1.0, 0.5),
    "trunc_normal_": lambda t: I.trunc_normal_(t, 0.0, 0.02),
    "trunc_normal_-narrow": lambda t: I.trunc_normal_(t, 1.0, 1.0, 0.5, 1.5),
    "xavier_uniform_": lambda t: I.xavier_uniform_(t, gain=2.0),
    "xavier_normal_": lambda t: I.xavier_normal_(t),
    "kaiming_uniform_": lambda t: I.kaiming_uniform_(t, a=math.sqrt(5)),
    "kaiming_uniform_-relu": lambda t: I.kaiming_uniform_(t, nonlinearity="relu"),
    "kaiming_normal_": lambda t: I.kaiming_normal_(t, mode="fan_out"),
    "sparse_": lambda t: I.sparse_(t, 0.3),
    "orthogonal_": I.orthogonal_,
}


def record(name):
    flambeau.manual_seed(11)
    t = flambeau.empty(6, 5)
    out = SEEDED[name](t)
    assert out is t
    return t.reshape(-1).tolist()


@pytest.mark.parametrize("name", SEEDED)
def test_seeded_values(name):
    expected = json.loads(DATA.read_text())[name]
    assert record(name) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_seeded_wide_orthogonal():
    flambeau.manual_seed(11)
    t = I.orthogonal_(flambeau.empty(3, 2, 4), 1.5)
    expected = json.loads(DATA.read_text())["orthogonal_-wide"]
    assert t.reshape(-1).tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_generator_argument():
    a, b = flambeau.empty(4), flambeau.empty(4)
    flambeau.manual_seed(5)
    I.uniform_(a)
    I.uniform_(b, generator=flambeau.Generator().manual_seed(5))
    assert a.tolist() == b.tolist()


def test_fills():
    t = flambeau.empty(2, 3)
    assert I.constant_(t, 2.5).tolist() == [[2.5] * 3] * 2
    assert I.ones_(t).tolist() == [[1.0] * 3] * 2
    assert I.zeros_(t).tolist() == [[0.0] * 3] * 2
    assert I.eye_(t).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    kernel = I.dirac_(flambeau.empty(4, 2, 3), groups=2)
    ones = [[o, i, k] for o in range(4) for i in range(2) for k in range(3) if kernel[o, i, k] == 1]
    assert ones == [[0, 0, 1], [1, 1, 1], [2, 0, 1], [3, 1, 1]] and float(kernel.sum()) == 4


def test_nothing_is_recorded():
    p = nn.Parameter(flambeau.empty(3, 3))
    I.uniform_(I.ones_(p))
    assert p.grad_fn is None and p.requires_grad


def test_sparse_zeros():
    t = I.sparse_(flambeau.empty(10, 4), 0.5)
    assert (t == 0).sum(0).tolist() == [5] * 4


def test_gain():
    assert I.calculate_gain("linear") == I.calculate_gain("conv_transpose2d") == 1
    assert I.calculate_gain("tanh") == 5 / 3 and I.calculate_gain("selu") == 0.75
    assert I.calculate_gain("relu") == math.sqrt(2)
    assert I.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    with pytest.raises(ValueError, match="not a valid number"):
        I.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        I.calculate_gain("foo")


def test_fans():
    t = flambeau.empty(4, 3, 2, 5)
    assert I._calculate_fan_in_and_fan_out(t) == (30, 40)
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        I._calculate_fan_in_and_fan_out(flambeau.empty(3))
    with pytest.raises(ValueError, match="Mode foo not supported"):
        I.kaiming_normal_(t, mode="foo")


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(shape):
    t = I.orthogonal_(flambeau.empty(shape), gain=2.0).reshape(shape[0], -1)
    gram = t @ t.t() if t.shape[0] <= t.shape[1] else t.t() @ t
    n = gram.shape[0]
    expected = [4.0 if i == j else 0.0 for i in range(n) for j in range(n)]
    assert gram.reshape(-1).tolist() == pytest.approx(expected, abs=1e-5)


def test_warnings_and_old_names():
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        I.kaiming_uniform_(flambeau.empty(0, 3))
    with pytest.warns(FutureWarning, match="in favor of `nn.init.uniform_`"):
        I.uniform(flambeau.empty(2))
    with pytest.warns(UserWarning, match="more than 2 std"):
        I.trunc_normal_(flambeau.empty(2), 10.0, 1.0)


def test_clip_gradients():
    p = nn.Parameter(flambeau.zeros(2))
    q = nn.Parameter(flambeau.zeros(1))
    p.grad, q.grad = flambeau.tensor([3.0, 0.0]), flambeau.tensor([-4.0])
    assert float(nn.utils.clip_grad_norm_([p, q], 1.0)) == 5.0
    assert p.grad.tolist() == pytest.approx([0.6, 0.0], rel=1e-5)
    assert q.grad.tolist() == pytest.approx([-0.8], rel=1e-5)
    norm = nn.utils.get_total_norm([p.grad, q.grad], math.inf)
    assert float(norm) == pytest.approx(0.8, rel=1e-5)
    nn.utils.clip_grad_value_([p, q], 0.5)
    assert p.grad.tolist() == [0.5, 0.0] and q.grad.tolist() == [-0.5]
    p.grad = flambeau.tensor([math.inf, 0.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    # squares beyond float32, a norm within
    p.grad = flambeau.full_like(p, 1e20)
    norm = nn.utils.clip_grad_norm_(p, 1.0)
    assert norm.dtype is flambeau.float32
    assert norm.item() == pytest.approx(1e20 * p.numel() ** 0.5)
    assert p.grad.norm().item() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="max_norm"):
        nn.utils.clip_grad_norm_(p, -1.0)


def test_parameters_as_vector():
    layer = nn.Linear(2, 1)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (3,)
    nn.utils.vector_to_parameters(flambeau.tensor([1.0, 2.0, 3.0]), layer.parameters())
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [3.0]
    with pytest.raises(TypeError, match="expected torch.Tensor"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())
