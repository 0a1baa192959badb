"""Embeddings with sparse gradients, optimizers for them, copies and files of sparse tensors."""

import copy
import io
import pickle

import pytest

import flambeau
from flambeau import nn, optim
from flambeau.nn import functional as F

INDICES = flambeau.tensor([[1, 3, 1], [0, 4, 3]])


def table():
    return flambeau.arange(18.0, dtype=flambeau.float64).reshape(6, 3) / 7 - 1


@pytest.mark.parametrize("padding", [None, 3])
def test_embedding(padding):
    grads = []
    for sparse in (False, True):
        layer = nn.Embedding(6, 3, padding_idx=padding, sparse=sparse, _weight=table())
        out = layer(INDICES)
        out.backward(flambeau.arange(18.0, dtype=flambeau.float64).reshape(2, 3, 3))
        grads.append(layer.weight.grad)
    dense, sparse = grads
    assert sparse.is_sparse
    assert not sparse.is_coalesced()
    assert sparse._nnz() == (6 if padding is None else 4)
    assert (sparse.to_dense() == dense).all()


def test_embedding_refuses_frequencies_with_sparse_gradients():
    out = F.embedding(INDICES, table().requires_grad_(), scale_grad_by_freq=True, sparse=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
        out.sum().backward()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag(mode):
    grads = []
    for sparse in (False, True):
        layer = nn.EmbeddingBag(6, 3, mode=mode, sparse=sparse, _weight=table())
        layer(INDICES).backward(flambeau.arange(6.0, dtype=flambeau.float64).reshape(2, 3))
        grads.append(layer.weight.grad)
    assert grads[1].is_sparse
    assert flambeau.allclose(grads[1].to_dense(), grads[0])
    with pytest.raises(RuntimeError, match="mode='max'"):
        F.embedding_bag(INDICES, table(), mode="max", sparse=True)


def test_gradients_add_up():
    w = table().requires_grad_()
    F.embedding(INDICES, w, sparse=True).sum().backward()
    F.embedding(INDICES, w, sparse=True).sum().backward()
    assert w.grad.is_sparse
    assert w.grad.to_dense().sum() == 36
    (w * 2).sum().backward()
    assert w.grad.layout is flambeau.strided
    assert w.grad.sum() == 36 + 36


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.SGD(p, lr=0.1),
        lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: optim.Adagrad(p, lr=0.1),
    ],
)
def test_optimizers_as_with_dense_gradients(make):
    results = []
    for sparse in (False, True):
        w = nn.Parameter(table())
        optimizer = make([w])
        for step in range(3):
            optimizer.zero_grad()
            (F.embedding(INDICES + step % 2, w, sparse=sparse) ** 2).sum().backward()
            optimizer.step()
        results.append(w.detach())
    assert flambeau.allclose(*results)


def test_sparse_adam_moves_only_what_was_read():
    w = nn.Parameter(table())
    optimizer = optim.SparseAdam([w], lr=0.1)
    (F.embedding(INDICES, w, sparse=True) ** 2).sum().backward()
    optimizer.step()
    moved = (w.detach() != table()).any(1)
    assert moved.tolist() == [True, True, False, True, True, False]
    want = table() - 0.1 * flambeau.sign(table()) * moved.unsqueeze(1)
    assert flambeau.allclose(w.detach(), want, atol=1e-6)


def test_adam_refuses_sparse_gradients():
    w = nn.Parameter(table())
    F.embedding(INDICES, w, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        optim.Adam([w]).step()


SPARSE = [
    lambda: flambeau.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (4,)),
    lambda: flambeau.eye(3).to_sparse(),
    lambda: flambeau.eye(3).to_sparse_csr(),
    lambda: flambeau.eye(3).to_sparse_csc(),
    lambda: flambeau.eye(4).to_sparse_bsr((2, 2)),
]


def same(a, b):
    flambeau.testing.assert_close(a, b, rtol=0, atol=0)
    assert a.requires_grad == b.requires_grad
    if a.is_sparse:
        assert a.is_coalesced() == b.is_coalesced()


@pytest.mark.parametrize("make", SPARSE)
def test_copies(make):
    t = make()
    same(t, pickle.loads(pickle.dumps(t)))
    other = copy.deepcopy(t)
    same(t, other)
    values = (lambda x: x._values()) if t.is_sparse else (lambda x: x.values())
    values(other).fill_(9)
    assert (values(t) != 9).all()
    leaf = t.requires_grad_()
    same(leaf, copy.deepcopy(leaf))
    same(leaf, pickle.loads(pickle.dumps(leaf)))


@pytest.mark.parametrize("make", SPARSE)
@pytest.mark.parametrize("weights_only", [False, True])
def test_files(make, weights_only):
    file = io.BytesIO()
    flambeau.save({"t": make()}, file)
    file.seek(0)
    same(make(), flambeau.load(file, weights_only=weights_only)["t"])


def test_assert_close_tells_sparse_tensors_apart():
    t = flambeau.eye(3).to_sparse()
    with pytest.raises(AssertionError, match="values"):
        flambeau.testing.assert_close(t, t * 2)
    with pytest.raises(AssertionError, match="layout"):
        flambeau.testing.assert_close(t, t.to_dense())


def test_values_share_memory():
    t = flambeau.eye(3).to_sparse()
    t._values().mul_(2)
    assert (t.to_dense() == 2 * flambeau.eye(3)).all()


def test_invariants_switch():
    switch = flambeau.sparse.check_sparse_tensor_invariants
    assert not switch.is_enabled()
    with switch():
        assert switch.is_enabled()
    assert not switch.is_enabled()


def test_large_product_is_the_dense_one():
    flambeau.manual_seed(0)
    rows, columns = flambeau.randint(0, 300, (2, 4000))
    values = flambeau.randn(4000)
    t = flambeau.sparse_coo_tensor(flambeau.stack([rows, columns]), values, (300, 300))
    for width in (1, 7, 33, 64, 100):
        x = flambeau.randn(300, width)
        want = (t.to_dense().double() @ x.double()).float()
        for form in (t, t.coalesce(), t.coalesce().to_sparse_csr(), t.coalesce().to_sparse_csc()):
            assert flambeau.allclose(form @ x, want, atol=1e-4)


def test_subclasses_see_the_layout():
    seen = []

    class Watching(flambeau.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    t = flambeau.ones(2).as_subclass(Watching)
    assert t.layout is flambeau.strided
    assert seen
