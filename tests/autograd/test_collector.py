"""Cycles through the graph are freed by gc.collect(), and what is alive stays."""

from __future__ import annotations

import functools
import gc
import random
import threading
import weakref

import pytest

import flambeau
from flambeau import nn
from flambeau.autograd import Function
from flambeau.autograd.graph import saved_tensors_hooks

ROUNDS, N = 200, 1000


def live_bytes():
    return flambeau._C._memory_stats()["allocated_bytes.all.current"]


def leaf():
    return flambeau.ones(N, requires_grad=True)


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.kept = []
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


# ---- each makes a cycle and returns a weak reference into it


def gradient_of_a_parameter():
    w = nn.Parameter(flambeau.ones(N))
    (w**3).sum().backward(create_graph=True)
    return weakref.ref(w)


def gradient_of_a_leaf_without_an_object():
    def loss():
        return (leaf() ** 3).sum()

    loss().backward(create_graph=True)


def gradient_that_is_assigned():
    w = leaf()
    w.grad = w * 2


def hook_of_a_leaf():
    w = leaf()
    w.register_hook(lambda g: g * w.sum())
    return weakref.ref(w)


def hook_of_a_result():
    y = leaf() * 2
    y.register_hook(lambda g: g * y)
    return weakref.ref(y)


def hook_that_holds_the_loss():
    y = leaf() * 2
    loss = (y * y).sum()
    y.register_hook(lambda g: g * loss)
    return weakref.ref(loss)


def hook_of_a_node():
    y = leaf() * 2
    node = y.grad_fn
    node.register_hook(lambda a, b: node and None)
    node.register_prehook(lambda g: y and None)
    return weakref.ref(y)


def hook_after_accumulation():
    w = nn.Parameter(flambeau.ones(N))
    w.register_post_accumulate_grad_hook(lambda p: [w] and None)
    (w * 2).sum().backward()
    return weakref.ref(w)


def metadata_of_a_node():
    y = leaf() * 2
    y.grad_fn.metadata["y"] = y
    return weakref.ref(y)


def context_that_holds_its_result():
    y = Doubled.apply(leaf())
    y.grad_fn.kept.append(y)
    return weakref.ref(y)


def pack_hook_that_returns_its_argument():
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = leaf().exp()
    return weakref.ref(y)


def model_with_second_derivatives():
    model = nn.Sequential(nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 30))
    model[0].owner = model
    (model(flambeau.ones(2, 30)) ** 2).sum().backward(create_graph=True)
    return weakref.ref(model)


CYCLES = [
    gradient_of_a_parameter,
    gradient_of_a_leaf_without_an_object,
    gradient_that_is_assigned,
    hook_of_a_leaf,
    hook_of_a_result,
    hook_that_holds_the_loss,
    hook_of_a_node,
    hook_after_accumulation,
    metadata_of_a_node,
    context_that_holds_its_result,
    pack_hook_that_returns_its_argument,
    model_with_second_derivatives,
]


@pytest.mark.parametrize("make", CYCLES, ids=[f.__name__ for f in CYCLES])
def test_cycles_are_collected(make):
    make()
    gc.collect()
    before = live_bytes()
    gc.disable()
    try:
        refs = [make() for _ in range(ROUNDS)]
        assert live_bytes() > before + ROUNDS * 100  # nothing else frees them
        gc.collect()
    finally:
        gc.enable()
    assert all(r is None or r() is None for r in refs)
    assert live_bytes() <= before + 4096


@pytest.mark.parametrize("make", CYCLES, ids=[f.__name__ for f in CYCLES])
def test_repeated_collections_keep_memory_flat(make):
    def some():
        for _ in range(20):
            make()
        gc.collect()
        return live_bytes()

    some()
    first = some()
    assert some() <= first + 4096


# ---- what is alive


def test_a_loss_keeps_all_that_its_backward_needs():
    w = leaf()
    y = w * 2
    seen = []
    y.register_hook(lambda g, y=y: seen.append(float(y.sum())))
    loss = (y * y).sum()
    del y
    gc.collect()
    loss.backward()
    assert seen == [2.0 * N] and w.grad[0].item() == 8.0


def test_a_node_keeps_its_graph():
    node = Doubled.apply(leaf()).grad_fn
    node.kept.append(node)
    gc.collect()
    assert node.name() == "DoubledBackward" and node.kept[0] is node
    assert node.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_a_parameter_with_attributes_comes_back():
    w = nn.Parameter(flambeau.ones(3))
    w.tag = ["kept"]
    loss = (w**3).sum()
    identity = id(w)
    del w
    gc.collect()
    back = loss.grad_fn.next_functions[0][0].next_functions[0][0].variable
    assert id(back) == identity and back.tag == ["kept"]


def test_a_gradient_with_history_keeps_the_leaf():
    w = nn.Parameter(flambeau.full((3,), 2.0))
    (w**3).sum().backward(create_graph=True)
    g = w.grad.sum()
    ref = weakref.ref(w)
    del w
    gc.collect()
    g.backward()
    assert ref().grad.tolist() == [24.0] * 3  # 3w² + 6w


def test_collections_inside_hooks_and_backward():
    class Collects(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            gc.collect()
            return x * x

        @staticmethod
        def backward(ctx, g):
            gc.collect()
            (x,) = ctx.saved_tensors
            gc.collect()
            return 2 * x * g

    w = flambeau.full((3,), 3.0, requires_grad=True)
    y = Collects.apply(w * 1)
    y.register_hook(lambda g: [gc.collect()] and None)
    w.register_hook(lambda g: [gc.collect()] and None)
    w.register_post_accumulate_grad_hook(lambda p: [gc.collect()] and None)
    y.sum().backward(create_graph=True)
    assert w.grad.tolist() == [6.0] * 3


def test_frozen_objects_hold_their_graph():
    y = leaf() * 2
    seen = []
    y.register_hook(lambda g, y=y: seen.append(1))
    holder = [y]
    ref = weakref.ref(y)
    del y
    gc.freeze()
    try:
        gc.collect()
        assert ref() is not None
        holder[0].sum().backward()
        assert seen == [1]
    finally:
        gc.unfreeze()


def test_finalizers_may_use_what_dies():
    class Watch:
        def __init__(self, tensor):
            self.tensor = tensor

        def __del__(self):
            sums.append(self.tensor.sum().item())

    sums: list[float] = []
    y = leaf() * 2
    watch = Watch(y)
    y.register_hook(functools.partial(lambda w, g: None, watch))
    watch.me = watch
    del y, watch
    gc.collect()
    gc.collect()
    assert sums == [2.0 * N]


def test_finalizers_may_bring_it_back():
    class Phoenix:
        def __del__(self):
            saved.append(self.tensor)

    saved: list[flambeau.Tensor] = []
    y = leaf() * 2
    bird = Phoenix()
    bird.tensor = y
    y.register_hook(functools.partial(lambda b, g: None, bird))
    del y, bird
    gc.collect()
    (y,) = saved
    y.sum().backward()  # history and hook are still there
    assert y.grad_fn.name() == "MulBackward0"


def scene(r):
    """A random graph with hooks, contexts, attributes and gradients that have a history."""
    values = []
    for i in range(r.randint(1, 3)):
        w = flambeau.full((3,), float(i + 1))
        w = nn.Parameter(w) if r.random() < 0.5 else w.requires_grad_()
        if r.random() < 0.3:
            w.tag = [w]
        values.append(w)
    leaves = list(values)
    for _ in range(r.randint(2, 8)):
        a, b, kind = r.choice(values), r.choice(values), r.randint(0, 6)
        if kind == 0:
            y = a + b
        elif kind == 1:
            y = (a * b).tanh()
        elif kind == 2:
            y = Doubled.apply(a)
            y.grad_fn.kept.append(r.choice([y, a, b]))
        elif kind == 3:
            with saved_tensors_hooks(lambda t: t, lambda t: t):
                y = a.sin() * b
        elif kind == 4:
            y = a[:]
        elif kind == 5:
            y = a * b
            y.retain_grad()
        else:
            y = (a * 1).mul_(2)
        if r.random() < 0.4:
            other = r.choice(values)
            y.register_hook(lambda g, o=other, y=y: [o.sum(), y.numel()] and None)
        if r.random() < 0.2:
            node = y.grad_fn
            node.metadata["kept"] = [node, r.choice(values), y]
        if r.random() < 0.2:
            y.me = y
        values.append(y)
    for w in leaves:
        if r.random() < 0.3:
            w.register_hook(lambda g, w=w: [w.numel()] and None)
        if r.random() < 0.3:
            w.register_post_accumulate_grad_hook(lambda p, w=w: [w.numel()] and None)
    out = (values[-1] ** 2).sum() + sum((w**2).sum() for w in leaves)
    if r.random() < 0.7:
        out.backward(create_graph=r.random() < 0.6, retain_graph=True)
    return leaves, values, out


def use(x, r):
    if not isinstance(x, flambeau.Tensor):
        assert x.name() and x.next_functions is not None and x.metadata is not None
        return
    x.tolist()
    if x.grad is not None:
        x.grad.tolist()
    try:
        x.sum().backward(retain_graph=True, create_graph=r.random() < 0.3)
    except RuntimeError as error:
        assert "second time" in str(error) or "inplace" in str(error)


def shuffle_scenes(seed, rounds):
    r = random.Random(seed)
    keep: list[tuple] = []
    for _ in range(rounds):
        leaves, values, out = scene(r)
        choices = [
            (out,),
            (r.choice(values),),
            (r.choice(leaves),),
            (r.choice(values[len(leaves) :]).grad_fn,),
            tuple(values),
            (),
        ]
        keep.append(r.choice(choices))
        del leaves, values, out, choices
        if r.random() < 0.3:
            gc.collect(r.choice([0, 1, 2, 2]))
        if len(keep) > 15:
            del keep[r.randrange(len(keep))]
        if r.random() < 0.3:
            for x in r.choice(keep):
                use(x, r)
    for group in keep:
        for x in group:
            use(x, r)


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed):
    gc.collect()
    before = live_bytes()
    shuffle_scenes(seed, 150)
    gc.collect()
    gc.collect()
    assert live_bytes() <= before + 4096


def test_random_graphs_in_threads():
    errors = []

    def run(seed):
        try:
            shuffle_scenes(seed, 60)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(10 + i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    gc.collect()
