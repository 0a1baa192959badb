"""Operators whose kernel changes `self`: in-place forms give what the others give on a copy."""

import pytest

import flambeau
from flambeau import tensor

INDEX = tensor([2, 0, 2])
AT = tensor([[2, 0, 1, 2], [0, 0, 2, 1]])

# name, arguments after self (4, 4) float64
CALLS = {
    "index_add": (0, INDEX, flambeau.arange(12.0).double().reshape(3, 4)),
    "index_add_1": (1, INDEX, flambeau.arange(12.0).double().reshape(4, 3)),
    "index_copy": (0, INDEX, flambeau.arange(12.0).double().reshape(3, 4)),
    "index_fill": (1, INDEX, -1.0),
    "scatter": (0, AT, flambeau.arange(8.0).double().reshape(2, 4)),
    "scatter_value": (1, AT, 7.0),
    "scatter_add": (0, AT, flambeau.arange(8.0).double().reshape(2, 4)),
    "scatter_reduce": (0, AT, flambeau.arange(8.0).double().reshape(2, 4) + 1, "prod"),
    "scatter_reduce_mean": (0, AT, flambeau.arange(8.0).double().reshape(2, 4), "mean"),
    "index_reduce": (0, INDEX, flambeau.arange(12.0).double().reshape(3, 4), "amax"),
    "put": (tensor([1, -1, 1]), tensor([7.0, 8.0, 9.0]).double()),
}
METHOD = {
    "index_add_1": "index_add",
    "scatter_value": "scatter",
    "scatter_reduce_mean": "scatter_reduce",
}


def start():
    return flambeau.arange(16.0, dtype=flambeau.float64).reshape(4, 4) / 4


LAYOUTS = {
    "contiguous": lambda: start(),
    "transposed": lambda: start().t().contiguous().t(),
    "columns": lambda: flambeau.zeros(4, 9, dtype=flambeau.float64)[:, 1::2].copy_(start()),
    "overlapping": lambda: flambeau.arange(16.0, dtype=flambeau.float64).as_strided((4, 4), (1, 4)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_same_as_the_functional_form(name, layout):
    x, args, method = LAYOUTS[layout](), CALLS[name], METHOD.get(name, name)
    expected = getattr(x.clone(), method)(*args)
    before, version = x.data_ptr(), x._version
    out = getattr(x, method + "_")(*args)
    assert out is x and x.data_ptr() == before and x._version == version + 1
    assert flambeau.equal(x, expected)


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    args, method = list(CALLS[name]), METHOD.get(name, name)
    if name == "index_reduce":
        args[2] = args[2] * 0.3 + 0.1  # no ties
    # Which of several elements stays at one place is not defined, nor is its gradient.
    if name == "index_copy":
        args[1] = tensor([2, 0, 1])
    elif name == "scatter":
        args[1] = tensor([[2, 0, 1, 2], [0, 1, 2, 3]])
    elif name == "put":
        args[0] = tensor([1, -1, 2])
    sources = [i for i, a in enumerate(args) if getattr(a, "is_floating_point", bool)()]

    def run(form, x, *source):
        given = list(args)
        for i, s in zip(sources, source):
            given[i] = s
        y = x * 2
        return getattr(y, form)(*given) if form[-1] != "_" else getattr(y, form)(*given) * 1

    inputs = [start().requires_grad_()]
    inputs += [args[i].clone().requires_grad_() for i in sources]
    first = flambeau.autograd.grad(run(method, *inputs).square().sum(), inputs)
    second = flambeau.autograd.grad(run(method + "_", *inputs).square().sum(), inputs)
    assert all(flambeau.allclose(a, b) for a, b in zip(first, second, strict=True))
    assert flambeau.autograd.gradcheck(lambda *i: run(method + "_", *i), inputs)
    if method not in ("put", "index_reduce", "scatter_reduce"):
        assert flambeau.autograd.gradgradcheck(lambda *i: run(method + "_", *i), inputs)


def test_through_a_view():
    base = flambeau.zeros(4, 4)
    source = flambeau.ones(3, 4, requires_grad=True)
    base[:, 1:].index_add_(0, INDEX, source[:, :3])
    assert base.grad_fn is not None
    base.sum().backward()
    assert source.grad.tolist() == [[1, 1, 1, 0]] * 3
    assert base[:, 0].tolist() == [0, 0, 0, 0] and base[2, 1:].tolist() == [2, 2, 2]


def test_what_is_read_may_share_memory():
    x = flambeau.arange(4.0)
    x.index_add_(0, tensor([1, 2, 3]), x[:3])
    assert x.tolist() == [0, 1, 3, 5]
    x = tensor([3, 2, 1, 0])
    x.scatter_(0, x, x)
    assert x.tolist() == [0, 1, 2, 3]
    x = tensor([1, 0, 3, 2])
    x.put_(x, x * 10)
    assert x.tolist() == [0, 10, 20, 30]


@pytest.mark.parametrize("name", CALLS)
def test_an_error_changes_nothing(name):
    x, args, method = start(), list(CALLS[name]), METHOD.get(name, name)
    where = 0 if method == "put" else 1
    bad = args[where].clone()
    bad.view(-1)[-1] = 99
    args[where] = bad
    with pytest.raises((IndexError, RuntimeError), match="99"):
        getattr(x, method + "_")(*args)
    assert flambeau.equal(x, start())


@pytest.mark.parametrize("name", CALLS)
def test_leaf_meta_and_expanded(name):
    args, method = CALLS[name], METHOD.get(name, name) + "_"
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(start().requires_grad_(), method)(*args)
    with pytest.raises(RuntimeError):
        getattr(start()[0].expand(4, 4), method)(*args)
    on_meta = [a.to("meta") if isinstance(a, flambeau.Tensor) else a for a in args]
    assert getattr(start().to("meta"), method)(*on_meta).shape == (4, 4)


def test_half_precision_and_bool():
    x = flambeau.zeros(3, dtype=flambeau.bfloat16)
    x.scatter_reduce_(0, tensor([0, 0, 2]), tensor([1.0, 2.0, 3.0]).bfloat16(), "sum")
    assert x.tolist() == [3, 0, 3]
    flags = flambeau.zeros(3, dtype=flambeau.bool)
    flags.index_fill_(0, tensor([1]), True)
    assert flags.tolist() == [False, True, False]


def test_under_vmap():
    x, source = flambeau.zeros(5, 3), flambeau.arange(10.0).reshape(5, 2)
    out = flambeau.vmap(lambda a, s: a.clone().index_add_(0, tensor([0, 2]), s))(x, source)
    assert (
        out[:, 0].tolist() == source[:, 0].tolist() and out[:, 2].tolist() == source[:, 1].tolist()
    )


def test_positions_are_not_counted_from_the_end_but_to_fill():
    last, x = tensor([-1]), flambeau.zeros(3)
    for name in ("index_add", "index_copy"):
        with pytest.raises(IndexError):
            getattr(x, name)(0, last, flambeau.ones(1))
    assert x.index_fill(0, last, 1.0).tolist() == [0, 0, 1]
    with pytest.raises(RuntimeError):
        flambeau.zeros(()).index_add_(0, tensor([0, 0]), flambeau.ones(2))
    whole = flambeau.zeros(3, dtype=flambeau.int32)
    whole.index_add_(0, tensor([0]), flambeau.ones(1, dtype=flambeau.int32), alpha=1.5)
    assert whole.tolist() == [1, 0, 0]
