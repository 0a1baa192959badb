"""Modules that learn their sizes from the first input, and the tensors that wait for them."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.modules.lazy import LazyModuleMixin

X1, X2, X3 = (2, 4, 9), (2, 4, 6, 5), (2, 4, 4, 5, 3)
CONVS = [
    ("Conv1d", X1),
    ("Conv2d", X2),
    ("Conv3d", X3),
    ("ConvTranspose1d", X1),
    ("ConvTranspose2d", X2),
    ("ConvTranspose3d", X3),
]
NORMS = [
    ("BatchNorm1d", X1),
    ("BatchNorm2d", X2),
    ("BatchNorm3d", X3),
    ("InstanceNorm1d", X1),
    ("InstanceNorm2d", X2),
    ("InstanceNorm3d", X3),
]


def kinds(module):
    state = [*module._parameters.items(), *module._buffers.items()]
    return {name: type(t).__name__ for name, t in state if t is not None}


@pytest.mark.parametrize(("name", "shape"), CONVS)
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"groups": 2, "stride": 2}])
def test_convolutions(name, shape, options):
    lazy = getattr(nn, "Lazy" + name)(6, 2, **options)
    assert set(kinds(lazy).values()) == {"UninitializedParameter"}
    assert repr(lazy).startswith(f"Lazy{name}(0, 6, ")
    x = flambeau.randn(shape)
    flambeau.manual_seed(4)
    out = lazy(x)
    flambeau.manual_seed(4)
    plain = getattr(nn, name)(4, 6, 2, **options)
    assert type(lazy) is type(plain) and repr(lazy) == repr(plain) and lazy.in_channels == 4
    assert out.tolist() == plain(x).tolist() == lazy(x).tolist()
    assert set(kinds(lazy).values()) == {"Parameter"}


def test_convolution_inputs():
    assert nn.LazyConv2d(4, 3)(flambeau.ones(3, 5, 5)).shape == (4, 3, 3)
    up = nn.LazyConvTranspose2d(4, 3, stride=2)
    assert up(flambeau.ones(1, 3, 5, 5), output_size=(12, 12)).shape == (1, 4, 12, 12)
    with pytest.raises(RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to"):
        nn.LazyConv2d(4, 3)(flambeau.ones(5, 5))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 3, groups=2)(flambeau.ones(1, 3, 5, 5))
    with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for LazyConvT'):
        nn.LazyConvTranspose1d(4, 3, padding_mode="circular")


@pytest.mark.parametrize(("name", "shape"), NORMS)
@pytest.mark.parametrize(
    "options", [{}, {"affine": False}, {"track_running_stats": False}, {"bias": False}]
)
def test_normalisations(name, shape, options):
    lazy = getattr(nn, "Lazy" + name)(momentum=0.5, **options)
    x = flambeau.randn(shape)
    out = lazy(x)
    everything = {"affine": True, "track_running_stats": True, "momentum": 0.5, **options}
    plain = getattr(nn, name)(4, **everything)
    assert type(lazy) is type(plain) and repr(lazy) == repr(plain)
    assert out.tolist() == plain(x).tolist()
    assert kinds(lazy) == kinds(plain)
    for a, b in zip(lazy.state_dict().values(), plain.state_dict().values()):
        assert a.tolist() == b.tolist()


def test_normalisation_inputs():
    with pytest.raises(ValueError, match="expected 4D input"):
        nn.LazyBatchNorm2d()(flambeau.ones(2, 3, 4))
    with pytest.raises(ValueError, match="expected 2D or 3D input"):
        nn.LazyInstanceNorm1d()(flambeau.ones(2, 3, 4, 5))
    layer = nn.LazyBatchNorm1d(dtype=flambeau.float64)
    layer(flambeau.randn(3, 2, dtype=flambeau.float64))
    assert layer.weight.dtype == layer.running_var.dtype == flambeau.float64
    assert layer.num_batches_tracked.dtype == flambeau.int64


MAKERS = [
    (lambda: nn.LazyLinear(3), (2, 5)),
    (lambda: nn.LazyConv1d(3, 2), (2, 5, 4)),
    (lambda: nn.LazyBatchNorm1d(), (2, 5)),
    (lambda: nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d()), (2, 5, 4, 4)),
]


@pytest.mark.parametrize(("make", "shape"), MAKERS)
def test_copies_wait_too(make, shape):
    for twin in (copy.deepcopy(make()), pickle.loads(pickle.dumps(make()))):
        out = twin(flambeau.randn(shape))
        assert out.isfinite().all() and "Lazy" not in repr(twin)


@pytest.mark.parametrize(("make", "shape"), MAKERS)
def test_state_of_waiting_modules(make, shape):
    lazy, waiting = make(), make().state_dict()
    assert any("Uninitialized" in repr(t) for t in waiting.values())
    assert str(make().load_state_dict(waiting)) == "<All keys matched successfully>"
    file = io.BytesIO()
    flambeau.save(waiting, file)
    file.seek(0)
    again = flambeau.load(file, weights_only=False)
    assert {k: type(v) for k, v in again.items()} == {k: type(v) for k, v in waiting.items()}

    done = make()
    x = flambeau.randn(shape)
    expected = done(x)
    lazy.load_state_dict(done.state_dict())
    assert "Lazy" in repr(lazy)
    assert lazy.state_dict().keys() == done.state_dict().keys()
    fresh = lazy(x)
    assert "Lazy" not in repr(lazy) and fresh.tolist() == expected.tolist()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        done.load_state_dict(waiting)


def test_loading_sets_in_features():
    lazy, done = nn.LazyLinear(3), nn.Linear(5, 3)
    lazy.load_state_dict(done.state_dict())
    assert not lazy.has_uninitialized_params() and lazy.in_features == 0
    lazy(flambeau.ones(1, 5))
    assert lazy.in_features == 5 and lazy.weight.tolist() == done.weight.tolist()


def test_conversions():
    lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).double()
    assert lazy[0].weight.dtype == lazy[1].running_var.dtype == flambeau.float64
    assert type(lazy[1].running_var) is nn.UninitializedBuffer
    assert lazy(flambeau.randn(4, 2, dtype=flambeau.float64)).dtype == flambeau.float64
    lazy = nn.LazyConv1d(2, 1).to(flambeau.bfloat16)
    lazy(flambeau.ones(1, 3, 4, dtype=flambeau.bfloat16))
    assert lazy.bias.dtype == flambeau.bfloat16
    lazy = nn.LazyLinear(2, device="meta")
    assert lazy.weight.device.type == "meta"
    lazy.zero_grad()
    optimizer = flambeau.optim.SGD(lazy.parameters(), 0.1)
    assert optimizer.param_groups[0]["params"][0] is lazy.weight


def test_tensors_without_shape():
    p = nn.UninitializedParameter(requires_grad=False, dtype=flambeau.float64)
    assert isinstance(p, nn.Parameter) and nn.parameter.is_lazy(p) and p.is_leaf
    assert repr(p) == "<UninitializedParameter>" and p.dtype == flambeau.float64
    twin = copy.deepcopy(p)
    assert type(twin) is type(p) and twin is not p and not twin.requires_grad
    p.materialize((2, 3))
    assert type(p) is nn.Parameter and p.shape == (2, 3) and p.dtype == flambeau.float64
    assert not p.requires_grad
    b = nn.UninitializedBuffer(persistent=False)
    assert repr(b) == "<UninitializedBuffer>" and isinstance(b, nn.Buffer)
    assert copy.deepcopy(b).persistent is False
    b.materialize((4,), dtype=flambeau.float16)
    assert type(b) is flambeau.Tensor and b.shape == (4,) and b.dtype == flambeau.float16


@pytest.mark.parametrize(
    "use",
    [
        lambda p: p + 1,
        lambda p: flambeau.ones(3) * p,
        lambda p: p.sum(),
        lambda p: p.detach(),
        lambda p: p.zero_(),
        lambda p: p.numel(),
        lambda p: p.dim(),
        lambda p: len(p),
        lambda p: p.requires_grad_(),
        lambda p: p.clone(),
        lambda p: p.backward(),
        lambda p: flambeau.empty_like(p),
        lambda p: nn.functional.linear(flambeau.ones(1, 2), p),
        lambda p: nn.init.zeros_(p),
    ],
)
@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_use_without_shape(kind, use):
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        use(kind())


def test_shape_and_sharing_without_shape():
    for t in (nn.UninitializedParameter(), nn.UninitializedBuffer()):
        with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
            t.shape
        with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized"):
            t.share_memory_()
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized"):
        nn.LazyLinear(3).share_memory()


class Own(LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.UninitializedParameter()

    def forward(self, x):
        return x * self.scale


class Filled(Own):
    def initialize_parameters(self, x, *, value=1.0):
        self.scale.materialize(x.shape)
        nn.init.constant_(self.scale, value)

    def forward(self, x, *, value=1.0):
        return x * self.scale


class Forgetful(Own):
    def initialize_parameters(self, x):
        pass


def test_own_lazy_modules():
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for"):
        Own()(flambeau.ones(2))
    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(flambeau.ones(2))
    m = Filled()
    assert m.has_uninitialized_params()
    assert m(flambeau.ones(2), value=3.0).tolist() == [3.0, 3.0]
    # Without cls_to_become the class stays; the hooks are gone.
    assert type(m) is Filled and not m._forward_pre_hooks and not m._load_state_dict_pre_hooks
    assert m(flambeau.ones(2), value=5.0).tolist() == [3.0, 3.0]
