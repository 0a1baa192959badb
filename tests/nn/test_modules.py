"""Layers: seeded parameters, text, options and results, against values recorded from PyTorch.

`data/modules.json` holds what PyTorch 2.13 gives for the same calls (`record` of a case).
"""

import json
import math
import pathlib
from collections import OrderedDict

import pytest

import flambeau
from flambeau import nn

DATA = pathlib.Path(__file__).parent / "data" / "modules.json"


def filled(*shape, step=7919):
    """Numbers between -1 and 1 without a pattern, the same everywhere."""
    values = [(i * step % 101) / 50 - 1 for i in range(math.prod(shape))]
    return flambeau.tensor(values).reshape(shape)


def indices(*shape, high):
    return flambeau.tensor([i * 7 % high for i in range(math.prod(shape))]).reshape(shape)


X1, X2, X3 = (2, 4, 9), (2, 4, 6, 5), (1, 4, 4, 5, 3)
CASES = {
    "Identity": (lambda: nn.Identity(3, a=1), (X1,)),
    "Linear": (lambda: nn.Linear(9, 5), (X1,)),
    "Linear-nobias": (lambda: nn.Linear(9, 5, bias=False), (X1,)),
    "Bilinear": (lambda: nn.Bilinear(9, 4, 3), ((2, 9), (2, 4))),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), (X1,)),
    "Conv2d": (lambda: nn.Conv2d(4, 6, (3, 2), padding=(1, 0), dilation=(1, 2)), (X2,)),
    "Conv2d-same": (lambda: nn.Conv2d(4, 2, 2, padding="same", bias=False), (X2,)),
    "Conv2d-reflect": (lambda: nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"), (X2,)),
    "Conv3d": (lambda: nn.Conv3d(4, 2, 2), (X3,)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(4, 2, 3, stride=2, output_padding=1), (X1,)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1), (X2,)),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(4, 2, 2), (X3,)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), (X1,)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4, momentum=None, affine=False), (X2,)),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(4, track_running_stats=False), (X3,)),
    "BatchNorm1d-nobias": (lambda: nn.BatchNorm1d(4, bias=False), (X1,)),
    "LayerNorm": (lambda: nn.LayerNorm((4, 9)), (X1,)),
    "LayerNorm-nobias": (lambda: nn.LayerNorm(9, bias=False), (X1,)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (X2,)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(4), (X1,)),
    "InstanceNorm2d": (
        lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        (X2,),
    ),
    "RMSNorm": (lambda: nn.RMSNorm(9), (X1,)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(3), (X2,)),
    "ReLU": (lambda: nn.ReLU(inplace=True), (X1,)),
    "ReLU6": (lambda: nn.ReLU6(), (X1,)),
    "GELU": (lambda: nn.GELU(), (X1,)),
    "GELU-tanh": (lambda: nn.GELU(approximate="tanh"), (X1,)),
    "SiLU": (lambda: nn.SiLU(), (X1,)),
    "Mish": (lambda: nn.Mish(), (X1,)),
    "Tanh": (lambda: nn.Tanh(), (X1,)),
    "Sigmoid": (lambda: nn.Sigmoid(), (X1,)),
    "Softmax": (lambda: nn.Softmax(dim=1), (X1,)),
    "LogSoftmax": (lambda: nn.LogSoftmax(dim=-1), (X1,)),
    "Softmin": (lambda: nn.Softmin(dim=1), (X1,)),
    "Softmax2d": (lambda: nn.Softmax2d(), (X2,)),
    "ELU": (lambda: nn.ELU(0.5), (X1,)),
    "SELU": (lambda: nn.SELU(), (X1,)),
    "CELU": (lambda: nn.CELU(0.5), (X1,)),
    "LeakyReLU": (lambda: nn.LeakyReLU(0.2, inplace=True), (X1,)),
    "PReLU": (lambda: nn.PReLU(4), (X1,)),
    "RReLU": (lambda: nn.RReLU().eval(), (X1,)),
    "Hardtanh": (lambda: nn.Hardtanh(-0.5, 0.25), (X1,)),
    "Hardsigmoid": (lambda: nn.Hardsigmoid(), (X1,)),
    "Hardswish": (lambda: nn.Hardswish(), (X1,)),
    "Hardshrink": (lambda: nn.Hardshrink(), (X1,)),
    "Softshrink": (lambda: nn.Softshrink(0.3), (X1,)),
    "Softplus": (lambda: nn.Softplus(2.0, 1.0), (X1,)),
    "Softsign": (lambda: nn.Softsign(), (X1,)),
    "Tanhshrink": (lambda: nn.Tanhshrink(), (X1,)),
    "Threshold": (lambda: nn.Threshold(0.1, -3.0), (X1,)),
    "GLU": (lambda: nn.GLU(1), (X1,)),
    "LogSigmoid": (lambda: nn.LogSigmoid(), (X1,)),
    "MaxPool1d": (lambda: nn.MaxPool1d(3, 2, padding=1, ceil_mode=True), (X1,)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, dilation=2, stride=1), (X2,)),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), (X3,)),
    "AvgPool1d": (lambda: nn.AvgPool1d(3, padding=1, count_include_pad=False), (X1,)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, divisor_override=3), (X2,)),
    "AvgPool3d": (lambda: nn.AvgPool3d(2, 1), (X3,)),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(4), (X1,)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((4, None)), (X2,)),
    "AdaptiveAvgPool3d": (lambda: nn.AdaptiveAvgPool3d(2), (X3,)),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(4), (X1,)),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d((None, 2)), (X2,)),
    "AdaptiveMaxPool3d": (lambda: nn.AdaptiveMaxPool3d(2), (X3,)),
    "LPPool1d": (lambda: nn.LPPool1d(2, 3), (X1,)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), (X2,)),
    "LPPool3d": (lambda: nn.LPPool3d(2, 2), (X3,)),
    "ZeroPad1d": (lambda: nn.ZeroPad1d(2), (X1,)),
    "ZeroPad2d": (lambda: nn.ZeroPad2d((1, -1, 0, 2)), (X2,)),
    "ZeroPad3d": (lambda: nn.ZeroPad3d(1), (X3,)),
    "ConstantPad2d": (lambda: nn.ConstantPad2d(1, 3.5), (X2,)),
    "ReflectionPad1d": (lambda: nn.ReflectionPad1d((2, 1)), (X1,)),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(2), (X2,)),
    "ReflectionPad3d": (lambda: nn.ReflectionPad3d(1), (X3,)),
    "ReplicationPad2d": (lambda: nn.ReplicationPad2d((2, 0, 1, 1)), (X2,)),
    "ReplicationPad3d": (lambda: nn.ReplicationPad3d(1), (X3,)),
    "CircularPad1d": (lambda: nn.CircularPad1d(2), (X1,)),
    "CircularPad2d": (lambda: nn.CircularPad2d((1, 2, 0, 1)), (X2,)),
    "CircularPad3d": (lambda: nn.CircularPad3d(1), (X3,)),
    "Flatten": (lambda: nn.Flatten(), (X2,)),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 2)), (X2,)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(), (X1, X1)),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(keepdim=True), ((3, 4), (3, 4))),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (X2,)),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), ((1, 2, 4, 6),)),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), (X2,)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (X2,)),
    "UpsamplingNearest2d": (lambda: nn.UpsamplingNearest2d((9, 7)), (X2,)),
    "UpsamplingBilinear2d": (lambda: nn.UpsamplingBilinear2d(scale_factor=2), (X2,)),
    "Unfold": (lambda: nn.Unfold((2, 3), padding=1, stride=2), (X2,)),
    "Fold": (lambda: nn.Fold((4, 5), (2, 2)), ((2, 8, 12),)),
    "Sequential": (lambda: nn.Sequential(nn.Linear(9, 3), nn.ReLU(), nn.Linear(3, 2)), (X1,)),
}


def flat(t):
    values = t.detach().reshape(-1)
    return [float(v) for v in values[:12].tolist()] + [float(values.double().sum())]


def record(name):
    make, shapes = CASES[name]
    flambeau.manual_seed(7)
    layer = make()
    state = {k: flat(v) for k, v in layer.state_dict().items()}
    inputs = [filled(*s, step=7919 + 2 * i).requires_grad_() for i, s in enumerate(shapes)]
    out = layer(*[x * 1 for x in inputs])
    (out * filled(*out.shape, step=31)).sum().backward()
    return {
        "repr": repr(layer),
        "state": state,
        "shape": list(out.shape),
        "out": flat(out),
        "grads": [flat(x.grad) for x in inputs],
        "param_grads": {k: flat(p.grad) for k, p in layer.named_parameters()},
        "state_after": {k: flat(v) for k, v in layer.state_dict().items()},
    }


def near(actual, expected, tolerance=2e-5):
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        assert a == pytest.approx(e, rel=tolerance, abs=tolerance), (actual, expected)


@pytest.fixture(scope="module")
def recorded():
    return json.loads(DATA.read_text())


@pytest.mark.parametrize("name", CASES)
def test_layer(name, recorded):
    expected, actual = recorded[name], record(name)
    assert actual["repr"] == expected["repr"]
    assert actual["shape"] == expected["shape"]
    near(actual["out"], expected["out"])
    for group in ("state", "state_after", "param_grads"):
        assert list(actual[group]) == list(expected[group])
        for key, values in expected[group].items():
            near(actual[group][key], values, 1e-6 if group == "state" else 5e-5)
    for a, e in zip(actual["grads"], expected["grads"]):
        near(a, e, 5e-5)


# Containers -------------------------------------------------------------------------------------


def names(modules):
    return [type(m).__name__ for m in modules]


def test_sequential():
    s = nn.Sequential(nn.ReLU(), nn.Tanh())
    assert names(s[0:1]) == ["ReLU"] and isinstance(s[-1], nn.Tanh)
    assert names(s + nn.Sequential(nn.ELU())) == ["ReLU", "Tanh", "ELU"]
    assert names(s * 2) == names(2 * s) == ["ReLU", "Tanh"] * 2
    s.insert(1, nn.ELU()).append(nn.GELU()).extend([nn.SiLU()])
    assert names(s) == ["ReLU", "ELU", "Tanh", "GELU", "SiLU"]
    s.insert(-1, nn.Mish())
    assert isinstance(s.pop(0), nn.ReLU)
    del s[1:3]
    assert list(s._modules) == ["0", "1", "2"] and names(s) == ["ELU", "Mish", "SiLU"]
    s *= 2
    assert len(s) == 6
    named = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert list(named[1:]._modules) == ["b"]
    with pytest.raises(IndexError, match="index 9 is out of range"):
        s[9]
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        s * 0
    with pytest.raises(ValueError, match="supports only objects of Sequential"):
        s + 1
    with pytest.raises(TypeError, match="is not a Module subclass"):
        nn.Sequential(3)


def test_module_list():
    m = nn.ModuleList([nn.ReLU()])
    m.append(nn.ReLU()).extend([nn.Tanh()])
    m.insert(0, nn.ELU())
    m += [nn.GELU()]
    assert names(m) == ["ELU", "ReLU", "ReLU", "Tanh", "GELU"]
    assert repr(m[1:4]) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    m[0] = nn.SiLU()
    del m[1]
    assert isinstance(m.pop(-1), nn.GELU)
    assert names(m) == ["SiLU", "ReLU", "Tanh"] and list(m._modules) == ["0", "1", "2"]
    assert names(m + m) == names(m) * 2 and isinstance(m[-1], nn.Tanh)
    assert repr(nn.ModuleList()) == "ModuleList()"
    with pytest.raises(IndexError):
        m[3]
    with pytest.raises(TypeError, match="should be called with an iterable"):
        m.extend(3)
    with pytest.raises(NotImplementedError):
        m(1)


def test_module_dict():
    d = nn.ModuleDict({"a": nn.ReLU()})
    d["b"] = nn.Tanh()
    d.update([("c", nn.ELU()), ("a", nn.GELU())])
    assert list(d) == list(d.keys()) == ["a", "b", "c"] and names(d.values()) == [
        "GELU",
        "Tanh",
        "ELU",
    ]
    assert "c" in d and isinstance(d.pop("c"), nn.ELU) and len(d) == 2
    del d["b"]
    assert [k for k, _ in d.items()] == ["a"]
    with pytest.raises(KeyError, match="already exists"):
        d["keys"] = nn.ReLU()
    with pytest.raises(ValueError, match="has length 1; 2 is required"):
        d.update([("q",)])
    d.clear()
    assert len(d) == 0


def test_parameter_list():
    p = nn.ParameterList([flambeau.ones(1)])
    p.append(3).extend([flambeau.ones(2)])
    assert list(p.state_dict()) == ["0", "2"] and len(p) == 3 and p[1] == 3
    assert isinstance(p[0], nn.Parameter) and p[-1].shape == (2,)
    assert len(p[0:2]) == 2
    p[0] = flambeau.zeros(1)
    assert isinstance(p[0], nn.Parameter) and p[0].tolist() == [0.0]
    assert repr(p) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 1]\n"
        "    (1): Object of type: int\n    (2): Parameter containing: [torch.float32 of size 2]\n)"
    )
    with pytest.raises(IndexError):
        p[5]
    with pytest.raises(TypeError, match="should be called with an iterable, but got Tensor"):
        p.extend(flambeau.ones(2))
    with pytest.raises(RuntimeError, match="should not be called"):
        p(1)


def test_parameter_dict():
    d = nn.ParameterDict({"b": flambeau.ones(1), "a": 3})
    assert list(d) == ["a", "b"] and isinstance(d["b"], nn.Parameter) and d.b is d["b"]
    assert list((d | nn.ParameterDict({"c": flambeau.ones(1)})).keys()) == ["a", "b", "c"]
    assert d.setdefault("z", flambeau.ones(2)).shape == (2,)
    assert d.popitem()[0] == "z" and d.get("z", 5) == 5
    assert list(reversed(d)) == ["b", "a"] and d.pop("a") == 3 and len(d) == 1
    assert list(d.state_dict()) == ["b"]
    assert list(d.fromkeys(["k"], flambeau.ones(1))) == ["k"]
    assert repr(d) == ("ParameterDict(  (b): Parameter containing: [torch.FloatTensor of size 1])")
    with pytest.raises(TypeError, match="not a string"):
        nn.ParameterDict()[3] = flambeau.ones(1)
    d.clear()
    assert len(d) == 0 and list(d.parameters()) == []


# Layers with more behaviour ---------------------------------------------------------------------


def test_batch_norm_statistics():
    bn = nn.BatchNorm1d(2, momentum=None)
    a, b = flambeau.tensor([[0.0, 2.0], [2.0, 6.0]]), flambeau.tensor([[4.0, 0.0], [8.0, 0.0]])
    bn(a)
    bn(b)
    assert bn.num_batches_tracked.tolist() == 2
    assert bn.running_mean.tolist() == [3.5, 2.0]
    assert bn.running_var.tolist() == [5.0, 4.0]
    bn.eval()
    bn(a)
    assert bn.num_batches_tracked.tolist() == 2
    bn.reset_running_stats()
    assert bn.running_var.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 1D input\)"):
        bn(flambeau.ones(2))
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        bn.train()(flambeau.ones(1, 2))


def test_batch_norm_loads_old_state():
    bn = nn.BatchNorm1d(2)
    state = bn.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""] = {"version": 1}
    bn.load_state_dict(state)
    assert bn.num_batches_tracked.tolist() == 0


def test_conv_options():
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.Conv2d(3, 4, 3, groups=2)
    with pytest.raises(ValueError, match="Invalid padding string 'foo'"):
        nn.Conv2d(4, 4, 3, padding="foo")
    with pytest.raises(ValueError, match="not supported for strided"):
        nn.Conv2d(4, 4, 3, padding="same", stride=2)
    with pytest.raises(ValueError, match="padding_mode must be one of"):
        nn.Conv2d(4, 4, 3, padding_mode="foo")
    with pytest.raises(ValueError, match='Only "zeros" padding mode is supported'):
        nn.ConvTranspose2d(4, 4, 3, padding_mode="circular")


def test_conv_transpose_output_size():
    up = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = flambeau.ones(1, 1, 3, 3)
    assert up(x, output_size=(8, 7)).shape == (1, 1, 8, 7)
    with pytest.raises(ValueError, match="requested an output size of"):
        up(x, output_size=(9, 9))
    with pytest.raises(ValueError, match="output_size must have 2 or 4 elements"):
        up(x, output_size=(9,))


def test_embedding():
    flambeau.manual_seed(7)
    table = nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4 and table.weight[4].tolist() == [0.0] * 3
    assert repr(table) == "Embedding(5, 3, padding_idx=4)"
    index = flambeau.tensor([[0, 1], [1, 4]])
    table(index).sum().backward()
    assert table.weight.grad[:, 0].tolist() == [1.0, 2.0, 0.0, 0.0, 0.0]
    frozen = nn.Embedding.from_pretrained(flambeau.ones(2, 2))
    assert not frozen.weight.requires_grad
    limited = nn.Embedding(2, 2, max_norm=1.0, _weight=flambeau.tensor([[3.0, 4.0], [30.0, 40.0]]))
    limited(flambeau.tensor([0, 0]))
    assert limited.weight[0].tolist() == pytest.approx([0.6, 0.8])
    assert limited.weight[1].tolist() == [30.0, 40.0]
    with pytest.raises(AssertionError, match="Padding_idx must be within"):
        nn.Embedding(3, 2, padding_idx=5)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("sum", [[3.0, -1.0], [0.0, 0.0], [5.0, -2.0]]),
        ("mean", [[1.5, -0.5], [0.0, 0.0], [2.5, -1.0]]),
        ("max", [[3.0, 0.0], [0.0, 0.0], [3.0, 0.0]]),
    ],
)
def test_embedding_bag(mode, expected):
    weight = flambeau.tensor([[0.0, 0.0], [3.0, -1.0], [2.0, -2.0], [3.0, 0.0]])
    bag = nn.EmbeddingBag(4, 2, mode=mode, _weight=weight)
    index, offsets = flambeau.tensor([0, 1, 2, 3]), flambeau.tensor([0, 2, 2])
    out = bag(index, offsets)
    assert out.tolist() == expected
    out.sum().backward()
    assert bag.weight.grad is not None
    rows = nn.EmbeddingBag(4, 2, mode=mode, _weight=weight)(flambeau.tensor([[0, 1], [2, 3]]))
    assert rows.tolist() == [expected[0], expected[2]]


def test_cross_map_lrn():
    layer = nn.CrossMapLRN2d(3, alpha=3.0, beta=-1.0, k=0.0)
    x = flambeau.tensor([1.0, 2.0, 3.0, 4.0, 5.0]).reshape(1, 5, 1, 1)
    windows = [1 + 4, 1 + 4 + 9, 1 + 4 + 9 + 16, 1 + 9 + 16 + 25, 1 + 16 + 25]
    expected = [x * w for x, w in zip([1.0, 2.0, 3.0, 4.0, 5.0], windows)]
    assert layer(x).reshape(-1).tolist() == pytest.approx(expected)


def test_dropout():
    x = flambeau.ones(4000)
    layer = nn.Dropout(0.25)
    out = layer(x)
    kept = int((out != 0).sum())
    assert 2800 < kept < 3200 and float(out.max()) == pytest.approx(4 / 3)
    assert layer.eval()(x).tolist() == x.tolist()
    channels = nn.Dropout2d(0.5)(flambeau.ones(4, 8, 3, 3)).reshape(32, 9)
    assert all(len(set(row)) == 1 for row in channels.tolist())
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        nn.Dropout(1.5)


def test_lazy_linear():
    layer = nn.LazyLinear(3)
    assert isinstance(layer.weight, nn.UninitializedParameter)
    with pytest.raises(RuntimeError, match="uninitialized parameter"):
        layer.weight.shape
    flambeau.manual_seed(7)
    layer(flambeau.ones(2, 5))
    assert type(layer) is nn.Linear and layer.in_features == 5
    flambeau.manual_seed(7)
    assert layer.weight.tolist() == nn.Linear(5, 3).weight.tolist()


def test_max_unpool():
    x = filled(1, 1, 4, 4)
    pooled, where = nn.MaxPool2d(2, return_indices=True)(x)
    back = nn.MaxUnpool2d(2)(pooled, where)
    assert back.shape == x.shape and float(back.sum()) == pytest.approx(float(pooled.sum()))
    assert nn.MaxPool2d(2)(back - (back == 0).float() * 9).tolist() == pooled.tolist()


def test_losses_keep_weights_as_buffers():
    weight = flambeau.tensor([1.0, 2.0])
    loss = nn.CrossEntropyLoss(weight=weight, label_smoothing=0.1)
    assert list(loss.state_dict()) == ["weight"] and loss.reduction == "mean"
    assert nn.MSELoss(reduction="sum")(flambeau.ones(2), flambeau.zeros(2)).tolist() == 2.0
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.L1Loss(size_average=False).reduction == "sum"
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        nn.MultiMarginLoss(p=3)
    with pytest.raises(ValueError, match="expected margin to be greater than 0"):
        nn.TripletMarginLoss(margin=-1)
    with pytest.raises(AssertionError, match="must be greater than min_val"):
        nn.Hardtanh(2, 1)
