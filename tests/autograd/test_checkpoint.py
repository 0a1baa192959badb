"""utils.checkpoint: values, gradients, modes, errors, and the memory it saves."""

from __future__ import annotations

import contextlib

import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import grad
from flambeau.utils import checkpoint as module
from flambeau.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

F = nn.functional
KINDS = pytest.mark.parametrize("reentrant", [False, True])


def leaf(*values):
    return flambeau.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


def curve(a):
    return (a * a).exp().sin()


def backward_grad(out, x):
    x.grad = None
    out.sum().backward()
    return x.grad


@KINDS
def test_gradients_are_those_without_it(reentrant):
    x = leaf()
    want = backward_grad(curve(x), x)
    assert flambeau.equal(backward_grad(checkpoint(curve, x, use_reentrant=reentrant), x), want)


def test_every_kind_of_backward():
    x = leaf()
    y = checkpoint(curve, x, use_reentrant=False).sum()
    (g,) = grad(y, x, create_graph=True)
    (h,) = grad(curve(x).sum(), x, create_graph=True)
    assert flambeau.equal(g, h)
    assert flambeau.equal(grad(g.sum(), x)[0], grad(h.sum(), x)[0])
    y = checkpoint(curve, x, use_reentrant=False).sum()
    first = grad(y, x, retain_graph=True)[0]
    assert flambeau.equal(grad(y, x)[0], first)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        grad(y, x)
    a, b = checkpoint(lambda t: (t.sin(), t.exp()), x, use_reentrant=False)
    assert flambeau.equal(grad(a.sum(), x)[0], x.cos())
    assert flambeau.equal(grad(b.sum(), x)[0], x.exp())


def test_nested():
    x = leaf(0.1, 0.2)

    def inner(a):
        return checkpoint(curve, a, use_reentrant=False) * 2

    def outer(a):
        return checkpoint(inner, checkpoint(inner, a, use_reentrant=False), use_reentrant=False)

    want = grad((curve(curve(x) * 2) * 2).sum(), x)[0]
    assert flambeau.equal(grad(checkpoint(outer, x, use_reentrant=False).sum(), x)[0], want)
    for first in (False, True):
        for second in (False, True):
            y = checkpoint(
                lambda a, kind=second: checkpoint(curve, a, use_reentrant=kind) * 3,
                x,
                use_reentrant=first,
            )
            assert flambeau.equal(backward_grad(y, x), grad((curve(x) * 3).sum(), x)[0])


@KINDS
def test_random_state(reentrant):
    x = flambeau.ones(1000, requires_grad=True)

    def run(preserve):
        flambeau.manual_seed(0)
        y = checkpoint(F.dropout, x, 0.5, use_reentrant=reentrant, preserve_rng_state=preserve)
        flambeau.rand(10)
        after = flambeau.get_rng_state()
        g = backward_grad(y, x)
        return flambeau.equal(g, y.detach()), flambeau.equal(after, flambeau.get_rng_state())

    assert run(True) == (True, True)
    assert run(False) == (False, False)


@KINDS
def test_autocast_state(reentrant):
    seen = []

    def product(a):
        seen.append((flambeau.is_autocast_enabled("cpu"), flambeau.get_autocast_dtype("cpu")))
        return (a @ a).sin()

    m = flambeau.ones(2, 2, requires_grad=True)
    with flambeau.autocast("cpu", dtype=flambeau.float16):
        y = checkpoint(product, m, use_reentrant=reentrant)
    y.float().sum().backward()
    assert seen == [(True, flambeau.float16)] * 2 and not flambeau.is_autocast_enabled("cpu")


def test_arguments_of_all_kinds():
    x = leaf()
    out = checkpoint(
        lambda a, b, scale=1: {"out": a["x"] * b * scale}, {"x": x}, 3, scale=2, use_reentrant=False
    )
    assert grad(out["out"].sum(), x)[0].tolist() == [6.0, 6.0, 6.0]
    y, label = checkpoint(lambda a, b, c: (a * b, c), x, 3, "q", use_reentrant=True)
    assert label == "q" and backward_grad(y, x).tolist() == [3.0, 3.0, 3.0]
    assert not checkpoint(curve, x.detach(), use_reentrant=False).requires_grad
    with flambeau.no_grad():
        assert not checkpoint(curve, x, use_reentrant=False).requires_grad
    y = checkpoint(lambda a: a.detach() * a, x, use_reentrant=False)
    assert flambeau.equal(grad(y.sum(), x)[0], x.detach())


def test_the_second_run_ends_early():
    steps = []

    def record(a):
        steps.append("start")
        b = a.sin().exp() * 2
        steps.append("end")
        return b

    def run(**options):
        steps.clear()
        checkpoint(record, leaf(), use_reentrant=False, **options).sum().backward()
        return len(steps)

    assert run() == 3 and run(early_stop=False) == 4
    with module.set_checkpoint_early_stop(False):
        assert run() == 4


def test_contexts():
    log = []

    @contextlib.contextmanager
    def note(name):
        log.append(name)
        yield

    y = checkpoint(curve, leaf(), use_reentrant=False, context_fn=lambda: (note("1"), note("2")))
    assert log == ["1"]
    y.sum().backward()
    assert log == ["1", "2"]


def test_runs_that_differ():
    runs = []

    def fewer(a):
        runs.append(1)
        return (a * a).exp() if len(runs) % 2 else a * a

    def smaller(a):
        runs.append(1)
        b = a[:2] if len(runs) % 2 else a[:1]
        return (b * b).exp()

    def run(function, **options):
        runs.clear()
        checkpoint(function, leaf(), use_reentrant=False, **options).sum().backward()

    with pytest.raises(CheckpointError, match=r"(?s)forward: 3\n.*recomputation: 2.*debug=True"):
        run(fewer)
    with pytest.raises(CheckpointError, match=r"(?s)original forward:.*test_checkpoint.*a \* a"):
        run(fewer, debug=True)
    with module.set_checkpoint_debug_enabled(True), pytest.raises(CheckpointError, match="0: "):
        run(fewer)
    with pytest.raises(CheckpointError, match=r"(?s)position 0.*Size\(\[2\]\).*Size\(\[1\]\)"):
        run(smaller)
    with pytest.raises(RuntimeError) as error:  # nothing compares: the gradient does not fit
        run(smaller, determinism_check="none")
        raise RuntimeError("broadcasting made it fit")
    assert not isinstance(error.value, CheckpointError)


def test_errors_of_the_function_pass():
    calls = []

    def fails(a):
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("second run")
        return a.sin()

    with pytest.raises(ValueError, match="second run"):
        checkpoint(fails, leaf(), use_reentrant=False).sum().backward()
    assert flambeau._C._top_saved_hooks() is None


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"use_reentrant": True, "scale": 2}, ValueError, "Unexpected keyword arguments: scale"),
        ({"use_reentrant": True, "debug": True}, ValueError, "only supported when use_reentrant"),
        ({"use_reentrant": False, "determinism_check": "x"}, ValueError, "but got x"),
        ({"use_reentrant": False, "scale": 2}, TypeError, "unexpected keyword argument 'scale'"),
    ],
)
def test_wrong_options(options, kind, text):
    with pytest.raises(kind, match=text):
        checkpoint(curve, leaf(), **options)


def test_warnings():
    x = leaf()
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(curve, x)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint_sequential([curve, curve], 2, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(curve, x.detach(), use_reentrant=True)
    y = checkpoint(curve, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="use_reentrant=False, or call .backward"):
        grad(y.sum(), x)


def test_sequential():
    x = leaf(0.1, 0.2)
    parts = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    want = grad(parts(x).sum(), x)[0]
    for segments in (1, 2, 3, 5):
        out = checkpoint_sequential(parts, segments, x, use_reentrant=False)
        assert flambeau.equal(grad(out.sum(), x)[0], want)
    with pytest.raises(ValueError, match="cannot cut 5 functions into 6 segments"):
        checkpoint_sequential(parts, 6, x, use_reentrant=False)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint_sequential(parts, 2, x, use_reentrant=False, foo=1)


def test_saved_values_outside_of_backward():
    x = leaf()
    y = checkpoint(curve, x, use_reentrant=False)
    for _ in range(2):
        assert flambeau.equal(y.grad_fn._saved_self, (x * x).exp())


# ---- memory

WIDTH, HEADS, VOCAB, CONTEXT = 64, 4, 65, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (
            t.view(b, n, HEADS, c // HEADS).transpose(1, 2)
            for t in self.qkv(self.ln1(x)).split(c, 2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, c))
        return x + self.down(F.dropout(F.gelu(self.up(self.ln2(x))), 0.1, self.training))


class CharGPT(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCAB, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(layers)])
        self.ln, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)

    def forward(self, ids, targets, run):
        x = self.token(ids) + self.position(flambeau.arange(ids.shape[1]))
        for block in self.blocks:
            x = run(block, x)
        return F.cross_entropy(self.head(self.ln(x)).view(-1, VOCAB), targets.view(-1))


@KINDS
def test_memory_of_a_transformer(reentrant):
    model = CharGPT(24)
    ids = flambeau.randint(0, VOCAB, (8, CONTEXT))
    targets = flambeau.randint(0, VOCAB, (8, CONTEXT))

    def step(run):
        for p in model.parameters():
            p.grad = flambeau.zeros_like(p)  # counted before the step: only activations remain
        flambeau.manual_seed(1)
        flambeau._C._reset_peak_memory_stats()
        before = flambeau._C._memory_stats()["allocated_bytes.all.current"]
        loss = model(ids, targets, run)
        loss.backward()
        peak = flambeau._C._memory_stats()["allocated_bytes.all.peak"] - before
        return loss.item(), [p.grad for p in model.parameters()], peak

    def checkpointed(block, x):
        return checkpoint(block, x, use_reentrant=reentrant)

    step(checkpointed)
    loss, grads, peak = step(lambda block, x: block(x))
    small_loss, small_grads, small_peak = step(checkpointed)
    assert loss == small_loss
    assert all(flambeau.equal(a, b) for a, b in zip(grads, small_grads))
    assert small_peak < 0.4 * peak, (small_peak, peak)
