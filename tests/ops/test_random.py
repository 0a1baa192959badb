"""The random stream, to the number; states, derivatives, the meta device and argument checks."""

import hashlib
import json
import math
import pathlib

import pytest

import flambeau

GOLDEN = json.loads(pathlib.Path(__file__).with_name("data").joinpath("random.json").read_text())
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2}  # one unit in the last place
FLOATS = [flambeau.float16, flambeau.bfloat16, flambeau.float32, flambeau.float64]


@pytest.mark.parametrize("expression, dtype, shape, ends", GOLDEN, ids=[row[0] for row in GOLDEN])
def test_stream(expression, dtype, shape, ends):
    flambeau.manual_seed(11)
    result = eval(expression, {"t": flambeau})
    if result.is_complex():
        result = flambeau.view_as_real(result)
    assert str(result.dtype) == f"torch.{dtype}" and list(result.shape) == shape
    flat = result.reshape(-1).tolist()
    got = flat if len(flat) <= 10 else flat[:5] + flat[-5:]
    if "float" not in dtype:
        assert got == ends
    assert got == pytest.approx(ends, rel=TOLERANCE.get(dtype, 1e-6), abs=5e-7)


def state_hash():
    return hashlib.sha256(bytes(flambeau.get_rng_state().tolist())).hexdigest()


def test_state_bytes():
    flambeau.manual_seed(3)
    assert state_hash() == "76fe321e2dc1dfdec62a274bcedbeea2727be2e2972f97e728e07e0345c21ede"
    flambeau.rand(5)
    flambeau.randn(1)
    assert state_hash() == "3115124499a7f1e9df11f9b98535510d101b0ffb9240300e06ec85df6e3a4e9c"
    flambeau.manual_seed(3)
    flambeau.rand(624)
    assert state_hash() == "5294adef869311a97b9b9bfa34400a35322399b967301af24e23f23c460602be"


@pytest.mark.parametrize("before", [0, 1, 623, 624, 625])
def test_state_round_trip(before):
    flambeau.manual_seed(5)
    flambeau.rand(before)
    flambeau.randn(1)  # leaves the second of a pair
    state = flambeau.get_rng_state()
    assert state.dtype == flambeau.uint8 and state.shape == (5056,)
    first = (flambeau.randn(3).tolist(), flambeau.rand(700).tolist())
    flambeau.set_rng_state(state)
    assert (flambeau.randn(3).tolist(), flambeau.rand(700).tolist()) == first
    other = flambeau.Generator()
    other.set_state(state)
    assert flambeau.randn(3, generator=other).tolist() == first[0]


def test_generators():
    assert flambeau.Generator().initial_seed() == 67280421310721
    g = flambeau.Generator()
    assert g.manual_seed(4) is g and g.initial_seed() == 4
    flambeau.manual_seed(4)
    own = flambeau.rand(5, generator=g)
    assert flambeau.equal(own, flambeau.rand(5))
    assert g.seed() == g.initial_seed() != 4
    for bad in (
        flambeau.zeros(10, dtype=flambeau.uint8),
        flambeau.zeros(5056, dtype=flambeau.uint8),
    ):
        with pytest.raises(RuntimeError, match="5056|mt19937"):
            g.set_state(bad)


def test_threads_do_not_change_results():
    threads, results = flambeau.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            flambeau.set_num_threads(n)
            flambeau.manual_seed(1)
            results.append(
                [flambeau.randn(200_003), flambeau.dropout(flambeau.ones(70_001), 0.3, True)]
            )
    finally:
        flambeau.set_num_threads(threads)
    for other in results[1:]:
        assert all(map(flambeau.equal, results[0], other))


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_stays_below_its_end(dtype):
    flambeau.manual_seed(0)
    x = flambeau.empty(50_000, dtype=dtype).uniform_(1, 1.0625)
    assert x.min() >= 1 and x.max() < 1.0625


def test_moments():
    flambeau.manual_seed(0)
    n = 200_000

    def close(x, mean, var):
        x = x.double()
        assert abs(x.mean().item() - mean) < 6 * math.sqrt(var / n)
        assert abs(x.var().item() / var - 1) < 0.05

    close(flambeau.rand(n), 0.5, 1 / 12)
    close(flambeau.randn(n), 0, 1)
    close(flambeau.empty(n).exponential_(2), 0.5, 0.25)
    close(flambeau.empty(n).geometric_(0.25), 4, 12)
    close(
        flambeau.empty(n).log_normal_(0, 0.5),
        math.exp(0.125),
        (math.exp(0.25) - 1) * math.exp(0.25),
    )
    close(flambeau.empty(n).bernoulli_(0.3), 0.3, 0.21)
    close(flambeau.poisson(flambeau.full((n,), 3.0)), 3, 3)
    close(flambeau.poisson(flambeau.full((n,), 30.0)), 30, 30)
    close(flambeau.binomial(flambeau.full((n,), 8.0), flambeau.full((n,), 0.25)), 2, 1.5)
    close(flambeau.binomial(flambeau.full((n,), 100.0), flambeau.full((n,), 0.75)), 75, 18.75)


def test_permutations_and_choices():
    flambeau.manual_seed(0)
    assert sorted(flambeau.randperm(500).tolist()) == list(range(500))
    weights = flambeau.tensor([[0.0, 1.0, 3.0], [2.0, 2.0, 0.0]])
    rows = flambeau.multinomial(weights, 20_000, replacement=True)
    assert (rows[0] == 0).sum() == 0 and (rows[1] == 2).sum() == 0
    assert (rows[0] == 2).double().mean().item() == pytest.approx(0.75, abs=0.02)
    distinct = flambeau.multinomial(weights, 2)
    assert sorted(distinct[0].tolist()) == [1, 2] and sorted(distinct[1].tolist()) == [0, 1]


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_derivative(p):
    flambeau.manual_seed(0)
    x = flambeau.arange(1.0, 41.0).reshape(5, 8).t().requires_grad_()
    y = flambeau.dropout(x, p, True)
    y.backward(flambeau.full_like(y, 2.0))
    kept = (y != 0).float()
    scale = 0.0 if p == 1 else 1 / (1 - p)
    assert flambeau.allclose(x.grad, kept * 2 * scale)
    assert flambeau.allclose(y, x * kept * scale)


def test_other_derivatives():
    x = flambeau.linspace(-2, 2, 12).reshape(3, 4).requires_grad_()
    for f in (flambeau.feature_dropout, flambeau.alpha_dropout, flambeau.feature_alpha_dropout):
        flambeau.manual_seed(2)
        y = f(x, 0.4, True)
        (g,) = flambeau.autograd.grad(y.sum(), x)
        flambeau.manual_seed(2)
        change = f((x + 0.5).detach(), 0.4, True) - y.detach()
        assert flambeau.allclose(change, 0.5 * g, atol=1e-6)
    y = flambeau.rrelu(x, 0.1, 0.4, True)
    (g,) = flambeau.autograd.grad(y.sum(), x)
    assert flambeau.allclose(g, (y / x).detach(), atol=1e-6)
    z = (x * 1).normal_()
    assert z.grad_fn is not None and not flambeau.autograd.grad(z.sum(), x)[0].any()
    mean, std = flambeau.zeros(3, 1, requires_grad=True), flambeau.ones(4, requires_grad=True)
    grads = flambeau.autograd.grad(flambeau.normal(mean, std).sum(), (mean, std))
    assert [g.shape for g in grads] == [(3, 1), (4,)] and not any(g.any() for g in grads)


def test_dropout_identity():
    x = flambeau.ones(3)
    assert flambeau.dropout(x, 0.5, False) is x or flambeau.equal(
        flambeau.dropout(x, 0.5, False), x
    )
    out, mask = flambeau.native_dropout(x, 0.5, False)
    assert flambeau.equal(out, x) and mask.dtype == flambeau.bool and mask.all()


def test_meta_device_draws_nothing():
    flambeau.manual_seed(0)
    before = state_hash()
    x = flambeau.rand(4, 3, device="meta")
    for y in (
        x.normal_(),
        x.bernoulli_(0.5),
        flambeau.dropout(x, 0.5, True),
        flambeau.multinomial(x, 2),
        flambeau.poisson(x),
    ):
        assert y.device.type == "meta" and y.shape[0] == 4
    assert flambeau.randperm(7, device="meta").shape == (7,)
    assert state_hash() == before


def test_out():
    flambeau.manual_seed(0)
    doubles = flambeau.rand(3, dtype=flambeau.float64)
    flambeau.manual_seed(0)
    out = flambeau.empty(3, dtype=flambeau.float64)
    assert flambeau.rand(3, out=out) is out and flambeau.equal(out, doubles)
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        flambeau.rand(3, out=out, dtype=flambeau.float32)


t = flambeau
ERRORS = [
    (lambda: t.rand(-1), RuntimeError, "negative dimension"),
    (lambda: t.rand(3, dtype=t.int64), NotImplementedError, "not implemented for 'Long'"),
    (lambda: t.randn(3, dtype=t.bool), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: t.randint(5, 5, (2,)), RuntimeError, "'from' to be less than 'to'"),
    (
        lambda: t.randint(0, 300, (2,), dtype=t.uint8),
        RuntimeError,
        "to - 1 is out of bounds for unsigned char",
    ),
    (
        lambda: t.randint(-1, 5, (2,), dtype=t.uint8),
        RuntimeError,
        "from is out of bounds for unsigned char",
    ),
    (lambda: t.randint(0, 5, (2,), dtype=t.complex64), RuntimeError, "check_random_bounds"),
    (lambda: t.randperm(-1), RuntimeError, "non-negative"),
    (lambda: t.randperm(300, dtype=t.uint8), RuntimeError, "without overflow"),
    (
        lambda: t.randperm(4096, dtype=t.float16),
        RuntimeError,
        "n cannot be greater than 2049 for Half type",
    ),
    (
        lambda: t.normal(0.0, -1.0, (2,)),
        RuntimeError,
        "normal expects std >= 0.0, but found std -1",
    ),
    (
        lambda: t.normal(t.zeros(2), t.tensor([-1.0, 1])),
        RuntimeError,
        "normal expects all elements of std >= 0.0",
    ),
    (lambda: t.normal(t.zeros(2), t.ones(2, dtype=t.complex64)), RuntimeError, "non-complex"),
    (lambda: t.empty(2).uniform_(2, 1), RuntimeError, "from=2 > to=1"),
    (lambda: t.empty(2).uniform_(0, 1e39), RuntimeError, "to is out of bounds for float"),
    (lambda: t.empty(2).uniform_(-3e38, 3e38), RuntimeError, "exceed the limit"),
    (lambda: t.empty(2).exponential_(0), RuntimeError, "lambda > 0.0"),
    (lambda: t.empty(2).geometric_(1), RuntimeError, r"p to be in \(0, 1\)"),
    (lambda: t.empty(2).cauchy_(0, 0), RuntimeError, "sigma > 0.0"),
    (lambda: t.empty(2).log_normal_(1, 0), RuntimeError, "std > 0.0"),
    (
        lambda: t.empty(2, dtype=t.int64).exponential_(),
        RuntimeError,
        "continuous probability distribution",
    ),
    (lambda: t.empty(2, dtype=t.bool).random_(3), RuntimeError, "to - 1 is out of bounds for bool"),
    (lambda: t.bernoulli(t.tensor([1.5])), RuntimeError, "p_in >= 0 && p_in <= 1"),
    (lambda: t.bernoulli(t.tensor([1])), NotImplementedError, "not implemented for 'Long'"),
    (lambda: t.empty(3).bernoulli_(1.5), RuntimeError, r"p to be in \[0, 1\], but got p=1.5"),
    (lambda: t.empty(1).expand(3).uniform_(), RuntimeError, "refers to a single memory location"),
    (lambda: t.multinomial(t.tensor([1.0, 2]), 3), RuntimeError, "without replacement"),
    (lambda: t.multinomial(t.tensor([1.0, 2]), 0), RuntimeError, "n_sample <= 0"),
    (lambda: t.multinomial(t.zeros(2, 2, 2), 1), RuntimeError, "1 or 2 dim"),
    (lambda: t.multinomial(t.tensor([1, 2]), 1), RuntimeError, "floating-point dtypes"),
    (lambda: t.multinomial(t.tensor([-1.0, 2]), 1), RuntimeError, "element < 0"),
    (lambda: t.multinomial(t.tensor([-1.0, 2]), 2, True), RuntimeError, "probability entry < 0"),
    (lambda: t.multinomial(t.tensor([0.0, 0]), 1), RuntimeError, "sum of probabilities <= 0"),
    (lambda: t.poisson(t.tensor([-1.0])), RuntimeError, "invalid Poisson rate"),
    (
        lambda: t.binomial(t.tensor([5]), t.tensor([0.5])),
        ValueError,
        "floating-point dtypes for count",
    ),
    (lambda: t.dropout(t.ones(3), 1.5, True), RuntimeError, "between 0 and 1, but got 1.5"),
    (lambda: t.dropout(t.ones(3, dtype=t.int64), 0.5, True), RuntimeError, "can't be cast"),
    (lambda: t.feature_dropout(t.ones(3), 0.5, True), RuntimeError, "at least 2 dimensions"),
    (
        lambda: t.rrelu(t.ones(3), 0.5, 0.1, True),
        RuntimeError,
        "less than or equal to the upper bound",
    ),
    (
        lambda: t.ones(3, requires_grad=True).uniform_(),
        RuntimeError,
        "leaf Variable that requires grad",
    ),
]


@pytest.mark.parametrize("call, error, phrase", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors(call, error, phrase):
    with pytest.raises(error, match=phrase) as caught:
        call()
    assert caught.type is error
