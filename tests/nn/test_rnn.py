"""Recurrent modules and operators: stored values, plain loops, derivatives, threads, errors."""

from __future__ import annotations

import copy
import io
import json
import math
import pathlib
import pickle
import warnings

import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "rnn.json").read_text())
KINDS = ["LSTM", "GRU", "RNN", "ReLU"]
CELLS = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell, "RNN": nn.RNNCell}


def wave(shape, phase):
    n = math.prod(shape)
    return flambeau.sin(flambeau.arange(n, dtype=flambeau.float64) * 1.7 + phase).reshape(shape)


def make(kind, *args, **kwargs):
    if kind == "ReLU":
        return nn.RNN(*args, nonlinearity="relu", **kwargs)
    return getattr(nn, kind)(*args, **kwargs)


def states_of(kind, *shape, dtype=None):
    h = flambeau.randn(*shape, dtype=dtype)
    return (h, flambeau.randn(*shape, dtype=dtype)) if kind == "LSTM" else h


def flat(result):
    """Output and states as one list of tensors."""
    out, state = result
    out = out.data if isinstance(out, PackedSequence) else out
    return [out, *(state if isinstance(state, tuple) else (state,))]


def close(a, b, **kw):
    flambeau.testing.assert_close(a, b, **kw)


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['kind']}-{c['packed']}-{c['options']}")
def test_values_and_gradients_of_pytorch(case):
    options = case["options"]
    m = getattr(nn, case["kind"])(3, 4, dtype=flambeau.float64, **options)
    with flambeau.no_grad():
        for i, p in enumerate(m.parameters()):
            p.copy_(wave(p.shape, i) * 0.5)
    batch_first = options.get("batch_first", False)
    n = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    x = wave((3, 5, 3) if batch_first else (5, 3, 3), 0.3).requires_grad_()
    h = wave((n, 3, options.get("proj_size") or 4), 0.1).requires_grad_()
    c = wave((n, 3, 4), 0.2).requires_grad_()
    given = x
    if case["packed"]:
        given = pack_padded_sequence(x, [3, 5, 2], batch_first, enforce_sorted=False)
    lstm = case["kind"] == "LSTM"
    results = flat(m(given, (h, c) if lstm else h))
    for got, want in zip(results, case["results"]):
        close(got.flatten(), flambeau.tensor(want, dtype=got.dtype), rtol=1e-7, atol=1e-8)
    loss = sum((r * wave(r.shape, 2.0 + i)).sum() for i, r in enumerate(results))
    grads = flambeau.autograd.grad(loss, [x, h, *([c] if lstm else []), *m.parameters()])
    sums = flambeau.stack([(g * wave(g.shape, 0.7)).sum() for g in grads])
    close(sums, flambeau.tensor(case["grads"], dtype=sums.dtype), rtol=1e-7, atol=1e-8)


def plain_step(kind, x, h, c, w_ih, w_hh, b_ih, b_hh):
    """One step by the formulas, for a whole batch."""
    a, b = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if kind == "LSTM":
        i, f, g, o = (a + b).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "GRU":
        (xr, xz, xn), (hr, hz, hn) = a.chunk(3, 1), b.chunk(3, 1)
        z = (xz + hz).sigmoid()
        return (1 - z) * (xn + (xr + hr).sigmoid() * hn).tanh() + z * h, c
    return (a + b).tanh() if kind == "RNN" else (a + b).relu(), c


# Sizes around the panels and tiles of the kernels; few rows go without packed weights.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("steps", "batch", "inputs", "hidden"),
    [(1, 1, 3, 5), (7, 2, 1, 1), (5, 3, 33, 16), (4, 13, 5, 37), (40, 1, 7, 300), (3, 65, 600, 9)],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sequence_equals_a_loop(kind, steps, batch, inputs, hidden, dtype):
    dtype = getattr(flambeau, dtype)
    flambeau.manual_seed(0)
    m = make(kind, inputs, hidden, dtype=dtype)
    x, h, c = (
        flambeau.randn(*s, dtype=dtype, requires_grad=True)
        for s in ((steps, batch, inputs), (1, batch, hidden), (1, batch, hidden))
    )
    results = flat(m(x, (h, c) if kind == "LSTM" else h))
    hs, cs, outs = h[0], c[0], []
    for t in range(steps):
        hs, cs = plain_step(kind, x[t], hs, cs, *m.parameters())
        outs.append(hs)
    wanted = [flambeau.stack(outs), hs[None], cs[None]][: len(results)]
    tolerance = {"rtol": 2e-5, "atol": 2e-5} if dtype == flambeau.float32 else {}
    leaves = [x, h, *([c] if kind == "LSTM" else []), *m.parameters()]
    weights = [flambeau.randn_like(r) for r in results]
    for got, want in zip(results, wanted):
        close(got, want, **tolerance)
    each = [
        flambeau.autograd.grad(sum((r * w).sum() for r, w in zip(rs, weights)), leaves)
        for rs in (results, wanted)
    ]
    for got, want in zip(*each):
        scale = max(1.0, want.abs().max().item())
        close(got / scale, want / scale, **tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(kind):
    m = make(kind, 20, 48, num_layers=2, bidirectional=True)
    x = flambeau.randn(30, 37, 20)
    before = flambeau.get_num_threads()
    runs = []
    try:
        for threads in (1, 2, 5):
            flambeau.set_num_threads(threads)
            m.zero_grad()
            results = flat(m(x))
            sum(r.square().sum() for r in results).backward()
            runs.append(results + [p.grad for p in m.parameters()])
    finally:
        flambeau.set_num_threads(before)
    for other in runs[1:]:
        assert all(flambeau.equal(a, b) for a, b in zip(runs[0], other))


# Few sequences and weights that are large: threads share the hidden units instead of the batch.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packed", [False, True])
def test_threads_share_hidden_units(kind, packed):
    flambeau.manual_seed(0)
    m = make(kind, 3, 384 if kind in ("LSTM", "GRU") else 512, bidirectional=True)
    x = flambeau.randn(9, 3, 3, requires_grad=True)
    given = pack_padded_sequence(x, [4, 9, 1], enforce_sorted=False) if packed else x
    before = flambeau.get_num_threads()
    runs = []
    try:
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            with flambeau.no_grad():
                results = flat(m(given))
            trained = flat(m(given))
            grads = flambeau.autograd.grad(
                sum(r.square().sum() for r in trained), [x, *m.parameters()], retain_graph=True
            )
            assert all(flambeau.equal(a, b) for a, b in zip(results, trained))
            runs.append([*results, *grads])
    finally:
        flambeau.set_num_threads(before)
    for other in runs[1:]:
        assert all(flambeau.equal(a, b) for a, b in zip(runs[0], other))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "complex128"])
def test_other_dtypes(kind, dtype):
    dtype = getattr(flambeau, dtype)
    m = make(kind, 3, 4, bidirectional=True)
    x = flambeau.randn(5, 2, 3)
    want = flat(m(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex modules are new
        m = copy.deepcopy(m).to(dtype)
    got = flat(m(x.to(dtype)))
    assert all(g.dtype == dtype for g in got)
    for g, w in zip(got, want):
        close(g.real.float() if dtype.is_complex else g.float(), w, rtol=5e-2, atol=5e-2)


def test_dropout_lies_between_layers():
    flambeau.manual_seed(3)
    m = nn.GRU(2, 2, 2, dropout=0.5)
    x = flambeau.arange(12.0).reshape(3, 2, 2) / 10
    flambeau.manual_seed(5)
    got = m(x)[0].flatten()
    want = [
        -0.14894839, -0.09795804, -0.27341437, 0.04111332, -0.40726408, -0.04686512,
        -0.31671816, -0.18577173, -0.31798112, -0.15831134, -0.29745641, -0.26676315,
    ]  # fmt: skip
    close(got, flambeau.tensor(want))
    m.eval()
    assert flambeau.equal(m(x)[0], m(x)[0])


def test_layouts_of_results():
    out, (h, c) = nn.LSTM(3, 4, batch_first=True, bidirectional=True)(flambeau.randn(2, 5, 3))
    assert out.shape == (2, 5, 8) and out.stride() == (8, 16, 1)
    assert h.shape == c.shape == (2, 2, 4)
    out, h = nn.GRU(3, 4)(flambeau.randn(5, 3))
    assert out.shape == (5, 4) and h.shape == (1, 4)


def test_strided_input_and_state():
    m = nn.LSTM(3, 4)
    x = flambeau.randn(3, 2, 10).permute(2, 1, 0)[::2]
    h = flambeau.randn(4, 2, 1).permute(2, 1, 0)
    close(m(x, (h, h))[0], m(x.contiguous(), (h.contiguous(), h.contiguous()))[0])
    x = flambeau.randn(1, 1, 3).expand(5, 2, 3)
    close(m(x)[0], m(x.contiguous())[0])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_nodes(kind):
    stack = "MkldnnRnnLayerBackward0" if kind == "LSTM" else "StackBackward0"
    x = flambeau.randn(5, 2, 3)
    out, state = make(kind, 3, 4)(x)
    assert out.grad_fn.name() == stack
    assert flat((out, state))[1].grad_fn.name() == "StackBackward0"
    assert make(kind, 3, 4, bidirectional=True)(x)[0].grad_fn.name() == "CatBackward0"
    cell = CELLS[kind](3, 4)(x[0])
    names = {"LSTM": "MulBackward0", "GRU": "AddBackward0", "RNN": "TanhBackward0"}
    assert (cell[0] if kind == "LSTM" else cell).grad_fn.name() == names[kind]


def test_output_may_change_in_place():
    for kind in KINDS:
        m, x = make(kind, 3, 4), flambeau.randn(5, 2, 3)
        out = m(x)[0]
        out.mul_(2).sum().backward()
        grad = m.weight_hh_l0.grad.clone()
        m.zero_grad()
        (m(x)[0] * 2).sum().backward()
        close(m.weight_hh_l0.grad, grad)


def test_meta_and_empty():
    m = nn.LSTM(3, 4, 2, bidirectional=True, device="meta")
    out, (h, _) = m(flambeau.randn(5, 2, 3, device="meta"))
    assert out.device.type == "meta" and out.shape == (5, 2, 8) and h.shape == (4, 2, 4)
    for kind in KINDS:
        m = make(kind, 3, 4)
        x = flambeau.randn(5, 0, 3, requires_grad=True)
        results = flat(m(x))
        assert results[0].shape == (5, 0, 4) and results[1].shape == (1, 0, 4)
        sum(r.sum() for r in results).backward()
        assert x.grad.shape == x.shape and not m.weight_hh_l0.grad.any()
        with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
            m(flambeau.randn(0, 2, 3))


# ---- derivatives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("options", [{"bidirectional": True}, {"num_layers": 2, "bias": False}])
def test_derivatives(kind, packed, options):
    flambeau.manual_seed(1)
    m = make(kind, 2, 3, dtype=flambeau.float64, **options)
    n = m.num_layers * (2 if m.bidirectional else 1)
    data = flambeau.randn(5 if packed else 3, *(() if packed else (2,)), 2, dtype=flambeau.float64)
    states = states_of(kind, n, 2, 3, dtype=flambeau.float64)
    leaves = [data, *(states if kind == "LSTM" else (states,))]
    names = [name for name, _ in m.named_parameters()]
    sizes = flambeau.tensor([2, 2, 1])

    def run(x, *rest):
        hx = rest[:2] if kind == "LSTM" else rest[0]
        weights = list(rest[-len(names) :])
        function = getattr(
            flambeau, {"ReLU": "rnn_relu", "RNN": "rnn_tanh"}.get(kind, kind.lower())
        )
        head = (x, sizes) if packed else (x,)
        tail = () if packed else (False,)
        return function(
            *head, hx, weights, m.bias, m.num_layers, 0.0, False, m.bidirectional, *tail
        )

    inputs = [t.detach().requires_grad_() for t in [*leaves, *m.parameters()]]
    assert gradcheck(run, inputs)
    assert gradgradcheck(run, inputs)


def test_derivatives_with_projection_and_of_cells():
    f64 = flambeau.float64
    m = nn.LSTM(2, 3, proj_size=2, dtype=f64)
    x = flambeau.randn(3, 2, 2, dtype=f64, requires_grad=True)
    assert gradgradcheck(lambda x, *w: flat(m(x)), [x, *m.parameters()])
    for kind, cell in CELLS.items():
        c = cell(2, 3, dtype=f64)
        x = flambeau.randn(2, 2, dtype=f64, requires_grad=True)
        hx = states_of(kind, 2, 3, dtype=f64)
        hx = [h.requires_grad_() for h in (hx if kind == "LSTM" else (hx,))]

        def run(x, *rest, c=c, kind=kind):
            return c(x, rest[:2] if kind == "LSTM" else rest[0])

        assert gradcheck(run, [x, *hx, *c.parameters()])
        assert gradgradcheck(run, [x, *hx, *c.parameters()])


def test_one_tensor_in_two_places():
    # The same state as h and c: a gradient for each, summed, at both orders.
    m = nn.LSTM(3, 4, dtype=flambeau.float64)
    x = flambeau.randn(5, 2, 3, dtype=flambeau.float64)
    s = flambeau.randn(1, 2, 4, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(lambda s: m(x, (s, s))[0], [s])
    assert gradgradcheck(lambda s: m(x, (s, s))[0], [s])


def test_only_some_gradients_are_wanted():
    m = nn.GRU(3, 4)
    for p in m.parameters():
        p.requires_grad_(False)
    x = flambeau.randn(5, 2, 3, requires_grad=True)
    m(x)[1].sum().backward()
    assert x.grad is not None and m.weight_ih_l0.grad is None
    m.weight_hh_l0.requires_grad_()
    m(flambeau.randn(5, 2, 3))[0].sum().backward()
    assert m.weight_hh_l0.grad is not None and m.bias_hh_l0.grad is None


def test_biases_have_gradients_of_their_own():
    m = nn.LSTM(3, 4)
    m(flambeau.randn(5, 2, 3))[0].sum().backward()
    close(m.bias_ih_l0.grad, m.bias_hh_l0.grad)
    m.bias_ih_l0.grad.zero_()
    assert m.bias_hh_l0.grad.any()


# ---- cells ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(CELLS))
@pytest.mark.parametrize("batch", [None, 1, 3, 20])
def test_cells(kind, batch):
    cell = CELLS[kind](3, 5)
    size = () if batch is None else (batch,)
    x, h, c = flambeau.randn(*size, 3), flambeau.randn(*size, 5), flambeau.randn(*size, 5)
    got = cell(x, (h, c) if kind == "LSTM" else h)
    rows = [t.reshape(-1, t.shape[-1]) for t in (x, h, c)]
    want = plain_step(kind, *rows, *cell.parameters())
    close(got[0] if kind == "LSTM" else got, want[0].reshape(*size, 5), rtol=1e-5, atol=1e-6)
    if kind == "LSTM":
        close(got[1], want[1].reshape(*size, 5), rtol=1e-5, atol=1e-6)
    zero = flambeau.zeros(*size, 5)
    first, again = cell(x), cell(x, (zero, zero) if kind == "LSTM" else zero)
    close(first, again)


def test_cell_operators_take_one_bias():
    x, h, w, u, b = (flambeau.randn(*s) for s in ((2, 3), (2, 4), (4, 3), (4, 4), (4,)))
    close(flambeau.rnn_tanh_cell(x, h, w, u, b), (x @ w.T + h @ u.T + b).tanh())
    close(flambeau.rnn_relu_cell(x, h, w, u, None, b), (x @ w.T + h @ u.T + b).relu())
    close(flambeau._VF.rnn_relu_cell(x, h, w, u), (x @ w.T + h @ u.T).relu())


def test_cell_reprs_and_errors():
    assert repr(nn.LSTMCell(3, 4)) == "LSTMCell(3, 4)"
    assert repr(nn.RNNCell(3, 4, False, "relu")) == "RNNCell(3, 4, bias=False, nonlinearity=relu)"
    for kind, cell in CELLS.items():
        c = cell(3, 4)
        for shape in ((), (2, 2, 3)):
            with pytest.raises(ValueError, match="Expected input to be 1D or 2D"):
                c(flambeau.randn(shape))
        with pytest.raises(ValueError, match="to be 1D or 2D, got 3D"):
            c(flambeau.randn(2, 3), states_of(kind, 1, 2, 4))
        with pytest.raises(RuntimeError, match="inconsistent input_size: got 4 expected 3"):
            c(flambeau.randn(2, 4))
        with pytest.raises(RuntimeError, match="batch size 2 doesn't match hidden0 batch size 3"):
            c(flambeau.randn(2, 3), states_of(kind, 3, 4))
        with pytest.raises(RuntimeError, match="inconsistent hidden_size: got 5, expected 4"):
            c(flambeau.randn(2, 3), states_of(kind, 2, 5))
        with pytest.raises(RuntimeError, match="same dtype"):
            c(flambeau.randn(2, 3).double())
    with pytest.raises(RuntimeError, match="Unknown nonlinearity: sin"):
        nn.RNNCell(3, 4, nonlinearity="sin")(flambeau.randn(2, 3))
    with pytest.raises(RuntimeError, match="two hidden states"):
        flambeau.lstm_cell(
            flambeau.randn(2, 3), [flambeau.randn(2, 4)], *nn.LSTMCell(3, 4).parameters()
        )
    with pytest.raises(RuntimeError, match=r"weight_ih first dim must be 3 \* hidden_size = 12"):
        flambeau.gru_cell(
            flambeau.randn(2, 3), flambeau.randn(2, 4), *nn.LSTMCell(3, 4).parameters()
        )


# ---- parameters ----------------------------------------------------------------------------------


def test_names_and_shapes():
    m = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"]
    names = [f"{k}_l{n}{r}" for n in (0, 1) for r in ("", "_reverse") for k in kinds]
    assert list(m.state_dict()) == names == m._flat_weights_names
    assert [tuple(w.shape) for w in m.all_weights[2]] == [(16, 4), (16, 2), (16,), (16,), (2, 4)]
    assert len(m._flat_weights) == 20 and m._flat_weights[7] is m.bias_ih_l0_reverse
    assert list(dict(nn.GRU(3, 4, bias=False).named_parameters())) == [
        "weight_ih_l0",
        "weight_hh_l0",
    ]


def test_first_values():
    flambeau.manual_seed(3)
    m = nn.LSTMCell(2, 3)
    h, c = m(flambeau.ones(1, 2))
    close(h, flambeau.tensor([[-0.067030996, -0.06141407, -0.009866021]]))
    close(c, flambeau.tensor([[-0.104395472, -0.170016885, -0.016071768]]))
    assert all((p.abs() <= 1 / math.sqrt(3)).all() for p in m.parameters())


def test_weights_follow_their_attributes():
    m = nn.LSTM(3, 4)
    x = flambeau.randn(5, 2, 3)
    m.weight_ih_l0 = nn.Parameter(flambeau.zeros(16, 3))
    assert m._flat_weights[0] is m.weight_ih_l0
    assert flambeau.equal(m(x)[0], m(x * 2)[0])
    m.double()
    assert m._flat_weights[0] is m.weight_ih_l0 and m._flat_weights[0].dtype == flambeau.float64
    m.flatten_parameters()
    # a weight that is computed from another parameter
    m = nn.GRU(3, 4)
    raw = m.weight_hh_l0
    del m.weight_hh_l0
    m.weight_hh_l0 = raw * 2
    m(x)[0].sum().backward()
    assert raw.grad is not None
    # replaced in the dictionary of parameters, as functional_call does
    m = nn.GRU(3, 4)
    m._parameters["weight_ih_l0"] = nn.Parameter(flambeau.zeros(12, 3))
    assert flambeau.equal(m(x)[0], m(x * 2)[0])


def test_copies():
    m = nn.LSTM(3, 4, 2)
    x = flambeau.randn(5, 2, 3)
    buffer = io.BytesIO()
    flambeau.save(m.state_dict(), buffer)
    buffer.seek(0)
    loaded = nn.LSTM(3, 4, 2)
    loaded.load_state_dict(flambeau.load(buffer))
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m)), loaded):
        assert other._flat_weights[1] is other.weight_hh_l0 is not m.weight_hh_l0
        assert flambeau.equal(other(x)[0], m(x)[0])
        with flambeau.no_grad():
            other.weight_hh_l0.zero_()
        assert not flambeau.equal(other(x)[0], m(x)[0])


def test_reprs():
    assert repr(nn.LSTM(3, 4)) == "LSTM(3, 4)"
    text = "RNN(3, 4, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)"
    assert repr(nn.RNN(3, 4, 2, "relu", False, True, 0.5, True)) == text
    assert repr(nn.LSTM(3, 4, proj_size=2)) == "LSTM(3, 4, proj_size=2)"
    assert repr(nn.RNNBase("GRU", 3, 4)) == "RNNBase(3, 4)"


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_options_are_checked(kind):
    for args, kwargs, error, text in (
        ((3, 0), {}, ValueError, "hidden_size must be greater"),
        ((0, 4), {}, ValueError, "input_size must be greater"),
        ((3, 4, 0), {}, ValueError, "num_layers must be greater"),
        ((3, 4), {"dropout": 1.5}, ValueError, r"range \[0, 1\]"),
        ((3, 4, 2), {"dropout": True}, ValueError, r"range \[0, 1\]"),
        ((3, 4.0), {}, TypeError, "hidden_size should be of type int"),
        ((3, 4), {"proj_size": 4}, ValueError, "proj_size"),
        ((3, 4), {"proj_size": -1}, ValueError, "proj_size"),
        ((3,), {}, TypeError, "hidden_size"),
        ((3, 4), {"colour": 1}, TypeError, "colour"),
    ):
        with pytest.raises(error, match=text):
            make(kind, *args, **kwargs)
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        make(kind, 3, 4, dropout=0.5)
    with pytest.raises(ValueError, match="Unknown nonlinearity"):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.raises(ValueError, match="Unrecognized RNN mode"):
        nn.RNNBase("QRNN", 3, 4)
    with pytest.raises(NotImplementedError):
        nn.RNNBase("GRU", 3, 4)(flambeau.randn(5, 2, 3))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_arguments_are_checked(kind):
    m = make(kind, 3, 4)
    x = flambeau.randn(5, 2, 3)
    for shape in ((3,), (2, 2, 2, 3)):
        with pytest.raises(ValueError, match="to be 2D or 3D"):
            m(flambeau.randn(*shape))
    with pytest.raises(RuntimeError, match="Expected 3, got 4"):
        m(flambeau.randn(5, 2, 4))
    with pytest.raises(ValueError, match="does not match weight dtype"):
        m(x.double())
    for shape in ((1, 3, 4), (1, 2, 5), (2, 2, 4)):
        with pytest.raises(RuntimeError, match="size"):
            m(x, states_of(kind, *shape))
    with pytest.raises(RuntimeError, match="For batched 3-D input, hx .*should also be 3-D"):
        m(x, states_of(kind, 2, 4))
    with pytest.raises(RuntimeError, match="For unbatched 2-D input, hx .*should also be 2-D"):
        m(x[:, 0], states_of(kind, 1, 2, 4))
    packed = pack_sequence([flambeau.randn(3, 3), flambeau.randn(2, 3)])
    with pytest.raises(RuntimeError):
        m(packed, states_of(kind, 1, 3, 4))
    with pytest.raises(RuntimeError, match="Expected 3, got 4"):
        m(pack_sequence([flambeau.randn(3, 4)]))
    with pytest.raises((TypeError, AttributeError)):
        m(x, 3)


def test_operators_refuse_what_does_not_fit():
    x, h = flambeau.randn(5, 2, 3), flambeau.randn(1, 2, 4)
    weights = list(nn.LSTM(3, 4).parameters())
    options = (True, 1, 0.0, False, False)

    def refused(error, text, x=x, hx=(h, h), weights=weights, options=(*options, False), sizes=()):
        with pytest.raises(error, match=text):
            flambeau.lstm(x, *sizes, hx, weights, *options)

    refused(RuntimeError, "two hidden states", hx=(h,))
    refused(RuntimeError, "incorrect number of RNN parameters", weights=weights[:3])
    refused(
        RuntimeError,
        "incorrect number of RNN parameters",
        options=(True, 2, 0.0, False, False, False),
    )
    refused(
        RuntimeError,
        "incorrect number of RNN parameters",
        options=(True, 1, 0.0, False, True, False),
    )
    refused(
        RuntimeError,
        "incorrect number of RNN parameters",
        options=(True, -1, 0.0, False, True, False),
    )
    refused(IndexError, "3 dimensions", x=x[0])
    refused(RuntimeError, "same dtype", x=x.double())
    refused(RuntimeError, "dtype", hx=(h.double(), h))
    refused(RuntimeError, "hx", hx=(h[:, :1], h))
    refused(RuntimeError, "w_ih", x=x[..., :2])
    refused(RuntimeError, "hidden states of shape", hx=(h[0], h[0]))
    refused(RuntimeError, "b_ih", weights=[*weights[:2], weights[2][:3], weights[3]])
    flat_x = x.reshape(10, 3)
    for sizes in ([2] * 6, [1, 2] * 3, [2] * 3, [], [0, 10], [-2, 12]):
        sizes = flambeau.tensor(sizes, dtype=flambeau.int64)
        refused(RuntimeError, None, x=flat_x, sizes=(sizes,), options=options)
    refused(RuntimeError, "int64", x=flat_x, sizes=(flambeau.ones(5),), options=options)
    with pytest.raises(NotImplementedError):
        flambeau.rnn_tanh(
            flambeau.ones(5, 2, 3).long(), h.long(), [w.long() for w in weights], *options, False
        )
    ops = flambeau._C.ops
    with pytest.raises(RuntimeError):
        ops._lstm_layer([], (), False, False)
    with pytest.raises(RuntimeError, match="saved"):
        ops._gru_layer_backward(flambeau.ones(2, 2, 3), flambeau.ones(12, 4), None, None, (), False)
