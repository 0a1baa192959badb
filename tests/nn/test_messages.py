"""Errors that a learner can act on: the layer in the model, its input, and what to do."""

from __future__ import annotations

import pickle
import threading
import traceback

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

ones = flambeau.ones


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.encoder(x))


def ints(*shape):
    return ones(*shape, dtype=flambeau.int64)


# what, exception, what the message says
CASES = {
    "width": (
        lambda: Net()(ones(2, 5)), RuntimeError,
        "encoder.0 of Net: Linear(in_features=4, out_features=3, bias=True)", "shape [2, 5]",
    ),
    "alone": (lambda: nn.Linear(4, 3)(ones(5)), RuntimeError, "in_features=4", "shape [5]"),
    "flatten": (lambda: nn.Linear(8, 1)(ones(3, 2, 4)), RuntimeError, "x.flatten(1)"),
    "transposed": (lambda: nn.Linear(8, 1)(ones(3, 8, 4)), RuntimeError, "x.transpose(-1, -2)"),
    "integers": (lambda: Net()(ints(2, 4)), RuntimeError, "int64", "x.to(torch.float32)"),
    "a list": (lambda: Net()([1.0]), TypeError, "must be Tensor, not list", "torch.tensor(data)"),
    "channels last": (
        lambda: nn.Conv2d(3, 8, 3)(ones(1, 28, 28, 3)), RuntimeError,
        "expected input[1, 28, 28, 3] to have 3 channels, but got 28", "x.permute(0, 3, 1, 2)",
    ),
    "channels last without batch": (
        lambda: nn.Conv2d(3, 8, 3)(ones(28, 28, 3)), RuntimeError, "x.permute(2, 0, 1)",
    ),
    "channels last, 1d": (lambda: nn.Conv1d(3, 8, 3)(ones(1, 28, 3)), RuntimeError,
                          "x.permute(0, 2, 1)"),
    "channels last, transposed": (
        lambda: nn.ConvTranspose2d(3, 8, 3)(ones(1, 28, 28, 3)), RuntimeError,
        "x.permute(0, 3, 1, 2)",
    ),
    "pictures without channel": (
        lambda: nn.Conv2d(1, 8, 3)(ones(5, 28, 28)), RuntimeError, "x.unsqueeze(1)",
    ),
    "picture without channel": (
        lambda: nn.Conv2d(1, 8, 3)(ones(28, 28)), RuntimeError, "x.unsqueeze(0)",
    ),
    "bytes": (
        lambda: nn.Conv2d(1, 8, 3)(ones(1, 1, 9, 9, dtype=flambeau.uint8)), RuntimeError,
        "uint8", "x.to(torch.float32)",
    ),
    "one picture": (
        lambda: nn.BatchNorm2d(3)(ones(3, 4, 4)), ValueError,
        "expected 4D input (got 3D input)", "shape [3, 4, 4]", "x.unsqueeze(0)", "BatchNorm1d",
    ),
    "pictures for 1d": (lambda: nn.BatchNorm1d(3)(ones(1, 3, 4, 4)), ValueError, "BatchNorm2d"),
    "normalised channels": (
        lambda: nn.BatchNorm2d(3)(ones(1, 4, 4, 3)), RuntimeError,
        "4 channels, at dimension 1, and num_features is 3", "come last",
    ),
    "class": (
        lambda: F.cross_entropy(ones(3, 4), flambeau.tensor([0, 9, 1])), IndexError,
        "Target 9 is out of bounds", "element 1 of target", "classes 0 to 3",
    ),
    "class of nll": (
        lambda: F.nll_loss(ones(3, 4), flambeau.tensor([0, 1, -1])), IndexError,
        "Target -1 is out of bounds", "element 2 of target",
    ),
    "row": (
        lambda: nn.Sequential(nn.Embedding(3, 2))(flambeau.tensor([[0, 1], [7, 2]])), IndexError,
        "embedding got index 7 at element 2", "3 rows", "0 of Sequential: Embedding(3, 2)",
    ),
    "rows": (
        lambda: nn.Embedding(3, 2)(flambeau.tensor([0, -7, 5])), IndexError,
        "Indices go from 0 to 2, those given from -7 to 5",
    ),
    "float rows": (lambda: nn.EmbeddingBag(3, 2)(ones(1, 2)), RuntimeError, "x.long()"),
    "class of margin loss": (
        lambda: F.multi_margin_loss(ones(2, 3), flambeau.tensor([1, 5])), RuntimeError, "5",
    ),
    "float classes": (
        lambda: nn.CrossEntropyLoss()(ones(2, 3), ones(2)), RuntimeError,
        "Long", "float32", "target.long()",
    ),
    "int32 classes": (
        lambda: F.cross_entropy(ones(2, 3), ones(2, dtype=flambeau.int32)), RuntimeError, ".long()",
    ),
    "column of classes": (
        lambda: nn.NLLLoss()(ones(2, 3), ints(2, 1)), RuntimeError, "target.squeeze(1)",
    ),
    "integer probabilities": (
        lambda: F.binary_cross_entropy(ones(2), ints(2)), RuntimeError,
        "int64 of target but expected torch.float32", ".to(torch.float32)",
    ),
    "double probabilities": (
        lambda: F.binary_cross_entropy(ones(2), ones(2).double()), RuntimeError, "float64",
    ),
    "integer labels": (
        lambda: F.binary_cross_entropy_with_logits(ones(2), ints(2)), RuntimeError,
        "int64", ".to(torch.float32)",
    ),
    "integer distribution": (
        lambda: F.kl_div(ones(2), ints(2), reduction="sum"), RuntimeError, "Integral", "int64",
    ),
    "float margin classes": (
        lambda: F.multi_margin_loss(ones(2, 3), ones(2)), RuntimeError, "Long", "float32",
    ),
    "float multilabels": (
        lambda: F.multilabel_margin_loss(ones(2, 3), ones(2, 3)), RuntimeError, "Long", "float32",
    ),
    "deep": (
        lambda: nn.Sequential(nn.TransformerEncoderLayer(8, 2))(ones(2, 3, 9)), AssertionError,
        "0.self_attn of Sequential", "embedding dimension of 8",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, kind, *parts = CASES[name]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    for part in parts:
        assert part in str(caught.value)


def test_said_once_and_of_the_innermost():
    with pytest.raises(RuntimeError) as caught:
        nn.Sequential(nn.Sequential(Net()))(ones(2, 5))
    assert str(caught.value).count("Raised in") == 1
    assert "0.0.encoder.0 of Sequential: Linear" in str(caught.value)


class Failing(nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        raise self.error


class Special(RuntimeError):
    pass


@pytest.mark.parametrize(
    "error",
    [ValueError("mine"), RuntimeError("a", 3), Special("x"), KeyError("k"), StopIteration()],
)
def test_errors_of_users_stay_as_they_are(error):
    args, net = error.args, nn.Sequential(Failing(error))
    with pytest.raises(type(error)) as caught:
        net(1)
    assert caught.value is error and error.args == args


def test_errors_of_hooks_stay_as_they_are():
    net = Net()

    def hook(module, args):
        raise ValueError("mine")

    net.head.register_forward_pre_hook(hook)
    with pytest.raises(ValueError) as caught:
        net(ones(2, 4))
    assert str(caught.value) == "mine"


def test_subclasses_and_functions_of_the_library():
    class Mine(nn.Linear):
        pass

    with pytest.raises(RuntimeError, match=r"Raised in 0 of Sequential: Mine\(in_features=4"):
        nn.Sequential(Mine(4, 3))(ones(2, 5))

    class Loss(nn.Module):
        def forward(self, x):
            return F.cross_entropy(x, flambeau.tensor([7]))

    with pytest.raises(IndexError, match=r"Raised in Loss\(\), called with"):
        Loss()(ones(1, 3))


def test_hooked_layers_explain_too():
    net = Net()
    net.encoder[0].register_forward_hook(lambda *a: None)
    with pytest.raises(RuntimeError, match=r"encoder\.0 of Net"):
        net(ones(2, 5))


def test_caught_within_a_model():
    class Careful(Net):
        def forward(self, x):
            try:
                return self.head(x)
            except RuntimeError as error:
                self.seen = str(error)
                return super().forward(x)

    net = Careful()
    assert net(ones(2, 4)).shape == (2, 2)
    assert "Raised in" not in net.seen  # the outermost call says it, and this one went well
    with pytest.raises(RuntimeError, match=r"Raised in encoder\.0 of Careful"):
        net(ones(2, 5))


def test_traceback_and_pickle():
    with pytest.raises(RuntimeError) as caught:
        Net()(ones(2, 5))
    steps = [
        step for step in traceback.extract_tb(caught.value.__traceback__) if step.name == "__call__"
    ]
    assert len(steps) == 3  # the model, the sequence, the layer; each once
    assert {step.line for step in steps} == {"return self.forward(*args, **kwargs)"}
    assert caught.value.__cause__ is caught.value.__context__ is None
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.args == caught.value.args and not again.__dict__


def test_unregistered_and_shared_layers():
    class Loose(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = [nn.Linear(4, 3)]

        def forward(self, x):
            return self.hidden[0](x)

    with pytest.raises(RuntimeError, match=r"\? of Loose: Linear\(in_features=4"):
        Loose()(ones(2, 5))

    layer = nn.Linear(3, 3)
    with pytest.raises(RuntimeError, match="Raised in 0 of Sequential: Linear"):
        nn.Sequential(layer, layer)(ones(2, 5))


def test_model_whose_names_cannot_be_had():
    class Odd(Net):
        def named_modules(self, *args, **kwargs):
            raise KeyError("no names")

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught:
        Odd()(ones(2, 5))
    assert "Raised in" not in str(caught.value)


def test_threads_do_not_mix():
    nets = [nn.Sequential(*[nn.ReLU()] * i, nn.Linear(4, 3)) for i in range(1, 5)]
    seen = {}

    def fail(i):
        for _ in range(20):
            try:
                nets[i](ones(2, 5 + i))
            except RuntimeError as error:
                seen.setdefault(i, set()).add(str(error))

    threads = [threading.Thread(target=fail, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(4):
        (message,) = seen[i]
        assert f"Raised in {i + 1} of Sequential" in message and f"[2, {5 + i}]" in message


def test_no_cuda():
    assert isinstance(nn.ReLU().cuda(), nn.ReLU)  # nothing to move
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        nn.Linear(2, 2).cuda()


@pytest.mark.parametrize(
    ("input", "bias"),
    [
        ((2, 3), (2, 4)), ((2, 3), (2, 1)), ((2, 3), (1, 4)), ((5, 2, 3), (2, 4)),
        ((5, 2, 3), (5, 1, 4)), ((5, 2, 3), (5, 2, 4)), ((3,), (1,)), ((0, 3), (0, 4)),
    ],
)  # fmt: skip
def test_shapes_of_bias(input, bias):
    x = flambeau.arange(float(max(1, flambeau.Size(input).numel())))[: flambeau.Size(input).numel()]
    x, w = x.view(input), flambeau.arange(12.0).view(4, 3)
    b = flambeau.ones(bias, requires_grad=True)
    out = flambeau.nn.functional.linear(x, w, b)
    assert flambeau.equal(out, flambeau.nn.functional.linear(x, w) + b)
    out.sum().backward()
    assert b.grad.shape == bias and b.grad.sum().item() == out.numel()


def test_shapes_of_bias_that_do_not_fit():
    w = flambeau.ones(4, 3)
    for input, bias in (((2, 3), (3,)), ((2, 3), (1, 2, 4)), ((5, 2, 3), (3, 5, 2, 4))):
        with pytest.raises(RuntimeError, match="cannot be broadcast to the output"):
            flambeau.nn.functional.linear(flambeau.ones(input), w, flambeau.ones(bias))
    with pytest.raises(RuntimeError, match="mat2 must be a matrix"):
        flambeau.nn.functional.linear(flambeau.ones(2, 3), flambeau.ones(3), flambeau.ones(2))


def test_targets_in_range():
    F = flambeau.nn.functional
    p = flambeau.tensor([0.5])
    for target in (2.0, -0.1, float("nan")):
        with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
            F.binary_cross_entropy(p, flambeau.tensor([target]))
    for target in ([0, 3, -1], [0, -2, -1]):
        with pytest.raises(RuntimeError, match="out of range"):
            F.multilabel_margin_loss(flambeau.zeros(1, 3), flambeau.tensor([target]))


def test_results_of_backward_hooks():
    layer, x = flambeau.nn.Linear(2, 2, bias=False), flambeau.ones(1, 2, requires_grad=True)
    plain = layer.weight.sum(0, keepdim=True)
    for make in (tuple, list):
        handle = layer.register_full_backward_hook(lambda m, gi, go, make=make: make([gi[0] * 2]))
        x.grad = None
        layer(x).sum().backward()
        handle.remove()
        assert flambeau.equal(x.grad, plain * 2)
    for result, error, message in (
        (3, TypeError, "expected Variable, but hook returned 'int'"),
        ((flambeau.ones(3),), RuntimeError, "has changed the size of value"),
        ((plain, plain), RuntimeError, "invalid number of grad_input, got 2, but expected 1"),
    ):
        handle = layer.register_full_backward_hook(lambda m, gi, go, result=result: result)
        with pytest.raises(error, match=message):
            layer(x).sum().backward()
        handle.remove()
