"""In-place changes and autograd: what is refused, and how views rewrite history."""

from __future__ import annotations

import pathlib

import pytest

import flambeau

LINES = pathlib.Path(__file__).name


def leaf(values=(1.0, 2.0, 3.0)):
    return flambeau.tensor(list(values), requires_grad=True)


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda x: x.add_(1), "a leaf Variable that requires grad"),
        (lambda x: x[:1].add_(1), "a view of a leaf Variable that requires grad"),
        (lambda x: x.__setitem__(0, 5.0), "a view of a leaf Variable that requires grad"),
        (lambda x: (x * 1).unbind()[0].add_(1), "Output 0 of Unbind|Output of unbind"),
        (lambda x: (x * 1).split(2)[0].mul_(2), "Output 0 of Split|Output of .*split"),
        (lambda x: (x * 1).chunk(2)[0].mul_(2), "multiple views"),
        (
            lambda x: (
                flambeau.ones(3)
                .mul_(x)
                .add_(flambeau.ones(3, requires_grad=True))
                .detach_()
                .requires_grad_()
                .add_(1)
            ),
            "a leaf Variable",
        ),
        (lambda x: (x * 1)[:2].detach_(), "Can't detach views in-place"),
    ],
)
def test_refused(change, text):
    with pytest.raises(RuntimeError, match=text):
        change(leaf())


def test_leaves_change_under_no_grad():
    x = leaf()
    with flambeau.no_grad():
        x.add_(1)
        x[0] = 7.0
        x[1:].mul_(2)
    assert x.tolist() == [7.0, 6.0, 8.0] and x.is_leaf and x.requires_grad


def test_view_made_under_no_grad():
    y = leaf() * 1
    with flambeau.no_grad():
        view = y.view(3)
    assert not view.requires_grad
    with pytest.raises(RuntimeError, match="no_grad"):
        view.mul_(2)


def test_in_place_needs_a_fitting_result():
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        flambeau.ones(3).add_(flambeau.ones(2, 3))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        flambeau.ones(3, dtype=flambeau.int64).add_(1.5)
    with pytest.raises(RuntimeError, match="single memory location"):
        flambeau.ones(1).expand(4).add_(1)


def test_message_of_a_changed_saved_tensor():
    y = leaf() * 1
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as error:
        z.sum().backward()
    text = str(error.value)
    assert "ExpBackward0" in text and "add_" in text and "result" in text
    assert text.count(LINES) == 2  # where it was saved, and where it changed
    y = leaf() * 1
    z = y * y
    y[0] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as error:
        z.sum().backward()
    assert "MulBackward0" in str(error.value) and "shape [3]" in str(error.value)


@pytest.mark.parametrize("change", ["data", "detach", "view"])
def test_which_aliases_count_as_changes(change):
    y = leaf() * 1
    z = y * y
    if change == "data":
        y.data.mul_(0)  # .data is the back door: no check, the new values are used
        z.sum().backward()
        return
    (y.detach() if change == "detach" else y.view(3)).mul_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_change_before_saving_is_fine():
    x = leaf()
    y = x * 1
    y.mul_(y.detach().clone())
    y.exp_()
    y.sum().backward()
    want = [v * 2.718281828459045 ** (v * v) for v in (1.0, 2.0, 3.0)]
    assert x.grad.tolist() == pytest.approx(want, rel=1e-5)


def test_versions_are_shared_by_views():
    x = flambeau.ones(4)
    view, other = x[1:], x.detach()
    start = x._version
    view.add_(1)
    assert x._version == view._version == other._version == start + 1
    assert x.data._version == 0 and x.clone()._version == 0


# ---- views rewrite history: numbers from PyTorch -------------------------------------------------

PATTERNS = [
    ("y=x*2; y[0].mul_(3); y.sum().backward()", [[6, 6, 6], [2, 2, 2]]),
    ("y=x*2; y[0]=5.; y.pow(2).sum().backward()", [[0, 0, 0], [32, 40, 48]]),
    (
        "y=x*2; v=y.view(6); w=v[2:4]; w.exp_(); (y*y).sum().backward()",
        [[8, 16, 651019.1875], [35544444, 40, 48]],
    ),
    ("y=x*2; v=y.t(); v[0].mul_(x[:,1]); y.sum().backward()", [[4, 4, 2], [10, 10, 2]]),
    ("y=torch.zeros(2,3); y[0]=x[1]; (y*y).sum().backward()", [[0, 0, 0], [8, 10, 12]]),
    (
        "y=torch.zeros(2,3); v=y[0]; v.add_(x[0]*x[1]); y.exp().sum().backward()",
        [[218.392593, 110132.328125, 393959808.0], [54.598148, 44052.9296875, 196979904.0]],
    ),
    ("y=x*1; v=y[0]; w=y[0,:2]; w.mul_(4); v.sum().backward()", [[4, 4, 1], [0, 0, 0]]),
    ("y=x*1; v=y[0]; y.mul_(2); v.sum().backward()", [[2, 2, 2], [0, 0, 0]]),
    ("y=x*1; y[y>2]=0.; y.sum().backward()", [[1, 1, 0], [0, 0, 0]]),
    ("y=x*1; y[i([0,0]),i([1,1])]=x[0,:2]*3; y.sum().backward()", [[4, 3, 1], [1, 1, 1]]),
    ("y=x*1; y.diagonal().mul_(2); (y*y).sum().backward()", [[8, 4, 6], [8, 40, 12]]),
    (
        "y=x*1; v=y.unsqueeze(0); v.squeeze(0)[1].copy_(x[0]); (y**3).sum().backward()",
        [[6, 24, 54], [0, 0, 0]],
    ),
    ("y=x*1; y.t_(); y[0].mul_(5); y.sum().backward()", [[5, 1, 1], [5, 1, 1]]),
    ("y=x*1; v=y.expand(1,2,3); y.mul_(3); v.sum().backward()", [[3, 3, 3], [3, 3, 3]]),
    ("y=x*1; z=y.detach(); z.mul_(2); y.sum().backward()", [[1, 1, 1], [1, 1, 1]]),
    ("y=x*1; y.data.mul_(5); (y*y).sum().backward()", [[10, 20, 30], [40, 50, 60]]),
    ("y=x*1; v=y[0].detach(); y.add_(1); (y*x).sum().backward()", [[3, 5, 7], [9, 11, 13]]),
    ("y=x*1; y.fill_(2); (y*x).sum().backward()", [[2, 2, 2], [2, 2, 2]]),
    ("y=x*1; y[:,0].zero_(); (y*y).sum().backward()", [[0, 4, 6], [0, 10, 12]]),
    ("y=x*1; y.masked_fill_(x>3,0.); (y*y).sum().backward()", [[2, 4, 6], [0, 0, 0]]),
    ("y=x*1; y.index_add_(0,i([0]),x[1:]*2); (y*y).sum().backward()", [[18, 24, 30], [44, 58, 72]]),
]


@pytest.mark.parametrize("code, want", PATTERNS, ids=[code for code, _ in PATTERNS])
def test_history_of_views(code, want):
    x = flambeau.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    exec(code, {"x": x, "torch": flambeau, "i": flambeau.tensor})
    assert x.grad.reshape(-1).tolist() == pytest.approx(sum(want, []), rel=1e-5)


@pytest.mark.parametrize(
    "code",
    [
        "y=x*2; v=y[:,1]; v.mul_(v); y.sum().backward()",
        "y=x*1; y.relu_(); y.add_(x); y.sum().backward()",
        "y=x*1; a=y[0]; b=y[1]; a.mul_(b); (y*y).sum().backward()",
    ],
)
def test_views_that_change_what_was_saved(code):
    x = flambeau.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        exec(code, {"x": x})


def test_base_and_node_of_a_changed_view():
    y = leaf() * 1
    view = y[:2]
    assert view._is_view() and view._base is y and view.grad_fn.name() == "SliceBackward0"
    view.mul_(2)
    assert "CopySlices" in y.grad_fn.name()
    assert view.grad_fn.name() == "AsStridedBackward0"


def weighted(z):
    """A real number whose gradient differs in every part of every element."""
    parts = flambeau.view_as_real(z) if z.is_complex() else z
    return (parts * flambeau.arange(1, parts.numel() + 1).reshape(parts.shape)).sum()


@pytest.mark.parametrize(
    "view, shape",
    [
        (lambda z: flambeau.view_as_real(z), (4, 2)),
        (lambda z: flambeau.view_as_real(z)[1:, 0], (3,)),
        (lambda z: flambeau.view_as_real(z[::2]).t(), (2, 2)),
        (lambda z: z.imag[1:3], (2,)),
    ],
)
def test_real_views_of_a_complex_base_change_in_place(view, shape):
    x = (flambeau.arange(8.0)[: flambeau.empty(shape).numel()] + 1).reshape(shape)
    x.requires_grad_()
    base = flambeau.full((6,), 1 + 1j, dtype=flambeau.complex64)[2:]
    view(base).mul_(2).add_(x)
    weighted(base).backward()
    weights = flambeau.view_as_complex(flambeau.arange(1.0, 9.0).reshape(4, 2))
    assert x.grad.equal(view(weights))
    view(base).mul_(x)  # what the view has as history goes on
    x.grad = None
    weighted(base).backward()
    assert x.grad.equal(view(weights) * 2 * (x.detach() + 1))


def test_complex_view_of_a_real_base_changes_in_place():
    z = flambeau.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    base = flambeau.ones(6)
    flambeau.view_as_complex(base[2:].reshape(2, 2)).add_(z)
    weighted(base).backward()
    assert z.grad.tolist() == [3 + 4j, 5 + 6j]


def test_a_buffer_becomes_part_of_the_graph():
    x = leaf()
    buffer = flambeau.zeros(2, 3)
    row = buffer[1]
    assert not row.requires_grad
    buffer[0].copy_(x)
    assert buffer.requires_grad and not buffer.is_leaf
    buffer.sum().backward()
    assert x.grad.tolist() == [1.0] * 3


# ---- data and detach -----------------------------------------------------------------------------


def test_data_shares_memory_without_history():
    x = leaf()
    alias = x.data
    assert not alias.requires_grad and alias.data_ptr() == x.data_ptr() and alias is not x
    alias[0] = 9.0
    assert x.tolist() == [9.0, 2.0, 3.0]
    x.data = flambeau.tensor([5.0, 6.0])
    assert x.tolist() == [5.0, 6.0] and x.requires_grad and x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_detach():
    y = leaf() * 1
    z = y.detach()
    assert z.data_ptr() == y.data_ptr() and z.is_leaf and not z.requires_grad
    z.requires_grad_()
    assert not y.is_leaf
    y.detach_()
    assert y.is_leaf and not y.requires_grad


def test_norm_outputs_may_change_in_place():
    """A normalisation's backward reads its statistics, not its output."""
    x = flambeau.arange(12.0).reshape(4, 3).requires_grad_()
    for norm in (
        lambda t: flambeau.nn.functional.batch_norm(t, None, None, training=True),
        lambda t: flambeau.nn.functional.layer_norm(t, (3,)),
    ):
        (changed,) = flambeau.autograd.grad((norm(x).relu_() ** 2).sum(), x)
        (plain,) = flambeau.autograd.grad((norm(x).relu() ** 2).sum(), x)
        assert changed.tolist() == plain.tolist()


# ---- elements that share memory ------------------------------------------------------------------


def test_numbers_fill_expanded_tensors():
    x = flambeau.zeros(3)
    assert x.expand(2, 3).fill_(2).tolist() == [[2.0] * 3] * 2 and x.tolist() == [2.0] * 3
    assert x[:1].expand(5).zero_().tolist() == [0.0] * 5 and x.tolist() == [0.0, 2.0, 2.0]
    for change in (
        lambda: x.expand(2, 3).fill_(flambeau.tensor(2)),
        lambda: x.expand(2, 3).__setitem__(slice(None), 1),
        lambda: x.expand(2, 3).add_(1),
        lambda: x.expand(2, 3).copy_(flambeau.ones(2, 3)),
        lambda: (leaf() * 2).expand(2, 3).fill_(2),
        lambda: (leaf() * 2).expand(2, 3).zero_(),
    ):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            change()
